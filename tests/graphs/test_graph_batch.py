"""GraphBatch: compares each constructor with a graph drawn by hand, and tests each message."""

import copy
import doctest
import pickle
import re

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from cavs_tf.graphs import _graph_batch as graphs_module
from cavs_tf.graphs import _schedule as schedule_module
from cavs_tf.graphs._graph_batch import GraphBatch, with_lists
from cavs_tf.graphs._schedule import EDGE_FIELDS, SCHEDULE_FIELDS, Schedule

GRAPH_FIELDS = ("child_splits", "child_ids", "graph_splits", "vertex_type")


def arrays(graphs):
    """All lists by name, those of an attached schedule too."""
    assert len(graphs.to_dict()["0_graphs_of_data_batch"]) == graphs.num_graphs
    assert graphs.to_dict()["zz_last_input"].shape == [0]
    lists = {name: getattr(graphs, name) for name in GRAPH_FIELDS}
    schedule = graphs.attached_schedule
    if schedule is not None:
        names = (*SCHEDULE_FIELDS, *(EDGE_FIELDS if schedule.has_edges else ()))
        lists |= {name: getattr(schedule, name) for name in names}
    return {name: values.numpy().tolist() for name, values in lists.items()}


def children(graphs):
    """The child ids of every vertex, by graph and relative to it, as from_children takes them."""
    a = arrays(graphs)
    lists = [
        a["child_ids"][begin:end]
        for begin, end in zip(a["child_splits"], a["child_splits"][1:], strict=False)
    ]
    return [
        [[c - first if c >= 0 else -1 for c in slots] for slots in lists[first:last]]
        for first, last in zip(a["graph_splits"], a["graph_splits"][1:], strict=False)
    ]


# 2 -> (0, 1); an empty graph; and 3 -> (missing, 2), 2 -> (0, 0), with 1 by itself.
CHILDREN = [[[], [], [0, 1]], [], [[], [], [0, 0], [-1, 2]]]

child_lists = st.integers(0, 6).flatmap(
    lambda n: st.lists(st.lists(st.integers(-1, n - 1), max_size=4), min_size=n, max_size=n)
)
minibatches = st.lists(child_lists, max_size=4)
fixed = settings(derandomize=True, deadline=None, max_examples=50, print_blob=True)


def test_docstring_examples_run():
    for module in (graphs_module, schedule_module):
        assert doctest.testmod(module).failed == 0


def test_from_children_by_hand():
    assert arrays(GraphBatch.from_children(CHILDREN)) == {
        "child_splits": [0, 0, 0, 2, 2, 2, 4, 6],
        "child_ids": [0, 1, 3, 3, -1, 5],
        "graph_splits": [0, 3, 3, 7],
        "vertex_type": [],
    }


@fixed
@given(minibatches)
def test_from_children_keeps_every_list(lists):
    assert children(GraphBatch.from_children(lists)) == lists


@tf.function(input_signature=[tf.RaggedTensorSpec([None, None, None], tf.int64)])
def from_ragged_in_graph(lists):
    return GraphBatch.from_ragged(lists)


@pytest.mark.in_turns
@fixed
@given(minibatches)
def test_from_ragged_equals_from_children(lists):
    ragged = tf.ragged.constant(lists, tf.int64, ragged_rank=2, inner_shape=())
    assert arrays(GraphBatch.from_ragged(ragged)) == arrays(GraphBatch.from_children(lists))
    assert arrays(from_ragged_in_graph(ragged)) == arrays(GraphBatch.from_children(lists))


def test_from_ragged_takes_uniform_slots_and_ragged_types():
    ragged = tf.RaggedTensor.from_row_lengths([[-1, -1], [-1, -1], [0, 1], [-1, -1]], [3, 1])
    types = tf.ragged.constant([[1, 1, 0], [1]])
    assert arrays(GraphBatch.from_ragged(ragged, types)) == {
        "child_splits": [0, 2, 4, 6, 8],
        "child_ids": [-1, -1, -1, -1, 0, 1, -1, -1],
        "graph_splits": [0, 3, 4],
        "vertex_type": [1, 1, 0, 1],
    }


def test_from_children_takes_padded_arrays():
    assert children(GraphBatch.from_children([np.array([[-1, -1], [0, -1]])])) == [
        [[-1, -1], [0, -1]]
    ]


