"""GraphBatch as a sequence of graphs, its parts and its reverse, compared with plain Python."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import cavs_tf as cavs
from cavs_tf.graphs import GraphBatch
from tests.graphs.test_graph_batch import CHILDREN, arrays, children, fixed, minibatches

TYPED = GraphBatch.from_children(CHILDREN, [[0, 1, 2], [], [3, 4, 5, 6]])


def both_ways(function, *arguments):
    """The result of `function` when it is called eagerly; in a tf.function it must be the same."""
    eager = function(*arguments)
    assert arrays(tf.function(function)(*arguments)) == arrays(eager)
    return eager


def reversed_by_definition(lists):
    reverse = []
    for graph in lists:
        parents = [[] for _ in graph]
        for vertex, slots in enumerate(graph):
            for child in slots:
                if child >= 0:
                    parents[child].append(vertex)
        reverse.append(parents)
    return reverse


@pytest.mark.in_turns
@fixed
@given(minibatches)
def test_reverse_makes_parents_the_children(lists):
    graphs = GraphBatch.from_children(lists)
    assert children(graphs.reverse()) == reversed_by_definition(lists)


def test_reverse_by_hand():
    graphs = both_ways(lambda g: g.reverse(), TYPED)
    assert children(graphs) == [[[2], [2], []], [], [[2, 2], [], [3], []]]
    assert arrays(graphs)["vertex_type"] == arrays(TYPED)["vertex_type"]
    assert children(graphs.reverse()) == [[[], [], [0, 1]], [], [[], [], [0, 0], [2]]]
    assert TYPED.with_schedule(2, num_types=7).reverse().attached_schedule is None


@pytest.mark.in_turns
def test_reverse_in_a_pipeline_feeds_a_model_up_and_down():
    """After passes up and down a tree, every vertex depends on the whole tree."""
    units, features = 4, 3
    up = cavs.keras.graph_inputs(3)
    down = cavs.keras.graph_inputs(1, name="down")
    rows = keras.Input((features,), name="rows")
    upward = cavs.keras.TreeLSTM(units, 3, return_vertices=True)
    downward = cavs.keras.TreeLSTM(units, 1, return_vertices=True)
    model = keras.Model({**up, "rows": rows, "down": down}, downward(down, upward(up, rows)))

    def with_down(batch):
        reverse = GraphBatch.from_dict(batch).reverse().with_schedule(arity=1)
        rows = tf.random.stateless_normal([tf.size(batch["token"]), features], [0, 1])
        return batch | {"rows": rows, "down": reverse.to_dict()}

    trees = cavs.data.listops(6, max_depth=2, max_args=3)
    batches = cavs.data.batch(trees, 3, as_dict=True).map(with_down)
    for batch in batches:
        graphs = GraphBatch.from_dict(batch)
        want = downward(graphs.reverse(), upward(graphs, batch["rows"]))
        np.testing.assert_allclose(model(select(batch, model.input)), want, rtol=1e-5, atol=1e-6)
    # The loss may be any function of the vertices.
    model.compile("sgd", "mse")
    outputs = batches.map(lambda batch: batch | {"zeros": tf.zeros_like(batch["rows"][:, :1])})
    model.fit(cavs.keras.for_fit(outputs, model.input, "zeros"), verbose=0, shuffle=False)


def select(features, names):
    return {
        name: select(features[name], part) if isinstance(part, dict) else features[name]
        for name, part in names.items()
    }


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "index, chosen",
    [
        (0, [0]),
        (-1, [2]),
        (np.int64(2), [2]),
        (slice(1, None), [1, 2]),
        (slice(None, None, -2), [2, 0]),
        (slice(5, 9), []),
        ([2, 0, 2], [2, 0, 2]),
        ([], []),
        (np.array([1, 2]), [1, 2]),
        ([True, False, True], [0, 2]),
        (np.array([False, False, False]), []),
    ],
)
def test_indices_choose_graphs(index, chosen):
    want = [CHILDREN[g] for g in chosen]
    got = both_ways(lambda graphs: graphs[index], TYPED)
    assert children(got) == want
    types = np.split(TYPED.vertex_type, TYPED.graph_splits[1:-1])
    assert arrays(got)["vertex_type"] == [t for g in chosen for t in types[g].tolist()]
    assert TYPED.with_schedule(2, num_types=7)[index].attached_schedule is None


@pytest.mark.parametrize("index", [tf.constant(2), tf.constant([2, 0]), tf.constant([0, 1, 1]) > 0])
def test_indices_may_be_tensors(index):
    eager = TYPED[index]
    assert arrays(tf.function(lambda graphs, i: graphs[i])(TYPED, index)) == arrays(eager)
    assert eager.num_graphs in (1, 2)


@pytest.mark.in_turns
@fixed
@given(minibatches, st.data())
def test_chosen_graphs_are_those_of_lists(lists, data):
    ids = data.draw(st.lists(st.integers(0, len(lists) - 1), max_size=5) if lists else st.just([]))
    assert children(GraphBatch.from_children(lists)[ids]) == [lists[g] for g in ids]


def test_graphs_are_a_sequence():
    assert len(TYPED) == 3
    assert len(GraphBatch.from_children([])) == 0
    assert [children(graph) for graph in TYPED] == [[graph] for graph in CHILDREN]
    assert arrays(GraphBatch.concat(list(TYPED))) == arrays(TYPED)


@pytest.mark.parametrize(
    "vertices",
    [
        [0, 2, 3, 6],
        [6, 3, 2, 0, 2],
        [True, False, True, True, False, False, True],
        np.array([0, 2, 3, 6]),
        tf.constant([True, False, True, True, False, False, True]),
    ],
)
def test_subgraph_keeps_chosen_vertices_and_edges_between_them(vertices):
    graphs = both_ways(lambda g: g.subgraph(vertices), TYPED)
    assert children(graphs) == [[[], [0, -1]], [], [[], [-1, -1]]]
    assert arrays(graphs)["vertex_type"] == [0, 2, 3, 6]


@pytest.mark.in_turns
@fixed
@given(minibatches, st.data())
def test_subgraph_of_all_is_the_same_and_of_none_has_no_vertices(lists, data):
    graphs = GraphBatch.from_children(lists)
    assert children(graphs.subgraph(range(graphs.num_vertices))) == lists
    assert children(graphs.subgraph([])) == [[] for _ in lists]
    kept = data.draw(
        st.lists(st.booleans(), min_size=graphs.num_vertices, max_size=graphs.num_vertices)
    )
    rest = graphs.subgraph(np.array(kept, bool))
    assert rest.num_vertices == sum(kept)
    assert rest.num_graphs == len(lists)
    assert rest.num_edges == sum(
        kept[v] and c >= 0 and kept[c]
        for v, (begin, end) in enumerate(
            zip(graphs.child_splits, graphs.child_splits[1:], strict=False)
        )
        for c in graphs.child_ids.numpy()[begin:end]
    )


INVALID = tf.errors.InvalidArgumentError
REJECTED = [
    (
        lambda: TYPED[3],
        IndexError,
        "graphs[3]: got 3 but expected an index in [-3, 3). There are 3 graphs",
    ),
    (
        lambda: TYPED[-4],
        IndexError,
        "graphs[-4]: got -4 but expected an index in [-3, 3). There are 3",
    ),
    (lambda: TYPED[[0, 3]], INVALID, "graphs[[0, 3]]: got 3 but expected an index in [-3, 3)."),
    (lambda: TYPED[[True]], INVALID, "graphs[[True]]: got 1 values but expected 3, one per"),
    (lambda: TYPED["a"], ValueError, "graphs['a']: got a str but expected an integer, a slice, or"),
    (lambda: TYPED[0, 1], ValueError, "graphs[(0, 1)]: got a tuple but expected an integer, a"),
    (lambda: TYPED[1.5], ValueError, "graphs[1.5]: got float32 of shape () but expected"),
    (lambda: TYPED[[[1]]], ValueError, "graphs[[[1]]]: got int32 of shape (1, 1) but expected"),
    (lambda: TYPED[None], ValueError, "graphs[None]: got a NoneType but expected an integer, a"),
    (lambda: TYPED.subgraph([7]), INVALID, "vertices: got 7 but expected an index in [0, 7)."),
    (lambda: TYPED.subgraph([-1]), INVALID, "vertices: got -1 but expected an index in [0, 7"),
    (lambda: TYPED.subgraph([True]), INVALID, "vertices: got 1 values but expected 7, one per"),
    (lambda: TYPED.subgraph(0.5), ValueError, "vertices: got float32 of shape () but expected"),
]


@pytest.mark.parametrize("call, error, message", REJECTED)
def test_rejects_what_is_no_part(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()


@pytest.mark.parametrize("part", [lambda g, i: g[i], lambda g, i: g.subgraph(i)])
@pytest.mark.parametrize(
    "index, message",
    [
        ([0, 9], r": got 9 but expected an index in \[-?\d, \d\)\."),
        ([-8], r": got -8 but expected an index in \["),
        ([True], r": got 1 values but expected \d, one per index\."),
    ],
)
def test_rejects_what_is_no_part_in_a_function(part, index, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        tf.function(part)(TYPED, tf.constant(index))


def test_length_and_iteration_need_known_graphs():
    with pytest.raises(ValueError, match=r"len: got graphs inside a tf\.function but expected"):
        tf.function(lambda g: len(g))(TYPED)
    with pytest.raises(ValueError, match=r"iteration: got graphs inside a tf\.function but"):
        tf.function(lambda g: list(g))(TYPED)


@pytest.mark.parametrize(
    "part", [lambda g: g.reverse(), lambda g: g[1:], lambda g: g.subgraph([2])]
)
@pytest.mark.parametrize("child", [0, 5, -2])
def test_parts_of_graphs_that_are_not_valid_are_rejected(part, child):
    wrong = GraphBatch([0, 0, 0, 1], [child], [0, 2, 3])
    message = f"child_ids: got {child} but expected -1 or a vertex of the same graph. The slot"
    for call in (part, tf.function(part)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call(wrong)


@pytest.mark.parametrize("convert", [np.asarray, tf.convert_to_tensor])
def test_graphs_are_no_numbers(convert):
    """An element of a GraphBatch is a GraphBatch, so conversion must not recurse for ever."""
    with pytest.raises(
        (TypeError, ValueError), match=r"expected what can become a tensor|setting an"
    ):
        convert(TYPED)


@pytest.mark.parametrize("make", [GraphBatch.from_children, GraphBatch.from_parents])
def test_graphs_are_no_lists_of_integers(make):
    with pytest.raises(
        ValueError, match=r"(children|parents): got GraphBatch\(.* but expected list"
    ):
        make(TYPED)
