"""cavs_tf.data.batch: a minibatch equals the concatenation of its examples."""

import doctest
import os

import numpy as np
import pytest
import tensorflow as tf

from cavs_tf import data
from cavs_tf.data import _batch, _examples
from cavs_tf.graphs._graph_batch import TENSOR_NAMES, GraphBatch


def random_examples(num_examples=23, arity=3, seed=0):
    """Random DAGs. The feature of a vertex is its number."""
    random = np.random.default_rng(seed)
    sizes = random.integers(0, 7, num_examples)
    children = [
        [[int(random.integers(-1, v)) for _ in range(arity)] for v in range(n)] for n in sizes
    ]
    splits = np.concatenate([[0], np.cumsum(sizes)])
    features = {
        "children": np.array([slots for graph in children for slots in graph], np.int32),
        "number": np.arange(splits[-1]),
        "vector": np.arange(2.0 * splits[-1]).reshape(-1, 2),
        "kind": random.integers(0, 3, splits[-1]),
    }
    dataset = data.from_arrays(splits, features, {"label": np.arange(num_examples)})
    return dataset, children, splits


def arrays(graphs):
    names = ("child_splits", "child_ids", "graph_splits", "vertex_type")
    return {name: getattr(graphs, name).numpy().tolist() for name in names}


@pytest.mark.in_turns
def test_docstring_examples_run():
    for module in (_batch, _examples):
        assert doctest.testmod(module).failed == 0


@pytest.mark.parametrize("mapped", [False, True], ids=["in memory", "mapped"])
@pytest.mark.parametrize("batch_size", [1, 5, 64])
def test_minibatches_are_examples_side_by_side(batch_size, mapped):
    dataset, children, splits = random_examples()
    if mapped:
        dataset = dataset.map(lambda example: example)
    first = 0
    for batch in data.batch(dataset, batch_size):
        last = min(first + batch_size, len(children))
        graphs = batch["graphs"]
        assert arrays(graphs) == arrays(GraphBatch.from_children(children[first:last]))
        rows = np.arange(splits[first], splits[last])
        np.testing.assert_array_equal(batch["number"], rows)
        np.testing.assert_array_equal(batch["vector"], np.stack([2.0 * rows, 2 * rows + 1], 1))
        np.testing.assert_array_equal(batch["label"], np.arange(first, last))
        fresh = GraphBatch.from_children(children[first:last]).schedule(arity=3)
        assert graphs.attached_schedule.arity == 3
        for name in ("order", "task_splits", "task_type", "child_row"):
            np.testing.assert_array_equal(
                getattr(graphs.attached_schedule, name), getattr(fresh, name)
            )
        first = last
    assert first == len(children)


def test_shuffled_examples_keep_their_rows():
    dataset, _, splits = random_examples()
    labels = []
    for batch in data.batch(dataset.shuffle(100, seed=1), 4):
        expected = [np.arange(splits[g], splits[g + 1]) for g in batch["label"]]
        np.testing.assert_array_equal(batch["number"], np.concatenate(expected))
        labels += batch["label"].numpy().tolist()
    assert labels != sorted(labels)
    assert sorted(labels) == list(range(23))


def test_numbers_of_numpy_and_one_name():
    dataset, _, _ = random_examples()
    pairs = dataset.map(lambda example: example | {"pair": [1.0, 2.0]})
    batch = next(iter(data.batch(pairs, np.int64(4), arity=np.int32(3), per_graph="pair")))
    assert batch["pair"].shape == (4, 2) and batch["graphs"].attached_schedule.arity == 3


def test_drop_remainder():
    dataset, _, _ = random_examples()
    assert len(list(data.batch(dataset, 5, drop_remainder=True))) == 4
    assert len(list(data.batch(dataset, 5))) == 5
    assert not list(data.batch(dataset.take(0), 5))


def test_vertex_types():
    dataset, _, _ = random_examples()
    for batch in data.batch(dataset, 5, vertex_type="kind", num_types=3):
        np.testing.assert_array_equal(batch["graphs"].vertex_type, batch["kind"])
        assert set(batch["graphs"].attached_schedule.task_type.numpy()) <= {0, 1, 2}


def test_arity_above_that_of_the_examples():
    dataset, children, _ = random_examples()
    batch = next(iter(data.batch(dataset, 23, arity=5)))
    padded = [[[*slots, -1, -1] for slots in graph] for graph in children]
    assert arrays(batch["graphs"]) == arrays(GraphBatch.from_children(padded))
    assert batch["graphs"].attached_schedule.arity == 5


