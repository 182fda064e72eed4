"""Readers of files of trees: excerpts of each format, and messages that name file and line."""

import gc
import json
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import data

# The first sentence of the Penn Treebank's section 0, and one with traces.
PENN = """( (S
    (NP-SBJ
      (NP (NNP Pierre) (NNP Vinken) )
      (, ,)
      (ADJP
        (NP (CD 61) (NNS years) )
        (JJ old) )
      (, ,) )
    (VP (MD will)
      (VP (VB join)
        (NP (DT the) (NN board) )
        (PP-CLR (IN as)
          (NP (DT a) (JJ nonexecutive) (NN director) ))
        (NP-TMP (NNP Nov.) (CD 29) )))
    (. .) ))

( (S (NP-SBJ-1 (PRP He)) (VP (VBZ wants) (S (NP-SBJ (-NONE- *-1)) (VP (TO to) (VP (VB go)))))
  (. .)) ) (NP (-LRB- -LRB-))
"""

# From Universal Dependencies' documentation: a token of two words, and an empty node.
CONLLU = """# sent_id = 1
# text = vámonos al mar
1-2\tvámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tvamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_
3-4\tal\t_\t_\t_\t_\t_\t_\t_\t_
3\ta\ta\tADP\t_\t_\t5\tcase\t_\t_
4\tel\tel\tDET\t_\t_\t5\tdet\t_\t_
5\tmar\tmar\tNOUN\t_\t_\t1\tobl\t_\t_

1\tSue\tSue\tPROPN\t_\t_\t2\tnsubj\t_\t_
2\tlikes\tlike\tVERB\t_\t_\t0\troot\t_\t_
2.1\tlikes\tlike\tVERB\t_\t_\t_\t_\t_\t_
3\ttea\ttea\tNOUN\t_\t_\t2\tobj\t_\t_"""

# Lines of SNLI's snli_1.0_dev.jsonl, without the fields that are not read.
SNLI = [
    ("neutral", "( ( Two women ) ( ( are embracing ) . ) )", "( The sisters ) "),
    ("-", "( a b )", "c"),
    ("contradiction", "( -LRB- ( a ) )", "Sleeping"),
]


def read(tmp_path, reader, text, **options):
    path = tmp_path / "file"
    path.write_text(text, encoding="utf-8")
    return [plain(example) for example in reader(path, **options)]


def plain(example):
    if isinstance(example, dict):
        return {name: plain(feature) for name, feature in example.items()}
    values = np.asarray(example)
    if values.dtype == object and values.ndim:
        return [word.decode() for word in values]
    if values.ndim == 2:
        return [[c for c in slots if c >= 0] for slots in values.tolist()]
    return values.tolist()


def written(tree, vertex=None):
    """A tree in brackets again."""
    vertex = len(tree["children"]) - 1 if vertex is None else vertex
    label = tree["category"][vertex] if "category" in tree else ""
    parts = [written(tree, child) for child in tree["children"][vertex]]
    return f"({' '.join(filter(None, [label, *parts, tree['word'][vertex]]))})"


def test_penn_trees_over_several_lines(tmp_path):
    first, second, third = read(tmp_path, data.bracket_trees, PENN)
    assert [word for word in first["word"] if word][:5] == ["Pierre", "Vinken", ",", "61", "years"]
    assert written(first).startswith(
        "(S (NP-SBJ (NP (NNP Pierre) (NNP Vinken)) (, ,) (ADJP (NP (CD"
    )
    assert written(second) == (
        "(S (NP-SBJ-1 (PRP He)) (VP (VBZ wants) (S (VP (TO to) (VP (VB go))))) (. .))"
    )
    assert written(third) == "(NP (-LRB- ())"
    assert all(c < v for v, slots in enumerate(first["children"]) for c in slots)


