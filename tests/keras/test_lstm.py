import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import LSTM

UNITS, FEATURES, STEPS = 4, 3, 6
LENGTHS = np.array([6, 2, 0, 3])
RIGHT_PADDED = np.arange(STEPS) < LENGTHS[:, None]
MASKS = {
    "none": None,
    "right": RIGHT_PADDED,
    "left": RIGHT_PADDED[:, ::-1],
    "scattered": np.random.default_rng(0).random((4, STEPS)) < 0.5,
}


def sequences(dtype="float32"):
    return tf.constant(np.random.default_rng(1).normal(size=(4, STEPS, FEATURES)), dtype)


def pair(**kwargs):
    """Our LSTM and that of Keras, with the same weights, away from the initial ones."""
    ours, theirs = LSTM(UNITS, **kwargs), keras.layers.LSTM(UNITS, **kwargs)
    x = sequences(kwargs.get("dtype", "float32"))
    ours(x), theirs(x)
    random = np.random.default_rng(2)
    weights = [random.normal(size=w.shape) for w in theirs.get_weights()]
    ours.set_weights(weights)
    theirs.set_weights(weights)
    return ours, theirs


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("return_sequences", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_equals_keras_lstm_for_any_mask(return_sequences, mask, dtype):
    ours, theirs = pair(return_sequences=return_sequences, dtype=dtype)
    mask = None if MASKS[mask] is None else tf.constant(MASKS[mask])
    x = sequences(dtype)
    got, want = ours(x, mask=mask), theirs(x, mask=mask)
    assert got.shape == want.shape and got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_gradients_equal_those_of_keras_lstm():
    ours, theirs = pair(return_sequences=True)
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


@pytest.mark.parametrize("return_sequences", [False, True])
def test_padded_ragged_and_graphs_agree(return_sequences):
    layer, _ = pair(return_sequences=return_sequences)
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


def test_takes_the_place_of_the_keras_layer_in_a_model(tmp_path):
    def build(layer):
        token = keras.Input((None,), dtype="int32")
        x = keras.layers.Embedding(10, FEATURES, mask_zero=True)(token)
        x = layer(UNITS, return_sequences=True)(x)
        x = layer(UNITS)(x)
        return keras.Model(token, keras.layers.Dense(2)(x))

    keras.utils.set_random_seed(0)
    ours, theirs = build(LSTM), build(keras.layers.LSTM)
    ours.set_weights(theirs.get_weights())
    tokens = np.array([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])
    np.testing.assert_allclose(ours.predict(tokens, verbose=0), theirs(tokens), atol=1e-5)
    for model in (ours, theirs):
        model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
        model.fit(tokens, np.array([0, 1, 1]), epochs=3, verbose=0)
    for got, want in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-4)
    ours.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(tokens), ours(tokens))
