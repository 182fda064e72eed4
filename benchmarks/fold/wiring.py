"""The wiring of a minibatch, section by section."""

import dataclasses
import itertools

import numpy as np

from benchmarks.fold.program import Program


@dataclasses.dataclass(frozen=True)
class TypeWiring:
    """What happens to the values of one type, depth by depth.

    Attributes:
      taken: Rows of the depth before, those of an argument side by side.
      num_taken: [depths].
      pieces: [depths * pieces]: how many rows each argument takes, and how many pass through.
      takers: For every row of the depth before its place among those taken; how many are taken, for
        a row that nobody takes.
      num_takers: [depths].
      made: [depths * (results + 1)]: how many rows each operation makes, and how many pass through.
    """

    taken: object
    num_taken: object
    pieces: object
    takers: object
    num_takers: object
    made: object


@dataclasses.dataclass(frozen=True)
class Wiring:
    """The sections, as arrays or tensors of ints.

    Attributes:
      types: The wiring of every type.
      lookups: Of every argument that is looked up: (numbers, how many at a depth), from the last
        depth to the first.
      literals: For every source, the numbers that its results carry.
      outputs: For every tag, rows of the last depth.
      shared: [types]: whether a row is taken twice at a depth.
    """

    types: list[TypeWiring]
    lookups: list[tuple]
    literals: list
    outputs: list
    shared: object


def of_arrays(program: Program, ints: np.ndarray, lengths: np.ndarray) -> Wiring:
    """The wiring that a weaver has merged."""
    return from_sections(program, np.split(ints, np.cumsum(lengths)[:-1]))


def num_sections(program: Program) -> int:
    """The number of sections of any wiring of a program."""
    of_types = len(dataclasses.fields(TypeWiring)) * len(program.types)
    return of_types + 2 * len(program.lookups()) + len(program.sources) + len(program.tags) + 1


def from_sections(program: Program, sections) -> Wiring:
    """The wiring from its sections, in the weaver's order."""
    rest = iter(sections)

    def take(count):
        return list(itertools.islice(rest, count))

    return Wiring(
        [TypeWiring(*take(len(dataclasses.fields(TypeWiring)))) for _ in program.types],
        [tuple(take(2)) for _ in program.lookups()],
        take(len(program.sources)),
        take(len(program.tags)),
        next(rest),
    )