def test_from_parents_lists_children_in_ascending_order():
    graphs = GraphBatch.from_parents([[3, -1, 3, 1], [], [-1], [1, 2, -1]])
    assert children(graphs) == [[[], [3], [], [0, 2]], [], [[]], [[], [0], [1]]]
    ragged = tf.ragged.constant([[3, -1, 3, 1], [], [-1], [1, 2, -1]])
    assert arrays(GraphBatch.from_parents(ragged)) == arrays(graphs)
    assert arrays(GraphBatch.from_parents([])) == arrays(GraphBatch.from_children([]))


def test_from_edges_fills_slots_in_the_order_of_edges():
    graphs = GraphBatch.from_edges([3, 0, 2, 1], [[(1, 2), (0, 1), (0, 2)], [], [(1, 0)], []])
    assert children(graphs) == [[[], [0], [1, 0]], [], [[1], []], [[]]]
    assert children(GraphBatch.from_edges([], [])) == []


def test_chain():
    assert children(GraphBatch.chain([0, 1, 3, 0])) == [[], [[]], [[], [0], [1]], []]
    assert children(GraphBatch.chain([])) == []
    assert children(tf.function(GraphBatch.chain)(tf.constant([2, 0, 1]))) == [[[], [0]], [], [[]]]


def test_complete_tree():
    assert (
        children(GraphBatch.complete_tree(2, num_graphs=2))
        == [[[], [], [], [], [0, 1], [2, 3], [4, 5]]] * 2
    )
    assert children(GraphBatch.complete_tree(0)) == [[[]]]
    assert children(GraphBatch.complete_tree(2, arity=1)) == [[[], [0], [1]]]
    assert children(GraphBatch.complete_tree(2, num_graphs=0)) == []
    assert arrays(GraphBatch.complete_tree(3, arity=3)) == arrays(
        GraphBatch.complete_tree(num_leaves=27, arity=3)
    )


def test_complete_tree_with_a_ragged_right_edge():
    assert children(GraphBatch.complete_tree(num_leaves=3)) == [[[], [], [], [0, 1], [3, 2]]]
    assert children(GraphBatch.complete_tree(num_leaves=5, arity=3)) == [
        [[], [], [], [], [], [0, 1, 2], [3, 4], [5, 6]]
    ]
    for num_leaves in range(1, 40):
        for arity in (2, 3, 5):
            graphs = GraphBatch.complete_tree(num_leaves=num_leaves, arity=arity)
            graphs.schedule(arity)
            sizes = np.diff(graphs.child_splits)
            assert np.count_nonzero(sizes == 0) == num_leaves
            assert np.all(sizes != 1)
            assert graphs.roots.numpy().tolist() == [graphs.num_vertices - 1]


def test_concat():
    parts = [CHILDREN, [], [[[], [0]]]]
    batches = [GraphBatch.from_children(part) for part in parts]
    expected = arrays(GraphBatch.from_children([graph for part in parts for graph in part]))
    assert arrays(GraphBatch.concat(batches)) == expected
    assert arrays(GraphBatch.concat([])) == arrays(GraphBatch.from_children([]))

    in_graph = tf.function(lambda *batches: GraphBatch.concat(batches))(*batches)
    assert arrays(in_graph) == expected | {"vertex_type": [0] * 9}


def test_concat_gives_untyped_minibatches_type_0():
    typed = GraphBatch.chain([2])
    typed = GraphBatch(typed.child_splits, typed.child_ids, typed.graph_splits, [2, 1])
    untyped = GraphBatch.chain([1])
    assert arrays(GraphBatch.concat([untyped, typed]))["vertex_type"] == [0, 2, 1]
    in_graph = tf.function(lambda a, b: GraphBatch.concat([a, b]))(typed, untyped)
    assert arrays(in_graph)["vertex_type"] == [2, 1, 0]


def test_vertex_types_flat_or_per_graph():
    nested = GraphBatch.from_children(CHILDREN, vertex_type=[[1, 1, 0], [], [1, 1, 0, 2]])
    flat = GraphBatch.from_children(CHILDREN, vertex_type=[1, 1, 0, 1, 1, 0, 2])
    assert arrays(nested) == arrays(flat)
    assert arrays(nested)["vertex_type"] == [1, 1, 0, 1, 1, 0, 2]
    assert nested.schedule(2, num_types=3).task_type.numpy().tolist() == [1, 0, 2]


