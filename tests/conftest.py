"""The environment of all tests.

The process that only hands out tests to others imports this too, so TensorFlow is imported late.
"""

import gc
import os
import zlib
from unittest import mock

import pytest

from tests.helpers.turns import (  # noqa: F401
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_report_header,
)

# There are guard zones around all buffers of a step (cc/exec/guards.h), so that writes outside of
# one are found.
os.environ.setdefault("CAVS_GUARD_ZONES", "1")


def pytest_collectstart(collector):
    """Pipelines run as they are, except in long runs: half of their start is to optimize them.

    This holds for all pipelines of the process, and only before TensorFlow is used. The examples
    and some programs of the pages run in other processes, with pipelines that are optimized.
    """
    if collector.config.option.markexpr == "not long":
        import tensorflow as tf

        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})


def pytest_collection_finish():
    """Keeps the many objects of imported modules out of garbage collections, and makes these rare.

    A trace makes thousands of objects, most of which live on.
    """
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


# Tests that run their graphs as they are: to optimize them takes a quarter of the time.
AS_THEY_ARE = ("data", "inspect", "keras")


@pytest.fixture(autouse=True)
def _graphs_as_they_are(request):
    """Switches TensorFlow's optimizer of graphs off, except in long runs and in some modules.

    Such a module has `pytestmark = pytest.mark.optimized`: it tests whole models, or layers in
    loops, where the optimizer knows more than a trace.
    """
    import tensorflow as tf

    folder = request.path.parent
    plain = folder.name in AS_THEY_ARE and folder.parent.name == "tests"
    long = request.config.option.markexpr != "not long"
    optimized = not plain or long or request.node.get_closest_marker("optimized") is not None
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": not optimized})
    yield
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})


@pytest.fixture(autouse=True)
def _seeds(request):
    """Draws the same random numbers in every run of a test, so that a failure can be repeated."""
    import keras
    from tensorflow.python import pywrap_tfe

    # TensorFlow would forget all kernels, too. No other test has these seeds.
    with mock.patch.object(pywrap_tfe, "TFE_ContextClearCaches"):
        keras.utils.set_random_seed(zlib.crc32(request.node.nodeid.encode()))
