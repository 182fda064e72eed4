"""Rounds of message passing: compares graphs of rounds with a loop over rounds in NumPy."""

import doctest
import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import cavs_tf as cavs
from cavs_tf import GraphBatch
from cavs_tf.graphs import _graph_batch as graphs_module

RING = [(0, 1), (1, 2), (2, 0)]

one_graph = st.integers(0, 5).flatmap(
    lambda n: st.tuples(
        st.just(n),
        st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=8)
        if n
        else st.just([]),
    )
)
minibatches = st.lists(one_graph, max_size=4)
fixed = settings(derandomize=True, deadline=None, max_examples=40, print_blob=True)


def rounds_by_definition(sizes, edges, rounds):
    """Child ids of each row, absolute, and the vertex of each row."""
    children, origin, first_row, first = [], [], 0, 0
    for size, pairs in zip(sizes, edges, strict=True):
        for r in range(rounds + 1):
            for v in range(size):
                before = first_row + (r - 1) * size
                sources = [source for source, target in pairs if target == v]
                children.append([before + v, *(before + s for s in sources)] if r else [])
                origin.append(first + v)
        first_row, first = first_row + (rounds + 1) * size, first + size
    return children, origin


def lists(graphs):
    ids, splits = graphs.child_ids.numpy(), graphs.child_splits.numpy()
    return [part.tolist() for part in np.split(ids, splits[1:-1])] if len(splits) > 1 else []


def ragged(edges):
    return tf.RaggedTensor.from_row_lengths(
        np.array([pair for graph in edges for pair in graph], np.int64).reshape(-1, 2),
        np.array([len(graph) for graph in edges], np.int64),
    )


@tf.function(
    input_signature=[
        tf.TensorSpec([None], tf.int32),
        tf.RaggedTensorSpec([None, None, 2], tf.int64, ragged_rank=1),
        tf.TensorSpec([], tf.int32),
    ]
)
def in_a_function(sizes, edges, rounds):
    return GraphBatch.from_rounds(sizes, edges, rounds)


def test_docstring_examples_run():
    assert doctest.testmod(graphs_module).failed == 0


@pytest.mark.in_turns
@fixed
@given(minibatches, st.integers(0, 3))
def test_rows_and_children_are_those_of_the_definition(minibatch, rounds):
    sizes, edges = [size for size, _ in minibatch], [pairs for _, pairs in minibatch]
    expected = rounds_by_definition(sizes, edges, rounds)
    for graphs, origin in (
        GraphBatch.from_rounds(sizes, edges, rounds),
        GraphBatch.from_rounds(sizes, ragged(edges), tf.constant(rounds)),
        in_a_function(np.array(sizes, np.int32), ragged(edges), rounds),
    ):
        assert (lists(graphs), origin.numpy().tolist()) == expected
        sizes_of_rows = np.diff(graphs.graph_splits)
        assert sizes_of_rows.tolist() == [(rounds + 1) * size for size in sizes]
        roots, end = [], 0
        for size in sizes:
            end += (rounds + 1) * size
            roots += range(end - size, end)
        assert graphs.roots.numpy().tolist() == roots


@cavs.vertex_function(state_size=3, arity=1)
def weighed_sum(v):
    message = v.sum_children(v.pull_edge("weight") * v.children())
    h = tf.tanh(v.pull("x") + v.gather(0) - message)
    v.scatter(h)
    v.push(h)


def loop_in_numpy(x, sizes, edges, weights, rounds):
    """The states of `weighed_sum` after the last round; -0.5 weighs a vertex itself."""
    results, first = [], 0
    for size, pairs, own in zip(sizes, edges, weights, strict=True):
        inputs = x[first : first + size]
        h = np.tanh(inputs)
        for _ in range(rounds):
            message = -0.5 * h
            for (source, target), weight in zip(pairs, own, strict=True):
                message[target] += weight * h[source]
            h = np.tanh(inputs + h - message)
        results.append(h)
        first += size
    return np.concatenate(results) if results else np.zeros([0, 3])


