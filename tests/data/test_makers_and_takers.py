"""Whatever one function of `cavs_tf.data` makes, the next one takes: all pairs of them."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import data
from tests.data.test_readers import CONLLU, PENN, SNLI

TYPED = {"vertex_type": "vertex_type", "num_types": 2}
INNER = {"vertex_type": "inner", "num_types": 2}
TREES = [("the", ("cat", "sat")), ("the", "dog"), "yes"]


def written(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def graphs(types=None):
    children = [[[], [], [0, 1]], [[], [0]], [[]]]
    return cavs.GraphBatch.from_children(children, types)


def of_graphs(folder):
    rows = {"rank": [[0, 1, 2], [3, 4], [5]], "some": cavs.VertexRows([1.0, 2.0], [0, 4])}
    return data.from_graphs(graphs([[0, 0, 1], [0, 1], [0]]), rows, {"label": [1, 0, 1]})


def of_edges(folder):
    return data.from_graphs(graphs(), {}, {}, {"relation": [7, 8, 9]})


def of_nested(folder):
    nested = cavs.GraphBatch.from_nested(TREES)
    return data.from_graphs(nested, {"word": data.nested_values(TREES)}, {"label": [0, 1, 1]})


def of_arrays(folder):
    children = tf.ragged.constant([[], [], [0, 1], []], dtype=tf.int32)
    return data.from_arrays([0, 3, 4], {"children": children, "word": list("abcd")}, {"x": [1, 2]})


def of_parents(folder):
    paths = written(folder, "a.parents", "2 0\n0\n"), written(folder, "a.toks", "a b\nc\n")
    return data.parent_trees(*paths)


def of_folder(folder):
    of_parents(folder)
    written(folder, "b.parents", "2 0\n0\n"), written(folder, "b.toks", "a b\nc\n")
    written(folder, "sim.txt", "1\n2\n")
    return data.parent_pairs(folder)


def of_json(folder):
    lines = [
        {"num_vertices": 2, "edges": [[0, 1]], "word": ["a", "b"], "vertex_type": [0, 1]},
        {"num_vertices": 1, "edges": [], "word": ["c"], "vertex_type": [1]},
    ]
    path = written(folder, "graphs.jsonl", "\n".join(map(json.dumps, lines)))
    specs = {
        "word": tf.TensorSpec([None], tf.string),
        "vertex_type": tf.TensorSpec([None], "int32"),
    }
    return data.json_graphs(path, specs)


def of_snli(folder):
    names = ("gold_label", "sentence1_binary_parse", "sentence2_binary_parse")
    lines = (json.dumps(dict(zip(names, pair, strict=True))) for pair in SNLI)
    return data.snli_pairs(written(folder, "dev.jsonl", "\n".join(lines)))


def of_words(read):
    """A reader with words, and the same with numbers of a vocabulary of them."""
    return read, lambda folder: read(folder, data.Vocabulary.from_dataset(read(folder)))


def reader(read, name, text, **options):
    return lambda folder, *args: read(written(folder, name, text), *args, **options)


SST = "(1 (0 a) (1 b))\n(0 b)\n"
PLF = "((('a',1.,1),('b',1.,1),),)\n()\n"
# What makes a dataset in a folder, and what `batch` has to be told of it.
MAKERS = {
    "from_graphs": (of_graphs, TYPED),
    "from_graphs, edges": (of_edges, {"per_edge": ["relation"]}),
    "from_nested": (of_nested, {}),
    "from_arrays": (of_arrays, {}),
    "listops": (lambda folder: data.listops(8), INNER | {"arity": 5}),
    "parent_trees": (of_parents, {}),
    "parent_pairs": (of_folder, {}),
    "json_graphs": (of_json, TYPED),
    "snli_pairs": (of_snli, {}),
    "python_trees": (reader(data.python_trees, "a.py", "x = 1\n"), {}),
    "zip": (lambda f: tf.data.Dataset.zip({"a": of_graphs(f), "b": of_nested(f)}), None),
    "split": (lambda folder: data.split(of_graphs(folder), 0.5)[0], TYPED),
    "split, zip": (lambda folder: data.split(of_folder(folder), 0.5)[1], {}),
}
for name, text, options in (
    ("bracket_trees", PENN, {}),
    ("bracket_trees", SST, {"num_classes": 2}),
    ("ptb_trees", SST, {}),
    ("conllu_trees", CONLLU, {}),
    ("conllu_trees", CONLLU, {"roots": "artificial"}),
    ("word_lattices", PLF, {}),
    ("sentence_pairs", "a b\tc\t1\nd\te f\t2\n", {"columns": (0, 1, 2)}),
):
    read = reader(getattr(data, name), "file", text, **options)
    for kind, make in zip(("words", "tokens"), of_words(read), strict=True):
        batching = INNER if "num_classes" in options or name == "ptb_trees" else {}
        MAKERS[f"{name} {options} {kind}"] = (make, batching)


def batching(name):
    options = MAKERS[name][1]
    if options is None:
        options = {"vertex_type": {"a": "vertex_type"}, "num_types": {"a": 2}}
    return {"arity": 8} | options


def structures(batch):
    nested = {name: part for name, part in batch.items() if isinstance(part, dict)}
    return list(nested.values()) or [batch]


def check_batches(batches, num_examples):
    count = 0
    for batch in batches:
        count += structures(batch)[0]["graphs"].num_graphs
    assert count == num_examples


def as_dict(dataset, options):
    """Plain tensors are the same graphs, and are what models take."""
    batches = data.batch(dataset, 2, as_dict=True, **options)
    count = 0
    for plain, want in zip(batches, data.batch(dataset, 2, **options), strict=True):
        for part, other in zip(structures(plain), structures(want), strict=True):
            got, graphs = (
                tf.nest.flatten(g, expand_composites=True)
                for g in (cavs.GraphBatch.from_dict(part), other["graphs"])
            )
            assert all(map(np.array_equal, got, graphs)) and len(got) == len(graphs)
        count += structures(want)[0]["graphs"].num_graphs
    assert count == len(dataset)
    spec = batches.element_spec
    inputs = (
        list(spec) if "child_splits" in spec else [n for n in spec if isinstance(spec[n], dict)]
    )
    for features in cavs.keras.for_fit(batches, inputs):
        assert set(features) == set(inputs)


def from_graphs(dataset, options):
    """Graphs and features of a minibatch are a dataset again."""
    batch = next(iter(data.batch(dataset, 2, **options)))
    part = structures(batch)[0]
    graphs = part.pop("graphs")
    of_edges = {n: part.pop(n) for n in options.get("per_edge", ())}
    of_vertices, of_graphs = {}, {}
    for name, value in part.items():
        is_of_vertices = isinstance(value, cavs.VertexRows) or len(value) == graphs.num_vertices
        if name != "vertex_type" and not isinstance(value, dict):
            (of_vertices if is_of_vertices else of_graphs)[name] = value
    again = data.from_graphs(graphs, of_vertices, of_graphs, of_edges)
    typed = TYPED if len(graphs.vertex_type) else {}
    again = data.batch(again, 2, **{"arity": 8, "per_edge": list(of_edges)} | typed)
    got = next(iter(again))["graphs"]
    for field in ("child_splits", "child_ids", "graph_splits", "vertex_type"):
        np.testing.assert_array_equal(getattr(got, field), getattr(graphs, field), field)


TAKERS = {
    "by size": lambda d, o: check_batches(data.batch(d, 2, bucket_by="size", **o), len(d)),
    "by depth": lambda d, o: check_batches(
        data.batch(d, max_vertices=200, bucket_by="depth", **o), len(d)
    ),
    "replicas": lambda d, o: check_batches(data.batch(d, 2, replicas=2, **o), len(d)),
    "split": lambda d, o: [
        check_batches(data.batch(part, 2, **o), len(part)) for part in data.split(d, 0.5)
    ],
    "as_dict": as_dict,
    "from_graphs": from_graphs,
}


# What these make goes to every taker: types and rows of some vertices, features of edges and of
# graphs, words, and two structures, also after a split. The other makers make the same kinds of
# features, so that one taker, which makes minibatches in both forms, shows that theirs are right.
KINDS = (
    "from_graphs",
    "from_graphs, edges",
    "from_arrays",
    "zip",
    "split, zip",
    "bracket_trees {'num_classes': 2} words",
)
PAIRS = [
    (maker, taker) for maker in MAKERS for taker in TAKERS if maker in KINDS or taker == "as_dict"
]


@pytest.fixture(scope="module", params=MAKERS)
def made(request, tmp_path_factory):
    """What a maker makes, and how it is batched."""
    make, _ = MAKERS[request.param]
    return make(tmp_path_factory.mktemp("made")), batching(request.param)


@pytest.mark.in_turns
@pytest.mark.parametrize(("made", "taker"), PAIRS, indirect=["made"])
def test_what_one_makes_the_other_takes(made, taker):
    TAKERS[taker](*made)


@pytest.mark.parametrize("made", [m for m in MAKERS if not m.endswith("tokens")], indirect=True)
def test_words_of_whatever_is_made_are_counted(made):
    dataset, options = made
    words = [
        spec.dtype
        for path, spec in keras.tree.flatten_with_path(dataset.element_spec)
        if path[-1] == "word"
    ]
    if tf.string in words:
        vocabulary = data.Vocabulary.from_dataset(dataset)
        assert len(vocabulary) > 2
        batches = data.batch(dataset, 2, **options)
        assert data.Vocabulary.from_dataset(batches).words == vocabulary.words


def test_types_of_graphs_are_those_of_models(tmp_path):
    batches = data.batch(of_graphs(tmp_path), 3, arity=2, as_dict=True, **TYPED)
    assert next(iter(batches))["vertex_type"].numpy().tolist() == [0, 0, 1, 0, 1, 0]


def test_types_that_are_not_named_are_rejected(tmp_path):
    message = (
        r"^dataset: got a feature named 'vertex_type' but .* or pass vertex_type='vertex_type' if"
    )
    with pytest.raises(ValueError, match=message):
        data.batch(of_graphs(tmp_path), 2, arity=2, as_dict=True)
    with pytest.raises(ValueError, match=message):
        data.batch(of_graphs(tmp_path), 2, arity=2, as_dict=True, vertex_type="rank", num_types=9)
