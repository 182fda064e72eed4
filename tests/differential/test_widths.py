"""Rows of one column, or of none, beside wide ones."""

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.differential.test_differential import SWITCHES, check_options

GRAPHS = [[[], [], [0, 1], [], [2, 3]], [[]], [], [[], [0], [1], [2], [3]]]


class OneColumn(cavs.GraphSupport):
    """Moves single columns in every way, beside rows that are wide enough to be divided."""

    arity = 2

    def __init__(self, units=64, **kwargs):
        super().__init__(state_size=units, **kwargs)
        self.u = tf.keras.layers.Dense(units, dtype=self.dtype)
        self.w = tf.keras.layers.Dense(units, dtype=self.dtype)

    def vertex(self):
        h = self.gather(0) + self.gather(1)
        gain = self.pull("gain")
        state = tf.tanh(self.pull("x") + self.u(h) * gain)
        self.scatter(state)
        self.push(tf.tanh(self.w(h)))
        self.push(h[:, :1], "first")
        self.push(state[:, 5:6], "fifth")
        self.push(gain, "gain")


class NoColumns(cavs.GraphSupport):
    """Rows without elements, wherever rows can stand."""

    arity = 2

    def __init__(self, units=64, **kwargs):
        super().__init__(state_size=units, **kwargs)
        self.w = tf.keras.layers.Dense(units, dtype=self.dtype)
        self.into_none = self.add_weight(shape=(units, 0), name="into_none")
        self.from_none = self.add_weight(shape=(0, units), name="from_none")

    def vertex(self):
        h = tf.sigmoid(self.gather(0) + self.gather(1))
        x, none = self.pull("x"), self.pull("none")
        half = h.shape[1] // 2
        left, nothing, right = tf.split(h, [half, 0, half], axis=1)
        state = tf.concat([tf.tanh(left), nothing, right * tf.exp(-x[:, :half])], axis=1)
        state += self.w(tf.concat([none, h], axis=1)) + none @ self.from_none
        self.scatter(state)
        self.push(tf.exp(state / 8))  # exp(12) would be infinite in float16.
        self.push(state[:, half:half], "inside")
        self.push(tf.tanh(nothing) * x[:, :1] + h @ self.into_none, "computed")
        self.push(tf.tanh(x + h)[:, 3:3], "all that is read")
        self.push(none, "none")
        self.push(x[:, :1] + tf.reduce_sum(none, axis=1, keepdims=True), "sum")


def inputs_for(cell, num_vertices):
    columns = {"x": 64, "gain": 1, "none": 0}
    random = np.random.default_rng(0)
    wanted = {OneColumn: ("x", "gain"), NoColumns: ("x", "none")}[type(cell)]
    return {
        name: tf.constant(random.standard_normal([num_vertices, columns[name]]), cell.dtype)
        for name in wanted
    }


@pytest.mark.in_turns
@pytest.mark.parametrize("cell_class", [OneColumn, NoColumns])
def test_narrow_rows_give_the_reference_numbers(cell_class):
    tf.keras.utils.set_random_seed(1)
    cell = cell_class(dtype="float64")
    for children in (GRAPHS, []):
        graphs = cavs.GraphBatch.from_children(children)
        check_options(cell, graphs, SWITCHES, inputs=inputs_for(cell, graphs.num_vertices))


@pytest.mark.in_turns
@pytest.mark.numeric
@pytest.mark.parametrize("cell_class", [OneColumn, NoColumns])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_narrow_rows_of_every_type(cell_class, dtype):
    tf.keras.utils.set_random_seed(2)
    cell = cell_class(dtype=dtype)
    graphs = cavs.GraphBatch.from_children(GRAPHS)
    inputs = inputs_for(cell, graphs.num_vertices)
    tolerance = {"bfloat16": 0.05, "float16": 0.01}.get(dtype)
    report = cavs.check_equivalence(cell, graphs, inputs, tolerance=tolerance)
    assert report.ok, report


@pytest.mark.in_turns
def test_rows_that_move_one_column_leave_their_neighbours_alone():
    """Runs tasks of few wide rows, which workers divide by columns."""
    units, length = 1024, 8
    tf.keras.utils.set_random_seed(3)
    cell = OneColumn(units)
    graphs = cavs.GraphBatch.chain([length])
    inputs = {"x": tf.random.normal([length, units]), "gain": tf.random.normal([length, 1])}
    report = cavs.check_equivalence(cell, graphs, inputs)
    assert report.ok, report

    def step():
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            outputs = cell(graphs, inputs)
        return tf.nest.flatten([outputs, tape.gradient(outputs, inputs)])

    first = step()
    for _ in range(4):
        for value, same in zip(step(), first, strict=True):
            np.testing.assert_array_equal(value, same)
