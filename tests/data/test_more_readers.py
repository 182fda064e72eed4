"""Readers of lattices, edges and programs: excerpts of each format, messages that name lines."""

import ast
import json

import keras
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import data
from tests.data.test_readers import plain, read

# A line of Moses's manual, of a German compound that may be split: "PLF format", shortened.
PLF = """((('einen',1.0,1),),(('wettbewerbsbedingten',0.5,2),('wettbewerbs',0.25,1),
('wettbewerb',0.25,1),),(('bedingten',1.0,1),),(('preissturz',0.5,2),('preis',0.5,1),),
(('sturz',1.0,1),),)""".replace("\n", " ")


def test_lattices(tmp_path):
    lattice, empty = read(tmp_path, data.word_lattices, PLF + "\n()\n")
    assert lattice["word"] == [
        *("einen", "wettbewerbsbedingten", "wettbewerbs", "wettbewerb", "bedingten"),
        *("preissturz", "preis", "sturz", ""),
    ]
    assert lattice["children"] == [[], [0], [0], [0], [2, 3], [1, 4], [1, 4], [6], [5, 7]]
    assert lattice["score"] == [1.0, 0.5, 0.25, 0.25, 1.0, 0.5, 0.5, 1.0, 1.0]
    assert empty == {"children": [[]], "word": [""], "score": [1.0]}


@pytest.mark.in_turns
def test_lattices_have_one_root_and_train_a_model(tmp_path):
    path = tmp_path / "dev.plf"
    path.write_text(f"{PLF}\n" * 8)
    vocabulary = data.Vocabulary.from_dataset(data.word_lattices(path))
    labels = tf.data.Dataset.from_tensor_slices([0, 1] * 4)
    lattices = tf.data.Dataset.zip(data.word_lattices(path, vocabulary), labels)
    lattices = lattices.map(lambda lattice, label: lattice | {"label": label})
    lattices = lattices.apply(tf.data.experimental.assert_cardinality(8))  # As fit wants to know.
    train, validation = data.split(lattices, 0.5, seed=3)
    assert next(iter(data.batch(lattices, 8, arity=2)))["graphs"].roots.numpy()[:2].tolist() == [
        8,
        17,
    ]

    graphs = cavs.keras.graph_inputs(arity=2)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(len(vocabulary), 4)(token)
    root = cavs.keras.TreeLSTM(4, arity=2)(graphs, rows)
    model = keras.Model({**graphs, "token": token}, keras.layers.Dense(2)(root))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    batches, others = (
        cavs.keras.for_fit(data.batch(part, 2, arity=2, as_dict=True), model.input, "label")
        for part in (train, validation)
    )
    model.fit(batches, validation_data=others, shuffle=False, verbose=0)


FEATURES = {
    "word": tf.TensorSpec([None], tf.string),
    "position": tf.TensorSpec([None, 2], tf.float32),
    "label": tf.TensorSpec([], tf.int32),
    "target": tf.TensorSpec([3], tf.float32),
}
GRAPH = {
    "num_vertices": 3,
    "edges": [[1, 2], [0, 2]],
    "word": ["a", "b", ""],
    "position": [[0, 1], [2, 3], [4, 5.5]],
    "label": 1,
    "target": [1, 2, 3],
}


def test_pairs_and_rows_of_edges(tmp_path):
    pairs = {name: GRAPH[name] for name in ("num_vertices", "edges")}
    rows = {"num_vertices": 3, "edge_index": [[1, 0], [2, 2]]}
    none = {"num_vertices": 2, "edges": []}
    no_rows = {"num_vertices": 0, "edge_index": [[], []]}
    text = "\n".join(map(json.dumps, [pairs, rows, none, no_rows]))
    of_pairs, of_rows, *others = read(tmp_path, data.json_graphs, text)
    assert of_pairs == of_rows == {"children": [[], [], [1, 0]]}
    assert others == [{"children": [[], []]}, {"children": []}]


def test_features_of_edge_lists(tmp_path):
    [graph] = read(tmp_path, data.json_graphs, json.dumps(GRAPH), features=FEATURES)
    del graph["children"]
    assert graph == {name: GRAPH[name] for name in FEATURES}
    vocabulary = data.Vocabulary(["b"])
    options = {"features": FEATURES, "vocabulary": vocabulary}
    [graph] = read(tmp_path, data.json_graphs, json.dumps(GRAPH), **options)
    assert graph["token"] == [0, 2, 1] and "word" not in graph


PROGRAM = """import os.path as p

class A:
    async def first(self, x: int = 1):
        def inner():
            pass
        return f"{x!r}" + self.name

def last(*args, key="it's", **kw):
    global a, b
    return [y for y in args if y is not None]
"""


def test_programs(tmp_path):
    [tree] = read(tmp_path, data.python_trees, PROGRAM)
    nodes = [n for n in ast.walk(ast.parse(PROGRAM)) if not isinstance(n, ast.expr_context)]
    assert sorted(tree["category"]) == sorted(type(node).__name__ for node in nodes)
    words = list(zip(tree["category"], tree["word"], strict=True))
    assert [word for word in words if word[1]][:6] == [
        *(
            ("alias", "os.path p"),
            ("arg", "self"),
            ("Name", "int"),
            ("arg", "x"),
            ("Constant", "1"),
        ),
        ("FunctionDef", "inner"),
    ]
    assert {("Global", "a b"), ("Constant", '"it\'s"'), ("Constant", "None")} <= set(words)
    assert tree["category"][-1] == "Module" and len(tree["children"][-1]) == 3
    assert sorted(c for slots in tree["children"] for c in slots) == list(range(len(nodes) - 1))
    assert all(c < v for v, slots in enumerate(tree["children"]) for c in slots)


