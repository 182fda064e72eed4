"""Who evaluates the calls of a GraphSupport: its op, unless a tool asks to."""

import contextlib
import contextvars
from collections.abc import Callable

import tensorflow as tf

_EVALUATOR = contextvars.ContextVar("evaluator", default=None)


@contextlib.contextmanager
def evaluated_by(function: Callable):
    """Meanwhile function(cell, graphs, inputs, at) is what calls of a GraphSupport return."""
    token = _EVALUATOR.set((function, _graph()))
    try:
        yield
    finally:
        _EVALUATOR.reset(token)


def evaluator(name: str) -> Callable | None:
    """Who evaluates a call of the GraphSupport `name`, if it is not its op.

    Raises:
      ValueError: In a function that TensorFlow traces, which would keep what is put in now.
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
