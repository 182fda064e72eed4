"""Derivatives of the pushes whose gradients are wanted, and of no others.

A push that the loss does not use has a gradient of zeros. Where its own derivative is infinite,
their product is NaN, so such a push must not be differentiated at all.
"""

import threading

import numpy as np
import tensorflow as tf


class PartialDerivatives:
    """Makes derivatives of some of the pushes when they are first wanted, and keeps them.

    Args:
      make: A function that takes a set of numbers of pushes and returns their derivative as
        (TensorFlow function, signature) pairs, or None if that derivative would read values
        that are not on the tape.
    """

    def __init__(self, make):
        self._make = make
        self._made = {}
        self._lock = threading.Lock()

    def of(self, wanted: frozenset) -> list | None:
        with self._lock, tf.init_scope():
            if wanted not in self._made:
                self._made[wanted] = self._make(wanted)
            return self._made[wanted]

    def attach(self, derivatives) -> None:
        """Stores this object in the graphs of `derivatives`, for `partial_derivatives` to find."""
        for derivative in derivatives:
            derivative.graph.cavs_partial_derivatives = self


def partial_derivatives(op) -> PartialDerivatives | None:
    """The partial derivatives of a CavsForward op; None if the op was loaded from a file."""
    function = op.get_attr("gradient_functions")[0]
    tape = op.outputs[-1]
    if tf.is_symbolic_tensor(tape):
        function = tape.graph._get_function(function.name)
    graph = getattr(function, "graph", None)
    return getattr(graph, "cavs_partial_derivatives", None)


def wanted_pushes(pushes, grads) -> frozenset:
    """The numbers of the floating-point pushes whose gradients are not known to be zero."""
    floating = [i for i, push in enumerate(pushes) if push.dtype.is_floating]
    if len(floating) == 1:
        return frozenset(floating)
    return frozenset(i for i in floating if not _is_zero(grads[i]))


def _is_zero(grad) -> bool:
    """Whether a gradient is known to be zero: TensorFlow makes zeros for results without one."""
    if grad is None:
        return True
    if isinstance(grad, tf.IndexedSlices):
        return False
    if not tf.is_symbolic_tensor(grad):
        return not np.any(grad.numpy())
    if grad.op.type == "ZerosLike":
        return True
    value = grad.op.inputs[1] if grad.op.type == "Fill" else grad
    constant = tf.get_static_value(value)
    return constant is not None and not np.any(constant)
