"""Infinities and NaN spread as they do in plain TensorFlow."""

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


@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("options", SWITCHES, ids=str)
def test_a_weight_that_is_not_finite_shows_at_leaves(value, options):
    """Leaves gather zeros, and zero times infinity is NaN."""
    tf.keras.utils.set_random_seed(1)
    cell = cells.TreeLSTM(dtype="float64", options=options)
    inputs = cells.inputs_for(cell, GRAPHS.num_vertices, "float64", 0)
    cell(GRAPHS, inputs)
    kernel = cell.uf.kernel
    numbers = kernel.numpy()
    numbers[1, 2] = value
    kernel.assign(numbers)
    got = outputs_and_gradients(lambda: cell(GRAPHS, inputs), cell, inputs)
    wanted = outputs_and_gradients(lambda: cavs.reference.run(cell, GRAPHS, inputs), cell, inputs)
    for one, other in zip(got, wanted, strict=True):
        finite = np.isfinite(other)
        np.testing.assert_array_equal(np.isfinite(one), finite)
        np.testing.assert_allclose(one[finite], other[finite], rtol=1e-9)
    assert not np.isfinite(got[0][0]).all()  # Vertex 0 is a leaf.
