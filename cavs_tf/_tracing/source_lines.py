"""The frames of a traceback that are lines of a user's program, and the text of these lines."""

import linecache
import os
import sysconfig
import traceback

import keras
import tensorflow as tf

_HERE = os.path.dirname(__file__)  # The name of the folder of this package.
_LIBRARIES = tuple(
    os.path.join(os.path.dirname(path), "") for path in (tf.__file__, keras.__file__, _HERE)
)
_STANDARD_LIBRARY = sysconfig.get_path("stdlib")


def is_of_a_library(frame: traceback.FrameSummary) -> bool:
    """Whether a frame belongs to Python, TensorFlow, Keras or this package."""
    path = frame.filename
    if path == "<string>" and frame.name.startswith("cavs_"):
        return True  # TensorFlow makes the functions that call ops of ours.
    standard = path.startswith(_STANDARD_LIBRARY) and "site-packages" not in path
    return standard or path.startswith(_LIBRARIES)


def text_of(path: str, line: int) -> str:
    """The text of a line, or ""."""
    return linecache.getline(path, line).strip()
