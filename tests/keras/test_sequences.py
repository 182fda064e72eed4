"""LSTM and GRU over sequences, compared with the layers of Keras that they replace."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import GRU, LSTM
from tests.helpers.pairwise import parametrize_pairs

UNITS, FEATURES, STEPS = 4, 3, 6
LENGTHS = np.array([6, 2, 0, 3])
RIGHT_PADDED = np.arange(STEPS) < LENGTHS[:, None]
MASKS = {
    "none": None,
    "right": RIGHT_PADDED,
    "left": RIGHT_PADDED[:, ::-1],
    "scattered": np.random.default_rng(0).random((4, STEPS)) < 0.5,
}
LAYERS = {
    "LSTM": (LSTM, keras.layers.LSTM),
    "LSTM without bias": (LSTM, keras.layers.LSTM, {"use_bias": False}),
    "GRU": (GRU, keras.layers.GRU),
    "GRU without bias": (GRU, keras.layers.GRU, {"use_bias": False}),
    "GRU, reset before": (GRU, keras.layers.GRU, {"reset_after": False}),
    "GRU, other activations": (
        GRU,
        keras.layers.GRU,
        {"activation": "relu", "recurrent_activation": "hard_sigmoid"},
    ),
}
each_layer = pytest.mark.parametrize("name", LAYERS)


def classes(name):
    """Our layer and that of Keras, as functions of units and further arguments."""
    ours, theirs, *arguments = LAYERS[name]
    return [functools.partial(layer, **(arguments or [{}])[0]) for layer in (ours, theirs)]


def sequences(dtype="float32"):
    return tf.constant(np.random.default_rng(1).normal(size=(4, STEPS, FEATURES)), dtype)


def pair(name, **kwargs):
    """Our layer and that of Keras, with the same random weights."""
    ours, theirs = (layer(UNITS, **kwargs) for layer in classes(name))
    x = sequences(kwargs.get("dtype", "float32"))
    ours(x), theirs(x)
    random = np.random.default_rng(2)
    weights = [random.normal(size=w.shape) for w in theirs.get_weights()]
    theirs.set_weights(weights)
    ours.set_weights(theirs.get_weights())
    return ours, theirs


@pytest.mark.in_turns
@parametrize_pairs(
    name=["LSTM", "GRU", "GRU, reset before"],
    return_sequences=[False, True],
    mask=MASKS,
    dtype=["float32", "float64"],
)
def test_equals_the_layer_of_keras_for_any_mask(name, return_sequences, mask, dtype):
    ours, theirs = pair(name, return_sequences=return_sequences, dtype=dtype)
    mask = None if MASKS[mask] is None else tf.constant(MASKS[mask])
    x = sequences(dtype)
    got, want = ours(x, mask=mask), theirs(x, mask=mask)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


@pytest.mark.in_turns
@each_layer
def test_gradients_equal_those_of_the_layer_of_keras(name):
    ours, theirs = pair(name, return_sequences=True)
    x, mask = sequences(), tf.constant(RIGHT_PADDED)
    gradients = []
    for layer in (ours, theirs):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = tf.where(mask[..., None], layer(x, mask=mask), 0.0)
            loss = tf.reduce_sum(tf.square(outputs))
        gradients.append(tape.gradient(loss, [x, *layer.trainable_variables]))
    for got, want in zip(*gradients, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@each_layer
def test_weights_start_as_those_of_the_layer_of_keras(name):
    layers = [layer(64, kernel_initializer="ones") for layer in classes(name)]
    for layer in layers:
        layer(sequences())
    for got, want in zip(*(layer.weights for layer in layers), strict=True):
        assert got.name == want.name and got.shape == want.shape
        if "recurrent" in got.name:
            np.testing.assert_allclose(got @ tf.transpose(got), np.eye(64), atol=1e-5)
        else:
            np.testing.assert_array_equal(got, want)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_regularizers_and_constraints_are_those_of_keras(name):
    arguments = {
        "kernel_regularizer": "l2",
        "recurrent_regularizer": keras.regularizers.L1(0.5),
        "bias_regularizer": "l1",
        "kernel_constraint": "non_neg",
        "recurrent_constraint": "unit_norm",
    }
    ours, theirs = pair(name, **arguments)
    got, want = (sorted(float(loss) for loss in layer.losses) for layer in (ours, theirs))
    np.testing.assert_allclose(got, want, rtol=1e-5)
    for layer in (ours, theirs):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(sequences()))
        weights = layer.trainable_variables
        keras.optimizers.SGD(0.1).apply(tape.gradient(loss, weights), weights)
    for got, want in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-5)


@pytest.mark.in_turns
def test_gru_of_whole_files_of_weights_of_keras(tmp_path):
    ours, theirs = pair("GRU")
    models = []
    for layer in (theirs, ours):
        x = keras.Input((None, FEATURES))
        models.append(keras.Model(x, layer(x)))
    models[0].save_weights(tmp_path / "theirs.weights.h5")
    ours.set_weights([np.zeros_like(w) for w in ours.get_weights()])
    models[1].load_weights(tmp_path / "theirs.weights.h5")
    np.testing.assert_allclose(models[1](sequences()), models[0](sequences()), atol=1e-6)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
@pytest.mark.parametrize("return_sequences", [False, True])
def test_padded_ragged_and_graphs_agree(name, return_sequences):
    layer, _ = pair(name, return_sequences=return_sequences)
    x, lengths = sequences(), tf.constant(LENGTHS)
    ragged = tf.RaggedTensor.from_tensor(x, lengths)
    padded = layer(x, mask=tf.constant(RIGHT_PADDED))
    from_ragged = layer(ragged)
    from_graphs = layer(cavs.GraphBatch.chain(LENGTHS), ragged.values)
    if return_sequences:
        np.testing.assert_allclose(from_ragged.values, padded[RIGHT_PADDED], atol=1e-6)
        np.testing.assert_array_equal(from_graphs, from_ragged.values)
        np.testing.assert_array_equal(from_ragged.row_lengths(), LENGTHS)
    else:
        np.testing.assert_allclose(from_ragged, padded, atol=1e-6)
        np.testing.assert_array_equal(from_graphs, from_ragged)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
@pytest.mark.parametrize("sizes", [[0, 0], [], [1]])
def test_sequences_without_steps_and_of_one(name, sizes):
    ours, theirs = pair(name)
    ragged = tf.RaggedTensor.from_row_lengths(sequences()[0, : sum(sizes)], sizes)
    want = np.zeros([len(sizes), UNITS])
    if sum(sizes):
        want = theirs(ragged.to_tensor())
    np.testing.assert_allclose(ours(ragged), want, atol=1e-6)


@pytest.mark.in_turns
@pytest.mark.parametrize("name", ["LSTM", "GRU"])
@pytest.mark.parametrize("zero", [False, True])
def test_padded_sequences_without_steps(name, zero):
    layer, x = {"LSTM": LSTM, "GRU": GRU}[name], tf.zeros([2, 0, 3])
    for backwards in (False, True):
        last = layer(UNITS, go_backwards=backwards, zero_output_for_mask=zero)
        np.testing.assert_array_equal(last(x), np.zeros([2, UNITS]))
        assert layer(UNITS, return_sequences=True, go_backwards=backwards)(x).shape == (2, 0, UNITS)


# test_states.py trains and saves models of the other two.
@pytest.mark.in_turns
@pytest.mark.parametrize("name", ["GRU, reset before"])
def test_takes_the_place_of_the_keras_layer_in_a_model(name, tmp_path):
    def build(layer):
        token = keras.Input((None,), dtype="int32")
        x = keras.layers.Embedding(10, FEATURES, mask_zero=True)(token)
        x = layer(UNITS, return_sequences=True)(x)
        x = layer(UNITS)(x)
        return keras.Model(token, keras.layers.Dense(2)(x))

    keras.utils.set_random_seed(0)
    ours, theirs = map(build, classes(name))
    ours.set_weights(theirs.get_weights())
    tokens = np.array([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])
    np.testing.assert_allclose(ours(tokens), theirs(tokens), atol=1e-5)
    for model in (ours, theirs):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # What is compared with need not be traced.
        model.compile("sgd", loss, run_eagerly=model is theirs)
        model.fit(tokens, np.array([0, 1, 1]), epochs=3, verbose=0)
    for got, want in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-4)
    ours.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(tokens), ours(tokens))
