"""Each way in which TensorFlow differentiates works, or an error says what works instead."""

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests import cells

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])
X = tf.random.stateless_normal([4, cells.FEATURES], [1, 2])


@pytest.fixture
def cell():
    cell = cells.FullyConnected()
    typed = cells.in_types(GRAPHS)
    cell(typed, X)
    return lambda x: cell(typed, x)


def loss(outputs):
    return tf.concat([tf.reshape(v, [4, -1]) for v in tf.nest.flatten(outputs)], axis=1)


@pytest.mark.parametrize("in_function", [False, True])
def test_a_jacobian_is_its_rows(cell, in_function):
    def jacobian(x, **how):
        with tf.GradientTape(persistent=bool(how)) as tape:
            tape.watch(x)
            outputs = loss(cell(x))
        return tape.jacobian(outputs, x, **how)

    expected = jacobian(X, experimental_use_pfor=False)
    found = tf.function(jacobian)(X) if in_function else jacobian(X)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("in_function", [False, True])
def test_forward_accumulators_are_refused(cell, in_function):
    def forward(x):
        with tf.autodiff.ForwardAccumulator(x, tf.ones_like(x)) as accumulator:
            outputs = loss(cell(x))
        return accumulator.jvp(outputs)

    message = r"got a tensor that a tf\.autodiff\.ForwardAccumulator watches but expected .*"
    with pytest.raises(NotImplementedError, match=message + r"reference\.run"):
        (tf.function(forward) if in_function else forward)(X)


def test_forward_accumulators_of_something_else_are_none_of_our_business(cell):
    other = tf.ones([2])
    with tf.autodiff.ForwardAccumulator(other, tf.ones([2])) as accumulator:
        cell(X)
        doubled = 2 * other
    np.testing.assert_array_equal(accumulator.jvp(doubled), [2, 2])


def test_vectorized_map_is_refused(cell):
    both = tf.stack([X, 2 * X])
    message = r"got a call inside tf\.vectorized_map but expected one outside.*concat.*map_fn"
    with pytest.raises(NotImplementedError, match=message):
        tf.vectorized_map(lambda x: loss(cell(x)), both)
    mapped = tf.map_fn(lambda x: loss(cell(x)), both)
    np.testing.assert_allclose(mapped[1], loss(cell(2 * X)), rtol=1e-6)
