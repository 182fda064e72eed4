"""Optimizers that update all variables by one operator."""

import collections

import keras
import tensorflow as tf

from cavs_tf._native.library import has_operators


class UpdatesAtOnce:
    """A base class of Keras optimizers, which comes before the optimizer's own.

    Variables whose gradients are no `tf.IndexedSlices` are updated by `_update_all`, those of one
    dtype at once; others, and all where our operators cannot be used, one by one by `update_step`.
    """

    def add_variable_from_reference(self, reference_variable, *args, **kwargs):
        """As of Keras, but the new variable is where the other is: one operator takes both."""
        if tf.distribute.has_strategy():  # It has a variable on each device.
            return super().add_variable_from_reference(reference_variable, *args, **kwargs)
        is_keras = isinstance(reference_variable, keras.Variable)
        value = reference_variable.value if is_keras else reference_variable
        with tf.device(value.device or None):
            return super().add_variable_from_reference(reference_variable, *args, **kwargs)

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        learning_rate = tf.convert_to_tensor(learning_rate)  # Which all updates read once.
        variables = [v.value if isinstance(v, keras.Variable) else v for v in trainable_variables]
        by_dtype, others = collections.defaultdict(list), []
        for gradient, variable in zip(grads, variables, strict=True):
            at_once = not isinstance(gradient, tf.IndexedSlices) and self._has_operator(variable)
            (by_dtype[variable.dtype] if at_once else others).append((gradient, variable))
        for dtype, pairs in by_dtype.items():
            gradients, own = zip(*pairs, strict=True)
            self._update_all([tf.cast(g, dtype) for g in gradients], own, learning_rate)
        if others:
            super()._backend_update_step(*zip(*others, strict=True), learning_rate)

    def _has_operator(self, variable) -> bool:
        mirrored = self._distribution_strategy is not tf.distribute.get_strategy()
        return not mirrored and has_operators(variable)

    def _update_all(self, gradients, variables, learning_rate) -> None:
        """Updates variables of one dtype, which is that of the gradients too."""
        raise NotImplementedError
