"""Processes that tests start."""

import os
import sys


def environment() -> dict:
    """An environment in which Python finds the same `cavs_tf` as here, perhaps sanitized."""
    paths = [path for path in sys.path if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
