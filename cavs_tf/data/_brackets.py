"""Trees in brackets, and pairs of them.

Sources: Marcus et al. 1993, "Building a large annotated corpus of English"; Bowman et al. 2015,
"A large annotated corpus for learning natural language inference", arXiv:1508.05326.
"""

import functools
import json
import os
from collections.abc import Iterator

import tensorflow as tf

from cavs_tf._values.arguments import check_bools, checked_size
from cavs_tf.data._bracket_grammar import TOKEN, class_of, tree_of
from cavs_tf.data._streams import (
    Item,
    LocatedError,
    check_exists,
    decoded,
    numbered_lines,
    stream,
)
from cavs_tf.data._vocabulary import Vocabulary

SNLI_LABELS = ("entailment", "neutral", "contradiction")
_SNLI_FIELDS = ("gold_label", "sentence1_binary_parse", "sentence2_binary_parse")


def bracket_trees(
    path: str | os.PathLike,
    vocabulary: Vocabulary | None = None,
    *,
    labelled: bool = True,
    num_classes: int | None = None,
    traces: bool = False,
    unescape: bool = True,
) -> tf.data.Dataset:
    """Reads trees in brackets, over as many lines as they take, one after another.

    With labels, as in the Penn Treebank, a word has brackets of its own: `(NP (DT the) (NN cat))`.
    A bracket around a whole tree may have no label. Without labels every token is a word:
    `((the cat) sat)`. A bracket in a word is `-LRB-`, or has a backslash before it, as NLTK writes
    it. The vertices of a tree stand in post-order: children before their parent, from left to
    right, the root last. With `num_classes` labels are classes, as in the Stanford Sentiment
    Treebank, which `ptb_trees` reads into memory.

    Args:
      path: The file, in UTF-8.
      vocabulary: The `Vocabulary` that numbers the words, from
        `Vocabulary.from_dataset`. None: the dataset has the words themselves.
      labelled: Whether brackets begin with a label.
      num_classes: Labels are in [0, num_classes); None: labels are categories.
      traces: Whether to keep empty elements, `(-NONE- *T*-1)`, and brackets of nothing else.
      unescape: As for `ptb_trees`.

    Returns:
      A dataset of one dict per tree of n vertices, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the tree; -1 fills empty slots.
        word: string [n], empty for inner vertices. Without a vocabulary.
        token: int32 [n], in [0, len(vocabulary)). With one.
        category: string [n], the labels, if there are any. Without `num_classes`.
        vertex_label: int32 [n], the labels. With `num_classes`, as the next two.
        label: int32, the root's label.
        inner: int32 [n], 1 for a vertex with children, 0 for a word.

    Raises:
      ValueError: If there is `num_classes` but no labels.
      tf.errors.InvalidArgumentError: From the dataset, if the file has another form. The message
        names file and line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "wsj.mrg")
    >>> _ = path.write_text("( (S\\n  (NP (DT the) (NN cat))\\n  (VP (VBD sat))))")
    >>> [tree] = bracket_trees(path).as_numpy_iterator()
    >>> tree["category"].tolist()
    [b'DT', b'NN', b'NP', b'VBD', b'VP', b'S']
    """
    check_bools(labelled=labelled, traces=traces, unescape=unescape)
    if num_classes is not None:
        num_classes = checked_size("num_classes", num_classes)
    check_exists(path)
    if num_classes is not None and not labelled:
        raise ValueError(
            f"num_classes: got {num_classes} but expected None where labelled=False. Classes are "
            "labels."
        )

    def make(tokens):
        decoded("".join(tokens).encode("utf-8", "surrogateescape"))
        tree = tree_of(tokens, labelled, traces, unescape)
        if num_classes is not None:
            tree = _classified(tree, num_classes)
        return tree if labelled else _without_category(tree)

    def read():
        for line, tokens in _trees(path):
            yield Item(path, line, functools.partial(make, tokens))

    features = ["children", "word", *(["category"] if labelled else [])]
    if num_classes is not None:
        features = ["children", "word", "vertex_label", "inner", "label"]
    return stream(read, dict.fromkeys(features), vocabulary)


