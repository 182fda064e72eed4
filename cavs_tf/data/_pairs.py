"""Pairs of sentences with a score of how alike they are.

Sources: Marelli et al. 2014, "A SICK cure for the evaluation of compositional distributional
semantic models"; Cer et al. 2017, "SemEval-2017 task 1: semantic textual similarity" (the STS
benchmark); Tai et al. 2015, arXiv:1503.00075 (the folders of its program).
"""

import functools
import math
import numbers
import os
import pathlib
from collections.abc import Callable

import tensorflow as tf

from cavs_tf._values.arguments import check_bools
from cavs_tf.data._cycles import check_acyclic
from cavs_tf.data._heads import check_roots
from cavs_tf.data._parents import Files
from cavs_tf.data._streams import (
    Item,
    check_exists,
    decoded,
    lines_of,
    located,
    numbered_lines,
    stream,
)
from cavs_tf.data._vocabulary import Vocabulary

_SIDE = dict.fromkeys(["children", "word"])
_PAIR = {"left": _SIDE, "right": _SIDE, "score": tf.TensorSpec([], tf.float32)}


def parent_pairs(
    folder: str | os.PathLike,
    vocabulary: Vocabulary | None = None,
    *,
    suffix: str = "parents",
    roots: str = "all",
    skip_unparsed: bool = False,
) -> tf.data.Dataset:
    """Reads pairs of parsed sentences from a folder: SICK as programs for Tree-LSTMs have it.

    The folder has `a.parents` and `a.toks`, `b.parents` and `b.toks`, each a pair of files that
    `parent_trees` reads, and `sim.txt` with one score in a line.

    Args:
      folder: The folder with these files, in UTF-8.
      vocabulary: The `Vocabulary` that numbers the words, from
        `Vocabulary.from_dataset`. None: the dataset has the words themselves.
      suffix: The suffix of the files of parents; "cparents" for constituency trees.
      roots, skip_unparsed: As for `parent_trees`.

    Returns:
      A dataset of one dict per pair, for `cavs_tf.data.batch`, read as it is used:
        left, right: dicts of children and word (or token), as of `parent_trees`.
        score: float32.

    Raises:
      ValueError: If `roots` has another value.
      tf.errors.InvalidArgumentError: From the dataset, if a file has another form. The
        message names file and line.

    >>> import tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name, line in {"a.parents": "2 0", "b.parents": "0", "sim.txt": "4.5"}.items():
    ...     _ = (folder / name).write_text(line)
    >>> _ = (folder / "a.toks").write_text("cats sleep"), (folder / "b.toks").write_text("Sleep")
    >>> next(iter(parent_pairs(folder)))["left"]["children"].numpy().tolist()
    [[-1], [0]]
    """
    check_bools(skip_unparsed=skip_unparsed)
    folder = pathlib.Path(folder)
    sides = [
        Files(folder / f"{side}.{suffix}", folder / f"{side}.toks", None, roots, skip_unparsed)
        for side in "ab"
    ]
    scores = folder / "sim.txt"
    paths = [path for side in sides for path in (side.parents, side.tokens)] + [scores]
    for path in paths:
        check_exists(path)
    check_roots(roots)

    def pair(number, a_parents, a_tokens, b_parents, b_tokens, score):
        left = sides[0].tree(number, a_parents, a_tokens)
        right = sides[1].tree(number, b_parents, b_tokens)
        return {"left": left, "right": right, "score": _score(decoded(score))}

    def read():
        for number, *lines in lines_of(*paths):
            yield Item(scores, number, functools.partial(pair, number, *lines))

    return stream(read, _PAIR, vocabulary)


