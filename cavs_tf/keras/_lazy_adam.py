"""Adam for models with large tables of embeddings."""

import keras
import tensorflow as tf

from cavs_tf._native.library import are_in_reach, ops
from cavs_tf._values.wide_sums import sum_of_segments, widened
from cavs_tf.keras._updates import UpdatesAtOnce


@keras.saving.register_keras_serializable(package="cavs_tf")
class LazyAdam(UpdatesAtOnce, keras.optimizers.Adam):
    """Adam that updates only the rows of an embedding that the minibatch looked up.

    `keras.optimizers.Adam` reads and writes every row of an embedding, and of both of its moments,
    in every step, which may take longer than all the rest of a step of a small model. Here the
    moments of a row decay only in steps that look it up, so a rare word moves less after it was
    seen last. Other variables are updated as by `keras.optimizers.Adam`, all by one operator.

    The gradients of a row that is looked up several times are summed before they are squared,
    which `keras.optimizers.Adam` leaves out for `tf.IndexedSlices`.

    Weight decay, `use_ema` and `gradient_accumulation_steps` touch all rows, as in Keras, and
    `amsgrad` all of every variable.

    Args:
      *args, **kwargs: Arguments of `keras.optimizers.Adam`.

    Source: Kingma and Ba 2014, "Adam: a method for stochastic optimization", arXiv:1412.6980,
    section 2; TensorFlow Addons' `LazyAdam` treated rows in the same way.

    Example:
    >>> import keras, numpy as np, cavs_tf as cavs
    >>> table = keras.layers.Embedding(1000, 4)
    >>> model = keras.Sequential([keras.Input([2], dtype="int32"), table])
    >>> model.compile(cavs.keras.LazyAdam(0.01), "mse")
    >>> _ = model.fit(np.array([[3, 5]]), np.zeros([1, 2, 4]), verbose=0)
    >>> momentum = model.optimizer.variables[2]
    >>> np.flatnonzero(np.any(momentum.numpy(), axis=1))
    array([3, 5])
    """

    def apply(self, grads, trainable_variables=None):
        """Does the same as in `keras.optimizers.Adam`; gradients may be `tf.IndexedSlices`."""
        super().apply([self._summed(gradient) for gradient in grads], trainable_variables)

    def _summed(self, gradient):
        """Sums rows of one index where `update_step`, which sums too, would be too late."""
        ways = (self.clipnorm, self.clipvalue, self.global_clipnorm)
        changes = any(ways) or self.gradient_accumulation_steps or self.amsgrad
        if not changes or not isinstance(gradient, tf.IndexedSlices):
            return gradient
        return _with_distinct_rows(gradient)

    def _has_operator(self, variable) -> bool:
        return not self.amsgrad and super()._has_operator(variable, *self._moments(variable))

    def update_step(self, gradient, variable, learning_rate):
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
            return
        parts = (variable, *self._moments(variable))
        if isinstance(gradient, tf.IndexedSlices) and are_in_reach(*parts):
            values = tf.cast(gradient.values, variable.dtype)
            handles = [part.handle for part in parts]
            numbers = self._numbers(learning_rate)
            ops.cavs_lazy_adam(*handles, *numbers, values, gradient.indices)
        else:
            self._update_by_operators(gradient, parts, self._corrected(learning_rate))

    def _moments(self, variable):
        index = self._get_variable_index(variable)
        return self._momentums[index].value, self._velocities[index].value

    def _numbers(self, learning_rate):
        """What our operators take of the rule."""
        steps = tf.cast(self.iterations, tf.int64)
        return tf.cast(learning_rate, tf.float64), steps, self.beta_1, self.beta_2, self.epsilon

    def _corrected(self, learning_rate):
        """The length of the step, with the correction of the bias of the moments."""
        number = tf.cast(self.iterations + 1, tf.float64)
        left = [1 - tf.cast(beta, tf.float64) ** number for beta in (self.beta_1, self.beta_2)]
        return tf.cast(learning_rate, tf.float64) * tf.sqrt(left[1]) / left[0]

    def _update_all(self, gradients, variables, learning_rate):
        parts = [(variable, *self._moments(variable)) for variable in variables]
        handles = [[part.handle for part in same] for same in zip(*parts, strict=True)]
        ops.cavs_adam(*handles, *self._numbers(learning_rate), gradients)

    def _update_by_operators(self, gradient, parts, rate):
        """Updates the rows of a gradient by TensorFlow's operators, which other devices have."""
        rows = None
        if isinstance(gradient, tf.IndexedSlices):
            gradient = _with_distinct_rows(gradient)
            rows, gradient = gradient.indices, gradient.values
        gradient = widened(gradient)
        variable, momentum, velocity = (widened(_read(part, rows)) for part in parts)
        gradient = tf.cast(gradient, variable.dtype)
        momentum += (gradient - momentum) * (1 - self.beta_1)
        velocity += (tf.square(gradient) - velocity) * (1 - self.beta_2)
        variable -= tf.cast(rate, variable.dtype) * momentum / (tf.sqrt(velocity) + self.epsilon)
        for part, new in zip(parts, (variable, momentum, velocity), strict=True):
            _write(part, rows, tf.cast(new, part.dtype))


def _with_distinct_rows(gradient: tf.IndexedSlices) -> tf.IndexedSlices:
    """Sums rows that have the same index."""
    rows, places = tf.unique(gradient.indices)
    values = sum_of_segments(gradient.values, places, tf.size(rows))
    return tf.IndexedSlices(values, rows, gradient.dense_shape)


# A variable of a strategy neither gathers nor scatters, but its handle does.
def _read(variable, rows):
    """Rows of a variable, or all of it."""
    if rows is None:
        return tf.raw_ops.ReadVariableOp(resource=variable.handle, dtype=variable.dtype)
    return tf.raw_ops.ResourceGather(resource=variable.handle, indices=rows, dtype=variable.dtype)


def _write(variable, rows, values):
    if rows is None:
        tf.raw_ops.AssignVariableOp(resource=variable.handle, value=values)
    else:
        tf.raw_ops.ResourceScatterUpdate(resource=variable.handle, indices=rows, updates=values)
