"""Readers of scored pairs, and of trees whose labels are classes, one at a time."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import data
from tests.data.test_readers import plain, read

# Two pairs of SICK's trial set, as its program for parses writes them.
SICK_FOLDER = {
    "a.toks": "A group of kids is playing\nA brown dog is attacking another animal\n",
    "a.parents": "2 6 4 2 6 0\n3 3 5 5 0 7 5\n",
    "b.toks": "Boys are standing\nAn animal is biting\n",
    "b.parents": "3 3 0\n2 4 4 0\n",
    "sim.txt": "4.5\n3.2\n",
}
# The first lines of SICK_trial.txt.
SICK = """pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment
4\tThe young boys are playing outdoors\tThe kids are playing outdoors\t3.6\tNEUTRAL
24\tA person in a black jacket is doing tricks\tA man "jumps" in snow\t1.7\tNEUTRAL
"""
# The first line of sts-dev.csv.
STS = (
    "main-captions\tMSRvid\t2012test\t0000\t5.000\tA man with a hard hat is dancing.\t"
    "A man wearing a hard hat is dancing.\n"
)
SST = "(3 (2 It) (4 (2 's) (4 good)))\n(1 bad)\n(0 (0 (2 -LRB-) (1 dull)) (2 .))\n"


def folder(tmp_path, **changed):
    for name, text in (SICK_FOLDER | changed).items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_folder_of_parsed_pairs(tmp_path):
    first, second = [plain(pair) for pair in data.parent_pairs(folder(tmp_path))]
    assert first["left"] == {
        "children": [[], [0, 3], [], [2], [], [1, 4]],
        "word": ["A", "group", "of", "kids", "is", "playing"],
    }
    assert first["right"]["children"] == [[], [], [0, 1]]
    assert second["right"]["word"] == ["An", "animal", "is", "biting"]
    assert [first["score"], second["score"]] == pytest.approx([4.5, 3.2])


def test_a_folder_of_constituency_trees(tmp_path):
    folder(tmp_path, **{"a.cparents": "2 0\n0\n", "b.cparents": "0\n2 0\n"})
    for side in "ab":
        (tmp_path / f"{side}.toks").write_text("word\nword\n")
    [first, _] = data.parent_pairs(tmp_path, suffix="cparents")
    assert plain(first["left"]) == {"children": [[], [0]], "word": ["word", ""]}


def test_a_table_with_names(tmp_path):
    first, second = read(tmp_path, data.sentence_pairs, SICK)
    assert first["right"]["word"] == ["The", "kids", "are", "playing", "outdoors"]
    assert first["right"]["children"] == [[], [0], [1], [2], [3]]
    assert second["right"]["word"][2] == '"jumps"'
    assert [first["score"], second["score"]] == pytest.approx([3.6, 1.7])


def test_a_table_without_names_and_with_a_parser(tmp_path):
    def parse(sentence):
        return data.bracket_tree(f"({sentence})", labelled=False)

    [pair] = read(tmp_path, data.sentence_pairs, STS, columns=(5, 6, 4), parse=parse)
    assert pair["score"] == 5
    assert pair["left"]["word"][-2:] == ["dancing.", ""]
    assert pair["left"]["children"][-1] == list(range(8))


@pytest.mark.in_turns
@pytest.mark.parametrize("reader", ["folder", "table"])
def test_pairs_train_a_model(tmp_path, reader):
    if reader == "folder":
        folder(tmp_path)

        def pairs(vocabulary=None):
            return data.parent_pairs(tmp_path, vocabulary)
    else:
        (tmp_path / "SICK_trial.txt").write_text(SICK)

        def pairs(vocabulary=None):
            return data.sentence_pairs(tmp_path / "SICK_trial.txt", vocabulary)

    vocabulary = data.Vocabulary.from_dataset(pairs())
    embed, encode = keras.layers.Embedding(len(vocabulary), 4), cavs.keras.TreeLSTM(4, arity=3)
    inputs, roots = {}, []
    for side in ("left", "right"):
        graphs = cavs.keras.graph_inputs(arity=3, name=side)
        token = keras.Input((), dtype="int32", name=f"{side}_token")
        inputs[side] = {**graphs, "token": token}
        roots.append(encode(graphs, embed(token)))
    model = keras.Model(inputs, keras.layers.Dense(1)(keras.layers.multiply(roots)))
    model.compile("sgd", "mse")
    known = pairs(vocabulary).apply(tf.data.experimental.assert_cardinality(2))
    batches = data.batch(known, 2, arity=3, as_dict=True)
    history = model.fit(cavs.keras.for_fit(batches, model.input, "score"), shuffle=False, verbose=0)
    assert np.isfinite(history.history["loss"]).all()


def test_classes_are_read_as_into_memory(tmp_path):
    path = tmp_path / "train.txt"
    path.write_text(SST)
    want = [plain(tree) for tree in data.ptb_trees(path).map(lambda tree: tree)]
    got = [plain(tree) for tree in data.bracket_trees(path, num_classes=5)]
    for tree, other in zip(got, want, strict=True):
        other["children"] = [list(slots) for slots in other["children"]]
        assert tree == other
    vocabulary = data.Vocabulary.from_dataset(data.bracket_trees(path, num_classes=5))
    assert vocabulary.words == data.ptb_vocabulary(path).words


REJECTED = {
    "a.toks": ("A b\n", r"a\.toks:2: got the end of the file but expected as many lines as .*a\.p"),
    "b.parents": ("1 3 0\n2 4 4 0\n", r"b\.parents:1: got the parent '1' of vertex 1 but expected"),
    "b.toks": ("Boys are\na b c d e\n", r"b\.toks:2: got 5 words but expected at most 4, one per"),
    "sim.txt": ("4.5\nhigh\n", r"sim\.txt:2: got the score 'high' but expected a finite number"),
}


@pytest.mark.parametrize("name", REJECTED)
def test_messages_about_folders(name, tmp_path):
    text, message = REJECTED[name]
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.parent_pairs(folder(tmp_path, **{name: text})))


def test_a_score_for_each_pair(tmp_path):
    message = r"sim\.txt:3: got the end of the file but expected as many lines as .*a\.parents has"
    more = {name: text * 2 for name, text in SICK_FOLDER.items() if name != "sim.txt"}
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.parent_pairs(folder(tmp_path, **more)))


@pytest.mark.parametrize(
    "text, options, message",
    [
        (SICK + "5\tA\tB", {}, r"file:4: got 3 columns but expected 4 or more, with tabs between"),
        (SICK + "5\tA\t\t3", {}, r"file:4: got a sentence without words but expected one or more"),
        (SICK + "5\tA\tB\tnan", {}, r"file:4: got the score 'nan' but expected a finite number"),
        (
            STS,
            {"columns": (5, 6, 4), "parse": data.bracket_tree},
            r"file:1: got 'A man .* expected one tree of one word or more",
        ),
    ],
)
def test_messages_about_tables(text, options, message, tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, data.sentence_pairs, text, **options)


def test_columns_that_are_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"file:1: got the names .* expected 'sentence_A' among"):
        read(tmp_path, data.sentence_pairs, STS)


def test_messages_about_classes(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"file:2: got the label '7' but"):
        read(tmp_path, data.bracket_trees, "(1 a)\n(7 b)", num_classes=5)
    with pytest.raises(ValueError, match="num_classes: got 5 but expected None where labelled"):
        read(tmp_path, data.bracket_trees, "a", num_classes=5, labelled=False)
