"""Trees as the parent of each vertex, in a file beside one of tokens.

Sources: Socher et al. 2013, "Recursive deep models for semantic compositionality over a sentiment
treebank" (STree.txt, SOStr.txt); Tai et al. 2015, arXiv:1503.00075 (the files of its program).
"""

import functools
import os
from typing import NamedTuple

import tensorflow as tf

from cavs_tf._values.arguments import check_bools
from cavs_tf.data._heads import check_roots, children_of_heads
from cavs_tf.data._streams import Item, check_exists, decoded, lines_of, located, stream
from cavs_tf.data._vocabulary import Vocabulary


def parent_trees(
    parents: str | os.PathLike,
    tokens: str | os.PathLike,
    vocabulary: Vocabulary | None = None,
    *,
    separator: str | None = None,
    roots: str = "all",
    skip_unparsed: bool = False,
) -> tf.data.Dataset:
    """Reads trees from a file of parents and one of tokens, line by line.

    A line of parents has one number for each vertex, counted from 1, 0 for the root; the line of
    tokens has the words of the first vertices: of all vertices of a dependency tree (`a.parents`
    and `a.toks` of SICK), or of the leaves of a constituency tree (`STree.txt` and `SOStr.txt`).
    For a folder of pairs there is `parent_pairs`; `tf.data.Dataset.zip({"left": ..., "right":
    ...})` makes pairs of any two datasets.

    Args:
      parents, tokens: The files, in UTF-8.
      vocabulary: The `Vocabulary` that numbers the words, from
        `Vocabulary.from_dataset`. None: the dataset has the words themselves.
      separator: Between numbers, and between words: "|" in STree.txt; None: blanks.
      roots: How several roots are treated; see `conllu_trees`.
      skip_unparsed: Whether vertices with the parent -1 are left out, with their words: parsers
        leave some vertices, such as punctuation, out of the tree. Otherwise they are rejected.

    Returns:
      A dataset of one dict per tree of n vertices, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the tree, ascending; -1 fills empty slots.
        word: string [n], empty for vertices without one. Without a vocabulary.
        token: int32 [n], in [0, len(vocabulary)). With one.

    Raises:
      ValueError: If `roots` or `separator` has another value.
      tf.errors.InvalidArgumentError: From the dataset, if a file has another form. The
        message names file and line.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "STree.txt").write_text("4|4|5|5|0\\n")
    >>> _ = (folder / "SOStr.txt").write_text("not|so|good\\n")
    >>> dataset = parent_trees(folder / "STree.txt", folder / "SOStr.txt", separator="|")
    >>> next(iter(dataset))["children"].numpy()[3:].tolist()
    [[0, 1], [2, 3]]
    """
    check_bools(skip_unparsed=skip_unparsed)
    if separator is not None and not (isinstance(separator, str) and separator):
        raise ValueError(
            f"separator: got {separator!r} but expected a string that is not empty, or None. Leave "
            "it out where blanks separate numbers and words."
        )
    check_exists(parents)
    check_exists(tokens)
    check_roots(roots)
    files = Files(parents, tokens, separator, roots, skip_unparsed)

    def read():
        for number, *lines in lines_of(parents, tokens):
            yield Item(parents, number, functools.partial(files.tree, number, *lines))

    return stream(read, dict.fromkeys(["children", "word"]), vocabulary)


class Files(NamedTuple):
    """A file of parents and one of tokens, with the other arguments of `parent_trees`."""

    parents: str | os.PathLike
    tokens: str | os.PathLike
    separator: str | None = None
    roots: str = "all"
    skip_unparsed: bool = False

    def tree(self, number: int, parents: bytes, tokens: bytes) -> dict:
        """The tree that two lines with this number spell."""
        with located(self.parents, number):
            heads = _heads(decoded(parents).split(self.separator), self.skip_unparsed)
        with located(self.tokens, number):
            words = [word for word in decoded(tokens).split(self.separator) if word]
            words = _filled(words, len(heads))
        with located(self.parents, number):
            heads, words = _without_unparsed(heads, words)
            children = children_of_heads(heads, self.roots)
        return {"children": children, "word": [*words, *[""] * (self.roots == "artificial")]}


def _heads(parents: list[str], skip_unparsed: bool) -> list[int]:
    """The numbers of the parents; with `skip_unparsed` some may be -1."""
    for vertex, text in enumerate(parents, start=1):
        is_unparsed = skip_unparsed and text.strip() == "-1"
        is_number = text.strip().isdecimal() and int(text) <= len(parents) and int(text) != vertex
        if not is_number and not is_unparsed:
            raise ValueError(
                f"got the parent {text!r} of vertex {vertex} but expected 0 for the root, or "
                f"another vertex in [1, {len(parents)}]. Correct the line, or the separator"
                + ("." if text.strip() != "-1" else ", or leave it out with skip_unparsed=True.")
            )
    return [int(text) for text in parents]


def _without_unparsed(heads: list[int], words: list[str]) -> tuple[list[int], list[str]]:
    """The heads and words without the vertices whose head is -1."""
    kept = [vertex for vertex, head in enumerate(heads) if head >= 0]
    if len(kept) == len(heads):
        return heads, words
    number = {0: 0} | {vertex + 1: i for i, vertex in enumerate(kept, start=1)}
    for vertex in kept:
        if heads[vertex] not in number:
            raise ValueError(
                f"got the parent {heads[vertex]} of vertex {vertex + 1} but expected one that is "
                "not left out, as its own parent is -1. Correct the line."
            )
    return [number[heads[vertex]] for vertex in kept], [words[vertex] for vertex in kept]


def _filled(words: list[str], count: int) -> list[str]:
    if len(words) > count:
        raise ValueError(
            f"got {len(words)} words but expected at most {count}, one per vertex. Pass the tokens "
            "of the same tree."
        )
    return words + [""] * (count - len(words))
