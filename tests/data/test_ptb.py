"""ptb_trees: trees as they are published, and every error that a file can have."""

import doctest
import os
import pathlib
import re

import numpy as np
import pytest

from cavs_tf import data
from cavs_tf.data import _ptb, _vocabulary

SST = pathlib.Path(
    os.environ.get("CAVS_SST", pathlib.Path(__file__).resolve().parents[2] / "../shared/data/sst")
)


@pytest.fixture
def trees(tmp_path):
    """Writes a file and reads it."""

    def read(text, *args, **options):
        path = tmp_path / "trees.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return [
            {name: v if name == "children" else v.numpy() for name, v in tree.items()}
            for tree in data.ptb_trees(path, *args, **options)
        ]

    return read


def test_docstring_examples_run():
    for module in (_ptb, _vocabulary):
        assert doctest.testmod(module).failed == 0


def test_binary_tree(trees):
    [tree] = trees("(3 (2 It) (4 (2 's) (1 good)))\n")
    assert tree["children"].to_list() == [[], [], [], [1, 2], [0, 3]]
    assert tree["word"].tolist() == [b"It", b"'s", b"good", b"", b""]
    assert tree["vertex_label"].tolist() == [2, 2, 1, 4, 3]
    assert tree["inner"].tolist() == [0, 0, 0, 1, 1]
    assert tree["label"] == 3


def test_unary_and_nary_vertices(trees):
    [tree] = trees("(0 (1 (2 a)) (3 b) (4 c))")
    assert tree["children"].to_list() == [[], [0], [], [], [1, 2, 3]]


def test_one_word_and_empty_lines_and_any_blanks(trees):
    read = trees("\n(2 a)\r\n  \n\t( 3(1 b )( 2\tc) ) \n\n(4 d)")
    assert [tree["label"] for tree in read] == [2, 3, 4]
    assert [len(tree["word"]) for tree in read] == [1, 3, 1]


def test_empty_file(trees):
    assert trees("") == []
    assert trees("\n", data.Vocabulary([])) == []


def test_escapes(trees):
    line = r"(0 (1 -LRB-) (1 -rrb-) (1 and\/or) (1 \*\*\*) (1 ``) (1 -LCB-) (1 --))"
    [tree] = trees(line)
    assert tree["word"].tolist()[:-1] == [b"(", b")", b"and/or", b"***", b"``", b"{", b"--"]
    [tree] = trees(line, unescape=False)
    assert tree["word"].tolist()[:3] == [b"-LRB-", b"-rrb-", rb"and\/or"]


def test_words_may_contain_a_no_break_space(trees):
    [tree] = trees("(2 2\u00a01\\/2)")
    assert tree["word"].tolist() == ["2\u00a01/2".encode()]


def test_vocabulary_numbers_words(trees):
    vocabulary = data.Vocabulary(["good", "It"])
    [tree] = trees("(3 (2 It) (4 (2 's) (1 good)))", vocabulary)
    assert tree["token"].tolist() == [3, 0, 2, 1, 1]
    assert tree["token"].dtype == np.int32


@pytest.mark.parametrize("opening, closing", [("(1 ", ")"), ("(1 (2 a) ", ")"), ("(1 ", "(2 a))")])
def test_tree_of_depth_10000(tmp_path, opening, closing):
    path = tmp_path / "trees.txt"
    path.write_text(opening * 10_000 + "(2 leaf)" + closing * 10_000)
    (batch,) = data.batch(data.ptb_trees(path), 1, arity=2)
    assert len(batch["word"]) in (10_001, 20_001)
    assert batch["graphs"].attached_schedule.num_tasks == 10_001


