"""data.batch(..., rounds=...): minibatches are those of GraphBatch.from_rounds."""

import json

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import GraphBatch, data

SIZES = [3, 1, 0, 4]
EDGES = [[(0, 1), (1, 2), (2, 0), (1, 1)], [], [], [(3, 0), (0, 3), (1, 2)]]


def children():
    """The sources of each vertex's edges, in all graphs."""
    return [
        [source for source, target in pairs if target == v]
        for size, pairs in zip(SIZES, EDGES, strict=True)
        for v in range(size)
    ]


def examples(dense=False, bonds=False, **features):
    slots = children()
    if dense:  # Missing children stand first, so that they are seen to be left out.
        slots = np.array([[-1] * (2 - len(own)) + own for own in slots], np.int32)
    else:
        slots = tf.ragged.constant(slots, tf.int32)
    of_vertices = {"children": slots, "number": np.arange(8)} | features
    of_edges = {"bond": np.arange(1, 8)} if bonds else {}
    return data.from_arrays(np.cumsum([0, *SIZES]), of_vertices, {"label": range(4)}, of_edges)


def expected(rounds):
    """Bonds are numbered vertex by vertex, as in the examples."""
    graphs = GraphBatch.from_children(
        [
            children()[first:end]
            for first, end in zip(np.cumsum([0, *SIZES]), np.cumsum(SIZES), strict=False)
        ]
    )
    edges = [[tuple(edge) for edge in (graph.edges.numpy()).tolist()] for graph in graphs]
    bonds = np.split(np.arange(1, 8), np.cumsum([len(graph) for graph in edges])[:-1])
    return GraphBatch.from_rounds(SIZES, edges, rounds, edge_features=bonds, own_feature=-7)


def assert_same(graphs, other):
    for name in ("child_splits", "child_ids", "graph_splits"):
        np.testing.assert_array_equal(getattr(graphs, name), getattr(other, name))


@pytest.mark.in_turns
@pytest.mark.parametrize("rounds, dense", [(0, False), (1, True), (3, False)])
def test_minibatches_are_those_of_from_rounds(rounds, dense):
    options = {"rounds": rounds, "edges": True, "per_edge": {"bond": -7}}
    (batch,) = data.batch(examples(dense, bonds=True), 4, **options)
    graphs, origin, bonds = expected(rounds)
    assert_same(batch["graphs"], graphs)
    np.testing.assert_array_equal(batch["origin"], origin)
    np.testing.assert_array_equal(batch["bond"], bonds)
    np.testing.assert_array_equal(batch["number"], np.arange(8))
    assert batch["graphs"].attached_schedule.has_edges
    (plain,) = data.batch(examples(dense, bonds=True), 4, as_dict=True, **options)
    assert_same(GraphBatch.from_dict(plain), graphs)
    np.testing.assert_array_equal(plain["origin"], origin)


def test_the_vertex_itself_takes_a_slot():
    (batch,) = data.batch(examples(dense=True), 4, rounds=2)
    assert batch["graphs"].attached_schedule.arity == 3
    (batch,) = data.batch(examples(dense=True), 4, rounds=0)
    assert batch["graphs"].attached_schedule.arity == 2
    message = (
        r"arity: got 2 but expected at least 3, the number of slots in dataset\['children'\] and "
        "one for the vertex itself. Raise the arity"
    )
    with pytest.raises(ValueError, match=message):
        data.batch(examples(dense=True), 4, rounds=1, arity=2)


def test_types_follow_and_rows_of_some_vertices_are_those_of_round_0():
    of_some = cavs.VertexRows(np.array([[1.0], [2.0]]), [1, 6])
    dataset = examples(kind=np.arange(8) % 3, x=of_some)
    (batch,) = data.batch(dataset, 4, rounds=2, edges=True, vertex_type="kind", num_types=3)
    np.testing.assert_array_equal(
        batch["graphs"].vertex_type, tf.gather(batch["kind"], batch["origin"])
    )
    rows = batch["x"].vertices
    assert rows.numpy().tolist() == [1, 14]
    assert tf.gather(batch["origin"], rows).numpy().tolist() == [1, 6]
    assert not tf.gather(batch["graphs"].num_children, rows).numpy().any()


