"""Word lattices in the Python lattice format (PLF) of Moses, which cdec reads, too.

Source: Dyer et al. 2008, "Generalizing word lattice translation".
"""

import ast
import functools
import os

import tensorflow as tf

from cavs_tf.data._streams import Item, check_exists, decoded, numbered_lines, stream
from cavs_tf.data._vocabulary import Vocabulary


def word_lattices(path: str | os.PathLike, vocabulary: Vocabulary | None = None) -> tf.data.Dataset:
    """Reads word lattices, one per line, in the Python lattice format.

    A line is a tuple of nodes, a node a tuple of the arcs that leave it, and an arc is
    `('word', score, distance)`; it ends `distance` nodes further on. A vertex is an arc; its
    children are the arcs that end where it begins. The last vertex, without a word, is the end of
    the lattice, and its children are the arcs that lead there, so that a lattice has one root.

    Args:
      path: The file, in UTF-8.
      vocabulary: The `Vocabulary` that numbers the words, from
        `Vocabulary.from_dataset`. None: the dataset has the words themselves.

    Returns:
      A dataset of one dict per lattice of n vertices, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the lattice, ascending; -1 fills empty slots.
        word: string [n], empty for the end. Without a vocabulary.
        token: int32 [n], in [0, len(vocabulary)). With one.
        score: float32 [n], 1 for the end.

    Raises:
      tf.errors.InvalidArgumentError: From the dataset, if the file has another form. The message
        names file and line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "dev.plf")
    >>> _ = path.write_text("((('ice', .5, 1), ('iced', .5, 1),), (('tea', 1., 1),),)")
    >>> next(iter(word_lattices(path)))["children"].numpy().tolist()
    [[-1, -1], [-1, -1], [0, 1], [2, -1]]
    """
    check_exists(path)

    def read():
        for number, line in numbered_lines(path):
            yield Item(path, number, functools.partial(_lattice, line))

    return stream(read, dict.fromkeys(["children", "word", "score"]), vocabulary)


def _lattice(line: bytes) -> dict:
    nodes = _nodes(decoded(line))
    arrivals = [[] for _ in range(len(nodes) + 1)]  # The arcs that end at each node.
    lattice = {"children": [], "word": [], "score": []}
    for number, node in enumerate(nodes):
        if not node or (number and not arrivals[number]):
            raise ValueError(
                f"got the node {number} with {len(arrivals[number])} arcs that end there and "
                f"{len(node)} that begin but expected at least one of each. Remove the node."
            )
        for arc in node:
            word, score, distance = _arc(arc, len(nodes) - number)
            arrivals[number + distance].append(len(lattice["word"]))
            _add(lattice, arrivals[number], word, score)
    _add(lattice, arrivals[-1], "", 1.0)
    return lattice


def _add(lattice: dict, *values) -> None:
    for features, value in zip(lattice.values(), values, strict=True):
        features.append(value)


def _nodes(text: str) -> tuple:
    try:
        nodes = ast.literal_eval(text.strip() or "()")
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        nodes = None
    if not isinstance(nodes, tuple) or not all(isinstance(node, tuple) for node in nodes):
        raise ValueError(
            f"got {text[:60]!r} but expected a tuple of nodes, each a tuple of arcs. Write a "
            "comma behind a single one: '((('word', 1.0, 1),),)'."
        )
    return nodes


def _arc(arc, most: int) -> tuple[str, float, int]:
    is_arc = isinstance(arc, tuple) and [type(part) for part in arc] in (
        [str, float, int],
        [str, int, int],
    )
    if not is_arc or not 1 <= arc[2] <= most:
        raise ValueError(
            f"got the arc {arc!r} but expected ('word', score, distance), the distance in "
            f"[1, {most}], as there are so many nodes left. Correct the arc."
        )
    return arc