LABEL = "but expected an integer in [0, 5). It follows every '('."
ONE_TREE = "but expected one tree of one word or more, in brackets that match. Correct it."
BRACKETS = "but expected brackets that match and are not empty. Write words as '(label word)'."
REJECTED = [
    ("(2 a)\n(2 b", f":2: got '( 2 b' {ONE_TREE}"),
    ("((2 a) (2 b))", f":1: got the label '' {LABEL}"),
    ("(2 (x a))", f":1: got the label 'x' {LABEL}"),
    ("(5 a)", f":1: got the label '5' {LABEL}"),
    ("(-1 a)", f":1: got the label '-1' {LABEL}"),
    ("(", f":1: got '(' {ONE_TREE}"),
    ("(2 )", f":1: got '( 2 )' {BRACKETS}"),
    (
        "(2 a b)",
        ":1: got 2 words and 0 trees in a bracket but expected one word, or trees. Write words as "
        "'(label word)'.",
    ),
    (
        "(2 a (1 b))",
        ":1: got 1 words and 1 trees in a bracket but expected one word, or trees. Write words as "
        "'(label word)'.",
    ),
    ("\n\nword", f":3: got 'word' {ONE_TREE}"),
    (")", f":1: got ')' {BRACKETS}"),
    ("(2 a) (2 b)", f":1: got '( 2 a ) ( 2 b )' {ONE_TREE}"),
    ("(2 a))", f":1: got 'a ) )' {BRACKETS}"),
    (b"(2 a)\n(2 \xff)", ":2: got the byte 0xff but expected UTF-8. Convert the file."),
]


@pytest.mark.parametrize("text, message", REJECTED, ids=[str(text) for text, _ in REJECTED])
def test_rejects_naming_file_and_line(trees, tmp_path, text, message):
    with pytest.raises(ValueError) as caught:
        trees(text)
    assert str(caught.value) == f"{tmp_path / 'trees.txt'}{message}"


def test_num_classes_bounds_labels(trees):
    assert trees("(6 a)", num_classes=7)[0]["label"] == 6


def test_missing_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        data.ptb_trees(tmp_path / "nothing.txt")


def test_vocabulary_of_a_file(tmp_path):
    path = tmp_path / "trees.txt"
    path.write_text("(0 (1 b) (1 a) (1 b))\n(2 c)\n(2 b)\n(2 a)")
    assert data.ptb_vocabulary(path).words == ("<unknown>", "", "b", "a", "c")
    assert data.ptb_vocabulary(path, min_count=2).words == ("<unknown>", "", "b", "a")
    assert len(data.ptb_vocabulary(path, min_count=9)) == 2


def test_vocabulary_rejects_words_twice():
    message = re.escape("words: got 'a' twice but expected different words that are not empty.")
    with pytest.raises(ValueError, match=message):
        data.Vocabulary(["a", "b", "a"])
    with pytest.raises(ValueError, match="words: got '' twice"):
        data.Vocabulary([""])


@pytest.mark.in_turns
@pytest.mark.skipif(not SST.is_dir(), reason=f"no treebank in {SST}; set CAVS_SST")
@pytest.mark.parametrize("name, size", [("train", 8544), ("dev", 1101), ("test", 2210)])
def test_the_published_treebank(name, size):
    path = SST / f"{name}.txt"
    texts = path.read_text(encoding="utf-8").split("\n")[:-1]
    dataset = data.ptb_trees(path, unescape=False)
    assert len(dataset) == len(texts) == size
    (trees,) = dataset.batch(size)
    splits = trees["word"].row_splits.numpy()
    children = trees["children"].values.to_list()
    words, labels = (trees[name].values.numpy() for name in ("word", "vertex_label"))
    for i, text in enumerate(texts):
        # Binary trees, children first and the root last, that were written to the file.
        pieces = []
        for vertex in range(splits[i], splits[i + 1]):
            inside = words[vertex].decode() or " ".join(pieces[c] for c in children[vertex])
            pieces.append(f"({labels[vertex]} {inside})")
        assert pieces[-1] == text
    assert trees["label"].numpy().tolist() == [int(text[1]) for text in texts]