def random_minibatch(seed, num_graphs=6):
    """Graphs of 1 to 9 vertices with cycles, loops and repeated edges; some without edges."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 10, num_graphs)
    counts = random.integers(0, 3, num_graphs) * sizes
    edges = [random.integers(0, n, [e, 2]) for n, e in zip(sizes, counts, strict=True)]
    return sizes, edges, [random.normal(size=[e, 1]) for e in counts]


@pytest.mark.parametrize("rounds", [0, 1, 4])
@pytest.mark.parametrize(
    "minibatch",
    [
        *map(random_minibatch, range(2)),
        *(pytest.param(random_minibatch(seed), marks=pytest.mark.long) for seed in (2, 3)),
        ([1], [np.zeros([0, 2], int)], [np.zeros([0, 1])]),
        ([1], [np.zeros([3, 2], int)], [np.ones([3, 1])]),
        ([0, 4, 0], [[], [], []], [np.zeros([0, 1])] * 3),
        ([], [], []),
    ],
    ids=[*map(str, range(4)), "one vertex", "one vertex with loops", "no edges", "no graphs"],
)
def test_states_are_those_of_a_loop_in_numpy(minibatch, rounds):
    sizes, edges, weights = minibatch
    layout = "pairs" if len(sizes) else None
    graphs, origin, weight = GraphBatch.from_rounds(
        sizes, edges, rounds, layout=layout, edge_features=weights, own_feature=-0.5
    )
    x = np.random.default_rng(5).normal(size=[sum(sizes), 3]).astype("float32")
    if not len(sizes):
        weight = np.zeros([0, 1])
    inputs = {"x": tf.gather(x, origin), "weight": weight.astype("float32")}
    found = weighed_sum(graphs, inputs, at=graphs.roots)
    expected = loop_in_numpy(x, sizes, edges, weights, rounds)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    if len(sizes):
        assert cavs.check_equivalence(weighed_sum, graphs, inputs).ok


def test_features_follow_their_edges_whatever_their_type():
    edges = [[(0, 2), (2, 2), (1, 0)], [(1, 0)]]
    names = [["a", "b", "c"], ["d"]]
    *_, found = GraphBatch.from_rounds([3, 2], edges, 1, edge_features=names, own_feature="itself")
    assert found.tolist() == ["itself", "c", "itself", "itself", "a", "b", "itself", "d", "itself"]
    numbers = [np.array([1, 2, 3], np.int16), np.array([4], np.int16)]
    *_, found = GraphBatch.from_rounds([3, 2], edges, 1, edge_features=numbers, own_feature=-1)
    assert (found.dtype, found.tolist()) == (np.int16, [-1, 3, -1, -1, 1, 2, -1, 4, -1])
    *_, found = tf.function(
        lambda e, f: GraphBatch.from_rounds([3, 2], e, 1, edge_features=f, own_feature=-1)
    )(ragged(edges), tf.ragged.constant([[1, 2, 3], [4]]))
    assert found.numpy().tolist() == [-1, 3, -1, -1, 1, 2, -1, 4, -1]
    vectors = [np.ones([3, 2]), np.ones([1, 2])]
    *_, found = GraphBatch.from_rounds([3, 2], edges, 1, edge_features=vectors, own_feature=[5, 6])
    assert found[0].tolist() == [5, 6]
    *_, found = GraphBatch.from_rounds([3, 2], edges, 0, edge_features=vectors)
    assert found.shape == (0, 2)


def test_types_are_those_of_the_vertices():
    types = [[2, 0, 1], [1]]
    graphs, _ = GraphBatch.from_rounds([3, 1], [RING, []], 1, types)
    assert graphs.vertex_type.numpy().tolist() == [2, 0, 1, 2, 0, 1, 1, 1]
    graphs, _ = GraphBatch.from_rounds([3, 1], ragged([RING, []]), 1, tf.ragged.constant(types))
    assert graphs.vertex_type.numpy().tolist() == [2, 0, 1, 2, 0, 1, 1, 1]


def test_rows_of_sources_and_of_targets_have_a_layout():
    index = [np.array([[0, 1, 2], [1, 2, 0]])]
    rows, _ = GraphBatch.from_rounds([3], index, 2, layout="rows")
    pairs, _ = GraphBatch.from_rounds([3], [RING], 2)
    assert lists(rows) == lists(pairs)


def wrong_own(own, features=((1, 2, 3),), **kwargs):
    return GraphBatch.from_rounds([3], [RING], 1, edge_features=features, own_feature=own, **kwargs)


REJECTED = [
    (
        lambda: GraphBatch.from_rounds([3, 2], [[], [(0, 1), (2, 0)]], 1),
        "edges[1][1]: got source 2, target 0 but expected two vertices in [0, 2). Graph 1 has 2 "
        "vertices.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], [np.array([[0, 1], [1, 0], [2, 2]]).T], 1),
        "edges[0]: got int64 of shape (2, 3) but expected integers of shape [n, 2]. (source, "
        "target) pairs have layout='pairs', a row of sources and one of targets layout='rows'.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], [[[0, 1], [0, 2]]], 1),
        "edges[0]: got [[0, 1], [0, 2]], which may be two pairs or a row of sources and one of "
        "targets, but expected to be told which. Pass layout='pairs' or layout='rows'.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], [RING], 1, layout="columns"),
        "layout: got 'columns' but expected 'pairs', 'rows' or None. 'pairs' are (source, target), "
        "'rows' one of sources and one of targets.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], ragged([RING]), 1, layout="rows"),
        "layout: got 'rows' but expected 'pairs' or None for a RaggedTensor of edges. Transpose "
        "the edges of each graph.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], [RING], -1),
        "rounds: got -1 but expected an int of at least 0. Pass one.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], [RING], 1.5),
        "rounds: got 1.5 but expected an int of at least 0. Pass one.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], [RING], 2**30),
        "rounds: got 3221225475 vertices in all but expected fewer than 2**31 - 1. Make smaller "
        "minibatches.",
    ),
    (
        lambda: wrong_own(0.5),
        "own_feature: got 0.5 but expected int64 of shape [], as the features of edges are. Pass "
        "such a value, or None for zeros.",
    ),
    (
        lambda: wrong_own("itself"),
        "own_feature: got 'itself' but expected int64 of shape [], as the features of edges are. "
        "Pass such a value, or None for zeros.",
    ),
    (
        lambda: wrong_own(1, features=(("a", "b", "c"),)),
        "own_feature: got 1 but expected strings of shape [], as the features of edges are. Pass "
        "such a value, or None for zeros.",
    ),
    (
        lambda: wrong_own([1, 2]),
        "own_feature: got [1, 2] but expected int64 of shape [], as the features of edges are. "
        "Pass such a value, or None for zeros.",
    ),
    (
        lambda: wrong_own(None, features=((1, 2),)),
        "edge_features[0]: got shape [2] but expected [3, ...], one row per edge of graph 0.",
    ),
    (
        lambda: GraphBatch.from_rounds([3], ragged([RING]), 1, edge_features=[[1, 2, 3]]),
        "edge_features: got a list but expected a RaggedTensor [graphs, (edges), ...], as the "
        "edges are one. Convert it.",
    ),
    (
        lambda: GraphBatch.from_edges([2], [[(1, 1)]]),
        "edges[0][0]: got 1 as child and as parent but expected two vertices. A vertex is not its "
        "own parent; GraphBatch.from_rounds takes graphs with cycles.",
    ),
    (
        lambda: GraphBatch.from_parents([[-1], [1, 1]]),
        "parents[1][1]: got 1 but expected another vertex, or -1 (root). A vertex is not its own "
        "parent; GraphBatch.from_rounds takes graphs with cycles.",
    ),
]


@pytest.mark.parametrize("make, message", REJECTED, ids=[m.split(":")[0] for _, m in REJECTED])
def test_rejects(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == message


REJECTED_LATER = [
    (
        lambda: ([3, 2], ragged([[], [(0, 1), (2, 0)]]), 1),
        "edges[1][1]: got source 2, target 0 but expected two vertices in [0, 2). Graph 1 has as "
        "many vertices as num_vertices says.",
    ),
    (
        lambda: ([3, -2], ragged([[], []]), 1),
        "num_vertices[1]: got -2 but expected at least 0. Correct it.",
    ),
    (
        lambda: ([3], ragged([[], []]), 1),
        "edges: got edges of 2 graphs but expected 1, one list per value in num_vertices. Pass an "
        "empty one for a graph without edges.",
    ),
    (
        lambda: ([3], ragged([[]]), -1),
        "rounds: got -1 but expected an int of at least 0. Pass one.",
    ),
    (
        lambda: ([3], ragged([RING]), 2**29 - 1),
        "rounds: got 3221225466 edges in all but expected fewer than 2**31 - 1. Make smaller "
        "minibatches.",
    ),
]


@pytest.mark.parametrize("arguments, message", REJECTED_LATER)
def test_rejects_what_is_not_known_before(arguments, message):
    sizes, edges, rounds = arguments()
    with pytest.raises(tf.errors.InvalidArgumentError, match=re.escape(message)):
        in_a_function(np.array(sizes, np.int32), edges, rounds)


def test_rejects_features_and_types_of_other_numbers():
    make, edges = tf.function(GraphBatch.from_rounds), ragged([RING, []])
    message = r"edge_features: got 3 rows in 1 graphs but expected 3 in 2, one row for each edge"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        make([3, 1], edges, 1, edge_features=tf.ragged.constant([[1, 2, 3]]))
    message = r"vertex_type: got 2 values but expected 4, one per vertex. Pass None"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        make([3, 1], edges, 1, tf.constant([0, 1]))
    message = "edges: got .* but expected a RaggedTensor of integers"
    with pytest.raises(ValueError, match=message):
        make([3], tf.ragged.constant([[1, 2]]), 1)
    with pytest.raises(ValueError, match=r"rounds: got float32 of shape \(\) but expected an int"):
        make([3, 1], edges, tf.constant(1.0))


def test_messages_about_cycles_point_to_rounds():
    ring = GraphBatch.from_children([[[1], [0]]])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"GraphBatch\.from_rounds"):
        ring.schedule(arity=1)
