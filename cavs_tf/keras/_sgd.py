"""Gradient descent for small steps."""

import keras
import tensorflow as tf

from cavs_tf._native.library import ops
from cavs_tf.keras._updates import UpdatesAtOnce


@keras.saving.register_keras_serializable(package="cavs_tf")
class SGD(UpdatesAtOnce, keras.optimizers.SGD):
    """`keras.optimizers.SGD`, by one operator for all variables and one for each embedding.

    TensorFlow takes three operators for each variable, and updates the rows of an embedding one
    after the other on one thread, waiting for each to come from memory. Here all threads update
    rows, and ask for the next rows ahead.

    With momentum, and wherever the operators cannot be used, it is `keras.optimizers.SGD` itself.

    Args:
      *args, **kwargs: Arguments of `keras.optimizers.SGD`.

    Example:
    >>> import keras, numpy as np, cavs_tf as cavs
    >>> layer = keras.layers.Dense(1, kernel_initializer="ones")
    >>> model = keras.Sequential([keras.Input([2]), layer])
    >>> model.compile(cavs.keras.SGD(0.25), "mse")
    >>> _ = model.fit(np.array([[1.0, 0.0]]), np.zeros([1, 1]), verbose=0)
    >>> layer.kernel.numpy().tolist()
    [[0.5], [1.0]]
    """

    def _has_operator(self, variable) -> bool:
        return not self.momentum and super()._has_operator(variable)

    def _update_all(self, gradients, variables, learning_rate):
        handles = [variable.handle for variable in variables]
        ops.cavs_descent(handles, tf.cast(learning_rate, tf.float64), gradients)

    def update_step(self, gradient, variable, learning_rate):
        if not isinstance(gradient, tf.IndexedSlices) or not self._has_operator(variable):
            super().update_step(gradient, variable, learning_rate)
            return
        values = tf.cast(gradient.values, variable.dtype)
        rate = tf.cast(learning_rate, tf.float64)
        ops.cavs_lazy_descent(variable.handle, rate, values, gradient.indices)
