"""Lets a tool evaluate the calls of a GraphSupport instead of its op."""

import contextlib
import contextvars
from collections.abc import Callable

import tensorflow as tf

_EVALUATOR = contextvars.ContextVar("evaluator", default=None)


@contextlib.contextmanager
def evaluation_by(function: Callable):
    """A scope in which calls return function(cell, graphs, inputs, at, pushes)."""
    token = _EVALUATOR.set((function, _graph()))
    try:
        yield
    finally:
        _EVALUATOR.reset(token)


def is_evaluated() -> bool:
    """Whether a tool evaluates the calls of a GraphSupport now."""
    return _EVALUATOR.get() is not None


def evaluator(name: str) -> Callable | None:
    """The function that evaluates a call of the GraphSupport `name`; None if its op does.

    Raises:
      ValueError: In a function that TensorFlow traces: the trace would keep using the function.
    """
    if _EVALUATOR.get() is None:
        return None
    function, graph = _EVALUATOR.get()
    if _graph() is not graph:
        raise ValueError(
            f"{name}: called in a tf.function but expected a call outside of any, so that what it "
            "is called with can be seen. Pass the layer itself with its graphs and inputs."
        )
    return function


def _graph():
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