def test_as_dict_equals_the_graph_batch():
    dataset, _, _ = random_examples()
    for plain, batch in zip(
        data.batch(dataset, 5, as_dict=True), data.batch(dataset, 5), strict=True
    ):
        assert set(plain) == {*batch["graphs"].to_dict(), "number", "vector", "kind", "label"}
        assert arrays(GraphBatch.from_dict(plain)) == arrays(batch["graphs"])
        assert all(isinstance(tensor, tf.Tensor) for tensor in plain.values())


def test_generated_examples_of_unknown_arity():
    def generate():
        yield {"children": [[-1], [0]], "depth": [0, 1], "name": "a", "tags": [1, 2, 3]}
        yield {"children": [[-1]], "depth": [0], "name": "b", "tags": [4]}

    signature = {
        "children": tf.TensorSpec([None, None], tf.int64),
        "depth": tf.TensorSpec([None], tf.int32),
        "name": tf.TensorSpec([], tf.string),
        "tags": tf.TensorSpec([None], tf.int32),
    }
    dataset = tf.data.Dataset.from_generator(generate, output_signature=signature)
    (batch,) = data.batch(dataset, 2, arity=2, per_graph=["tags"])
    expected = GraphBatch.from_children([[[-1], [0]], [[-1]]])
    assert arrays(batch["graphs"]) == arrays(expected)
    assert batch["depth"].numpy().tolist() == [0, 1, 0]
    assert batch["name"].numpy().tolist() == [b"a", b"b"]
    assert batch["tags"].to_list() == [[1, 2, 3], [4]]
    message = r"children\[0\]\[0\]: got 1 children but expected at most 0"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.batch(dataset, 2, arity=0, per_graph=["tags"]))


def test_ragged_children():
    children = tf.ragged.constant([[], [0], [], [], [0, 1]], dtype=tf.int32)
    dataset = data.from_arrays([0, 2, 5], {"children": children, "x": range(5)}, {})
    (batch,) = data.batch(dataset, 2, arity=2)
    expected = GraphBatch.from_children([[[], [0]], [[], [], [0, 1]]])
    assert arrays(batch["graphs"]) == arrays(expected)
    assert batch["graphs"].attached_schedule.arity == 2
    with pytest.raises(ValueError, match="arity: got None but expected an int, because"):
        data.batch(dataset, 2)


def test_splits_of_children_may_be_of_32_bits():
    children = tf.RaggedTensor.from_row_splits([0, 0, 0], tf.constant([0, 0, 1, 1, 3]))
    dataset = data.from_arrays([0, 2, 4], {"children": children, "x": range(4)}, {})
    (batch,) = data.batch(dataset, 2, arity=2)
    expected = GraphBatch.from_children([[[], [0]], [[], [0, 0]]])
    assert arrays(batch["graphs"]) == arrays(expected)


def test_examples_of_one_size():
    slices = {"children": [[[-1], [0]], [[1], [-1]]], "x": [[1, 2], [3, 4]]}
    (batch,) = data.batch(tf.data.Dataset.from_tensor_slices(slices), 2)
    expected = GraphBatch.from_children([[[-1], [0]], [[1], [-1]]])
    assert arrays(batch["graphs"]) == arrays(expected)
    assert batch["x"].numpy().tolist() == [1, 2, 3, 4]


def test_minibatches_of_all_sizes_cause_one_trace():
    dataset, _, _ = random_examples()
    batches = data.batch(dataset, 2)
    traces = []

    @tf.function(input_signature=[batches.element_spec])
    def work(batch):
        traces.append(batch)
        return batch["graphs"].schedule(arity=3).num_tasks

    for batch in batches:
        work(batch)
    assert len(traces) == 1


def test_invalid_graphs_are_named():
    dataset = data.from_arrays([0, 1, 3], {"children": [[-1], [-1], [2]]}, {})
    message = r"children\[1\]\[1\]\[0\]: got 3 but expected -1"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.batch(dataset, 2))
    dataset = data.from_arrays([0, 1, 3], {"children": [[-1], [-1], [-2]]}, {})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"children\[1\]\[1\]\[0\]: got -2"):
        list(data.batch(dataset, 2))


def test_features_of_vertices_may_be_ragged():
    letters = [[b"t", b"h", b"e"], [b"a"], [], [b"c", b"a", b"t"]]
    children = [[-1], [-1], [0], [1]]

    def examples():
        for begin, end in ((0, 1), (1, 4)):
            yield {
                "children": tf.constant(children[begin:end]),
                "letters": tf.ragged.constant(letters[begin:end], tf.string, ragged_rank=1),
            }

    spec = {
        "children": tf.TensorSpec([None, 1], tf.int32),
        "letters": tf.RaggedTensorSpec([None, None], tf.string),
    }
    dataset = tf.data.Dataset.from_generator(examples, output_signature=spec)
    (batch,) = data.batch(dataset, 2)
    assert batch["letters"].to_list() == letters