def sentence_pairs(
    path: str | os.PathLike,
    vocabulary: Vocabulary | None = None,
    *,
    columns: tuple[str | int, str | int, str | int] = (
        "sentence_A",
        "sentence_B",
        "relatedness_score",
    ),
    parse: Callable[[str], dict] | None = None,
) -> tf.data.Dataset:
    """Reads pairs of sentences from a table with tabs between columns: SICK, the STS benchmark.

    Args:
      path: The table, in UTF-8. Quotes have no special meaning.
      vocabulary: The `Vocabulary` that numbers the words, from
        `Vocabulary.from_dataset`. None: the dataset has the words themselves.
      columns: The columns of both sentences and of the score: names in the first line (SICK), or
        numbers from 0 on if no line has names, (5, 6, 4) for the STS benchmark.
      parse: A function that makes a tree of a sentence: a dict of lists with "children" and "word",
        as `bracket_tree` returns it. None: a chain of the words between blanks, with the last
        one as its root.

    Returns:
      A dataset of one dict per pair, for `cavs_tf.data.batch`, read as it is used:
        left, right: dicts of children and word (or token).
        score: float32.

    Raises:
      ValueError: If `columns` are something else, or the first line does not have one of the names.
      tf.errors.InvalidArgumentError: From the dataset, if the file is not of this form, or `parse`
        raises ValueError. The message names file and line.

    >>> import tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "sts-dev.csv")
    >>> fields = ["main-captions", "MSRvid", "2012test", "0", "4.2", "A man sits.", "He sits."]
    >>> _ = path.write_text("\\t".join(fields))
    >>> next(iter(sentence_pairs(path, columns=(5, 6, 4))))["left"]["word"].numpy().tolist()
    [b'A', b'man', b'sits.']
    """
    _check_columns(columns)
    named = isinstance(columns[0], str)
    numbers = _numbers(path, columns) if named else columns
    check_exists(path)

    def pair(line):
        left, right, score = _fields(decoded(line), numbers)
        left, right = (_parsed(sentence, parse) for sentence in (left, right))
        return {"left": left, "right": right, "score": _score(score)}

    def read():
        for number, line in numbered_lines(path):
            if line.strip() and not (named and number == 1):
                yield Item(path, number, functools.partial(pair, line))

    return stream(read, _PAIR, vocabulary)


def _check_columns(columns) -> None:
    """Raises ValueError unless these are three names, or three numbers from 0 on."""
    columns = columns if isinstance(columns, (list, tuple)) else [columns]
    is_number = [type(column) is int and column >= 0 for column in columns]
    is_name = [isinstance(column, str) for column in columns]
    if len(columns) != 3 or not (all(is_number) or all(is_name)):
        raise ValueError(
            f"columns: got {columns!r} but expected three names, or three numbers from 0 on. Pass "
            "the columns of both sentences and of the score."
        )


def _numbers(path, columns) -> list[int]:
    """The numbers of columns whose names are in the first line."""
    with located(path, 1):
        names = decoded(next((line for _, line in numbered_lines(path)), b"")).split("\t")
    missing = [column for column in columns if column not in names]
    if missing:
        raise ValueError(
            f"{path}:1: got the names {', '.join(names)[:200]!r} but expected {missing[0]!r} among "
            "them, with tabs between. Pass the names, or the numbers, as columns=."
        )
    return [names.index(column) for column in columns]


def _fields(text: str, numbers) -> list[str]:
    fields = text.split("\t")
    if len(fields) <= max(numbers):
        raise ValueError(
            f"got {len(fields)} columns but expected {max(numbers) + 1} or more, with tabs "
            "between. Correct the line, or pass columns=."
        )
    return [fields[number] for number in numbers]


def _parsed(sentence: str, parse) -> dict:
    if parse is not None:
        return _checked(parse(sentence))
    words = sentence.split()
    if not words:
        raise ValueError("got a sentence without words but expected one or more. Drop the line.")
    return {"children": [[], *([i] for i in range(len(words) - 1))], "word": words}


def _checked(tree) -> dict:
    """The tree that `parse` returned; ValueError if it is not one."""
    if not isinstance(tree, dict) or not set(_SIDE) <= set(tree):
        raise ValueError(
            f"got {str(tree)[:60]} from parse but expected a dict with 'children' and 'word'. "
            "Return what bracket_tree returns."
        )
    children, words = ([*tree[name]] for name in _SIDE)
    if len(children) != len(words):
        raise ValueError(
            f"got {len(words)} words for {len(children)} vertices from parse but expected one for "
            "each. Give inner vertices the empty word."
        )
    if not words:
        raise ValueError(
            "got a tree without vertices from parse but expected one or more. Drop the line."
        )
    for vertex, (slots, word) in enumerate(zip(children, words, strict=True)):
        if not isinstance(word, (str, bytes)):
            raise ValueError(
                f"got the word {word!r} of vertex {vertex} from parse but expected a string. Give "
                "inner vertices the empty word."
            )
        for child in slots:
            if not isinstance(child, numbers.Integral) or not 0 <= child < len(children):
                raise ValueError(
                    f"got the child {child!r} of vertex {vertex} from parse but expected a vertex "
                    f"in [0, {len(children)}). Number the vertices of each tree from 0 on."
                )
    check_acyclic(children)
    return {"children": children, "word": words}


def _score(text: str) -> float:
    try:
        score = float(text)
    except ValueError:
        score = math.nan
    if not math.isfinite(score):
        raise ValueError(f"got the score {text!r} but expected a finite number. Correct it.")
    return score
