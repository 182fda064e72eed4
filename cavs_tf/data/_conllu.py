"""Dependency trees in the CoNLL-U format of Universal Dependencies, by the package `conllu`."""

import os
from collections.abc import Iterator

import tensorflow as tf

from cavs_tf.data._streams import check_exists, located, numbered_lines, stream
from cavs_tf.data._vocabulary import Vocabulary


def conllu_trees(path: str | os.PathLike, vocabulary: Vocabulary | None = None) -> tf.data.Dataset:
    r"""Reads dependency trees. Needs the package `conllu`.

    The vertices are the words in their order; the children of a word are its dependents, from left
    to right. Of tokens of several words, `3-4`, the words are taken; empty nodes, `3.1`, are
    left out.

    Args:
      path: The file, in UTF-8.
      vocabulary: Numbers the forms of words; see `Vocabulary.from_dataset`.

    Returns:
      A dataset of one dict per sentence of n words, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the sentence, or -1.
        word: string [n], the form; or, with a vocabulary,
        token: int32 [n], in [0, len(vocabulary)).
        category: string [n], the universal part of speech.
        relation: string [n], to the head.

    Raises:
      ImportError: If `conllu` is not installed.
      tf.errors.InvalidArgumentError: From the dataset, if the file is not of this form. The message
        names file and line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "en.conllu")
    >>> rows = ["1 The the DET _ _ 2 det _ _", "2 cat cat NOUN _ _ 3 nsubj _ _"]
    >>> rows += ["3 sat sit VERB _ _ 0 root _ _"]
    >>> _ = path.write_text("\n".join(row.replace(" ", "\t") for row in rows) + "\n\n")
    >>> next(iter(conllu_trees(path)))["children"].numpy().tolist()
    [[-1], [0], [1]]
    """
    import conllu  # Optional: only for files of this format.

    check_exists(path)

    def read():
        for line, text in _sentences(path):
            with located(path, line):
                yield _tree(conllu, text)

    features = dict.fromkeys(["children", "word", "category", "relation"])
    return stream(read, features, vocabulary)


def _sentences(path) -> Iterator[tuple[int, str]]:
    """Yields the text of each sentence, and the number of its first line."""
    lines, number = [], 0
    for number, line in numbered_lines(path):
        if line.strip():
            lines.append(line)
        elif lines:
            yield number - len(lines), "\n".join(lines)
            lines = []
    if lines:
        yield number - len(lines) + 1, "\n".join(lines)


def _tree(conllu, text: str) -> dict:
    try:
        [sentence] = conllu.parse(text)
        words = [token for token in sentence if isinstance(token["id"], int)]
        tree = {
            "children": [[] for _ in words],
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
    for vertex, head in enumerate(heads):
        if not isinstance(head, int) or head > len(words) or head == vertex + 1:
            raise ValueError(
                f"got the head {head!r} of word {vertex + 1} but expected 0 for the root, or "
                f"another word in [1, {len(words)}]. Correct the sentence that begins in this line."
            )
        if head:
            tree["children"][head - 1].append(vertex)
    return tree
