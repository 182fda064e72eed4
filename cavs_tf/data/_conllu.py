"""Dependency trees in the CoNLL-U format of Universal Dependencies, by the package `conllu`."""

import functools
import itertools
import os
import re
from collections.abc import Iterator

import tensorflow as tf

from cavs_tf._values.packages import imported
from cavs_tf.data._heads import check_roots, children_of_heads
from cavs_tf.data._streams import Item, check_exists, decoded, located, numbered_lines, stream
from cavs_tf.data._vocabulary import Vocabulary


def conllu_trees(
    path: str | os.PathLike, vocabulary: Vocabulary | None = None, *, roots: str = "all"
) -> tf.data.Dataset:
    r"""Reads dependency trees. Needs the package `conllu`.

    The vertices are the words in their order; the children of a word are its dependents, from left
    to right. A token of several words, `3-4`, counts as its words; empty nodes, `3.1`, are
    left out.

    Args:
      path: The file, in UTF-8.
      vocabulary: The `Vocabulary` that numbers the forms of words, from
        `Vocabulary.from_dataset`. None: the dataset has the words themselves.
      roots: How several words whose head is 0 are treated. "all": all are roots, and layers that
        return a row for each graph add their rows up (see `cavs_tf.keras.Roots`). "first": the
        others become dependents of the first one. "artificial": all become dependents of an
        artificial root, a vertex without a word that every sentence has last.

    Returns:
      A dataset of one dict per sentence of n words, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the sentence; -1 fills empty slots.
        word: string [n], the form. Without a vocabulary.
        token: int32 [n], in [0, len(vocabulary)). With one.
        category: string [n], the universal part of speech.
        relation: string [n], to the head.

    Raises:
      ImportError: If `conllu` is not installed.
      ValueError: If `roots` has another value.
      tf.errors.InvalidArgumentError: From the dataset, if the file has another form. The message
        names file and line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "en.conllu")
    >>> rows = ["1 The the DET _ _ 2 det _ _", "2 cat cat NOUN _ _ 3 nsubj _ _"]
    >>> rows += ["3 sat sit VERB _ _ 0 root _ _"]
    >>> _ = path.write_text("\n".join(row.replace(" ", "\t") for row in rows) + "\n\n")
    >>> next(iter(conllu_trees(path)))["children"].numpy().tolist()
    [[-1], [0], [1]]
    """
    conllu = imported("conllu", "conllu_trees")
    check_exists(path)
    check_roots(roots)

    def read():
        for line, lines in _sentences(path):
            yield Item(path, line, functools.partial(_tree, conllu, path, line, lines, roots))

    features = dict.fromkeys(["children", "word", "category", "relation"])
    return stream(read, features, vocabulary)


def _sentences(path) -> Iterator[tuple[int, list[bytes]]]:
    """Yields the number of the first line of each sentence, and its lines, not comments alone."""
    lines, first = [], 1
    for number, line in itertools.chain(numbered_lines(path), [(None, b"")]):
        if line.strip():
            lines.append(line)
            continue
        if not all(other.startswith(b"#") for other in lines):
            yield first, lines
        lines, first = [], None if number is None else number + 1


def _tree(conllu, path, first: int, lines: list[bytes], roots: str) -> dict:
    for number, line in enumerate(lines, start=first):
        with located(path, number):
            _check_columns(decoded(line))
    try:
        [sentence] = conllu.parse("\n".join(map(decoded, lines)))
        words = [token for token in sentence if isinstance(token["id"], int)]
        tree = {
            "children": [],
            "word": [word["form"] for word in words],
            "category": [word["upos"] or "" for word in words],
            "relation": [word["deprel"] or "" for word in words],
        }
        heads = [word["head"] for word in words]
    except (conllu.exceptions.ParseException, KeyError, ValueError) as error:
        raise ValueError(
            f"got a sentence that conllu cannot read ({error}) but expected ten columns with tabs "
            "between them in each line. Correct the file."
        ) from None
    _check_ids([word["id"] for word in words])
    for vertex, head in enumerate(heads):
        if not isinstance(head, int) or not 0 <= head <= len(words) or head == vertex + 1:
            raise ValueError(
                f"got the head {head!r} of word {vertex + 1} but expected 0 for the root, or "
                f"another word in [1, {len(words)}]. Correct the sentence that begins in this line."
            )
    tree["children"] = children_of_heads(heads, roots)
    if roots == "artificial":
        for name in ("word", "category", "relation"):
            tree[name].append("")
    return tree


def _check_columns(line: str) -> None:
    """Raises ValueError if a word has more columns than the format: `conllu` would ignore some."""
    columns = re.split("\t|  +", line.rstrip(" "))
    if len(columns) > 10 and not line.startswith("#"):
        raise ValueError(
            f"got {len(columns)} columns but expected ten, with a tab or several blanks between "
            "them. Correct the line."
        )


def _check_ids(ids: list[int]) -> None:
    """Raises ValueError unless these are the numbers of the words of one sentence."""
    if not ids:
        raise ValueError("got a sentence without words but expected one or more. Remove it.")
    for expected, number in enumerate(ids, start=1):
        if number != expected:
            raise ValueError(
                f"got the word {number} where word {expected} comes but expected words numbered "
                "from 1 on. Put an empty line between sentences, or correct the numbers."
            )
