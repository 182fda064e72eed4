"""Integers that do not fit into 32 bits are rejected by name and never wrap around."""

import re

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

LARGE = [2**32, 2**32 + 3, 2**31, -(2**31) - 1, 2**62, -(2**62)]
GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]]])


def rejects(message, error=ValueError):
    return pytest.raises(error, match=re.escape(message))


def of_width(name, value, place="[1]"):
    return rejects(f"{name}{place}: got {value} but expected an integer in [-2**31, 2**31)")


@pytest.mark.parametrize("value", LARGE)
@pytest.mark.parametrize("name", ["child_splits", "child_ids", "graph_splits", "vertex_type"])
def test_arrays_of_graphs(name, value):
    arrays = {"child_splits": [0, 0, 1], "child_ids": [0], "graph_splits": [0, 2]}
    arrays |= {name: np.array([0, value])}
    with of_width(name, value):
        cavs.GraphBatch(**arrays)


@pytest.mark.parametrize("value", [2**32, 2**32 - 1, 2**63, 2**64 - 1])
def test_unsigned_integers(value):
    with of_width("child_ids", value):
        cavs.GraphBatch([0, 0, 2], np.array([0, value], np.uint64), [0, 2])
    with of_width("children", value, "[0]"):
        cavs.GraphBatch.from_children([[[], [value]]])
    if value < 2**32:
        with of_width("child_ids", value):
            cavs.GraphBatch([0, 0, 2], np.array([0, value], np.uint32), [0, 2])


@pytest.mark.parametrize("value", [*LARGE, 2**70])
def test_lists(value):
    with of_width("parents", value, "[0]"):
        cavs.GraphBatch.from_parents([[value, -1]])
    with of_width("children", value, "[0]"):
        cavs.GraphBatch.from_children([[[], [value]]])
    with of_width("vertex_type", value):
        cavs.GraphBatch.from_children([[[], [0]]], [0, value])
    with of_width("num_vertices", value, "[0]"):
        cavs.GraphBatch.from_edges([value], [[]])
    if abs(value) < 2**63:
        with of_width("edges[0]", value, "[0][1]"):
            cavs.GraphBatch.from_edges([2], [[(0, value)]])


def test_lengths_of_chains():
    with of_width("lengths", 2**32 + 3, "[0]"):
        cavs.GraphBatch.chain([2**32 + 3])
    with rejects("lengths: got 2147483648 vertices in all but expected fewer than 2**31 - 1"):
        cavs.GraphBatch.chain([2**30, 2**30])

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def chain(lengths):
        return cavs.GraphBatch.chain(lengths).child_ids

    assert chain([2, 3]).numpy().tolist() == [0, 2, 3]
    for lengths in ([2**32 + 3], [2**30, 2**30], [2**62]):
        with rejects("lengths: got", tf.errors.InvalidArgumentError):
            chain(lengths)


def test_large_trees():
    with rejects("num_graphs: got 1099511627776 vertices in all but expected fewer than 2**31"):
        cavs.GraphBatch.complete_tree(40)
    with rejects("num_graphs: got"):
        cavs.GraphBatch.complete_tree(10, num_graphs=2**30)
    with rejects("num_vertices: got 2147483648 vertices in all"):
        cavs.GraphBatch.from_edges([2**30, 2**30], [[], []])


@pytest.mark.parametrize("value", [2**32, 2**32 + 1, 2**62])
def test_ragged_tensors(value):
    children = tf.ragged.constant([[[], [value]]], ragged_rank=2, dtype=tf.int64)
    with of_width("children", value, "[0]"):
        cavs.GraphBatch.from_ragged(children)

    @tf.function
    def schedule(children):
        return cavs.GraphBatch.from_ragged(children).schedule(arity=1).order

    with rejects("got 2147483647 but expected -1 (no child) or", tf.errors.InvalidArgumentError):
        schedule(children)


def test_ids_that_are_not_known_yet():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])
    def schedule(ids):
        return cavs.GraphBatch([0, 0, 1], ids, [0, 2]).schedule(arity=1).order

    assert schedule([0]).numpy().tolist() == [0, 1]
    for value in LARGE:
        limited = 2**31 - 1 if value > 0 else -(2**31)
        with rejects(f"got {limited} but expected -1 (no child) or", tf.errors.OpError):
            schedule([value])


@pytest.mark.parametrize("value", LARGE)
def test_rows_of_single_ops(value):
    x = tf.ones([2, 3])
    for function, name in (
        (cavs.ops.gather, "child_row"),
        (lambda x, rows: cavs.ops.scatter(x, rows, 2), "child_row"),
        (cavs.ops.pull, "order"),
        (cavs.ops.push, "order"),
    ):
        with of_width(name, value):
            function(x, np.array([0, value]))
    with of_width("num_rows", value, ""):
        cavs.ops.scatter(x, [0, 1], np.int64(value))
    with rejects("child_row: got float32 of shape (1,) but expected integers of rank 1"):
        cavs.ops.gather(x, [0.0])


def test_a_micro_batch_of_more_graphs_than_there_can_be_is_all():
    schedule = GRAPHS.schedule(2, micro_batch=tf.constant(2**40))
    assert schedule.num_tasks == 2
