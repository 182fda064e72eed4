"""What several tests of Fold use."""

import numpy as np
import tensorflow as tf

from benchmarks.fold import wiring
from benchmarks.fold.compiler import compile_block
from benchmarks.fold.loom import Loom
from benchmarks.fold.weaver import Weaver


class Model:
    """A block, compiled for objects with these fields."""

    def __init__(self, block, fields, threads=1):
        self.fields = fields
        is_list = {name: isinstance(column, tuple) for name, column in fields.items()}
        self.program = compile_block(block, is_list)
        self.weaver = Weaver(self.program, threads)

    def wiring(self, *groups):
        """The wiring of groups of roots that are scheduled separately, then merged."""
        return self.weaver.merge([self.weaver.weave(self.fields, np.array(g)) for g in groups])

    def run(self, *groups) -> list[np.ndarray]:
        """The outputs for these roots."""
        return [output.numpy() for output in self.loop(*self.inputs(*groups))]

    def inputs(self, *groups) -> list[tf.Tensor]:
        """The inputs of the loop."""
        return [tf.constant(part) for part in self.wiring(*groups)]

    @tf.function
    def loop(self, ints, sections):
        """The loop itself."""
        return Loom(self.program).run(ints, sections)

    def rows(self, *groups) -> dict:
        """{type: [depths, pieces]}: the number of rows of each piece at every depth."""
        given = wiring.of_arrays(self.program, *self.wiring(*groups))
        return {
            kind: own.pieces.reshape(-1, len(self.program.pieces(kind)) + 1)
            for kind, own in zip(self.program.types, given.types, strict=True)
        }


def random_trees(generator, count: int, arity: int = 2) -> tuple[dict, list[int]]:
    """Fields of random trees, whose inner vertices have 1 to `arity` children, and their roots."""
    children, roots = [], []

    def grow(size):
        if size <= 1:
            below = []
        else:
            ways = generator.integers(1, arity + 1)
            cuts = np.sort(generator.integers(0, size, ways - 1))
            below = [grow(max(1, part)) for part in np.diff([0, *cuts, size - 1])]
        children.append(below)
        return len(children) - 1

    for _ in range(count):
        roots.append(grow(int(generator.integers(1, 12))))
    splits = np.concatenate([[0], np.cumsum([len(below) for below in children])])
    flat = np.array([child for below in children for child in below], np.int32)
    fields = {
        "number": np.arange(len(children)),
        "many": np.array([min(len(below), 1) for below in children]),
        "children": (splits, flat),
    }
    return fields, roots
