"""CavsSchedule: task lists that can be drawn by hand, and a brute-force oracle for the rest."""

import threading

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from cavs_tf._native.library import ops
from cavs_tf.graphs._schedule import POLICIES

NO_TYPES = np.zeros(0, np.int32)
ALL = np.int32(2**31 - 1)  # As micro_batch: all graphs at a time.
TWO_TREES = {  # 2 -> (0, 1) and 5 -> (3, missing); 4 is by itself.
    "child_splits": [0, 0, 0, 2, 2, 2, 4],
    "child_ids": [0, 1, 3, -1],
    "graph_splits": [0, 3, 6],
    "vertex_type": NO_TYPES,
    "micro_batch": ALL,
}


@st.composite
def minibatches(draw):
    """Arrays of random DAGs: empty graphs, and shared, repeated and missing children."""
    arity = draw(st.integers(0, 4))
    num_types = draw(st.integers(1, 3))
    child_ids, child_splits, graph_splits = [], [0], [0]
    for _ in range(draw(st.integers(0, 4))):
        first = graph_splits[-1]
        size = draw(st.integers(0, 9))
        name = draw(st.permutations(range(size)))
        children = [None] * size
        for v in range(size):
            slots = draw(st.lists(st.integers(-1, v - 1), max_size=arity))
            children[name[v]] = [first + name[c] if c >= 0 else -1 for c in slots]
        for slots in children:
            child_ids += slots
            child_splits.append(len(child_ids))
        graph_splits.append(first + size)
    size = graph_splits[-1] if num_types > 1 else 0
    types = draw(st.lists(st.integers(0, num_types - 1), min_size=size, max_size=size))
    arrays = {
        "child_splits": child_splits,
        "child_ids": child_ids,
        "graph_splits": graph_splits,
        "vertex_type": types,
        "micro_batch": ALL,
    }
    return {k: np.array(v, np.int32) for k, v in arrays.items()}, arity, num_types


def frontier_tasks(child_splits, child_ids, vertex_type):
    """The tasks of policy depth by definition: (type, set of vertices) pairs."""
    num_vertices = len(child_splits) - 1
    children = [child_ids[child_splits[v] : child_splits[v + 1]] for v in range(num_vertices)]
    types = vertex_type if len(vertex_type) else np.zeros(num_vertices, np.int32)
    done, tasks = set(), []
    while len(done) < num_vertices:
        frontier = [
            v
            for v in range(num_vertices)
            if v not in done and all(c < 0 or c in done for c in children[v])
        ]
        for kind in sorted({types[v] for v in frontier}):
            tasks.append((kind, {v for v in frontier if types[v] == kind}))
        done.update(frontier)
    return tasks


@pytest.mark.in_turns
@settings(derandomize=True, deadline=None, max_examples=200, print_blob=True)
@given(minibatches())
def test_tasks_are_the_frontiers_of_the_definition(minibatch):
    arrays, arity, num_types = minibatch
    *lists, _ = ops.cavs_schedule(**arrays, arity=arity, num_types=num_types)
    order, task_splits, task_type, child_row = (t.numpy() for t in lists)
    expected = frontier_tasks(arrays["child_splits"], arrays["child_ids"], arrays["vertex_type"])
    assert task_type.tolist() == [kind for kind, _ in expected]
    assert len(task_splits) == len(expected) + 1
    for t, (_, vertices) in enumerate(expected):
        rows = order[task_splits[t] : task_splits[t + 1]]
        assert len(rows) == len(vertices) and set(rows) == vertices

    row_of = np.argsort(order)
    assert child_row.shape == (arity, len(order))
    for row, vertex in enumerate(order):
        begin, end = arrays["child_splits"][vertex : vertex + 2]
        children = arrays["child_ids"][begin:end].tolist() + [-1] * (arity - (end - begin))
        assert child_row[:, row].tolist() == [row_of[c] if c >= 0 else -1 for c in children]


