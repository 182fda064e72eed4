"""Trees as the parent of each vertex, in a file beside one of tokens.

Sources: Socher et al. 2013, "Recursive deep models for semantic compositionality over a sentiment
treebank" (STree.txt, SOStr.txt); Tai et al. 2015, arXiv:1503.00075 (the files of its program).
"""

import os
from collections.abc import Iterator

import tensorflow as tf

from cavs_tf.data._streams import check_exists, lines_of, located, stream
from cavs_tf.data._vocabulary import Vocabulary


def parent_trees(
    parents: str | os.PathLike,
    tokens: str | os.PathLike,
    vocabulary: Vocabulary | None = None,
    *,
    separator: str | None = None,
) -> tf.data.Dataset:
    """Reads trees from a file of parents and one of tokens, line by line.

    A line of parents has one number for each vertex, counted from 1, 0 for the root; the line of
    tokens has the words of the first vertices: of all of a dependency tree (`a.parents` and
    `a.toks` of SICK), of the leaves of a constituency tree (`STree.txt` and `SOStr.txt`). For a
    folder of pairs there is `parent_pairs`; `tf.data.Dataset.zip({"left": ..., "right": ...})`
    makes pairs of any two.

    Args:
      parents, tokens: The files, in UTF-8.
      vocabulary: Numbers the words; see `Vocabulary.from_dataset`.
      separator: Between numbers, and between words: "|" in STree.txt; None: blanks.

    Returns:
      A dataset of one dict per tree of n vertices, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the tree, ascending, or -1.
        word: string [n], empty for vertices without one; or, with a vocabulary,
        token: int32 [n], in [0, len(vocabulary)).

    Raises:
      tf.errors.InvalidArgumentError: From the dataset, if the files are not of this form. The
        message names file and line.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "STree.txt").write_text("4|4|5|5|0\\n")
    >>> _ = (folder / "SOStr.txt").write_text("not|so|good\\n")
    >>> dataset = parent_trees(folder / "STree.txt", folder / "SOStr.txt", separator="|")
    >>> next(iter(dataset))["children"].numpy()[3:].tolist()
    [[0, 1], [2, 3]]
    """
    check_exists(parents)
    check_exists(tokens)

    return stream(
        lambda: read_trees(parents, tokens, separator),
        dict.fromkeys(["children", "word"]),
        vocabulary,
    )


def read_trees(parents, tokens, separator: str | None = None) -> Iterator[dict]:
    """Yields the trees of `parent_trees`."""
    for number, line, words in lines_of(parents, tokens):
        with located(parents, number):
            children = _children(line.split(separator))
        words = [word for word in words.split(separator) if word]
        with located(tokens, number):
            yield {"children": children, "word": _filled(words, len(children))}


def _children(parents: list[str]) -> list[list[int]]:
    children = [[] for _ in parents]
    for vertex, text in enumerate(parents, start=1):
        if not text.strip().isdecimal() or int(text) > len(parents) or int(text) == vertex:
            raise ValueError(
                f"got the parent {text!r} of vertex {vertex} but expected 0 for the root, or "
                f"another vertex in [1, {len(parents)}]. Correct the line, or the separator."
            )
        if int(text):
            children[int(text) - 1].append(vertex - 1)
    return children


def _filled(words: list[str], count: int) -> list[str]:
    if len(words) > count:
        raise ValueError(
            f"got {len(words)} words but expected at most {count}, one per vertex. Pass the tokens "
            "of the same tree."
        )
    return words + [""] * (count - len(words))
