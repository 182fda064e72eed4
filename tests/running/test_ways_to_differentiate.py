"""Each way in which TensorFlow differentiates works, or an error says what works instead."""

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells

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


OTHER = tf.random.stateless_normal([4, 3], [3, 4])
IDS = tf.constant([2, 0, 2, 1])
IN_FORWARD_MODE = {
    "gather": lambda x: cavs.ops.gather(x, [0, 1, -1, 1]),
    "scatter": lambda x: cavs.ops.scatter(x, [0, 1, -1, 1], 2),
    "pull": lambda x: cavs.ops.pull(x, [2, 0, 1, 3]),
    "push": lambda x: cavs.ops.push(x, [2, 0, 1, 3]),
    "cross_entropy": lambda x: cavs.ops.sparse_softmax_cross_entropy(IDS, x),
    "present_ids": lambda x: tf.gather(x, cavs.ops.present_ids([1, -1, 0, 2]).vertices),
    **{
        f"{layer} {mode}": lambda x, layer=layer, mode=mode: getattr(cavs.keras, layer)(mode)(
            GRAPHS, x
        )
        for layer, modes in (("Pool", ("sum", "mean", "max")), ("Roots", ("sum", "mean", "max")))
        for mode in modes
    },
}


@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("name", IN_FORWARD_MODE)
def test_forward_mode_is_that_of_a_tape(name, in_function):
    run = tf.function(IN_FORWARD_MODE[name]) if in_function else IN_FORWARD_MODE[name]
    check_forward_mode(run, OTHER)


def check_forward_mode(run, x):
    """Compares a product with the Jacobian in forward mode with that of a tape."""
    tangent = tf.random.stateless_normal(x.shape, [5, 6])
    with tf.autodiff.ForwardAccumulator(x, tangent) as accumulator:
        outputs = run(x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        again = run(x)
    jacobian = tape.jacobian(again, x, experimental_use_pfor=False)
    expected = tf.tensordot(jacobian, tangent, len(x.shape))
    found = accumulator.jvp(outputs)
    assert tf.is_tensor(found)
    assert np.abs(expected).max() > 0
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.in_turns
@pytest.mark.parametrize("in_function", [False, True])
@pytest.mark.parametrize("mode", ["attention", "sum"])
def test_forward_mode_goes_through_a_model_with_a_readout(mode, in_function):
    pool, dense = cavs.keras.Pool(mode), tf.keras.layers.Dense(2)

    def run(x):
        return dense(pool(GRAPHS, tf.tanh(x)))

    run(OTHER)
    check_forward_mode(tf.function(run) if in_function else run, OTHER)


@pytest.mark.parametrize("masked", [False, True])
def test_forward_mode_of_a_table_is_that_of_a_tape(masked):
    table = cavs.keras.Embedding(5, 3, mask_negative=masked)
    ids = tf.constant([1, -1, 1, 4] if masked else [1, 0, 1, 4])
    table(ids)
    variable, tangent = (
        table.trainable_variables[0].value,
        tf.random.stateless_normal([5, 3], [1, 2]),
    )
    with tf.autodiff.ForwardAccumulator(variable, tangent) as accumulator:
        rows = table(ids)
        rows = rows.rows if masked else rows
        squares = tf.identity(rows) ** 2
    of_rows = tf.gather(tangent, [i for i in ids.numpy() if i >= 0])
    np.testing.assert_allclose(accumulator.jvp(rows), of_rows)
    np.testing.assert_allclose(accumulator.jvp(squares), 2 * rows * of_rows, rtol=1e-6)


def test_forward_mode_of_a_table_in_a_function_is_refused():
    table = tf.Variable(tf.ones([5, 3]))
    message = (
        r"look_up: got a variable that a tf\.autodiff\.ForwardAccumulator watches, in a .*Tape"
    )
    accumulator = tf.autodiff.ForwardAccumulator(table, tf.ones([5, 3]))
    with accumulator, pytest.raises(NotImplementedError, match=message):
        tf.function(lambda: cavs.ops.look_up(table, [1, 2]))()


def test_forward_mode_outside_of_a_function_is_refused(cell):
    message = r"CavsBackward: second derivatives .*ForwardAccumulator, but .*reference\.run"
    accumulator = tf.autodiff.ForwardAccumulator(X, tf.ones_like(X))
    with accumulator, pytest.raises(NotImplementedError, match=message):
        tf.function(cell)(X)


def test_vectorized_map_is_refused(cell):
    both = tf.stack([X, 2 * X])
    message = r"got a call inside tf\.vectorized_map but expected one outside.*concat.*map_fn"
    with pytest.raises(NotImplementedError, match=message):
        tf.vectorized_map(lambda x: loss(cell(x)), both)
    mapped = tf.map_fn(lambda x: loss(cell(x)), both)
    np.testing.assert_allclose(mapped[1], loss(cell(2 * X)), rtol=1e-6)