def test_features_with_other_rows_are_named():
    dataset = data.from_arrays([0, 1, 3], {"children": [[-1]] * 3}, {"x": [[1, 2], [3, 4]]})
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match="x: got 2 rows but expected 1, one per vertex, in example 0 of the",
    ):
        list(data.batch(dataset, 2))


LEAF = {"children": [[-1, -1]]}


@pytest.mark.parametrize(
    "features, options, message",
    [
        ({"x": [1]}, {}, r"dataset: got elements .* but expected dicts with 'children'"),
        ({"children": [1]}, {}, r"dataset\['children'\]: got int64 of shape \(None,\) but"),
        ({"children": [[1.0]]}, {}, r"dataset\['children'\]: got float64 of shape \(None, 1\)"),
        (LEAF, {"arity": 1}, r"arity: got 1 but expected at least 2, the number of slots"),
        (LEAF, {"vertex_type": "t"}, r"dataset: got elements with \['children'\] .*'t' among"),
        (LEAF, {"per_graph": ["g"]}, r"dataset: got elements with \['children'\] .*'g' among"),
        (LEAF, {"per_leaf": "words"}, r"dataset: got elements with .* expected 'words' among"),
        (LEAF, {"arity": "2"}, r"arity: got '2' but expected an int of at least 0. Pass one"),
        (LEAF, {"num_types": 0}, r"num_types: got 0 but expected an int of at least 1. Pass one"),
    ],
)
def test_rejects(features, options, message):
    with pytest.raises(ValueError, match=message):
        data.batch(data.from_arrays([0, 1], features, {}), 2, **options)


@pytest.mark.parametrize("per_vertex", [True, False])
@pytest.mark.parametrize(
    "name, as_dict, message",
    [
        ("graphs", False, "got a feature named 'graphs' but expected a name other than 'graphs'"),
        *(
            (name, True, f"got a feature named '{name}' but expected .* Rename the feature")
            for name in TENSOR_NAMES
        ),
    ],
)
def test_rejects_features_with_names_of_tensors_of_the_graphs(name, as_dict, message, per_vertex):
    feature = {name: [1]}
    of_vertices = LEAF | (feature if per_vertex else {})
    dataset = data.from_arrays([0, 1], of_vertices, {} if per_vertex else feature)
    with pytest.raises(ValueError, match=message):
        data.batch(dataset, 2, as_dict=as_dict)
    data.batch(dataset, 2, as_dict=not as_dict)  # This form does not use the name.


def test_rejects_unknown_arity():
    spec = {"children": tf.TensorSpec([None, None], tf.int32)}
    dataset = tf.data.Dataset.from_generator(lambda: [], output_signature=spec)
    with pytest.raises(ValueError, match="arity: got None but expected an int"):
        data.batch(dataset, 2)


def test_from_arrays_rejects_other_numbers_of_rows():
    with pytest.raises(ValueError, match=r"vertex_features\['x'\]: got 2 rows but expected 1"):
        data.from_arrays([0, 1], {"children": [[-1]], "x": [1, 2]}, {})
    with pytest.raises(ValueError, match=r"graph_features\['y'\]: got 2 rows but expected 1"):
        data.from_arrays([0, 1], {"children": [[-1]]}, {"y": [1, 2]})


def pairs(**features):
    """Examples with two structures, "a" and "b", and what else is given."""
    a, children_a, _ = random_examples(seed=0)
    b, children_b, _ = random_examples(arity=2, seed=1)
    label = tf.data.Dataset.range(len(children_a))
    zipped = tf.data.Dataset.zip({"a": a, "b": b, "label": label, **features})
    return zipped, {"a": children_a, "b": children_b}


@pytest.mark.parametrize("as_dict", [False, True])
def test_examples_may_have_several_structures(as_dict):
    dataset, children = pairs()
    first = 0
    for batch in data.batch(dataset.shuffle(30, seed=0), 5, as_dict=as_dict):
        assert set(batch) == {"a", "b", "label"}
        for name, arity in (("a", 3), ("b", 2)):
            part = batch[name]
            graphs = GraphBatch.from_dict(part) if as_dict else part["graphs"]
            chosen = [children[name][g] for g in batch["label"]]
            assert arrays(graphs) == arrays(GraphBatch.from_children(chosen))
            assert graphs.attached_schedule.arity == arity
            assert part["number"].shape == [graphs.num_vertices]
            assert part["label"].numpy().tolist() == batch["label"].numpy().tolist()
        first += len(batch["label"])
    assert first == 23


