"""`stateful=True`: the states after a minibatch are the initial ones of the next, as in Keras."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import GRU, LSTM
from tests.helpers.pairwise import parametrize_pairs

LAYERS = {LSTM: keras.layers.LSTM, GRU: keras.layers.GRU}
each_layer = pytest.mark.parametrize("layer", LAYERS)
X = tf.constant(np.random.default_rng(0).normal(size=(2, 6, 3)), tf.float32)
MASK = tf.constant([[True] * 6, [True, True, False, False, False, False]])


def rejects(message):
    return pytest.raises(ValueError, match=re.escape(message))


def pair(layer, **kwargs):
    """Our layer and that of Keras, with the same weights."""
    ours, theirs = (cls(4, stateful=True, **kwargs) for cls in (layer, LAYERS[layer]))
    ours.build((2, None, 3)), theirs.build((2, None, 3))
    ours.set_weights(theirs.get_weights())
    return ours, theirs


@pytest.mark.in_turns
@parametrize_pairs(
    layer=LAYERS, return_sequences=[False, True], go_backwards=[False, True], masked=[False, True]
)
def test_states_are_those_of_keras(layer, return_sequences, go_backwards, masked):
    mask = MASK if masked else None
    both = pair(layer, return_sequences=return_sequences, go_backwards=go_backwards)
    for _ in range(3):
        ours, theirs = (one(X, mask=mask) for one in both)
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    for ours, theirs in zip(both[0].states, both[1].states, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    for one in both:
        one.reset_state()
    np.testing.assert_allclose(both[0](X), both[1](X), rtol=1e-5, atol=1e-6)


@each_layer
def test_a_long_sequence_may_come_in_parts(layer):
    whole = layer(4)
    parts = layer(4, stateful=True)
    whole(X), parts(X)
    parts.set_weights(whole.get_weights())
    parts.reset_states()
    for begin in (0, 2, 4):
        got = parts(X[:, begin : begin + 2])
    np.testing.assert_allclose(got, whole(X), rtol=1e-5, atol=1e-6)


@each_layer
def test_an_initial_state_that_is_given_comes_first(layer):
    one = layer(4, stateful=True)
    given = [tf.ones([2, 4])] * len(one.cell.state_names)
    first = one(X, initial_state=given)
    one(X)
    np.testing.assert_array_equal(one(X, initial_state=given), first)


@pytest.mark.in_turns
@each_layer
def test_models_are_trained_as_with_the_layer_of_keras(layer):
    models = []
    for one in pair(layer):
        inputs = keras.Input(batch_shape=(2, 6, 3))
        model = keras.Model(inputs, keras.layers.Dense(1, kernel_initializer="ones")(one(inputs)))
        eagerly = not isinstance(one, layer)  # What is compared with need not be traced.
        model.compile(keras.optimizers.SGD(0.1), "mse", run_eagerly=eagerly)
        y = tf.ones([6, 1])
        model.fit(tf.concat([X, 2 * X, -X], 0), y, batch_size=2, shuffle=False, verbose=0)
        models.append(model)
    for ours, theirs in zip(*(model.get_weights() for model in models), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)
    ours, theirs = (model.predict(X, batch_size=2, verbose=0) for model in models)
    np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@each_layer
def test_states_are_no_weights_and_begin_at_zero_in_a_model_that_is_loaded(layer, tmp_path):
    inputs = keras.Input(batch_shape=(2, 6, 3))
    model = keras.Model(inputs, layer(4, stateful=True)(inputs))
    first = model(X)
    assert len(model.weights) == 3
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert again.layers[1].stateful
    np.testing.assert_array_equal(again(X), first)


def test_both_directions():
    ours, theirs = (
        keras.layers.Bidirectional(cls(4, stateful=True)) for cls in (LSTM, keras.layers.LSTM)
    )
    ours(X), theirs(X)
    ours.set_weights(theirs.get_weights())
    for one in (ours, theirs):
        one.reset_state()
    for _ in range(2):
        np.testing.assert_allclose(ours(X), theirs(X), rtol=1e-5, atol=1e-6)


@each_layer
def test_ragged_sequences(layer):
    one = layer(4, stateful=True)
    rows = tf.RaggedTensor.from_tensor(X, lengths=[6, 2])
    one(rows)
    dense = layer(4, stateful=True)
    dense(X)
    dense.set_weights(one.get_weights())
    one.reset_state(), dense.reset_state()
    for _ in range(2):
        np.testing.assert_allclose(one(rows), dense(X, mask=MASK), rtol=1e-5, atol=1e-6)


@each_layer
def test_the_number_of_sequences_is_known_and_stays(layer):
    with rejects("sequences: got shape (None, 6, 3) but expected a known number of sequences"):
        layer(4, stateful=True)(keras.Input((6, 3)))
    graphs = cavs.GraphBatch.chain([2, 3])
    with rejects("but expected a known number of sequences, as the layer is stateful. Make the in"):
        layer(4, stateful=True)(graphs, tf.ones([5, 3]))
    one = layer(4, stateful=True)
    one(X)
    with rejects("sequences: got 1 sequences but expected 2, as many as before, since the layer"):
        one(X[:1])
