"""Optimizers that update all variables by one operator."""

import collections

import keras
import tensorflow as tf

from cavs_tf._native.library import has_operators


class UpdatesAtOnce:
    """A base class of Keras optimizers, which comes before the optimizer's own.

    `_update_all` updates the variables of one dtype on one device at once, unless their gradients
    are `tf.IndexedSlices`. `update_step` updates others one by one, and all variables where the
    operators of this package cannot be used.
    """

    def add_variable_from_reference(self, reference_variable, *args, **kwargs):
        """Makes a variable on the device of the other variable, as one operator takes both."""
        if tf.distribute.has_strategy():  # A strategy has a variable on each device.
            return super().add_variable_from_reference(reference_variable, *args, **kwargs)
        is_keras = isinstance(reference_variable, keras.Variable)
        value = reference_variable.value if is_keras else reference_variable
        with tf.device(value.device or None):
            return super().add_variable_from_reference(reference_variable, *args, **kwargs)

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        learning_rate = tf.cast(learning_rate, tf.float64)  # All updates read this once.
        variables = [v.value if isinstance(v, keras.Variable) else v for v in trainable_variables]
        together, others = collections.defaultdict(list), []
        for gradient, variable in zip(grads, variables, strict=True):
            at_once = not isinstance(gradient, tf.IndexedSlices) and self._has_operator(variable)
            place = (variable.device, variable.dtype)
            (together[place] if at_once else others).append((gradient, variable))
        for (_, dtype), pairs in together.items():
            gradients, own = zip(*pairs, strict=True)
            self._update_all([tf.cast(g, dtype) for g in gradients], own, learning_rate)
        if others:
            super()._backend_update_step(*zip(*others, strict=True), learning_rate)

    def _has_operator(self, *variables) -> bool:
        mirrored = self._distribution_strategy is not tf.distribute.get_strategy()
        return not mirrored and has_operators(*variables)

    def _update_all(self, gradients, variables, learning_rate) -> None:
        """Updates variables of one dtype, which the gradients have, too, on one device."""
        raise NotImplementedError
