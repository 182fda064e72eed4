"""Abstract values of captures: they have shapes, never values."""

import tensorflow as tf

from cavs_tf._tracing.inference.abstract import (
    MAX_INTEGERS,
    Abstract,
    Kind,
    axes_of_shape,
    invariant,
    is_numeric,
    unknown_integers,
)


def abstract_capture(name: str, capture) -> Abstract:
    """The abstract value of a `Capture` of vertex function `name`.

    Raises:
      ValueError: If it cannot be captured.
    """
    tensor = capture.placeholder
    if capture.by_handle:
        return Abstract(Kind.INVARIANT, (), element=invariant(axes_of_shape(capture.shape)))
    if not is_numeric(tensor.dtype):
        if tf.is_symbolic_tensor(capture.source):
            raise ValueError(
                f"{name}: captures a {capture.dtype.name} tensor of another graph but expected "
                "numbers. Pull it, or create it outside of tf.function."
            )
        return invariant(())
    shape = capture.shape
    if not shape.is_fully_defined():
        raise ValueError(
            f"{name}: captured tensor {tensor.name} got shape {shape} but expected a fully known "
            "one. Set its shape, or pull it."
        )
    if tensor.dtype.is_integer and shape.num_elements() <= MAX_INTEGERS:
        return unknown_integers(shape.as_list())
    return invariant(axes_of_shape(shape))


def value_of(capture):
    """The value of a capture, for operators that must be tried; None if it must not be used.

    Integers are not used: the findings of a trial for their values need not hold for others.
    """
    if capture.by_handle:
        return capture.source.handle
    if capture.dtype.is_integer or capture.dtype.is_bool:
        return None
    if capture.is_variable:
        return lambda rows: capture.source.read_value()
    return None if tf.is_symbolic_tensor(capture.source) else capture.source