def bracket_tree(
    text: str, *, labelled: bool = True, traces: bool = False, unescape: bool = True
) -> dict[str, list]:
    """Reads one tree in brackets from a string, such as that of a request.

    Args:
      text: The tree, as in a file that `bracket_trees` reads.
      labelled, traces, unescape: As for `bracket_trees`.

    Returns:
      A dict of lists, with a value for each of n vertices: "children", a list of child ids; "word",
      empty for inner vertices; and "category", if there are labels.

    Raises:
      ValueError: If the text is not one tree.

    >>> bracket_tree("((the cat) sat)", labelled=False)["children"]
    [[], [], [0, 1], [], [2, 3]]
    """
    check_bools(labelled=labelled, traces=traces, unescape=unescape)
    tree = tree_of(TOKEN.findall(text), labelled, traces, unescape)
    return tree if labelled else _without_category(tree)


def snli_pairs(path: str | os.PathLike, vocabulary: Vocabulary | None = None) -> tf.data.Dataset:
    """Reads pairs of sentences with binary parses: the JSON lines of SNLI and MultiNLI.

    Pairs without a label that most annotators chose, "-", are left out.

    Args:
      path, vocabulary: As for `bracket_trees`.

    Returns:
      A dataset of one dict per pair:
        left, right: dicts of children and word (or token), as `bracket_trees` has them, for
          "sentence1" and "sentence2".
        label: int32, an index into SNLI_LABELS.

    Raises:
      tf.errors.InvalidArgumentError: As `bracket_trees`.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "dev.jsonl")
    >>> pair = {"gold_label": "neutral", "sentence1_binary_parse": "( Two women )"}
    >>> _ = path.write_text(json.dumps(pair | {"sentence2_binary_parse": "( The sisters )"}))
    >>> next(iter(snli_pairs(path)))["right"]["word"].numpy().tolist()
    [b'The', b'sisters', b'']
    """
    check_exists(path)

    def read():
        for number, line in numbered_lines(path):
            if line.strip() and not _has_no_label(line):
                yield Item(path, number, functools.partial(_pair, line))

    side = dict.fromkeys(["children", "word"])
    return stream(read, {"left": side, "right": side, "label": None}, vocabulary)


def _has_no_label(line: bytes) -> bool:
    """Whether the annotators of a pair did not agree. Most lines need not be read to know."""
    try:
        fields = json.loads(line) if b'"-"' in line else {}
        return set(_SNLI_FIELDS) <= set(fields) and fields["gold_label"] == "-"
    except (ValueError, TypeError, RecursionError):
        return False  # The line is an error when it is read.


def _pair(line: bytes) -> dict:
    text = decoded(line)
    try:
        fields = json.loads(text)
        label, *parses = (fields[key] for key in _SNLI_FIELDS)
    except (json.JSONDecodeError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"got {text[:60]!r} but expected JSON with 'gold_label' and the binary parses of both "
            f"sentences ({error}). Pass a file of JSON lines."
        ) from None
    if label not in SNLI_LABELS:
        raise ValueError(
            f"got the label {label!r} but expected one of {', '.join(SNLI_LABELS)}, or '-'. "
            "Correct the line."
        )
    for number, parse in enumerate(parses, start=1):
        if not isinstance(parse, str):
            raise ValueError(
                f"got {json.dumps(parse)[:60]} as 'sentence{number}_binary_parse' but expected a "
                "string with a tree in brackets. Parse the sentence, or drop the line."
            )
    left, right = (
        _without_category(tree_of(TOKEN.findall(p), labelled=False, traces=True, unescape=True))
        for p in parses
    )
    return {"left": left, "right": right, "label": SNLI_LABELS.index(label)}


def _classified(tree: dict, num_classes: int) -> dict:
    labels = [class_of(label, num_classes) for label in tree["category"]]
    inner = [int(bool(slots)) for slots in tree["children"]]
    features = {"vertex_label": labels, "inner": inner, "label": labels[-1]}
    return _without_category(tree) | features


def _without_category(tree: dict) -> dict:
    return {name: tree[name] for name in ("children", "word")}


def _trees(path) -> Iterator[tuple[int, list[str]]]:
    """Yields the tokens of each tree, with the number of the line in which it begins.

    Bytes that are not UTF-8 are surrogates.
    """
    tokens, depth, first = [], 0, 1
    for number, line in numbered_lines(path):
        for token in TOKEN.findall(line.decode("utf-8", "surrogateescape")):
            if not tokens:
                first = number
            tokens.append(token)
            depth += (token == "(") - (token == ")")
            if depth <= 0:
                yield first, tokens
                tokens, depth = [], 0
    if tokens:
        raise LocatedError(
            f"{path}:{first}: got the end of the file but expected {depth} more ')'. Close the "
            "tree that begins in this line."
        )