def test_functions_of_several_programs(tmp_path):
    for name in ("one.py", "two.py"):
        (tmp_path / name).write_text(PROGRAM)
    paths = [tmp_path / "one.py", tmp_path / "two.py"]
    trees = [plain(tree) for tree in data.python_trees(paths, functions=True)]
    assert [tree["word"][-1] for tree in trees] == ["first", "inner", "last"] * 2
    assert trees[0]["category"][-1] == "AsyncFunctionDef"
    batch = next(iter(data.batch(data.python_trees(paths, functions=True), 6, arity=8)))
    assert batch["graphs"].roots.shape == [6]


def changed(**changes):
    return json.dumps({k: v for k, v in (GRAPH | changes).items() if v is not None})


REJECTED = [
    (
        data.word_lattices,
        "()\n((",
        r"file:2: got '\(\(' but expected a tuple of nodes, each a tupl",
    ),
    (
        data.word_lattices,
        "(('a', 1.0, 1))",
        r"file:1: got .* but expected a tuple of nodes, each a",
    ),
    (data.word_lattices, "((),)", r"file:1: got the node 0 with 0 arcs that end there and 0 that"),
    (
        data.word_lattices,
        "((('a', 1.0, 2),), (('b', 1.0, 1),))",
        r"file:1: got the node 1 with 0 arcs that end there and 1 that begin but expected at least",
    ),
    (
        data.word_lattices,
        "((('a', 1.0, 2),),)",
        r"file:1: got the arc \('a', 1.0, 2\) but expected \('word', score, distance\), the dist",
    ),
    (data.word_lattices, "((('a', 1.0, 0),),)", r"file:1: got the arc \('a', 1.0, 0\) but expect"),
    (data.word_lattices, "((('a', 1),),)", r"file:1: got the arc \('a', 1\) but expected"),
    (data.word_lattices, "(((1, 1.0, 1),),)", r"file:1: got the arc \(1, 1.0, 1\) but expected"),
    (data.json_graphs, f"{changed()}\n[", r"file:2: got '\[' but expected a JSON object with"),
    (data.json_graphs, "3", r"file:1: got '3' but expected a JSON object with 'num_vertices' and"),
    (data.json_graphs, changed(edges=None), r"file:1: got .* but expected a JSON object with"),
    (data.json_graphs, changed(num_vertices=None), r"file:1: got .* but expected a JSON object"),
    (data.json_graphs, changed(edge_index=[[], []]), r"file:1: got .* but expected a JSON object"),
    (
        data.json_graphs,
        changed(num_vertices="3"),
        r"file:1: num_vertices: got '3' but expected only",
    ),
    (
        data.json_graphs,
        changed(edges=[[0, 3]]),
        r"file:1: edges\[0\]\[0\]: got child 0, parent 3 b",
    ),
    (data.json_graphs, changed(edges=[[0, 0.5]]), r"file:1: edges\[0\]: got float64 of shape"),
    (
        data.json_graphs,
        changed(edges=[[0, 1, 0], [1, 2, 2]]),
        r"file:1: got 'edges' of \[\[0, 1, 0\], \[1, 2, 2\]\] but expected pairs \[child, parent\]",
    ),
    (data.json_graphs, changed(edges=5), r"file:1: got 'edges' of 5 but expected pairs"),
    (
        data.json_graphs,
        changed(edges=None, edge_index=[[0, 2], [1, 2], [0, 1]]),
        r"file:1: got 'edge_index' of .* but expected two rows of the same length. 'edges' has",
    ),
    (
        data.json_graphs,
        changed(edges=None, edge_index=[[0, 1], [2]]),
        r"file:1: got 'edge_index' of .* but expected two rows of the same length",
    ),
    (data.python_trees, "x = 1\ny = (", r"file:2: got what is no Python program \(.* but expected"),
    (data.python_trees, "x = '\0'", r"file:1: got what is no Python program \(.*null bytes"),
]


@pytest.mark.parametrize("reader, text, message", REJECTED)
def test_messages_name_file_and_line(tmp_path, reader, text, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, reader, text)


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("word", ["a"], r"file:1: got \['a'\] as 'word' but expected string of shape \(3,\)"),
        ("word", None, r"file:1: got nothing as 'word' but expected string of shape"),
        ("position", [[1], [2], [3]], r"got .* as 'position' but expected float32 of shape \(3, 2"),
        ("label", 1.5, r"file:1: got 1.5 as 'label' but expected int32 of shape \(\)"),
        ("label", 2**40, r"file:1: got 1099511627776 as 'label' but expected int32"),
        (
            "target",
            [1, 2],
            r"file:1: got \[1, 2\] as 'target' but expected float32 of shape \(3,\)",
        ),
        ("target", [[1], 2, 3], r"file:1: got .* as 'target' but expected float32 of shape \(3,\)"),
    ],
)
def test_messages_name_features(tmp_path, name, value, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        read(tmp_path, data.json_graphs, changed(**{name: value}), features=FEATURES)


@pytest.mark.parametrize("reader", [data.word_lattices, data.json_graphs, data.python_trees])
def test_files_that_are_missing_are_named_at_once(tmp_path, reader):
    with pytest.raises(FileNotFoundError, match="nothing"):
        reader(tmp_path / "nothing")
