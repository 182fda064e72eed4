"""Tensors of shape [0, ...], which tf.distribute feeds to replicas that get no data."""

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])
X = tf.ones([4, cells.FEATURES])


def idle(value):
    """The value as tf.distribute makes it for such a replica: unknown sizes become 0."""

    def nothing(tensor):
        return tf.zeros([0] * min(tensor.shape.rank, 1) + tensor.shape[1:].as_list(), tensor.dtype)

    spec = tf.nest.flatten(value, expand_composites=True)
    return tf.nest.pack_sequence_as(value, [nothing(t) for t in spec], expand_composites=True)


def batches():
    """Minibatches as idle replicas get them, without a schedule and with one."""
    empty, scheduled = tf.zeros([0], tf.int32), idle(GRAPHS)
    schedule = cavs.Schedule(empty, empty, empty, tf.zeros([0, 0], tf.int32))
    return [scheduled, cavs.GraphBatch(empty, empty, empty, empty, schedule)]


@pytest.mark.parametrize("graphs", batches(), ids=["graphs", "scheduled"])
def test_there_is_nothing_in_it(graphs):
    assert (graphs.num_graphs, graphs.num_vertices) == (0, 0)
    assert graphs.roots.shape == [0]
    assert graphs.vertex_graph.shape == [0]
    assert graphs.schedule(arity=2).num_tasks == 0
    assert cavs.GraphBatch.concat([graphs, GRAPHS]).num_vertices == 4
    assert "num_graphs=0, num_vertices=0" in repr(graphs)


def test_graphs_without_vertices_need_no_child_splits():
    empty = tf.zeros([0], tf.int32)
    for graph_splits in ([], [0], [0, 0, 0]):
        assert cavs.GraphBatch(empty, empty, graph_splits).schedule(arity=2).num_tasks == 0


@pytest.mark.in_turns
@pytest.mark.parametrize("graphs", batches(), ids=["graphs", "scheduled"])
@pytest.mark.parametrize("in_function", [False, True])
def test_a_step_computes_nothing(graphs, in_function):
    cell = cells.TreeLSTM()
    cell(GRAPHS, X)

    def step(graphs, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = cell(graphs, x)
            loss = tf.reduce_sum(outputs)
        return outputs, tape.gradient(loss, [x, *(v.value for v in cell.trainable_variables)])

    run = tf.function(step, reduce_retracing=True) if in_function else step
    if in_function:
        run(GRAPHS, X)
    outputs, gradients = run(graphs, X[:0])
    assert outputs.shape == [0, cells.STATE]
    assert gradients[0].shape == [0, cells.FEATURES]
    assert all(np.all(tf.convert_to_tensor(g) == 0) for g in gradients[1:])
    assert cell(graphs, X[:0], at=graphs.roots).shape == [0, cells.STATE]
    assert cavs.reference.run(cell, graphs, X[:0]).shape == [0, cells.STATE]


@pytest.mark.parametrize("return_vertices", [False, True])
def test_keras_layers(return_vertices):
    layer = cavs.keras.Graph(cells.TreeLSTM(), return_vertices=return_vertices)
    layer(GRAPHS, X)
    assert layer(idle(GRAPHS), X[:0]).shape == [0, cells.STATE]
    assert layer(idle(GRAPHS).to_dict(), X[:0]).shape == [0, cells.STATE]
