"""Derivatives have no more operators than they need."""

import pytest
import tensorflow as tf

import cavs_tf as cavs

CHAINS = cavs.GraphBatch.chain([3, 1])


@pytest.mark.parametrize("combine", [tf.add, tf.subtract, tf.multiply], ids=lambda f: f.__name__)
def test_operators_on_rows_of_one_size_are_differentiated_without_broadcasts(combine):
    @cavs.vertex_function(state_size=2, arity=1)
    def cell(v):
        v.scatter(combine(v.pull(), v.gather(0)))
        v.push(combine(v.gather(0), v.gather(0)))

    cell(CHAINS, tf.ones([4, 2]))
    ((derivative, _),) = cell._cache.last.backward
    types = {op.type for op in derivative.graph.get_operations()}
    assert types <= {"AddN", "Identity", "Mul", "Neg", "Placeholder"}


def test_sizes_that_are_broadcast_are_summed():
    @cavs.vertex_function(state_size=2, arity=1)
    def cell(v):
        column = tf.reduce_sum(v.pull(), axis=1, keepdims=True)
        v.scatter(column * v.gather(0) - column)
        v.push(column + v.gather(0))

    x = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(cell(CHAINS, x))
    with tf.GradientTape() as again:
        expected = tf.reduce_sum(cavs.reference.run(cell, CHAINS, x))
    tf.debugging.assert_near(tape.gradient(loss, x), again.gradient(expected, x))
