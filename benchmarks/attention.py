"""The gain of operators on vectors (the pass "decompose") for cells that combine all children.

    python -m benchmarks.attention --units=64,256

Trains on 64 random trees of 10 to 40 vertices with at most 4 children, by TensorFlow's kernels and
as operators on vectors, in turns; gradients are compared first.
"""

import statistics
import sys

import keras
import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks import contest, tables

ARITY = 4


class Cell(cavs.GraphSupport):
    """A cell that combines its input with all children at once."""

    title: str

    def __init__(self, units):
        super().__init__(state_size=units, arity=ARITY)
        self.units = units
        self.query, self.key, self.value = (keras.layers.Dense(units) for _ in range(3))

    def vertex(self):
        children = tf.stack([self.gather(k) for k in range(ARITY)], axis=1)
        state = tf.tanh(self.combine(self.query(self.pull()), self.key(children)))
        self.scatter(state)
        self.push(state)


class Additive(Cell):
    """Bahdanau et al. 2015, arXiv:1409.0473."""

    title = "additive attention"

    def combine(self, query, keys):
        scores = tf.reduce_sum(self.value(tf.tanh(keys + query[:, None])), axis=2)
        return query + tf.einsum("nk,nkd->nd", tf.nn.softmax(scores), keys)


class DotProduct(Cell):
    """Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1."""

    title = "dot-product attention"

    def combine(self, query, keys):
        scores = tf.matmul(query[:, None], keys, transpose_b=True) / self.units**0.5
        return query + tf.matmul(tf.nn.softmax(scores), self.value(keys))[:, 0]


class Normalised(Cell):
    """Ba et al. 2016, arXiv:1607.06450."""

    title = "mean of normalised children"

    def __init__(self, units):
        super().__init__(units)
        self.norm = keras.layers.LayerNormalization()

    def combine(self, query, keys):
        return query + tf.reduce_mean(self.value(self.norm(keys)), axis=1)


def random_trees(generator, count=64) -> cavs.GraphBatch:
    return cavs.GraphBatch.from_children([_tree(generator) for _ in range(count)])


def _tree(generator):
    children = [[] for _ in range(generator.integers(10, 41))]
    for vertex in range(len(children) - 1):
        near = [p for p in range(vertex + 1, len(children)) if len(children[p]) < ARITY][:4]
        children[generator.choice(near)].append(vertex)
    return children


def milliseconds(make, units, turns, seed=0) -> dict[str, list[float]]:
    """The milliseconds of a training step, by TensorFlow's kernels and as vectors.

    Raises:
      AssertionError: If gradients differ.
    """
    generator = np.random.default_rng(seed)
    cell, graphs = make(units), random_trees(generator).with_schedule(ARITY, 1)
    inputs = tf.constant(generator.normal(size=(graphs.num_vertices, units)), tf.float32)
    steps = {
        name: _step(cell, graphs, inputs, disable)
        for name, disable in (("vectors", []), ("TensorFlow's kernels", ["decompose"]))
    }
    results = ((0.0, step()) for step in steps.values())
    contest.compare(*results, tolerance=1e-3, floor=1e-4, zeros=True)
    return contest.milliseconds(steps, turns)


def medians(units: int, turns: int, seed: int = 0) -> dict[str, tuple[float, float]]:
    """The median milliseconds by TensorFlow's kernels and as vectors, by the title of the cell."""
    found = {make.title: milliseconds(make, units, turns, seed) for make in Cell.__subclasses__()}
    return {
        title: tuple(map(statistics.median, reversed(times.values())))
        for title, times in found.items()
    }


def _step(cell, graphs, inputs, disable):
    @tf.function
    def step():
        cell.options = cavs.Options(disable=disable)
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(cell(graphs, inputs) ** 2)
        return tape.gradient(loss, [variable.value for variable in cell.trainable_variables])

    return step


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = contest.parser(__doc__, turns=30).parse_args(argv)
    contest.limit_threads(arguments.threads)
    for units in arguments.units:
        rows = {
            make.title: contest.texts(
                milliseconds(make, units, arguments.turns, arguments.seed), "ratio"
            )
            for make in Cell.__subclasses__()
        }
        columns = ["vectors", "TensorFlow's kernels", "ratio"]
        tables.Table(f"{units} units", columns, rows).print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
