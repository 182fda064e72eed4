"""The environment of all tests."""

import gc
import os

# There are guard zones around all buffers of a step (cc/exec/guards.h), so that writes outside of
# one are found.
os.environ.setdefault("CAVS_GUARD_ZONES", "1")


def pytest_collection_finish():
    """Keeps the many objects of imported modules out of garbage collections."""
    gc.freeze()
