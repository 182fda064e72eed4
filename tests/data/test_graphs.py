"""Datasets made of the graphs of any constructor, and how they are divided."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import data
from cavs_tf.graphs import GraphBatch
from tests.data.test_batch import arrays

# Trees, one with the same child twice, and an empty graph.
CHILDREN = [[[], [], [0, 1]], [], [[], [0, 0]]]
NESTED = [("a", "b")]


@pytest.mark.parametrize(
    "graphs, arity",
    [
        (GraphBatch.from_children(CHILDREN), 2),
        (GraphBatch.from_children([[[], [-1, 0], [1, -1, 0]]]), 3),
        (GraphBatch.from_parents([[2, 2, -1], [], [-1]]), 2),
        (GraphBatch.from_edges([3, 1], [np.array([[0, 1], [2, 2]]).T, []]), 2),
        (GraphBatch.from_ragged(tf.ragged.constant(CHILDREN, ragged_rank=2)), 2),
        (GraphBatch.from_nested([("the", ("cat", "sat")), "yes"]), 2),
        (GraphBatch.chain([3, 0, 2]), 1),
        (GraphBatch.complete_tree(2, num_graphs=2), 2),
        (GraphBatch.from_children([]), 1),
    ],
)
def test_graphs_of_any_constructor_pass_through_a_dataset(graphs, arity):
    rows = np.arange(graphs.num_vertices)
    dataset = data.from_graphs(graphs, {"row": rows}, {"label": np.arange(graphs.num_graphs)})
    assert len(dataset) == graphs.num_graphs
    for batch in data.batch(dataset, 10, arity=arity):
        assert arrays(batch["graphs"]) == arrays(graphs)
        np.testing.assert_array_equal(batch["row"], rows)
        np.testing.assert_array_equal(batch["label"], np.arange(graphs.num_graphs))


def test_features_are_lists_of_lists_or_flat():
    graphs = GraphBatch.from_children(CHILDREN)
    flat = {"word": list("abcde"), "vector": np.arange(10.0).reshape(5, 2)}
    vectors = np.split(flat["vector"], [3, 3])
    lists = {"word": [list("abc"), [], list("de")], "vector": [v.tolist() for v in vectors]}
    ragged = {"word": tf.ragged.constant(lists["word"]), "vector": vectors}
    for features in (flat, lists, ragged):
        batch = next(iter(data.batch(data.from_graphs(graphs, features), 3, arity=2)))
        assert [word.decode() for word in batch["word"].numpy()] == flat["word"]
        np.testing.assert_array_equal(batch["vector"], flat["vector"])


def test_types_of_vertices_are_a_feature():
    graphs = GraphBatch.from_children(CHILDREN, [0, 0, 1, 0, 1])
    dataset = data.from_graphs(graphs)
    batch = next(iter(data.batch(dataset, 3, arity=2, vertex_type="vertex_type", num_types=2)))
    assert arrays(batch["graphs"]) == arrays(graphs)


@pytest.mark.in_turns
def test_nested_words_train_a_model():
    """Trains by `fit` on sentences that are nested by brackets."""
    trees = [("the", ("cat", "sat")), ("the", "dog"), (("a", "dog"), "sat")] * 4
    words = data.nested_values(trees)
    vocabulary = data.Vocabulary.from_words(words)
    dataset = data.from_graphs(
        GraphBatch.from_nested(trees), {"token": vocabulary.ids(words)}, {"label": [0, 1, 1] * 4}
    )
    train, validation = data.split(dataset, 0.25)
    graphs = cavs.keras.graph_inputs(arity=2)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(len(vocabulary), 8)(token)
    root = cavs.keras.TreeLSTM(8, arity=2, mode="n_ary")(graphs, rows)
    model = keras.Model({**graphs, "token": token}, keras.layers.Dense(2)(root))
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    batches = [
        cavs.keras.for_fit(data.batch(part, 4, arity=2, as_dict=True), model.input, "label")
        for part in (train, validation)
    ]
    model.fit(batches[0], validation_data=batches[1], shuffle=False, verbose=0)
    assert len(train) == 9 and len(validation) == 3


@pytest.mark.parametrize("count, share", [(10, 0.2), (7, 0.5), (1000, 0.013), (3, 0.01)])
def test_split_divides_every_example_by_chance(count, share):
    dataset = tf.data.Dataset.range(count)
    parts = [list(part.as_numpy_iterator()) for part in data.split(dataset, share, seed=1)]
    assert len(parts[1]) == round(share * count)
    assert sorted(parts[0] + parts[1]) == list(range(count))
    assert [len(part) for part in data.split(dataset, share)] == [len(part) for part in parts]
    again = [list(part.as_numpy_iterator()) for part in data.split(dataset, share, seed=1)]
    assert again == parts
    if count == 1000:
        assert parts[1] != list(range(13))
        assert list(data.split(dataset, share, seed=2)[1].as_numpy_iterator()) != parts[1]


REJECTED = [
    ({"x": [[1], [], [2, 3]]}, {}, r"vertex_features\['x'\]\[0\]: got 1 rows but expected 3, one"),
    ({"x": [[1, 2, 3]]}, {}, r"vertex_features\['x'\]: got 1 lists but expected 3, one per graph"),
    ({"x": [1, 2, 3]}, {}, r"vertex_features\['x'\]: got 3 rows but expected 5, one per vertex"),
    ({}, {"y": [1]}, r"graph_features\['y'\]: got 1 rows but expected 3, one per graph"),
    ({"children": [1] * 5}, {}, "children: got a feature of this name but expected another one"),
    ({}, {"children": [1] * 3}, "children: got a feature of this name but expected another one"),
]


@pytest.mark.parametrize("of_vertices, of_graphs, message", REJECTED)
def test_from_graphs_rejects(of_vertices, of_graphs, message):
    with pytest.raises(ValueError, match=message):
        data.from_graphs(GraphBatch.from_children(CHILDREN), of_vertices, of_graphs)


def test_from_graphs_rejects_what_are_no_graphs():
    with pytest.raises(ValueError, match=r"graphs: got a list but expected a GraphBatch. Make one"):
        data.from_graphs(CHILDREN)
    wrong = GraphBatch([0, 0, 1], [0], [0, 1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="child_ids: got 0 but expected"):
        data.from_graphs(wrong)


@pytest.mark.in_turns
def test_split_divides_examples_whose_number_is_not_known():
    dataset = tf.data.Dataset.range(1000).filter(lambda _: True)
    parts = [list(part.as_numpy_iterator()) for part in data.split(dataset, 0.2, seed=1)]
    assert 150 < len(parts[1]) < 250
    assert sorted(parts[0] + parts[1]) == list(range(1000))
    assert [list(part.as_numpy_iterator()) for part in data.split(dataset, 0.2, seed=1)] == parts
    assert list(data.split(dataset, 0.2, seed=2)[1].as_numpy_iterator()) != parts[1]


def test_split_rejects():
    with pytest.raises(
        ValueError, match=r"dataset: got a list but expected a tf.data.Dataset of e"
    ):
        data.split([1, 2, 3], 0.5)
    for share in (0, 1, 2, "a"):
        with pytest.raises(ValueError, match=f"share: got {share!r} but expected a number in"):
            data.split(tf.data.Dataset.range(3), share)
    for seed in (-1, 1.5, None):
        for dataset in (tf.data.Dataset.range(3), tf.data.Dataset.range(3).repeat()):
            with pytest.raises(ValueError, match=f"seed: got {seed} but expected"):
                data.split(dataset, 0.5, seed=seed)
