"""Trees in the bracketed form of the Penn Treebank and the Stanford Sentiment Treebank.

Sources: Marcus et al. 1993, "Building a large annotated corpus of English"; Socher et al.
2013, "Recursive deep models for semantic compositionality over a sentiment treebank".
"""

import itertools
import os
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from cavs_tf._values.arguments import check_bools, checked_size
from cavs_tf.data._bracket_grammar import TOKEN, class_of, tree_of, unescaped
from cavs_tf.data._examples import from_arrays
from cavs_tf.data._streams import decoded, located, numbered_lines
from cavs_tf.data._vocabulary import Vocabulary, check_vocabulary


class _Trees(NamedTuple):
    """All trees of a file, children before parents, roots last."""

    graph_splits: list[int]
    children: list[list[int]]  # Child ids of each vertex, relative to its tree.
    labels: list[int]
    words: list[str]  # One per vertex; empty for an inner vertex.


def ptb_trees(
    path: str | os.PathLike,
    vocabulary: Vocabulary | None = None,
    *,
    num_classes: int = 5,
    unescape: bool = True,
) -> tf.data.Dataset:
    r"""Reads a file of labelled trees, one per line, such as the Stanford Sentiment Treebank.

    A line is `(label word)` or `(label tree tree ...)`, with one tree inside or more, for
    example `(3 (2 It) (4 (2 's) (4 good)))`. Empty lines are skipped. The vertices of a
    tree stand in post-order: children before their parent, from left to right, the root last.

    Args:
      path: The file, in UTF-8.
      vocabulary: The `Vocabulary` that numbers the words, from
        `ptb_vocabulary`. None: the dataset has the words themselves.
      num_classes: Labels are in [0, num_classes).
      unescape: Whether to undo the treebank's escapes: `-LRB-` to `(`, likewise -RRB-, -LSB-,
        -RSB-, -LCB-, -RCB- in either case, `\/` to `/`, `\*` to `*`, `\(` to `(` and `\)` to `)`.
        Quotes stay as they are.

    Returns:
      A dataset of one dict per tree of n vertices, for `cavs_tf.data.batch`:
        children: int32 RaggedTensor [n, (slots)], ids relative to the tree.
        word: string [n], empty for inner vertices. Without a vocabulary.
        token: int32 [n], in [0, len(vocabulary)). With one.
        vertex_label: int32 [n], in [0, num_classes).
        inner: int32 [n], 1 for a vertex with children, 0 for a word: a vertex type.
        label: int32, the root's label.

    Raises:
      ValueError: If the file has another form. The message names file and line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "trees.txt")
    >>> _ = path.write_text("(3 (2 It) (4 (2 's) (4 good)))\n")
    >>> next(iter(ptb_trees(path)))["children"].to_list()
    [[], [], [], [1, 2], [0, 3]]
    """
    check_vocabulary(vocabulary)
    trees = _read(path, num_classes, unescape)
    counts = np.array([len(slots) for slots in trees.children], np.int64)
    flat = np.fromiter(itertools.chain.from_iterable(trees.children), np.int32)
    labels = np.array(trees.labels, np.int32)
    splits = np.array(trees.graph_splits)
    features = {
        "children": tf.RaggedTensor.from_row_lengths(flat, counts),
        "vertex_label": labels,
        "inner": (counts > 0).astype(np.int32),
    }
    if vocabulary is None:
        # An object array keeps its element type even when it is empty.
        features["word"] = np.array(trees.words, object) if trees.words else np.zeros(0, "S")
    else:
        features["token"] = vocabulary.ids(trees.words)
    return from_arrays(splits, features, {"label": labels[splits[1:] - 1]})


def ptb_vocabulary(
    path: str | os.PathLike, min_count: int = 1, *, num_classes: int = 5, unescape: bool = True
) -> Vocabulary:
    """The words that occur at least `min_count` times in a file that `ptb_trees` reads."""
    return Vocabulary.from_words(_read(path, num_classes, unescape).words, min_count)


def _read(path, num_classes: int, unescape: bool) -> _Trees:
    check_bools(unescape=unescape)
    num_classes = checked_size("num_classes", num_classes)
    trees = _Trees([0], [], [], [])
    for number, line in numbered_lines(path):
        with located(path, number):
            tokens = TOKEN.findall(decoded(line))
            if tokens:
                tree = tree_of(tokens, labelled=True, traces=True, unescape=False)
                trees.labels.extend(class_of(label, num_classes) for label in tree["category"])
                trees.children.extend(tree["children"])
                trees.words.extend(tree["word"])
                trees.graph_splits.append(len(trees.labels))
    if unescape:
        # Each distinct word is unescaped once.
        plain = {word: unescaped(word) for word in set(trees.words)}
        trees.words[:] = [plain[word] for word in trees.words]
    return trees
