"""Infinities and NaN spread as they do in plain TensorFlow."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests import cells
from tests.test_differential import SWITCHES

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1], [], [2, 3]], [[]], [[], [0], [1]]])


def outputs_and_gradients(call, cell, inputs):
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        outputs = call()
        loss = tf.reduce_sum(outputs)
    variables = cell.trainable_variables
    gradients = tape.gradient(loss, [inputs, *(v.value for v in variables)])
    return [tf.convert_to_tensor(value).numpy() for value in (outputs, *gradients)]


def check_with(value, at, weight, cell):
    """Sets a weight's element; returns the outputs, which equal the reference."""
    inputs = cells.inputs_for(cell, GRAPHS.num_vertices, "float64", 0)
    cell(GRAPHS, inputs)
    numbers = weight(cell).numpy()
    numbers[at] = value
    weight(cell).assign(numbers)
    got = outputs_and_gradients(lambda: cell(GRAPHS, inputs), cell, inputs)
    wanted = outputs_and_gradients(lambda: cavs.reference.run(cell, GRAPHS, inputs), cell, inputs)
    for one, other in zip(got, wanted, strict=True):
        finite = np.isfinite(other)
        np.testing.assert_array_equal(np.isfinite(one), finite)
        np.testing.assert_allclose(one[finite], other[finite], rtol=1e-9)
    np.testing.assert_array_equal(np.isfinite(cell(GRAPHS, inputs)), np.isfinite(got[0]))
    return got[0]


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("options", SWITCHES, ids=str)
def test_a_weight_that_is_not_finite_shows_at_leaves(value, options):
    """Leaves gather zeros, and zero times infinity is NaN."""
    cell = cells.TreeLSTM(dtype="float64", options=options)
    outputs = check_with(value, (1, 2), lambda cell: cell.uf.kernel, cell)
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
def test_so_does_any_row_of_a_weight(row):
    """Leaves multiply zeros by some of its rows only."""
    cell = Concatenated(dtype="float64")
    outputs = check_with(np.inf, (row, 0), lambda cell: cell.dense.kernel, cell)
    is_input = row < cells.FEATURES  # The tangent of infinity is finite.
    assert np.isnan(outputs[0, 0]) == (not is_input)


@pytest.mark.parametrize("cell_class", [cells.JointGates, cells.TransposedGates])
@pytest.mark.parametrize("row", [0, cells.FEATURES])
@pytest.mark.parametrize("gate", range(5))
def test_so_does_any_gate_of_one_product(cell_class, row, gate):
    """Leaves compute some of the gates only, and multiply zeros by the weights of others."""
    at = (row, gate * cells.STATE + 1)
    check_with(
        np.inf,
        at[::-1] if cell_class.transpose else at,
        lambda cell: cell.w,
        cell_class(dtype="float64"),
    )