IN_A_DICT = {"graphs": 6, "with a schedule": 6, "with edges": 7}


@pytest.mark.parametrize("kind", IN_A_DICT)
@pytest.mark.parametrize("children", [CHILDREN, []])
@pytest.mark.parametrize("typed", [False, True])
@pytest.mark.parametrize("compiled", [False, True])
def test_dict_and_back(kind, children, typed, compiled):
    types = [[v % 2 for v in range(len(graph))] for graph in children] if typed else None
    graphs = GraphBatch.from_children(children, types)
    if kind != "graphs":
        graphs = graphs.with_schedule(2, num_types=2, edges=kind == "with edges")
    tensors = graphs.to_dict()
    assert len(tensors) == IN_A_DICT[kind]
    back = tf.function(GraphBatch.from_dict) if compiled else GraphBatch.from_dict
    again = back(tensors)
    assert arrays(again) == arrays(graphs)
    assert (again.attached_schedule is None) == (kind == "graphs")
    if kind != "graphs":
        assert again.attached_schedule.arity == 2
        assert again.attached_schedule.has_edges == (kind == "with edges")


def test_lists_of_graphs_with_a_schedule_by_name():
    graphs = GraphBatch.from_children(CHILDREN, [[0] * len(graph) for graph in CHILDREN])
    features = graphs.with_schedule(2).to_dict() | {"x": tf.ones([3])}
    found = with_lists({"left": features, "label": tf.ones([2])})
    assert set(found) == {"left", "label"}
    assert set(found["left"]) == {*features, "child_ids", "vertex_type"}
    for name in GRAPH_FIELDS:
        np.testing.assert_array_equal(found["left"][name], getattr(graphs, name))


def test_from_dict_without_types():
    tensors = GraphBatch.chain([2]).to_dict()
    del tensors["vertex_type"]
    assert arrays(GraphBatch.from_dict(tensors))["vertex_type"] == []


def roots_eagerly(g):
    return g.roots, g.root_splits, g.root_graph, g.vertex_graph


roots_in_graph = tf.function(roots_eagerly)


def roots_by_definition(lists):
    roots, splits, first = [], [0], 0
    for graph in lists:
        named = {c for slots in graph for c in slots}
        roots += [first + v for v in range(len(graph)) if v not in named]
        splits.append(len(roots))
        first += len(graph)
    return roots, splits


@pytest.mark.in_turns
@fixed
@given(minibatches)
def test_roots_are_nobodys_children(lists):
    graphs = GraphBatch.from_children(lists)
    roots, splits = roots_by_definition(lists)
    for got in (roots_eagerly(graphs), roots_in_graph(graphs)):
        assert [t.dtype for t in got] == [tf.int32] * 4
        assert got[0].numpy().tolist() == roots
        assert got[1].numpy().tolist() == splits
        assert got[2].numpy().tolist() == np.repeat(range(len(lists)), np.diff(splits)).tolist()
        sizes = [len(graph) for graph in lists]
        assert got[3].numpy().tolist() == np.repeat(range(len(lists)), sizes).tolist()


def test_what_repr_says_are_attributes():
    graphs = GraphBatch.from_children(CHILDREN)
    assert repr(graphs) == (
        f"GraphBatch(num_graphs={graphs.num_graphs}, num_vertices={graphs.num_vertices}, "
        f"num_edges={graphs.num_edges}, arity={graphs.arity}, depth={graphs.depth})"
    )
    assert int(tf.function(lambda g: g.num_edges)(graphs)) == graphs.num_edges == 5
    for name in ("arity", "depth"):
        with pytest.raises(ValueError, match=f"{name}: got graphs inside a tf.function but expect"):
            tf.function(lambda g, name=name: getattr(g, name))(graphs)
    empty = GraphBatch.from_children([])
    assert (empty.num_edges, empty.arity, empty.depth) == (0, 0, 0)


def test_numbers_are_ints_when_known_and_tensors_when_not():
    graphs = GraphBatch.from_children(CHILDREN)
    assert (graphs.num_graphs, graphs.num_vertices) == (3, 7)
    assert isinstance(graphs.num_vertices, int)

    @tf.function
    def numbers(graphs):
        assert isinstance(graphs.num_vertices, tf.Tensor)
        return graphs.num_graphs, graphs.num_vertices, graphs.schedule(2).num_tasks

    assert [n.numpy() for n in numbers(graphs)] == [3, 7, 3]


