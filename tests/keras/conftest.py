"""Tests of layers run their graphs as they are: to optimize them takes a quarter of the time."""

import pytest
import tensorflow as tf


@pytest.fixture(autouse=True)
def _graphs_as_they_are(request):
    """Switches TensorFlow's optimizer of graphs off, except in long runs and in some modules.

    Such a module has `pytestmark = pytest.mark.optimized`: it tests whole models, or layers in
    loops, where the optimizer knows more than a trace.
    """
    long = request.config.option.markexpr != "not long"
    optimized = long or request.node.get_closest_marker("optimized") is not None
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": not optimized})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})
