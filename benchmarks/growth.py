"""Graphs that grow by one vertex at a time, in a compiled loop: `GraphSupport.extend`.

    python -m benchmarks.growth --units=64 --vertices=100,1000

A binary Tree-LSTM. First one vertex over 10 and over 100,000 states that exist, and by calls from
Python. Then graphs of some vertices, each of which has the one before and another one as children,
with states kept in one tensor or in a `tf.TensorArray`, forward and with a tape through the loop.
Gradients are compared first.
"""

import functools
import statistics
import sys

import keras
import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks import contest, flags, tables

EXISTING = (10, 100_000)


class Grower:
    """Loops that grow a graph by one vertex at a time.

    Args:
      units: Size of the hidden state.
      seed: Of weights, inputs and children.
    """

    def __init__(self, units: int, seed: int):
        keras.utils.set_random_seed(seed)
        self.layer = cavs.keras.TreeLSTM(units, arity=2)
        self.x = tf.random.normal([1, units])
        _, first = self.layer.extend(None, [[]], self.x)
        self.first = tf.identity(first)
        self._generator = np.random.default_rng(seed)

    def over(self, num_states: int, steps: int):
        """A loop of steps, each of which adds a vertex to the same states and one more."""
        states = tf.random.normal([num_states, self.first.shape[1]])

        @tf.function
        def grow():
            def body(step, total):
                output, _ = self.layer.extend(states, [[step % num_states, 5]], self.x + total)
                return step + 1, output

            return tf.while_loop(lambda step, _: step < steps, body, (0, tf.zeros_like(self.x)))

        return grow

    def add(self):
        """Adds one vertex."""
        return self.layer.extend(self.first, [[0]], self.x)

    def children(self, count: int) -> tf.Tensor:
        """The children of `count` vertices: the one before, and another one from there on."""
        others = [self._generator.integers(max(before, 1)) for before in range(count)]
        return tf.constant([[other, before] for before, other in enumerate(others)], tf.int32)

    def in_a_tensor(self, first, children):
        """The sum of all outputs, where states are one tensor that grows."""

        def body(step, states, total):
            output, new = self.layer.extend(states, children[step][None], self.x)
            return step + 1, tf.concat([states, new], 0), total + output

        shapes = tf.TensorShape([]), tf.TensorShape([None, first.shape[1]]), self.x.shape
        return self._run(children, body, first, shapes)

    def in_an_array(self, first, children):
        """As `in_a_tensor`, with states in a `tf.TensorArray`."""
        size = len(children) + 1
        states = tf.TensorArray(first.dtype, size, clear_after_read=False).write(0, first[0])

        def body(step, states, total):
            own = tf.stack([states.read(child) for child in tf.unstack(children[step])])
            output, new = self.layer.extend(own, [[0, 1]], self.x)
            return step + 1, states.write(step + 1, new[0]), total + output

        return self._run(children, body, states)

    def _run(self, children, body, states, shapes=None):
        first = (0, states, tf.zeros_like(self.x))
        return tf.while_loop(lambda step, *_: step < len(children), body, first, shapes)[2]

    def gradients(self, grow, children):
        """Of a loss that reads all outputs: of the first state and of weights."""
        with tf.GradientTape() as tape:
            tape.watch(self.first)
            loss = tf.reduce_sum(tf.sin(grow(self.first, children)))
        return tape.gradient(loss, [self.first, *self.layer.trainable_weights])


def microseconds(run, count: int, turns: int) -> float:
    """The median of turns of `run`, divided by `count`."""
    taken = contest.milliseconds({"": lambda: tf.nest.map_structure(np.asarray, run())}, turns)
    return 1e3 * statistics.median(taken[""]) / count


def over_states(grower, steps: int, turns: int) -> tables.Table:
    """One vertex over few and over many states in a loop, and by calls from Python."""
    few, many = (microseconds(grower.over(n, steps), steps, turns) for n in EXISTING)
    found = {f"{n:,}": us for n, us in zip(EXISTING, (few, many), strict=True)}
    for name, add in {"a tf.function": tf.function(grower.add), "eager": grower.add}.items():
        found[f"1, {name}"] = microseconds(add, 1, 10 * turns)
    rows = {name: {"us": f"{us:.1f}"} for name, us in found.items()}
    rows["ratio of 100,000 to 10"] = {"us": f"{many / few:.2f}"}
    return tables.Table("one vertex over states", ["us"], rows)


def by_vertices(grower, counts, turns: int) -> tables.Table:
    """Graphs of so many vertices, for each way to keep states.

    Raises:
      AssertionError: If gradients differ.
    """
    ways = {"one tensor": grower.in_a_tensor, "a TensorArray": grower.in_an_array}
    rows = {}
    for count in counts:
        children, found = grower.children(count), []
        for name, grow in ways.items():
            forward = tf.function(functools.partial(grow, grower.first, children))
            both = tf.function(functools.partial(grower.gradients, grow, children))
            found.append(both())
            rows[f"{count:,} vertices in {name}"] = {
                "us": f"{microseconds(forward, count, turns):.1f}",
                "us with a tape": f"{microseconds(both, count, turns):.1f}",
            }
        contest.compare(*((0.0, own) for own in found), tolerance=1e-3, floor=1e-4)
    return tables.Table("one vertex of graphs of", ["us", "us with a tape"], rows)


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = contest.parser(__doc__, turns=7)
    parser.set_defaults(units=(64,))
    parser.add_argument("--vertices", type=flags.integers(1), default="100,1000", help="of a graph")
    parser.add_argument("--steps", type=flags.integer(1), default=2000, help="over states")
    arguments = parser.parse_args(argv)
    contest.limit_threads(arguments.threads)
    for units in arguments.units:
        grower = Grower(units, arguments.seed)
        over_states(grower, arguments.steps, arguments.turns).print()
        print()
        by_vertices(grower, arguments.vertices, arguments.turns).print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