def test_a_hundred_minibatches_cause_one_trace():
    traces = []

    @tf.function
    def work(graphs):
        traces.append(graphs)
        return graphs.schedule(arity=3).num_tasks

    random = np.random.default_rng(0)
    for _ in range(50):
        work(GraphBatch.chain(random.integers(0, 9, random.integers(0, 9))))
        tree = GraphBatch.complete_tree(2, arity=3, num_graphs=int(random.integers(0, 4)))
        lists = (tree.child_splits, tree.child_ids, tree.graph_splits)
        work(GraphBatch(*lists, [0] * tree.num_vertices))
    assert len(traces) == 1


def test_one_trace_more_with_schedules():
    traces = []

    @tf.function
    def work(graphs):
        traces.append(graphs)
        assert graphs.schedule(arity=2) is graphs.attached_schedule
        return graphs.schedule(arity=2).num_tasks

    for n in range(20):
        assert work(GraphBatch.chain([n]).with_schedule(arity=2)).numpy() == n
    assert len(traces) == 1


def test_spec_serves_as_input_signature():
    @tf.function(input_signature=[GraphBatch.Spec()])
    def work(graphs):
        return graphs.num_vertices

    assert work(GraphBatch.chain([2, 3])).numpy() == 5
    assert work(GraphBatch.chain([])).numpy() == 0


@pytest.mark.parametrize(
    "spec",
    [
        GraphBatch.Spec(),
        GraphBatch.Spec(scheduled=True, arity=2),
        GraphBatch.Spec(scheduled=True, edges=True),
        Schedule.Spec(arity=1),
    ],
)
def test_a_spec_is_hashed_by_little(monkeypatch, spec):
    again = pickle.loads(pickle.dumps(spec))
    assert again == spec
    assert hash(again) == hash(spec)
    # Every call of a tf.function hashes the types of its arguments five times.
    hashed = []
    hash_of = tf.TensorSpec.__hash__
    monkeypatch.setattr(tf.TensorSpec, "__hash__", lambda own: hashed.append(own) or hash_of(own))
    hash(spec)
    assert len(hashed) <= 1


def test_schedule_infers_arity_eagerly_only():
    graphs = GraphBatch.from_children(CHILDREN)
    assert graphs.schedule().arity == 2
    assert GraphBatch.from_children([]).schedule().arity == 0
    with pytest.raises(ValueError, match=r"arity: got graphs inside a tf\.function but"):
        tf.function(lambda g: g.schedule().order)(graphs)


def test_attached_schedule_is_used_if_its_arity_fits():
    graphs = GraphBatch.from_children(CHILDREN).with_schedule(arity=2)
    assert graphs.schedule(arity=2) is graphs.attached_schedule
    assert graphs.schedule() is graphs.attached_schedule
    assert graphs.schedule(arity=3).arity == 3


def test_repr_says_how_big():
    graphs = GraphBatch.from_children(CHILDREN)
    assert repr(graphs) == "GraphBatch(num_graphs=3, num_vertices=7, num_edges=5, arity=2, depth=2)"
    assert "attached_schedule=Schedule(num_vertices=7, num_tasks=3, arity=2)" in repr(
        graphs.with_schedule()
    )
    assert "not valid: " in repr(GraphBatch.from_children([[[1], [0]]]))
    assert "depth=0" in repr(GraphBatch.from_children([]))
    shown = []
    tf.function(lambda g: shown.append(repr(g)))(graphs)
    assert shown == ["GraphBatch(num_graphs=?, num_vertices=?)"]


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
)
def test_copies_and_pickles(clone):
    graphs = GraphBatch.from_children(CHILDREN).with_schedule(arity=2)
    again = clone(graphs)
    assert arrays(again) == arrays(graphs)
    assert isinstance(again.attached_schedule, Schedule)


