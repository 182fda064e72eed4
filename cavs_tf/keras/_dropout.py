"""Dropout of rows by a generator of this package."""

import keras
import tensorflow as tf

from cavs_tf._native.library import in_xla, ops


@keras.saving.register_keras_serializable(package="cavs_tf")
class Dropout(keras.layers.Dropout):
    """`keras.layers.Dropout` that draws its mask, ready to be multiplied, in one pass.

    Keras draws a number for each element, compares, and selects, in several passes over memory.
    With the same seed it drops other elements than this layer.

    Args:
      *args, **kwargs: Arguments of `keras.layers.Dropout`.

    Call arguments:
      inputs: Floating-point numbers of any shape, whose sizes after the first are known.
      training: Whether to drop anything.

    Returns:
      The shape and dtype of `inputs`.

    Source: Srivastava et al. 2014, "Dropout: a simple way to prevent neural networks from
    overfitting".

    Example:
    >>> import keras, numpy as np
    >>> keras.utils.set_random_seed(0)
    >>> out = Dropout(0.5)(tf.ones([1000, 10]), training=True)
    >>> np.unique(out)
    array([0., 2.], dtype=float32)
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.supports_jit = False  # XLA cannot compile custom ops.

    def call(self, inputs, training=False):
        whole = self.noise_shape is None and self.rate < 1 and inputs.shape[1:].is_fully_defined()
        if not training or self.rate == 0 or not whole or in_xla():
            return super().call(inputs, training)
        mask = ops.cavs_dropout_mask(
            tf.range(tf.shape(inputs)[0]),
            tf.cast(self.seed_generator.next(), tf.int64),
            T=inputs.dtype,
            shape=inputs.shape[1:],
            rate=self.rate,
        )
        return inputs * mask