def test_options_may_be_of_one_structure():
    dataset, _ = pairs(tags=tf.data.Dataset.from_tensors([1, 2]).repeat())
    options = {"arity": {"a": 4}, "vertex_type": {"b": "kind"}, "num_types": {"b": 3}}
    batch = next(iter(data.batch(dataset, 5, **options, per_graph=["a/vector"])))
    assert batch["a"]["graphs"].attached_schedule.arity == 4
    assert batch["b"]["graphs"].attached_schedule.arity == 2
    assert batch["a"]["graphs"].vertex_type.shape == [0]
    np.testing.assert_array_equal(batch["b"]["graphs"].vertex_type, batch["b"]["kind"])
    assert isinstance(batch["a"]["vector"], tf.RaggedTensor)
    assert isinstance(batch["b"]["vector"], tf.Tensor)
    # Features outside of the structures belong to the example, whatever their rank.
    assert batch["tags"].shape == [5, 2]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"arity": {"a": 3, "c": 2}}, r"arity\['c'\]: got 2 but expected .* 'a', 'b'"),
        (
            {"vertex_type": {"c": "kind"}},
            r"vertex_type\['c'\]: got 'kind' but expected .* 'a', 'b'",
        ),
        ({"num_types": {"c": 2}}, r"num_types\['c'\]: got 2 but expected .* 'a', 'b'"),
        ({"arity": 2}, r"arity: got 2 but expected at least 3, .* dataset\['a'\]\['children'\]"),
        ({"vertex_type": "t"}, r"dataset\['a'\]: got elements with .* expected 't' among"),
        ({"per_graph": ["c/x"]}, r"dataset: got elements .* expected 'c/x' among"),
        ({"per_graph": ["a/x"]}, r"dataset: got elements .* expected 'a/x' among"),
    ],
)
def test_rejects_options_of_other_structures(options, message):
    with pytest.raises(ValueError, match=message):
        data.batch(pairs()[0], 2, **options)


def test_rejects_structures_beside_children_or_in_structures():
    single, _, _ = random_examples()
    nested = tf.data.Dataset.zip({"a": pairs()[0], "b": single})
    with pytest.raises(ValueError, match=r"dataset\['a'\]: got a dict without 'children' but"):
        data.batch(nested, 2)
    beside = single.map(lambda example: example | {"b": {"x": example["label"]}})
    with pytest.raises(ValueError, match=r"dataset\['b'\]: got \{'x': .* but expected a tensor"):
        data.batch(beside, 2)
    listed = single.map(lambda example: example | {"b": (1, 2)})
    with pytest.raises(ValueError, match=r"dataset\['b'\]: got .* but expected a tensor"):
        data.batch(listed, 2)


def test_a_dict_of_options_needs_several_structures():
    with pytest.raises(ValueError, match=r"arity: got \{'a': 3\} but expected one value, as"):
        data.batch(random_examples()[0], 2, arity={"a": 3})


def test_graphs_of_a_structure_keep_their_names():
    dataset = pairs()[0].map(lambda pair: pair | {"a": pair["a"] | {"graphs": pair["label"]}})
    with pytest.raises(ValueError, match=r"dataset\['a'\]: got a feature named 'graphs'"):
        data.batch(dataset, 2)
    data.batch(pairs(graphs=tf.data.Dataset.range(23))[0], 2)  # This form does not use the name.


def test_other_rows_of_a_structure_are_named():
    short = pairs()[0].map(lambda pair: pair | {"b": pair["b"] | {"kind": pair["b"]["kind"][1:]}})
    with pytest.raises(
        tf.errors.InvalidArgumentError,
        match=r"b/kind: got \d+ rows but expected \d+, one per vertex, in exam",
    ):
        list(data.batch(short, 5))


def test_functions_run_on_threads_of_the_pipeline_unless_others_are_chosen():
    def threads(dataset):
        return dataset.options().threading.private_threadpool_size

    def with_threads(dataset, count):
        options = tf.data.Options()
        options.threading.private_threadpool_size = count
        return dataset.with_options(options)

    examples = data.listops(8, seed=0)
    batches = data.batch(examples, 2, arity=5)
    assert threads(batches) == max(1, len(os.sched_getaffinity(0)) // 2)
    assert threads(data.batch(with_threads(examples, 3), 2, arity=5)) == 3
    assert threads(with_threads(batches, 5)) == 5
