"""The environment of all tests."""

import os

# There are guard zones around all buffers of a step (cc/exec/guards.h), so that writes outside of
# one are found.
os.environ.setdefault("CAVS_GUARD_ZONES", "1")