def test_traces_and_escapes_may_be_kept(tmp_path):
    _, second, third = read(tmp_path, data.bracket_trees, PENN, traces=True, unescape=False)
    assert "(S (NP-SBJ (-NONE- *-1)) (VP (TO to)" in written(second)
    assert written(third) == "(NP (-LRB- -LRB-))"


def test_trees_without_labels(tmp_path):
    trees = read(tmp_path, data.bracket_trees, "((It ('s good))\n)\nyes (a b c)", labelled=False)
    assert [written(tree) for tree in trees] == ["((It) (('s) (good)))", "(yes)", "((a) (b) (c))"]
    assert list(trees[0]) == ["children", "word"]


def test_one_tree_from_a_string():
    tree = data.bracket_tree("(NP (DT the)\n (NN cat))")
    assert tree == {
        "children": [[], [], [0, 1]],
        "word": ["the", "cat", ""],
        "category": ["DT", "NN", "NP"],
    }
    assert data.bracket_tree("a", labelled=False) == {"children": [[]], "word": ["a"]}
    with pytest.raises(ValueError, match="expected one tree of one word or more"):
        data.bracket_tree("(a b) (c d)", labelled=False)


def test_conllu(tmp_path):
    first, second = read(tmp_path, data.conllu_trees, CONLLU)
    assert first == {
        "children": [[1, 4], [], [], [], [2, 3]],
        "word": ["vamos", "nos", "a", "el", "mar"],
        "category": ["VERB", "PRON", "ADP", "DET", "NOUN"],
        "relation": ["root", "obj", "case", "det", "obl"],
    }
    assert second["word"] == ["Sue", "likes", "tea"]
    assert second["children"] == [[], [0, 2], []]


def snli(pairs=SNLI):
    keys = ("gold_label", "sentence1_binary_parse", "sentence2_binary_parse")
    return "\n".join(json.dumps(dict(zip(keys, pair, strict=True))) for pair in pairs)


def test_snli_pairs(tmp_path):
    first, second = read(tmp_path, data.snli_pairs, snli())
    assert written(first["left"]) == "(((Two) (women)) (((are) (embracing)) (.)))"
    assert written(first["right"]) == "((The) (sisters))"
    assert written(second["left"]) == "((() (a))"
    assert second["right"] == {"children": [[]], "word": ["Sleeping"]}
    assert [data.SNLI_LABELS[pair["label"]] for pair in (first, second)] == [
        "neutral",
        "contradiction",
    ]


def test_parents_of_leaves_and_inner_vertices(tmp_path):
    (tmp_path / "STree.txt").write_text("4|4|5|5|0\n3|3|0\n")
    (tmp_path / "SOStr.txt").write_text("not|so|good\na|b\n")
    dataset = data.parent_trees(tmp_path / "STree.txt", tmp_path / "SOStr.txt", separator="|")
    assert [plain(tree) for tree in dataset] == [
        {"children": [[], [], [], [0, 1], [2, 3]], "word": ["not", "so", "good", "", ""]},
        {"children": [[], [], [0, 1]], "word": ["a", "b", ""]},
    ]


