"""What all tests run with."""

import os

# Guard zones around all buffers of a step (cc/exec/guards.h): who writes outside of one is found.
os.environ.setdefault("CAVS_GUARD_ZONES", "1")
