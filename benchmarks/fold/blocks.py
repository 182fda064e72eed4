"""Blocks that are made of blocks; `td` collects them with those on tensors and sequences."""

import abc

from benchmarks.fold import result_types
from benchmarks.fold.program import Kind, Program
from benchmarks.fold.result_types import SequenceType, TupleType


class Block(abc.ABC):
    """A function of a Python object, a tensor, a tuple or a sequence."""

    @abc.abstractmethod
    def compile(self, program: Program, in_type) -> tuple[int, object]:
        """(number of the block in the program, type of its result)."""

    def __rshift__(self, other: "Block") -> "Block":
        """`a >> b` applies b to the result of a."""
        return _Chain(self, other)


class Identity(Block):
    """Returns its input."""

    def compile(self, program, in_type):
        return program.add(Kind.SLICE, in_type, in_type, 0), in_type


class GetItem(Block):
    """A field of an object, by name, or an item of a tuple, by number."""

    def __init__(self, key):
        self._key = key

    def compile(self, program, in_type):
        if isinstance(in_type, TupleType):
            first = TupleType(in_type.items[: self._key]).width
            item = in_type.items[self._key]
            return program.add(Kind.SLICE, in_type, item, first), item
        expect(self, in_type, result_types.ObjectType)
        columns = program.fields[self._key]
        if len(columns) == 1:
            return program.add(Kind.FIELD, in_type, in_type, *columns), in_type
        listed = SequenceType(in_type)
        return program.add(Kind.ITEMS, in_type, listed, *columns), listed


class AllOf(Block):
    """A tuple of the results of blocks, all for the same input."""

    def __init__(self, *blocks: Block):
        self._blocks = blocks

    def compile(self, program, in_type):
        made = [block.compile(program, in_type) for block in self._blocks]
        out_type = TupleType(tuple(kind for _, kind in made))
        return program.add(Kind.ALL, in_type, out_type, *(number for number, _ in made)), out_type


class Record(AllOf):
    """A tuple of the results of blocks, each for the field or item that it is named after."""

    def __init__(self, named: list[tuple[object, Block]]):
        super().__init__(*(GetItem(name) >> block for name, block in named))


class OneOf(Block):
    """Applies the one of several blocks that belongs to the key."""

    def __init__(self, key: Block, cases: dict[int, Block]):
        self._key = key
        self._cases = cases

    def compile(self, program, in_type):
        key, _ = self._key.compile(program, in_type)
        made = {k: block.compile(program, in_type) for k, block in self._cases.items()}
        out_types = {out_type for _, out_type in made.values()}
        if len(out_types) != 1:
            raise TypeError(f"OneOf: got {out_types} but expected blocks that make the same type")
        parts = [part for k, (number, _) in made.items() for part in (k, number)]
        (out_type,) = out_types
        return program.add(Kind.ONE_OF, in_type, out_type, key, *parts), out_type


class ForwardDeclaration:
    """A block that is used before it is defined; call it to use it.

    Args:
      spec: The type of what it will make, or a tuple of types.
    """

    def __init__(self, spec):
        self.out_type = result_types.type_of(spec)
        self.block: Block | None = None

    def __call__(self) -> Block:
        return _Reference(self)

    def resolve_to(self, block: Block) -> None:
        """Defines the block."""
        self.block = block


class _Chain(Block):
    def __init__(self, *blocks):
        self._blocks = blocks

    def compile(self, program, in_type):
        numbers, out_type = [], in_type
        for block in self._blocks:
            number, out_type = block.compile(program, out_type)
            numbers.append(number)
        return program.add(Kind.CHAIN, in_type, out_type, *numbers), out_type


class _Reference(Block):
    def __init__(self, declaration):
        self._declaration = declaration

    def compile(self, program, in_type):
        declared = self._declaration
        met = []

        def reserve():
            met.append(True)
            return program.reserve()

        number = program.once((declared, in_type), reserve)
        if met:
            self._define(program, number, in_type)
        return number, declared.out_type

    def _define(self, program, number, in_type):
        declared = self._declaration
        if declared.block is None:
            raise TypeError("ForwardDeclaration: got no block. Call resolve_to before compiling.")
        made, out_type = declared.block.compile(program, in_type)
        if out_type != declared.out_type:
            raise TypeError(
                f"ForwardDeclaration: got a block that makes {out_type} but expected the "
                f"declared {declared.out_type}"
            )
        program.define(number, Kind.CHAIN, in_type, out_type, made)


def expect(block, in_type, expected) -> None:
    """Raises TypeError unless the input of a block has a type that it takes."""
    if not isinstance(in_type, expected):
        raise TypeError(f"{type(block).__name__}: got {in_type} but expected {expected.__name__}")
