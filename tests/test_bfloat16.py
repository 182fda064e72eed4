"""bfloat16 by native kernels: how near to float32, and how little is left to TensorFlow."""

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.explain import describe
from cavs_tf.keras import LSTM, TreeLSTM
from tests import cells


def step(call, cell, graphs, x):
    """The outputs, and the gradients of all that a step depends on, as float64."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = call(graphs, x)
        loss = tf.reduce_sum(tf.cast(outputs, tf.float32) ** 2)
    gradients = tape.gradient(loss, [x, *cell.trainable_variables])
    return [np.asarray(tf.convert_to_tensor(v), np.float64) for v in [outputs, *gradients]]


def mean_error(values, right):
    """Relative to the size of each tensor."""
    errors = [np.linalg.norm(x - y) / np.linalg.norm(y) for x, y in zip(values, right, strict=True)]
    return np.mean(errors)


@pytest.mark.parametrize("cell_class", [cells.Linear, cells.TreeLSTM])
def test_no_further_from_float32_than_tensorflow_is_in_bfloat16(cell_class):
    tf.keras.utils.set_random_seed(5)
    graphs = cells.random_graphs(1, 60, 5)
    cell, exact = cell_class(dtype="bfloat16"), cell_class(dtype="float32")
    x = cells.inputs_for(cell, graphs.num_vertices, "bfloat16", 0)
    for model in (cell, exact):  # Creates the weights.
        model(graphs, tf.cast(x, model.dtype))
    for low, high in zip(cell.trainable_variables, exact.trainable_variables, strict=True):
        high.assign(tf.cast(low, tf.float32))
    want = step(exact, exact, graphs, tf.cast(x, tf.float32))
    native = step(cell, cell, graphs, x)
    slow = step(lambda graphs, x: cavs.reference.run(cell, graphs, x), cell, graphs, x)
    assert mean_error(native, want) <= mean_error(slow, want) < 0.02


class Affine(cavs.GraphSupport):
    """Its gradients are sums over all vertices of what they are given."""

    arity = 1

    def __init__(self, **kwargs):
        super().__init__(state_size=2, dtype="bfloat16", **kwargs)
        self.dense = tf.keras.layers.Dense(2, dtype="bfloat16")

    def vertex(self):
        y = self.dense(self.pull())
        self.scatter(y + self.gather(0))
        self.push(y)


@pytest.mark.parametrize(
    "options",
    [
        cavs.Options(),
        cavs.Options(eager=False, lazy=False),
        cavs.Options(micro_batch=1),
        cavs.Options(streams=2),
    ],
    ids=str,
)
def test_gradients_of_weights_are_added_up_in_float32(options):
    # In bfloat16, 256 + 1 is 256.
    graphs = cavs.GraphBatch.chain([900, 100])
    cell = Affine(options=options)
    x = tf.ones([1000, 2], tf.bfloat16)
    with tf.GradientTape() as tape:
        outputs = cell(graphs, x)
    ones = tf.ones_like(outputs)
    for gradient in tape.gradient(outputs, cell.trainable_variables, ones):
        np.testing.assert_array_equal(tf.cast(gradient, tf.float32), np.full(gradient.shape, 1000))


def test_no_vertices_give_zero_gradients():
    graphs = cavs.GraphBatch.chain([])
    cell = Affine()
    with tf.GradientTape() as tape:
        outputs = cell(graphs, tf.ones([0, 2], tf.bfloat16))
    for gradient in tape.gradient(outputs, cell.trainable_variables):
        np.testing.assert_array_equal(tf.cast(gradient, tf.float32), np.zeros(gradient.shape))


@pytest.mark.parametrize("layer_class", [TreeLSTM, LSTM])
def test_keras_mixed_bfloat16_leaves_no_rows_to_tensorflow(layer_class):
    layer = layer_class(32, dtype="mixed_bfloat16")
    graphs = cavs.GraphBatch.chain([5, 5])
    if layer_class is LSTM:
        layer(tf.zeros([2, 5, 8]))
    else:
        layer(graphs, tf.zeros([10, 8]))
    rows = tf.zeros([10, 8], tf.bfloat16)
    for program in describe(layer.cell, graphs, rows):
        stages = {node["stage"] for node in program["nodes"] if not node["native"]}
        assert stages <= {"prologue", "epilogue"}, program["title"]
