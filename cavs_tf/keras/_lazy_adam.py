"""Adam for models with large tables of embeddings."""

import keras
import tensorflow as tf

from cavs_tf._library import in_xla, ops
from cavs_tf._wide_sums import sum_of_segments
from cavs_tf.keras._updates import UpdatesAtOnce


@keras.saving.register_keras_serializable(package="cavs_tf")
class LazyAdam(UpdatesAtOnce, keras.optimizers.Adam):
    """Adam that updates only those rows of an embedding that the minibatch looked up.

    `keras.optimizers.Adam` reads and writes every row of an embedding, and of both of its moments,
    in every step: with 16,000 words of 128 numbers these are 32 MB of memory traffic, more than
    all the rest of a step of a small model. Here the moments of a row decay only in steps that
    look it up, so a rare word moves less after it was seen last. Other variables are
    updated as by `keras.optimizers.Adam`, all by one operator.

    The gradients of a row that is looked up several times are summed before they are squared,
    which `keras.optimizers.Adam` leaves out for `tf.IndexedSlices`.

    Weight decay, `use_ema` and `gradient_accumulation_steps` touch all rows, as in Keras, and
    `amsgrad` all of every variable.

    Args:
      *args, **kwargs: As of `keras.optimizers.Adam`.

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
        """As of `keras.optimizers.Adam`; gradients may be `tf.IndexedSlices`."""
        super().apply([self._summed(gradient) for gradient in grads], trainable_variables)

    def _summed(self, gradient):
        """Sums rows of one index where `update_step`, which sums too, would be too late."""
        ways = (self.clipnorm, self.clipvalue, self.global_clipnorm)
        changes = any(ways) or self.gradient_accumulation_steps or self.amsgrad or in_xla()
        if not changes or not isinstance(gradient, tf.IndexedSlices):
            return gradient
        rows, places = tf.unique(gradient.indices)
        values = sum_of_segments(gradient.values, places, tf.size(rows))
        return tf.IndexedSlices(values, rows, gradient.dense_shape)

    def _has_operator(self, variable) -> bool:
        return not self.amsgrad and super()._has_operator(variable)

    def update_step(self, gradient, variable, learning_rate):
        if self.amsgrad:
            super().update_step(gradient, variable, learning_rate)
        elif isinstance(gradient, tf.IndexedSlices):
            self._update_rows(gradient, variable, learning_rate)
        else:
            self._update_one(gradient, variable, learning_rate)

    def _moments(self, variable):
        index = self._get_variable_index(variable)
        return self._momentums[index].value, self._velocities[index].value

    def _of_step(self, dtype, learning_rate):
        """The learning rate, and the moments' decay rates to the power of the step's number."""
        number = tf.cast(self.iterations + 1, dtype)
        powers = [tf.cast(beta, dtype) ** number for beta in (self.beta_1, self.beta_2)]
        return tf.cast(learning_rate, dtype), *powers

    def _scalars(self, learning_rate):
        rate, power_1, power_2 = self._of_step(tf.float64, learning_rate)
        rate *= tf.sqrt(1 - power_2) / (1 - power_1)
        return rate, self.beta_1, self.beta_2, self.epsilon

    def _update_all(self, gradients, variables, learning_rate):
        parts = [(variable, *self._moments(variable)) for variable in variables]
        handles = [[part.handle for part in same] for same in zip(*parts, strict=True)]
        ops.cavs_adam(*handles, *self._scalars(learning_rate), gradients)

    def _update_one(self, gradient, variable, learning_rate):
        moments = self._moments(variable)
        rate, power_1, power_2 = self._of_step(variable.dtype, learning_rate)
        tf.raw_ops.ResourceApplyAdam(
            var=variable.handle,
            m=moments[0].handle,
            v=moments[1].handle,
            beta1_power=power_1,
            beta2_power=power_2,
            lr=rate,
            beta1=tf.cast(self.beta_1, variable.dtype),
            beta2=tf.cast(self.beta_2, variable.dtype),
            epsilon=tf.cast(self.epsilon, variable.dtype),
            grad=tf.cast(gradient, variable.dtype),
        )

    def _update_rows(self, gradient, variable, learning_rate):
        rows, values = gradient.indices, tf.cast(gradient.values, variable.dtype)
        moments, scalars = self._moments(variable), self._scalars(learning_rate)
        if in_xla():
            self._update_rows_by_operators(rows, values, variable, moments, scalars[0])
            return
        handles = [part.handle for part in (variable, *moments)]
        ops.cavs_lazy_adam(*handles, *scalars, values, rows)

    def _update_rows_by_operators(self, rows, values, variable, moments, rate):
        """For XLA, which cannot compile custom ops. No row occurs twice."""
        first, second = (tf.gather(moment, rows) for moment in moments)
        first += (values - first) * (1 - self.beta_1)
        second += (tf.square(values) - second) * (1 - self.beta_2)
        for moment, of_rows in zip(moments, (first, second), strict=True):
            moment.scatter_update(tf.IndexedSlices(of_rows, rows))
        change = tf.cast(rate, variable.dtype) * first / (tf.sqrt(second) + self.epsilon)
        variable.scatter_sub(tf.IndexedSlices(change, rows))