def test_example_by_hand():
    order, task_splits, task_type, child_row, _ = ops.cavs_schedule(**TWO_TREES, arity=2)
    assert order.numpy().tolist() == [0, 1, 3, 4, 2, 5]
    assert task_splits.numpy().tolist() == [0, 4, 6]
    assert task_type.numpy().tolist() == [0, 0]
    assert child_row.numpy().tolist() == [[-1, -1, -1, -1, 0, 2], [-1, -1, -1, -1, 1, -1]]


@pytest.mark.parametrize(
    "change, arity, message",
    [
        ({"child_splits": []}, 2, r"child_splits: got no values but expected at least one"),
        ({"graph_splits": [0, 6, 3]}, 2, r"graph_splits\[2\]: got 3 but expected at least"),
        ({"child_ids": [0, 1, 7, -1]}, 2, r"children\[1\]\[2\]\[0\]: got 7 but expected -1"),
        ({"child_ids": [0, 3, 3, -1]}, 2, r"children\[0\]\[2\]\[1\]: got 3 .*vertex 0 of graph 1"),
        ({"child_ids": [0, 2, 3, -1]}, 2, r"children\[0\]\[2\]\[1\]: .* Break the cycle 2 -> 2"),
        ({}, 1, r"children\[0\]\[2\]: got 2 children but expected at most 1"),
        ({"vertex_type": [0, 0, 0, 0, 1, 0]}, 2, r"vertex_type\[1\]\[1\]: got 1 but expected"),
        ({"vertex_type": [0, 0]}, 2, r"vertex_type: got 2 values but expected 6"),
        ({"micro_batch": 0}, 2, r"micro_batch: got 0 but expected at least 1"),
        ({"micro_batch": -3}, 2, r"micro_batch: got -3 but expected at least 1"),
        ({"micro_batch": [1]}, 2, r"micro_batch: got shape \[1\] but expected a scalar"),
    ],
)
def test_rejects(change, arity, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ops.cavs_schedule(**{**TWO_TREES, **change}, arity=arity)


@pytest.mark.parametrize("name", [name for name in TWO_TREES if name != "micro_batch"])
def test_rejects_what_is_no_vector(name):
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name}: .*expected a vector"):
        ops.cavs_schedule(**{**TWO_TREES, name: 0}, arity=2)


def test_shape_function_knows_what_it_can():
    def shapes(child_splits, vertex_type, micro_batch=None):
        with tf.Graph().as_default():
            outputs = ops.cavs_schedule(
                tf.compat.v1.placeholder(tf.int32, child_splits),
                tf.compat.v1.placeholder(tf.int32, None),
                tf.compat.v1.placeholder(tf.int32, [None]),
                tf.compat.v1.placeholder(tf.int32, vertex_type),
                tf.compat.v1.placeholder(tf.int32, micro_batch),
                arity=3,
            )
            return [t.shape.as_list() for t in tf.nest.flatten(outputs)]

    assert shapes([8], [None]) == [[7], [None], [None], [3, 7]]
    assert shapes([None], [7]) == [[7], [None], [None], [3, 7]]
    assert shapes([8], [0]) == [[7], [None], [None], [3, 7]]
    assert shapes(None, None) == [[None], [None], [None], [3, None]]
    with pytest.raises(ValueError, match="must be equal"):
        shapes([8], [5])
    with pytest.raises(ValueError, match="rank 1"):
        shapes([8, 1], [None])
    with pytest.raises(ValueError, match="rank 0"):
        shapes([8], [None], [1])


def test_attributes_are_checked():
    with pytest.raises(tf.errors.InvalidArgumentError, match="arity"):
        ops.cavs_schedule(**TWO_TREES, arity=-1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="num_types"):
        ops.cavs_schedule(**TWO_TREES, arity=2, num_types=0)
    known = ", ".join(f'"{name}"' for name in POLICIES)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f'policy.*"random".*: {known}'):
        ops.cavs_schedule(**TWO_TREES, arity=2, policy="random")


