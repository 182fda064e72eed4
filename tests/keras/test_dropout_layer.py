"""`cavs_tf.keras.Dropout`, beside `keras.layers.Dropout`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from cavs_tf.keras import Dropout

X = tf.constant(np.random.default_rng(0).normal(size=[500, 4, 8]), tf.float32)


def dropped(layer, x=X):
    return layer(x, training=True).numpy() == 0


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_drops_the_share_and_scales_the_rest(dtype):
    x = tf.cast(X, dtype)
    out = Dropout(0.25, seed=1, dtype=dtype)(x, training=True)
    is_dropped = tf.cast(out, "float32").numpy() == 0
    assert abs(is_dropped.mean() - 0.25) < 0.01
    assert abs(is_dropped.mean(axis=0) - 0.25).max() < 0.1
    wanted = tf.cast(x * tf.cast(4 / 3, dtype), "float32").numpy()
    np.testing.assert_allclose(
        tf.cast(out, "float32").numpy()[~is_dropped],
        wanted[~is_dropped],
        rtol=1e-6 if dtype.startswith("float3") or dtype == "float64" else 1e-2,
    )


def test_every_call_has_a_mask_of_its_own_that_follows_from_the_seed():
    first, second = Dropout(0.5, seed=3), Dropout(0.5, seed=3)
    masks = [dropped(first), dropped(first)]
    assert not np.array_equal(*masks)
    np.testing.assert_array_equal(masks, [dropped(second), dropped(second)])
    assert not np.array_equal(masks[0], dropped(Dropout(0.5, seed=4)))


def test_the_gradient_is_that_of_what_was_kept():
    layer = Dropout(0.5, seed=1)
    with tf.GradientTape() as tape:
        tape.watch(X)
        out = layer(X, training=True)
        loss = tf.reduce_sum(out * X)
    gradient = tape.gradient(loss, X).numpy()
    np.testing.assert_allclose(gradient, 2 * out.numpy(), rtol=1e-6)
    assert (gradient == 0).mean() > 0.4


@pytest.mark.parametrize("arguments", [{"rate": 0.0}, {"rate": 0.5, "training": False}])
def test_passes_everything_where_nothing_is_dropped(arguments):
    training = arguments.pop("training", True)
    np.testing.assert_array_equal(Dropout(**arguments)(X, training=training), X)


@pytest.mark.parametrize("arguments", [{"noise_shape": (500, 1, 8)}, {"rate": 1.0}])
def test_is_that_of_keras_where_masks_are_shared_or_empty(arguments):
    arguments = {"rate": 0.5, "seed": 2} | arguments
    theirs = keras.layers.Dropout(**arguments)(X, training=True)
    np.testing.assert_array_equal(Dropout(**arguments)(X, training=True), theirs)


def test_fit_save_and_load(tmp_path):
    inputs = keras.Input([8])
    model = keras.Model(inputs, keras.layers.Dense(1)(Dropout(0.5, seed=1)(inputs)))
    model.compile("sgd", "mse")
    x = X[:, 0]
    model.fit(x, tf.zeros([500, 1]), verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(x), model(x))
    assert loaded.layers[1].get_config() == model.layers[1].get_config()
