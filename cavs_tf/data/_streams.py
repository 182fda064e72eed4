"""What readers of files share: examples one after another, and errors that name file and line."""

import contextlib
import itertools
import os
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from cavs_tf.data._vocabulary import Vocabulary

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


def stream(
    read: Callable[[], Iterator[dict]], features: dict, vocabulary: Vocabulary | None
) -> tf.data.Dataset:
    """A dataset of what `read()` yields, which holds one example at a time.

    Args:
      read: Yields examples: dicts of lists, and of such dicts for examples of several
        structures. "children" is one list of child ids per vertex.
      features: The names of features, in dicts as the examples are, each with its TensorSpec;
        None for those that readers have in common.
      vocabulary: Turns "word" into "token", or None.
    """

    def generate():
        return (_arrays(example, vocabulary) for example in read())

    def spec(names):
        specs = {}
        for name, part in names.items():
            renamed = _renamed(name, vocabulary)
            given = part if renamed == name else None
            specs[renamed] = spec(part) if isinstance(part, dict) else given or _STRUCTURE[renamed]
        return specs

    return tf.data.Dataset.from_generator(generate, output_signature=spec(features))


def numbered_lines(path: str | os.PathLike) -> Iterator[tuple[int, str]]:
    """Yields the number of each line, from 1 on, and the line without its end."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield number, line.decode("utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                raise ValueError(
                    f"{path}:{number}: got the byte {error.object[error.start]:#x} but expected "
                    "UTF-8. Convert the file."
                ) from None


def lines_of(*paths: str | os.PathLike) -> Iterator[tuple]:
    """Yields the number of each line, and that line of every file; all have as many lines."""
    for number, lines in enumerate(itertools.zip_longest(*map(numbered_lines, paths)), start=1):
        if None in lines:
            short, long = (
                next(path for path, line in zip(paths, lines, strict=True) if (line is None) == end)
                for end in (True, False)
            )
            raise ValueError(
                f"{short}:{number}: got the end of the file but expected as many lines as {long} "
                "has. Pass files of the same trees."
            )
        yield number, *(text for _, text in lines)


@contextlib.contextmanager
def located(path: str | os.PathLike, line: int):
    """Puts file and line before the message of a ValueError."""
    try:
        yield
    except ValueError as error:
        raise ValueError(f"{path}:{line}: {error}") from None


def check_exists(path: str | os.PathLike) -> None:
    """Raises OSError now, and not when the first example is read, if there is no such file."""
    with open(path, "rb"):
        pass


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
            arrays[name] = values
    return arrays


def _padded(children: list[list[int]]) -> np.ndarray:
    """[n, K], with -1 for missing children."""
    slots = max(map(len, children), default=0)
    return np.array([[*c, *[-1] * (slots - len(c))] for c in children], np.int32).reshape(
        len(children), slots
    )
