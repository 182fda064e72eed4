"""A case is a program and what is done with it. All of it follows from one seed."""

import dataclasses

import numpy as np

from cavs_tf.graphs._options import PASSES
from cavs_tf.graphs._schedule import POLICIES
from tests.fuzz import graphs
from tests.fuzz.programs import Program, choose, draw_program

_PASSES = (*PASSES, "decompose")
SEEDS_OF_A_BLOCK = 20  # Consecutive seeds that run in one process.


@dataclasses.dataclass(frozen=True)
class Step:
    """One minibatch.

    Attributes:
      minibatch: For each graph, the child ids of every vertex, relative to the graph.
      types: The types of all vertices; None: all are of type 0.
      seed: The seed of the inputs and of the loss.
      at: Vertices whose outputs are wanted; None: all.
      options: Keyword arguments of `cavs.Options`.
      partial: Whether inputs have rows only for vertices whose type pulls them; or, if there is
        one type only, for some vertices.
      pieces: How many calls of `extend` evaluate the minibatch; 0: one call of the model does.
    """

    minibatch: tuple
    types: tuple | None
    seed: int
    options: dict
    at: tuple | None = None
    partial: bool = False
    pieces: int = 0

    @property
    def num_vertices(self) -> int:
        return sum(map(len, self.minibatch))

    @property
    def num_edges(self) -> int:
        return sum(c >= 0 for graph in self.minibatch for own in graph for c in own)


@dataclasses.dataclass(frozen=True)
class Case:
    """What one seed stands for.

    Attributes:
      program: The model.
      steps: Steps of one model, whose weights change between them.
      as_function: Whether steps run in one `tf.function` for all sizes.
      scheduled: Whether graphs carry their schedule.
      training: The argument `training` of calls.
    """

    program: Program
    steps: tuple[Step, ...]
    as_function: bool = False
    scheduled: bool = False
    training: bool | None = None


@dataclasses.dataclass(frozen=True)
class Process:
    """The kind of process that a case runs in: TensorFlow's threads, guard zones around buffers."""

    threads: int
    guarded: bool


def process_of(seed: int) -> Process:
    """The kind of process for a seed, the same for all seeds of a block."""
    block = seed // SEEDS_OF_A_BLOCK
    return Process((2, 1, 2, 4, 3)[block % 5], guarded=block % 3 != 1)


def draw_case(seed: int) -> Case:
    rng = np.random.default_rng([seed, 5])
    program = draw_program(rng)
    count = int(choose(rng, ((4, 1), (4, 2), (1, 4))))
    steps = [_draw_step(rng, program) for _ in range(count)]
    cuts = np.random.default_rng([seed, 6])  # So that everything else is as without pieces.
    pieces = [int(choose(cuts, ((6, 0), (1, 1), (1, 2), (1, 5)))) for _ in steps]
    return Case(
        program,
        tuple(dataclasses.replace(s, pieces=p) for s, p in zip(steps, pieces, strict=True)),
        as_function=bool(rng.random() < 0.15),
        scheduled=bool(rng.random() < 0.2),
        training=(None, True, False)[int(choose(rng, ((8, 0), (1, 1), (1, 2))))],
    )


def _draw_options(rng) -> dict:
    """Options with all passes in half of the cases, and most of them in the others."""
    options = {}
    if rng.random() < 0.5:
        options = {"disable": tuple(name for name in _PASSES if rng.random() < 0.4)}
    if rng.random() < 0.25:
        options["streams"] = 2
    if rng.random() < 0.2:
        options["policy"] = str(rng.choice(POLICIES[1:]))
    if rng.random() < 0.25:
        options["micro_batch"] = int(rng.integers(1, 4))
    return options


def _draw_step(rng, program) -> Step:
    minibatch = graphs.random_minibatch(rng, program.most_children)
    types = graphs.random_types(rng, minibatch, len(program.functions))
    count = sum(map(len, minibatch))
    at = None
    if rng.random() < 0.25:
        at = tuple(int(v) for v in rng.permutation(count)[: int(rng.integers(0, count + 1))])
    return Step(
        tuple(tuple(tuple(own) for own in children) for children in minibatch),
        None if types is None else tuple(types),
        int(rng.integers(2**31)),
        _draw_options(rng),
        at,
        bool(rng.random() < 0.3),
    )