@pytest.mark.in_turns
def test_pairs_of_parents_as_of_sick_train_a_model(tmp_path):
    sides = {"a": ("2 0 2", "the cat sleeps"), "b": ("2 0", "cats sleep")}
    for side, (parents, tokens) in sides.items():
        (tmp_path / f"{side}.parents").write_text(f"{parents}\n" * 4)
        (tmp_path / f"{side}.toks").write_text(f"{tokens}\n" * 4)

    def pairs(vocabulary=None):
        trees = {
            side: data.parent_trees(
                tmp_path / f"{side}.parents", tmp_path / f"{side}.toks", vocabulary
            )
            for side in sides
        }
        score = tf.data.Dataset.from_tensor_slices([4.5, 1.0, 3.2, 2.0])
        together = tf.data.Dataset.zip(trees | {"score": score})
        return together.apply(tf.data.experimental.assert_cardinality(4))  # As fit wants to know.

    vocabulary = data.Vocabulary.from_dataset(pairs())
    assert vocabulary.words[2:] == ("cat", "cats", "sleep", "sleeps", "the")
    embed, encode = keras.layers.Embedding(len(vocabulary), 4), cavs.keras.TreeLSTM(4, arity=5)
    inputs, roots = {}, []
    for side in sides:
        graphs = cavs.keras.graph_inputs(arity=5, name=side)
        token = keras.Input((), dtype="int32", name=f"{side}_token")
        inputs[side] = {**graphs, "token": token}
        roots.append(encode(graphs, embed(token)))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.multiply(roots)))
    model.compile("sgd", "mse")
    batches = data.batch(pairs(vocabulary), 2, arity=5, as_dict=True)
    model.fit(cavs.keras.for_fit(batches, model.input, "score"), shuffle=False, verbose=0)


def test_words_become_tokens(tmp_path):
    path = tmp_path / "trees"
    path.write_text(PENN)
    vocabulary = data.Vocabulary.from_dataset(data.bracket_trees(path))
    tree = next(iter(data.bracket_trees(path, vocabulary)))
    assert set(tree) == {"children", "token", "category"}
    assert [vocabulary.words[i] for i in tree["token"]][:2] == ["Pierre", "Vinken"]


@pytest.mark.in_turns
def test_files_are_read_one_example_at_a_time(tmp_path):
    path = tmp_path / "many"
    path.write_text("(S (A a) (B b))\n" * 8000 + "(S")
    trees = iter(data.bracket_trees(path))

    def blocks_after(count):
        for _ in range(count):
            next(trees)
        gc.collect()
        # Not tracemalloc: its stop() crashes while another thread, the pipeline's, allocates.
        return sys.getallocatedblocks()

    before = blocks_after(500)
    assert blocks_after(1500) - before < 4000  # An example has more than ten.


REJECTED = [
    (
        data.bracket_trees,
        "(S (A a))\n\n(S\n (A a)",
        r"file:3: got the end of the file but expected 1",
    ),
    (data.bracket_trees, "\n(S (A a)))", r"file:2: got '\)' but expected"),
    (
        data.bracket_trees,
        "(S (A a b))",
        r"file:1: got 2 words and 0 trees in a bracket but expected",
    ),
    (
        data.bracket_trees,
        "(S a (A b))",
        r"file:1: got 1 words and 1 trees in a bracket but expected",
    ),
    (data.bracket_trees, "(S\n(A))", r"file:1: got '\( A \)' but expected brackets that match and"),
    (
        data.bracket_trees,
        "(S (A a) ())",
        r"file:1: got '\) \( \)' but expected brackets that match",
    ),
    (
        data.bracket_trees,
        "(S (-NONE- *))",
        r"file:1: got '\( S .* but expected one tree of one word",
    ),
    (data.bracket_trees, "word", r"file:1: got 'word' but expected one tree of one word or more"),
    (
        data.conllu_trees,
        "\n\n1\ta\n",
        r"file:3: got a sentence that conllu cannot read \(.* but exp",
    ),
    (
        data.conllu_trees,
        CONLLU + "\n\n# c\n" + "1\ta\ta\tX\t_\t_\t2\tdep\t_\t_",
        r"file:16: got the head 2 of word 1 but expected 0 for the root, or another word",
    ),
    (data.snli_pairs, snli() + "\n{", r"file:4: got '\{' but expected JSON with 'gold_label' and"),
    (data.snli_pairs, '{"gold_label": "-"}', r"file:1: got .* but expected JSON with 'gold_label'"),
    (
        data.snli_pairs,
        snli([("yes", "a", "b")]),
        r"file:1: got the label 'yes' but expected one of",
    ),
    (
        data.snli_pairs,
        snli([("neutral", "( a", "b")]),
        r"file:1: got '\( a' but expected one tree of",
    ),
]


