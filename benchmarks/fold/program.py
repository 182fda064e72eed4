"""The compiled blocks of a model: instructions for the weaver, operations for the loop."""

import dataclasses
import enum
import itertools
from collections.abc import Callable

from benchmarks.fold import result_types


class Kind(enum.IntEnum):
    """What a block does; `cc/program.h` describes each kind."""

    FIELD = 0
    ITEMS = 1
    SLICE = 2
    ALL = 3
    CHAIN = 4
    ONE_OF = 5
    MAP = 6
    FOLD = 7
    SCAN = 8
    REDUCE = 9
    ZIP = 10
    REVERSE = 11
    SOURCE = 12
    CALL = 13
    OUTPUT = 14
    BROADCAST = 15


@dataclasses.dataclass(frozen=True)
class Operation:
    """A function of tensors that is called once per depth.

    Attributes:
      function: Takes and returns tensors with a row for each vertex.
      in_type, out_type: Its types, which have no sequences.
    """

    function: Callable
    in_type: object
    out_type: object


@dataclasses.dataclass(frozen=True)
class Source:
    """Makes values of depth 0.

    Attributes:
      rows: A function that makes all values from the int32 numbers that they carry.
      type: The type of one value.
    """

    rows: Callable
    type: result_types.TensorType


@dataclasses.dataclass
class Program:
    """A program, which grows as blocks are compiled.

    Attributes:
      fields: The columns of every field of objects: one, or splits and values of a list.
      types: The types of values that are passed from depth to depth.
      operations, sources: The operations and sources, in order of their first use.
      tables: The tables of rows that are looked up.
      tags: The type of what each tag marks.
      root: The block whose inputs are examples.
    """

    fields: dict[str, tuple[int, ...]]
    types: list = dataclasses.field(default_factory=list)
    operations: list[Operation] = dataclasses.field(default_factory=list)
    sources: list[Source] = dataclasses.field(default_factory=list)
    tables: list = dataclasses.field(default_factory=list)
    tags: list[result_types.TensorType] = dataclasses.field(default_factory=list)
    root: int = -1
    _blocks: list = dataclasses.field(default_factory=list)
    _known: dict = dataclasses.field(default_factory=dict)

    def add(self, kind: Kind, in_type, out_type, *parts: int) -> int:
        """Adds a block; returns its number."""
        return self.define(self.reserve(), kind, in_type, out_type, *parts)

    def reserve(self) -> int:
        """Reserves the number of a block that is defined later."""
        self._blocks.append(None)
        return len(self._blocks) - 1

    def define(self, block: int, kind: Kind, in_type, out_type, *parts: int) -> int:
        """Defines a reserved block."""
        self._blocks[block] = kind, in_type.width, out_type.width, parts
        return block

    def once(self, key, make: Callable):
        """What `make` returned for the key at its first use."""
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]

    def type_number(self, kind: result_types.TensorType) -> int:
        """The number of a type whose values are passed from depth to depth."""
        if kind not in self.types:
            self.types.append(kind)
        return self.types.index(kind)

    def add_operation(self, operation: Operation) -> int:
        """Returns its number."""
        for kind in result_types.tensors_in(operation.in_type) + result_types.tensors_in(
            operation.out_type
        ):
            self.type_number(kind.carried)
        self.operations.append(operation)
        return len(self.operations) - 1

    def add_source(self, rows: Callable, kind: result_types.TensorType) -> int:
        """Returns its number."""
        self.type_number(kind)
        self.sources.append(Source(rows, kind))
        return len(self.sources) - 1

    def add_table(self, table) -> int:
        """Returns its number."""
        self.tables.append(table)
        return len(self.tables) - 1

    def add_tag(self, kind: result_types.TensorType) -> int:
        """Returns its number."""
        self.type_number(kind)
        self.tags.append(kind)
        return len(self.tags) - 1

    def lookups(self) -> list[tuple[int, int]]:
        """(operation, table) for every argument that is looked up, in the weaver's order."""
        return [
            (number, argument.table)
            for number, operation in enumerate(self.operations)
            for argument in result_types.tensors_in(operation.in_type)
            if _is_row(argument)
        ]

    def pieces(self, kind: result_types.TensorType) -> list[tuple[int, int]]:
        """(operation, argument) for all arguments of that type, in the weaver's order."""
        return [
            (number, index)
            for number, operation in enumerate(self.operations)
            for index, argument in enumerate(result_types.tensors_in(operation.in_type))
            if argument.carried == kind
        ]

    def num_results(self, kind: result_types.TensorType) -> int:
        """The number of results of that type of all operations."""
        made = (result_types.tensors_in(operation.out_type) for operation in self.operations)
        return sum(results.count(kind) for results in made)

    def ints(self) -> list[int]:
        """The program as ints, which the weaver reads."""
        operations = [self._operation_ints(operation) for operation in self.operations]
        sources = [self.type_number(source.type) for source in self.sources]
        tags = [self.type_number(tag) for tag in self.tags]
        blocks = [[*block[:3], len(block[3]), *block[3]] for block in self._blocks]
        return [
            *(len(self.types), self.root),
            *(len(blocks), *itertools.chain(*blocks)),
            *(len(operations), *itertools.chain(*operations)),
            *(len(sources), *sources),
            *(len(tags), *tags),
        ]

    def _operation_ints(self, operation: Operation) -> list[int]:
        arguments = result_types.tensors_in(operation.in_type)
        results = result_types.tensors_in(operation.out_type)
        taken = [(self.type_number(a.carried), _is_row(a)) for a in arguments]
        return [
            *(len(arguments), *itertools.chain(*taken)),
            *(len(results), *map(self.type_number, results)),
        ]


def _is_row(kind) -> bool:
    return isinstance(kind, result_types.RowType)
