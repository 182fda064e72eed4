"""Programs that tests start."""

import os
import sys


def environment() -> dict:
    """In which a new Python finds the same `cavs_tf` as this one: the sanitized one, say."""
    paths = [path for path in sys.path if path]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