@pytest.mark.in_turns
def test_budgets_count_rows():
    batches = list(data.batch(examples(), max_vertices=12, rounds=2, edges=True))
    assert [batch["graphs"].num_vertices for batch in batches] == [12, 12]
    message = r"dataset\[3\]: got 12 vertices but expected at most max_vertices, 11"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.batch(examples(), max_vertices=11, rounds=2, edges=True))
    batches = data.batch(examples(), 2, bucket_by="depth", rounds=2, edges=True)
    assert sum(batch["graphs"].num_vertices for batch in batches) == 24


def test_one_of_several_structures_may_have_rounds():
    pairs = tf.data.Dataset.zip(
        {"left": examples(bonds=True), "right": examples().map(_without_edges)}
    )
    options = {"arity": {"left": 4, "right": 2}, "per_edge": ["left/bond"]}
    (batch,) = data.batch(pairs, 4, rounds={"left": 1}, **options)
    assert (batch["left"]["graphs"].num_vertices, "origin" in batch["right"]) == (16, False)
    assert batch["left"]["bond"].numpy().tolist().count(0) == 8


def _without_edges(example):
    """As many vertices without edges."""
    return {"children": tf.fill([tf.size(example["number"]), 2], -1)}


@pytest.mark.in_turns
def test_replicas_have_whole_graphs():
    parts = list(data.batch(examples(), 4, rounds=1, edges=True, replicas=2))
    assert sum(part["graphs"].num_vertices for part in parts) == 16
    for part in parts:
        assert len(part["origin"]) == part["graphs"].num_vertices
        assert len(part["vertex_weight"]) == len(part["number"])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"rounds": -1}, r"rounds: got -1 but expected an int of at least 0. Pass one."),
        ({"rounds": 0.5}, r"rounds: got 0.5 but expected an int of at least 0. Pass one."),
        (
            {"rounds": {"left": 1}},
            r"rounds: got {'left': 1} but expected one value, as the example is one structure",
        ),
        (
            {"rounds": 1, "per_edge": {"bond": 0.5}},
            r"per_edge\['bond'\]: got 0.5 but expected int64 of shape \[\], as the features of",
        ),
        (
            {"per_edge": {"bond": 1}},
            r"per_edge: got {'bond': 1} but expected names alone without rounds, as no vertex has "
            "an edge to itself. Pass a list.",
        ),
    ],
)
def test_rejects(options, message):
    with pytest.raises(ValueError, match=message):
        data.batch(examples(bonds=True), 2, edges=True, **options)


def test_rejects_a_feature_named_origin():
    message = "dataset: got a feature named 'origin' but expected a name other than"
    with pytest.raises(ValueError, match=message):
        data.batch(examples(origin=np.arange(8)), 2, edges=True, rounds=1)


def test_names_an_id_that_is_out_of_range():
    slots = tf.ragged.constant([[], [0], [], [2, 0]], tf.int32)
    dataset = data.from_arrays([0, 2, 4], {"children": slots}, {})
    message = (
        r"children\[1\]\[1\]\[0\]: got 2 but expected -1 \(no child\) or a vertex of the same "
        r"graph, \[0, 2\). Graph 1 has 2 vertices."
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(data.batch(dataset, 2, edges=True, rounds=1))


def test_files_of_edges_may_have_cycles(tmp_path):
    path = tmp_path / "graphs.jsonl"
    path.write_text(json.dumps({"num_vertices": 2, "edges": [[0, 1], [1, 0], [1, 1]]}))
    (batch,) = data.batch(data.json_graphs(path, cycles=True), 1, rounds=1, edges=True)
    graphs, _ = GraphBatch.from_rounds([2], [[(0, 1), (1, 0), (1, 1)]], 1)
    assert_same(batch["graphs"], graphs)
    with pytest.raises(ValueError, match="cycles: got 'no' but expected True or False"):
        data.json_graphs(path, cycles="no")


@pytest.mark.in_turns
def test_a_minibatch_trains_a_cell():
    @cavs.vertex_function(state_size=2, arity=1)
    def cell(v):
        h = tf.tanh(v.pull() + v.sum_children(v.children()) - 0.5 * v.gather(0))
        v.scatter(h)
        v.push(h)

    (batch,) = data.batch(examples(x=np.ones([8, 2], np.float32)), 4, rounds=2, arity=1, edges=True)
    inputs = tf.gather(batch["x"], batch["origin"])
    assert cavs.check_equivalence(cell, batch["graphs"], inputs).ok