def test_edges_by_hand():
    # Vertex 3 has the children 1, none, 0 and 1 again; 2 has 1.
    arrays = {
        "child_splits": [0, 0, 0, 1, 5],
        "child_ids": [1, 1, -1, 0, 1],
        "graph_splits": [0, 4],
        "vertex_type": [],
        "micro_batch": ALL,
    }
    arrays["vertex_type"] = NO_TYPES
    order, *_, edges = ops.cavs_schedule(**arrays, arity=1, num_edge_lists=3)
    splits, child, number = (t.numpy() for t in edges)
    order, found = order.numpy(), {}
    for r, vertex in enumerate(order):
        own = slice(splits[r], splits[r + 1])
        found[int(vertex)] = list(zip(order[child[own]], number[own], strict=True))
    assert found == {0: [], 1: [], 2: [(1, 0)], 3: [(1, 1), (0, 2), (1, 3)]}
    with pytest.raises(tf.errors.InvalidArgumentError, match="edges: got 2 lists"):
        ops.cavs_schedule(**arrays, arity=1, num_edge_lists=2)


def test_sub_batches_by_hand():
    arrays = {**TWO_TREES, "micro_batch": 1}
    order, task_splits, task_type, child_row, _ = ops.cavs_schedule(**arrays, arity=2)
    assert order.numpy().tolist() == [0, 1, 2, 3, 4, 5]
    assert task_splits.numpy().tolist() == [0, 2, 3, 5, 6]
    assert task_type.numpy().tolist() == [0, 0, 0, 0]
    assert child_row.numpy().tolist() == [[-1, -1, 0, -1, -1, 3], [-1, -1, 1, -1, -1, -1]]


def test_ratio_by_hand():
    # A chain 0 <- 1 of type 0, and an output vertex of type 1 for each: 2 and 3.
    arrays = {
        "child_splits": [0, 0, 1, 2, 3],
        "child_ids": [0, 0, 1],
        "graph_splits": [0, 4],
        "vertex_type": [0, 0, 1, 1],
        "micro_batch": ALL,
    }
    for policy, types in (("depth", [0, 0, 1, 1]), ("ratio", [0, 0, 1])):
        task_type = ops.cavs_schedule(**arrays, arity=1, num_types=2, policy=policy).task_type
        assert task_type.numpy().tolist() == types


def test_chain_of_100000_vertices():
    n = 100_000
    splits = np.maximum(np.arange(n + 1, dtype=np.int32) - 1, 0)
    order, task_splits, _, child_row, _ = ops.cavs_schedule(
        splits, np.arange(n - 1, dtype=np.int32), [0, n], NO_TYPES, ALL, arity=1
    )
    np.testing.assert_array_equal(order, np.arange(n))
    np.testing.assert_array_equal(task_splits, np.arange(n + 1))
    np.testing.assert_array_equal(child_row[0], np.arange(n) - 1)


def test_runs_inside_tf_data():
    def chain(length):
        splits = tf.maximum(tf.range(length + 1) - 1, 0)
        ids, ends = tf.range(length - 1), tf.stack([0, length])
        return ops.cavs_schedule(splits, ids, ends, NO_TYPES, ALL, arity=1).task_splits

    lengths = tf.data.Dataset.range(1, 50, output_type=tf.int32)
    dataset = lengths.map(chain, num_parallel_calls=tf.data.AUTOTUNE)
    assert [len(splits) for splits in dataset] == list(range(2, 51))


@pytest.mark.parametrize("num_threads", [2, 7, 16])
def test_many_threads_at_once(num_threads):
    def run():
        lists = ops.cavs_schedule(**TWO_TREES, arity=2, num_edge_lists=3)
        return [t.numpy().tolist() for t in tf.nest.flatten(lists)]

    expected = run()
    wrong = []

    def work():
        for _ in range(50):
            got = run()
            if got != expected:
                wrong.append(got)

    threads = [threading.Thread(target=work) for _ in range(num_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert not any(thread.is_alive() for thread in threads)
    assert not wrong
