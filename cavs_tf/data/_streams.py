"""Datasets of the examples in files, and errors that name file and line."""

import codecs
import contextlib
import itertools
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from cavs_tf._native.library import ops
from cavs_tf.data._vocabulary import Vocabulary, check_vocabulary

_STRUCTURE = {
    "children": tf.TensorSpec([None, None], tf.int32),
    "word": tf.TensorSpec([None], tf.string),
    "token": tf.TensorSpec([None], tf.int32),
    "category": tf.TensorSpec([None], tf.string),
    "relation": tf.TensorSpec([None], tf.string),
    "score": tf.TensorSpec([None], tf.float32),
    "vertex_label": tf.TensorSpec([None], tf.int32),
    "inner": tf.TensorSpec([None], tf.int32),
    "label": tf.TensorSpec([], tf.int32),
}


class Item(NamedTuple):
    """An example that has not been read: its place in a file, and a function that makes it.

    Attributes:
      path, line: The file, and the line in which the example begins.
      make: Returns the example, a dict of lists, and of such dicts for examples of several
        structures, or raises ValueError. "children" is one list of child ids per vertex.
    """

    path: str | os.PathLike
    line: int
    make: Callable[[], dict]


class LocatedError(ValueError):
    """An error whose message names file and line."""


def stream(
    read: Callable[[], Iterator[Item]], features: dict, vocabulary: Vocabulary | None
) -> tf.data.Dataset:
    """A dataset of the examples that `read()` finds, which holds one at a time.

    The items are counted at once, without making their examples. If an example cannot be made, the
    dataset raises an error in its place, and goes on with the next one.

    Args:
      read: Yields an item for each example.
      features: The TensorSpec of each feature by name, in dicts as the examples are. None stands
        for the spec that all readers share.
      vocabulary: The `Vocabulary` that turns "word" into "token", or None.
    """

    def spec(names):
        specs = {}
        for name, part in names.items():
            renamed = _renamed(name, vocabulary)
            given = part if renamed == name else None
            specs[renamed] = spec(part) if isinstance(part, dict) else given or _STRUCTURE[renamed]
        return specs

    specs = spec(features)
    nothing = tf.nest.map_structure(_nothing, specs)

    check_vocabulary(vocabulary)
    count = sum(1 for _ in _makers(read, vocabulary))

    def generate():
        for make in _exactly(count, _makers(read, vocabulary)):
            try:
                yield "", make()
            except Exception as error:  # A function of the user may raise anything.
                yield _sentence(error), nothing

    @tf.autograph.experimental.do_not_convert
    def checked(state, error_and_example):
        error, example = error_and_example
        features = ops.cavs_checked_example(error, tf.nest.flatten(example))
        return state, tf.nest.pack_sequence_as(example, features)

    dataset = tf.data.Dataset.from_generator(
        generate, output_signature=(tf.TensorSpec([], tf.string), specs)
    )
    dataset = dataset.apply(tf.data.experimental.assert_cardinality(count))
    # Unlike `map`, `scan` adds nothing to the messages of its function.
    return dataset.scan(0, checked)


def numbered_lines(path: str | os.PathLike) -> Iterator[tuple[int, bytes]]:
    """Yields the number of each line, from 1 on, and the line without its end; see `decoded`.

    Lines end with a line feed, a carriage return or both, as in files that Python opens as text.
    """
    with open(path, "rb") as file:
        lines = itertools.chain.from_iterable(line.rstrip(b"\r\n").split(b"\r") for line in file)
        for number, line in enumerate(lines, start=1):
            # Programs on Windows begin files with this mark.
            yield number, line.removeprefix(codecs.BOM_UTF8) if number == 1 else line


def decoded(line: bytes) -> str:
    """The text of a line, or ValueError."""
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"got the byte {error.object[error.start]:#x} but expected UTF-8. Convert the file."
        ) from None


def lines_of(*paths: str | os.PathLike) -> Iterator[tuple]:
    """Yields the number of each line, and that line of every file; all have the same length."""
    for number, lines in enumerate(itertools.zip_longest(*map(numbered_lines, paths)), start=1):
        if None in lines:
            short, long = (
                next(path for path, line in zip(paths, lines, strict=True) if (line is None) == end)
                for end in (True, False)
            )
            raise LocatedError(
                f"{short}:{number}: got the end of the file but expected as many lines as {long} "
                "has. Pass files of the same trees."
            )
        yield number, *(line for _, line in lines)


@contextlib.contextmanager
def located(path: str | os.PathLike, line: int):
    """Puts file and line before the message of an error that has none yet."""
    try:
        yield
    except LocatedError:
        raise
    except ValueError as error:
        raise LocatedError(f"{path}:{line}: {error}") from None
    except Exception as error:
        raise LocatedError(f"{path}:{line}: {type(error).__name__}: {error}") from error


def check_exists(path: str | os.PathLike) -> None:
    """Raises OSError if the file does not exist, before any example is read."""
    with open(path, "rb"):
        pass


def _makers(read: Callable[[], Iterator[Item]], vocabulary) -> Iterator[Callable[[], dict]]:
    """Functions that make the examples; if reading fails, the last one raises its error."""

    def make(item: Item) -> dict:
        with located(item.path, item.line):
            return _arrays(item.make(), vocabulary)

    def fail(error: Exception):
        raise error

    try:
        for item in read():
            yield lambda item=item: make(item)
    except Exception as error:
        yield lambda error=error: fail(error)


def _exactly(count: int, makers: Iterator) -> Iterator:
    """As many functions as were counted, with errors if the files have changed since."""

    def fail():
        raise ValueError(
            f"files: got another number of examples but expected {count}, as there were when the "
            "dataset was made. Make it again."
        )

    for number in range(count):
        make = next(makers, fail)
        is_last = number == count - 1
        yield fail if is_last and next(makers, None) is not None else make


def _sentence(error: Exception) -> str:
    kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
    return f"{kind}{error}"


def _nothing(spec: tf.TensorSpec) -> np.ndarray:
    dtype = "S1" if spec.dtype == tf.string else spec.dtype.as_numpy_dtype
    return np.zeros([size or 0 for size in spec.shape], dtype)


def _renamed(name: str, vocabulary: Vocabulary | None) -> str:
    return "token" if name == "word" and vocabulary is not None else name


def _arrays(example: dict, vocabulary: Vocabulary | None) -> dict:
    arrays = {}
    for name, values in example.items():
        if isinstance(values, dict):
            arrays[name] = _arrays(values, vocabulary)
        elif name == "children":
            arrays[name] = _padded(values)
        elif name == "word" and vocabulary is not None:
            arrays["token"] = vocabulary.ids(values)
        else:
            arrays[name] = [*map(_encoded, values)] if isinstance(values, list) else values
    return arrays


def _encoded(value):
    """A string as bytes, as TensorFlow has them; other values as they are."""
    try:
        return value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise ValueError(
            f"got {value!r} but expected text that UTF-8 can hold. Correct the word."
        ) from None


def _padded(children: list[list[int]]) -> np.ndarray:
    """[n, K], with -1 for missing children."""
    slots = max(map(len, children), default=0)
    return np.array([[*c, *[-1] * (slots - len(c))] for c in children], np.int32).reshape(
        len(children), slots
    )
