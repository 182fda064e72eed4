"""Infinities and NaN spread as they do in plain TensorFlow."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect._portable import run_by_depth
from tests.differential.test_differential import SWITCHES
from tests.helpers import cells
from tests.helpers.pairwise import parametrize_pairs

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1], [], [2, 3]], [[]], [[], [0], [1]]])


@pytest.fixture(scope="module")
def make():
    """Makes a cell of each class, which is traced once for all tests."""
    keras.utils.set_random_seed(1)
    return functools.cache(lambda cell_class, **sizes: cell_class(dtype="float64", **sizes))


def outputs_and_gradients(call, cell, inputs):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = call()
        loss = tf.reduce_sum(outputs)
    variables = cell.trainable_variables
    gradients = tape.gradient(loss, [inputs, *(v.value for v in variables)])
    return [tf.convert_to_tensor(value).numpy() for value in (outputs, *gradients)]


def check_with(value, at, weight, cell, graphs=GRAPHS, switches=SWITCHES[:1]):
    """The outputs with another value of a weight's element, which options do not change."""
    inputs = cells.inputs_for(cell, graphs.num_vertices, "float64", 0)
    cell(graphs, inputs)
    before = weight(cell).numpy()
    numbers = before.copy()
    numbers[at] = value
    weight(cell).assign(numbers)
    try:
        plain = lambda: run_by_depth(cell, graphs, inputs, None)  # noqa: E731
        wanted = outputs_and_gradients(plain, cell, inputs)
        for options in switches:
            cell.options = options
            got = outputs_and_gradients(lambda: cell(graphs, inputs), cell, inputs)
            for one, other in zip(got, wanted, strict=True):
                finite = np.isfinite(other)
                np.testing.assert_array_equal(np.isfinite(one), finite, err_msg=str(options))
                np.testing.assert_allclose(one[finite], other[finite], 1e-9, err_msg=str(options))
            np.testing.assert_array_equal(np.isfinite(cell(graphs, inputs)), np.isfinite(got[0]))
    finally:
        cell.options = SWITCHES[0]
        weight(cell).assign(before)
    return got[0]


@pytest.mark.in_turns
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_weight_that_is_not_finite_shows_at_leaves(value, make):
    """Leaves gather zeros, and zero times infinity is NaN."""
    cell = make(cells.TreeLSTM)
    outputs = check_with(value, (1, 2), lambda cell: cell.uf.kernel, cell, switches=SWITCHES)
    assert not np.isfinite(outputs[0]).all()  # Vertex 0 is a leaf.


class Concatenated(cavs.GraphSupport):
    """Multiplies an input and the states of two children by one weight."""

    def __init__(self, **kwargs):
        super().__init__(state_size=cells.STATE, arity=2, **kwargs)
        self.dense = keras.layers.Dense(cells.STATE, activation="tanh", dtype=self.dtype)

    def vertex(self):
        state = self.dense(tf.concat([self.pull(), self.gather(0), self.gather(1)], 1))
        self.scatter(state)
        self.push(state)


@pytest.mark.parametrize("row", range(cells.FEATURES + 2 * cells.STATE))
def test_so_does_any_row_of_a_weight(row, make):
    """Leaves multiply zeros by some of its rows only."""
    cell = make(Concatenated)
    outputs = check_with(np.inf, (row, 0), lambda cell: cell.dense.kernel, cell)
    is_input = row < cells.FEATURES  # The tangent of infinity is finite.
    assert np.isnan(outputs[0, 0]) == (not is_input)


@parametrize_pairs(
    cell_class=[cells.JointGates, cells.TransposedGates], row=[0, cells.FEATURES], gate=range(5)
)
def test_so_does_any_gate_of_one_product(cell_class, row, gate, make):
    """Leaves, of which there are many, compute some gates and multiply zeros by others' weights."""
    units, graphs = 64, cavs.GraphBatch.from_children([[[], [], [0, 1]]] * 20)
    at = (row, gate * units + 1)
    at = at[::-1] if cell_class.transpose else at
    check_with(np.inf, at, lambda cell: cell.w, make(cell_class, units=units), graphs)


class HalfZero(cavs.GraphSupport):
    """Multiplies a child's state beside what is computed of it, which is not zero at leaves.

    So wide that leaves run a program of their own.
    """

    units = 64

    def __init__(self, **kwargs):
        super().__init__(state_size=self.units, arity=1, **kwargs)
        self.w = keras.layers.Dense(self.units, dtype=self.dtype)
        self.u = self.add_weight(shape=(2 * self.units, self.units), name="u")

    def vertex(self):
        h, x = self.gather(0), self.w(self.pull())
        both = tf.concat([h * tf.sigmoid(x), tf.tanh(x + h)], axis=1)
        state = tf.tanh(both @ self.u)
        self.scatter(state)
        self.push(state)


@pytest.mark.parametrize("row", [0, HalfZero.units])
def test_so_does_what_leaves_multiply_by_the_zeros_of_an_operand(row, make):
    chains = cavs.GraphBatch.chain([2, 1] * 30)
    outputs = check_with(np.inf, (row, 1), lambda cell: cell.u, make(HalfZero), chains)
    assert np.isnan(outputs[0, 1]) == (row == 0)  # The tangent of infinity is finite.
