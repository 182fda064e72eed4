"""The environment of all tests."""

import gc
import os
import zlib

import keras
import pytest

# There are guard zones around all buffers of a step (cc/exec/guards.h), so that writes outside of
# one are found.
os.environ.setdefault("CAVS_GUARD_ZONES", "1")


def pytest_collection_finish():
    """Keeps the many objects of imported modules out of garbage collections."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _seeds(request):
    """Draws the same random numbers in every run of a test, so that a failure can be repeated."""
    keras.utils.set_random_seed(zlib.crc32(request.node.nodeid.encode()))