@pytest.mark.parametrize("reader, text, message", REJECTED)
def test_messages_name_file_and_line(tmp_path, reader, text, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, reader, text)


@pytest.mark.parametrize(
    "parents, tokens, message",
    [
        (
            "2 0\n2 x\n",
            "a b\nc d\n",
            r"parents:2: got the parent 'x' of vertex 2 but expected 0 for",
        ),
        (
            "3 0\n",
            "a b\n",
            r"parents:1: got the parent '3' of vertex 1 but expected 0 for the root",
        ),
        (
            "1 0\n",
            "a b\n",
            r"parents:1: got the parent '1' of vertex 1 but expected 0 for the root",
        ),
        ("2 0\n", "a b c\n", r"tokens:1: got 3 words but expected at most 2, one per vertex"),
        ("2 0\n2 0\n", "a b\n", r"tokens:2: got the end of the file but expected as many lines as"),
        ("2 0\n", "a b\na b\n", r"parents:2: got the end of the file but expected as many lines"),
    ],
)
def test_messages_of_parents_name_file_and_line(tmp_path, parents, tokens, message):
    (tmp_path / "parents").write_text(parents)
    (tmp_path / "tokens").write_text(tokens)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.parent_trees(tmp_path / "parents", tmp_path / "tokens"))


def test_bytes_that_are_no_text_are_named(tmp_path):
    (tmp_path / "file").write_bytes(b"(A a)\n(A \xff)")
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"file:2: got the byte 0xff but expect"
    ):
        list(data.bracket_trees(tmp_path / "file"))


@pytest.mark.parametrize("reader", [data.bracket_trees, data.conllu_trees, data.snli_pairs])
def test_files_that_are_missing_are_named_at_once(tmp_path, reader):
    with pytest.raises(FileNotFoundError, match="nothing"):
        reader(tmp_path / "nothing")


def test_a_vocabulary_needs_words():
    with pytest.raises(
        ValueError, match=r"dataset: got elements .* expected dicts with 'word' among"
    ):
        data.Vocabulary.from_dataset(data.listops(3))


FLAGS = {
    "bracket_trees": ("labelled", "traces", "unescape"),
    "ptb_trees": ("unescape",),
    "ptb_vocabulary": ("unescape",),
    "python_trees": ("functions",),
    "parent_pairs": ("skip_unparsed",),
}


@pytest.mark.parametrize(
    "reader, flag", [(r, flag) for r, flags in FLAGS.items() for flag in flags]
)
def test_flags_are_checked_where_they_are_given(reader, flag, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("(1 a)\n")
    given = tmp_path if reader == "parent_pairs" else path
    with pytest.raises(ValueError, match=rf"^{flag}: got 'no' but expected True or False"):
        getattr(data, reader)(given, **{flag: "no"})


def test_flags_of_parents_and_of_one_tree_are_checked():
    with pytest.raises(ValueError, match=r"^skip_unparsed: got 1 but expected True or False"):
        data.parent_trees("a", "b", skip_unparsed=1)
    with pytest.raises(ValueError, match=r"^traces: got 'no' but expected True or False"):
        data.bracket_tree("(A a)", traces="no")


@pytest.mark.parametrize("reader", ["ptb_trees", "ptb_vocabulary", "bracket_trees"])
@pytest.mark.parametrize("classes", ["5", 0, True])
def test_number_of_classes_is_checked(reader, classes, tmp_path):
    path = tmp_path / "one.txt"
    path.write_text("(0 a)\n")
    with pytest.raises(ValueError, match=rf"^num_classes: got {classes!r} but expected an int of"):
        getattr(data, reader)(path, num_classes=classes)


def test_least_count_of_words_is_checked():
    with pytest.raises(ValueError, match=r"^min_count: got '2' but expected an int of at least 0"):
        data.Vocabulary.from_words(["a"], "2")