@pytest.mark.in_turns
def test_passes_through_tf_data_cond_and_while():
    dataset = tf.data.Dataset.range(1, 20).map(
        lambda n: GraphBatch.chain([n, 2]).with_schedule(arity=1),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    assert dataset.element_spec == GraphBatch.Spec(scheduled=True, arity=1)
    assert [g.attached_schedule.num_tasks for g in dataset] == [2, 2, *range(3, 20)]

    @tf.function
    def grow(graphs):
        for _ in tf.range(3):
            graphs = GraphBatch.chain(tf.concat([graphs.graph_splits[1:], [2]], 0))
        return tf.cond(graphs.num_graphs > 3, lambda: graphs, lambda: GraphBatch.chain([1]))

    assert grow(GraphBatch.chain([1])).num_graphs == 4


def test_scheduling_rejects_cycles_in_any_mode():
    ring = GraphBatch.from_children([[[]], [[], [2], [1]]])
    message = re.escape("children[1][2][0]: got vertex 1 of graph 1 but expected")
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ring.schedule(arity=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.function(lambda g: g.schedule(arity=1).order)(ring)


@pytest.mark.parametrize("child, absolute", [(-2, -2), (-3, -3), (2, 4)])
def test_from_ragged_ids_are_checked_when_scheduled(child, absolute):
    graphs = GraphBatch.from_ragged(tf.ragged.constant([[[], []], [[], [child]]], ragged_rank=2))
    message = rf"children\[1\]\[1\]\[0\]: got {absolute} but expected"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        graphs.schedule(arity=1)


REJECTED = [
    (
        lambda: GraphBatch.from_children([*CHILDREN, [[], [-1, 2]]]),
        "children[3][1][1]: got 2 but expected -1 (no child) or a vertex of the same graph, "
        "[0, 2). Graph 3 has 2 vertices.",
    ),
    (
        lambda: GraphBatch.from_children([[[-2]]]),
        "children[0][0][0]: got -2 but expected -1 (no child) or a vertex of the same graph, "
        "[0, 1). Graph 0 has 1 vertices.",
    ),
    (
        lambda: GraphBatch.from_children([[[], [0.5]]]),
        "children: got 0.5 but expected only integers. Convert it.",
    ),
    (
        lambda: GraphBatch.from_parents([[-1], [1, 2, 7]]),
        "parents[1][2]: got 7 but expected -1 (root) or a vertex in [0, 3). Graph 1 has 3 "
        "vertices.",
    ),
    (
        lambda: GraphBatch.from_parents([[-1], [1, 1]]),
        "parents[1][1]: got 1 but expected another vertex, or -1 (root). A vertex is not its own "
        "parent; GraphBatch.from_rounds takes graphs with cycles.",
    ),
    (
        lambda: GraphBatch.from_edges([2, -3], [[], []]),
        "num_vertices[1]: got -3 but expected at least 0.",
    ),
    (
        lambda: GraphBatch.from_edges([2, 3], [[]]),
        "edges: got edges of 1 graphs but expected 2, one array per value in num_vertices. Pass "
        "an empty one for a graph without edges.",
    ),
    (
        lambda: GraphBatch.from_edges([2, 3], [[], [(0, 1), (2, 3)]]),
        "edges[1][1]: got child 2, parent 3 but expected two vertices in [0, 3). Graph 1 has 3 "
        "vertices.",
    ),
    (
        lambda: GraphBatch.from_edges([2], [[(0, 1, 2)]]),
        "edges[0]: got int64 of shape (1, 3) but expected integers of shape [n, 2]. (child, "
        "parent) pairs have layout='pairs', a row of children and one of parents layout='rows'.",
    ),
    (
        lambda: GraphBatch.from_edges([3], [np.array([[0, 1, 0], [2, 2, 1]])]),
        "edges[0]: got int64 of shape (2, 3) but expected integers of shape [n, 2]. (child, "
        "parent) pairs have layout='pairs', a row of children and one of parents layout='rows'.",
    ),
    (
        lambda: GraphBatch.from_edges([4], [np.array([[1, 0], [2, 1]])]),
        "edges[0]: got [[1, 0], [2, 1]], which may be two pairs or a row of children and one of "
        "parents, but expected to be told which. Pass layout='pairs' or layout='rows'.",
    ),
    (
        lambda: GraphBatch.from_edges([3], [[[0, 1], [2, 2]]]),
        "edges[0]: got [[0, 1], [2, 2]], which may be two pairs or a row of children and one of "
        "parents, but expected to be told which. Pass layout='pairs' or layout='rows'.",
    ),
    (
        lambda: GraphBatch.from_edges([3], [[(0, 2), (1, 2), (0, 1)]], layout="rows"),
        "edges[0]: got int64 of shape (3, 2) but expected integers of shape [2, n]. (child, "
        "parent) pairs have layout='pairs', a row of children and one of parents layout='rows'.",
    ),
    (
        lambda: GraphBatch.from_edges([3], [[]], layout="columns"),
        "layout: got 'columns' but expected 'pairs', 'rows' or None. 'pairs' are (child, parent), "
        "'rows' one of children and one of parents.",
    ),
    (
        lambda: GraphBatch.from_edges([2, 3], [[], [(0, 1), (2, 2)]]),
        "edges[1][1]: got 2 as child and as parent but expected two vertices. A vertex is not its "
        "own parent; GraphBatch.from_rounds takes graphs with cycles.",
    ),
    (
        lambda: GraphBatch.from_edges(3, [[(0, 1)]]),
        "num_vertices: got 3 but expected a list with one entry per graph. Pass a list of one for "
        "one graph.",
    ),
    (
        lambda: GraphBatch.from_children([[], [], [0, 1]]),
        "children[2][0]: got 0 but expected a list of child ids. The argument is a list of graphs: "
        "pass [children] if that is one graph.",
    ),
    (
        lambda: GraphBatch.from_children([[[], [0]], [[], 3]]),
        "children[1][1]: got 3 but expected a list of child ids. The argument is a list of graphs: "
        "pass [children] if that is one graph.",
    ),
    (
        lambda: GraphBatch.from_children(np.array([[-1, -1], [0, -1]])),
        "children[0][0]: got -1 but expected a list of child ids. The argument is a list of "
        "graphs: pass [children] if that is one graph.",
    ),
    (
        lambda: GraphBatch.from_children(3),
        "children: got 3 but expected a list with one entry per graph. Pass a list of one for one "
        "graph.",
    ),
    (
        lambda: GraphBatch.from_parents([2, 2, -1]),
        "parents[0]: got 2 but expected a list of one value per vertex. The argument is a list of "
        "graphs: pass [parents] if that is one graph.",
    ),
    (
        lambda: GraphBatch.from_parents([[[], [], [0, 1]]]),
        "parents: got [] but expected only integers. Flatten it.",
    ),
    (
        lambda: GraphBatch.from_parents([[-1]], 0),
        "vertex_type: got 0 but expected a list with one entry per graph. Pass a list of one for "
        "one graph.",
    ),
    (
        lambda: GraphBatch.chain(tf.ragged.constant([[1], [2, 3]])),
        "lengths: got a RaggedTensor but expected integers of rank 1. Pass its values or its "
        "row_lengths().",
    ),
    (
        lambda: GraphBatch.chain([2, -1]),
        "lengths[1]: got -1 but expected at least 0.",
    ),
    (
        lambda: GraphBatch.chain([2.0]),
        "lengths: got float32 of shape (1,) but expected integers of rank 1. Convert or reshape "
        "it.",
    ),
    (
        lambda: GraphBatch.complete_tree(),
        "depth: got None and num_leaves None but expected one of them. Leave out the other.",
    ),
    (
        lambda: GraphBatch.complete_tree(-1),
        "depth: got -1 but expected an int of at least 0.",
    ),
    (
        lambda: GraphBatch.complete_tree(num_leaves=0),
        "num_leaves: got 0 but expected an int of at least 1.",
    ),
    (
        lambda: GraphBatch.complete_tree(num_leaves=4, arity=1),
        "arity: got 1 but expected an int of at least 2.",
    ),
    (
        lambda: GraphBatch.complete_tree(1, num_graphs=-1),
        "num_graphs: got -1 but expected an int of at least 0.",
    ),
    (
        lambda: GraphBatch.from_children(CHILDREN, [0, 1]),
        "vertex_type: got 2 values but expected 7, one per vertex. Pass None if all vertices are "
        "of type 0.",
    ),
    (
        lambda: GraphBatch.from_children(CHILDREN, [[0, 1, 0], [], [1]]),
        "vertex_type[2]: got 1 values but expected 4, one per vertex. Graph 2 has 4 vertices.",
    ),
    (
        lambda: GraphBatch.from_children(CHILDREN, [[0, 1, 0]]),
        "vertex_type: got types of 1 graphs but expected 3. Pass one list per graph.",
    ),
    (
        lambda: GraphBatch.from_children([[[]], [[], []]], [[0], [0, -1]]),
        "vertex_type[1][1]: got -1 but expected at least 0. Types number the vertex functions.",
    ),
    (
        lambda: GraphBatch([[0]], [], [0]),
        "child_splits: got int32 of shape (1, 1) but expected integers of rank 1. Convert or "
        "reshape it.",
    ),
    (
        lambda: GraphBatch.from_dict({"child_splits": [0], "child_ids": []}),
        "tensors: got ['child_ids', 'child_splits'] but expected 'graph_splits' among them. Pass "
        "everything that to_dict returned, or put examples into minibatches by "
        "cavs_tf.data.batch(examples, batch_size, as_dict=True).",
    ),
    (
        lambda: GraphBatch.from_dict({"child_splits": [0], "graph_splits": [0], "child_row": [[]]}),
        "tensors: got ['child_row', 'child_splits', 'graph_splits'] but expected 'packed_lists' "
        "among them. Pass everything that to_dict returned, or put examples into minibatches by "
        "cavs_tf.data.batch(examples, batch_size, as_dict=True).",
    ),
]


@pytest.mark.parametrize("make, message", REJECTED, ids=[m.split(":")[0] for _, m in REJECTED])
def test_rejects(make, message):
    with pytest.raises(ValueError) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.parametrize("name", ["children", "parents"])
def test_graphs_that_are_not_known_yet_are_rejected(name):
    make = getattr(GraphBatch, f"from_{name}")
    ragged = tf.ragged.constant([[[], [0]]] if name == "children" else [[1, -1]])
    message = (
        rf"{name}: got a RaggedTensor inside a tf.function but expected one whose values are "
        "known. Use GraphBatch.from_ragged with child ids there, or make the graphs outside"
    )
    with pytest.raises(ValueError, match=message):
        tf.function(lambda x: make(x).num_vertices)(ragged)
    with pytest.raises(ValueError, match=message.replace("a RaggedTensor", "a SymbolicTensor")):
        tf.function(lambda x: make([x]).num_vertices)(tf.constant([1, -1]))
    assert arrays(make(ragged)) == arrays(GraphBatch.from_children([[[], [0]]]))


def test_from_children_takes_tensors():
    expected = arrays(GraphBatch.from_children([[[-1], [0]]]))
    assert arrays(GraphBatch.from_children(tf.constant([[[-1], [0]]]))) == expected
    assert arrays(GraphBatch.from_children([tf.constant([[-1], [0]])])) == expected
    ragged = tf.ragged.constant([[-1], [0]])
    assert arrays(GraphBatch.from_children([ragged])) == expected


def test_from_edges_takes_two_edges_where_they_can_only_be_pairs():
    for pairs in ([[0, 2], [1, 2]], [[0, 1], [1, 2]], [[0, 1], [0, 2]]):
        expected = arrays(GraphBatch.from_edges([3], [[tuple(pair) for pair in pairs]]))
        assert arrays(GraphBatch.from_edges([3], [np.array(pairs)])) == expected


def test_from_edges_takes_pairs_and_rows_of_any_number_of_edges():
    for pairs in ([], [(0, 2)], [(0, 1), (2, 3)], [(0, 2), (1, 3)], [(1, 2), (0, 2), (2, 3)]):
        array = np.array(pairs, np.int64).reshape(-1, 2)
        expected = arrays(GraphBatch.from_edges([4], [pairs]))
        assert arrays(GraphBatch.from_edges([4], [array], layout="pairs")) == expected
        assert arrays(GraphBatch.from_edges([4], [array.T], layout="rows")) == expected
        assert arrays(GraphBatch.from_edges([4], tf.constant([array.T]), layout="rows")) == expected


def test_from_ragged_rejects_other_ranks():
    with pytest.raises(ValueError, match=r"children: got .* but expected a RaggedTensor"):
        GraphBatch.from_ragged(tf.ragged.constant([[0]]))
    with pytest.raises(ValueError, match=r"children: got .* but expected a RaggedTensor"):
        GraphBatch.from_ragged(tf.constant([[[0]]]))
