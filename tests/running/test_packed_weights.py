"""Weights that change within a step: each call computes with the values that it has read."""

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells

UNITS = 32
# There are enough rows, in total and in a task, for every weight to be packed in both directions.
GRAPHS = cavs.GraphBatch.chain([5] * 14)
X = tf.random.stateless_normal([GRAPHS.num_vertices, cells.FEATURES], [1, 2], dtype=tf.float64)


@pytest.fixture(scope="module")
def cell():
    tf.keras.utils.set_random_seed(3)
    # Without programs for leaves, which pack some of the weights only.
    options = cavs.Options(disable=["specialize"])
    cell = cells.TreeLSTM(arity=1, units=UNITS, dtype="float64", options=options)
    cell(GRAPHS, X)
    return cell


@pytest.fixture(scope="module")
def reference(cell):
    return tf.function(lambda x: cavs.reference.run(cell, GRAPHS, x))


def assign(cell):
    for variable in cell.trainable_variables:
        variable.assign(0.5 * variable + 0.1)


def assign_add(cell):
    for variable in cell.trainable_variables:
        variable.value.assign_add(tf.ones_like(variable.value) / 16)


def scatter_update(cell):
    # This writes in place, unless a reader of the variable keeps its memory.
    for variable in cell.trainable_variables:
        row = tf.fill([1, *variable.shape[1:]], tf.constant(0.25, variable.value.dtype))
        variable.value.scatter_update(tf.IndexedSlices(row, [0]))


CHANGES = (assign, assign_add, scatter_update)


def two_calls(call, cell, change):
    """Outputs and gradients of two calls; the weights change between them."""
    results = []
    for again in (False, True):
        if again:
            change(cell)
        with tf.GradientTape() as tape:
            tape.watch(X)
            outputs = call(X)
            loss = tf.reduce_sum(outputs * outputs)
        results += [outputs, *tape.gradient(loss, [X, *variables(cell)])]
    return results


def change_before_backward(call, cell, change):
    """Gradients that are computed after the weights have changed."""
    with tf.GradientTape() as tape:
        tape.watch(X)
        outputs = call(X)
        loss = tf.reduce_sum(outputs * outputs)
    change(cell)
    return [outputs, *tape.gradient(loss, [X, *variables(cell)])]


def variables(cell):
    return [variable.value for variable in cell.trainable_variables]


def run_twice(cell, step):
    """The results of two runs of the step, of which the second finds the caches of the first."""
    results = []
    for _ in range(2):
        saved = cell.get_weights()
        results += [tf.convert_to_tensor(result) for result in step()]
        cell.set_weights(saved)
    return results


def test_weights_are_packed_for_many_rows_and_those_that_are_transposed_for_few(cell):
    kernels = [variable for variable in cell.trainable_variables if len(variable.shape) == 2]
    memory = cavs.predict_memory(cell, GRAPHS)
    for of_pass in (memory.forward, memory.backward, memory.inference):
        assert of_pass.packed_weights >= sum(8 * int(tf.size(kernel)) for kernel in kernels)
    few = cavs.predict_memory(cell, cavs.GraphBatch.chain([5] * 3))
    assert few.forward.packed_weights == few.inference.packed_weights == 0
    # Those of the four gates that children's states are multiplied by, task by task.
    assert few.backward.packed_weights == 8 * 4 * UNITS * UNITS
    # The first of two tasks has no children, so only one multiplies by them.
    two_tasks = cavs.predict_memory(cell, cavs.GraphBatch.chain([2] * 7))
    assert two_tasks.backward.packed_weights == 0


@pytest.mark.in_turns
@pytest.mark.parametrize("change", CHANGES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("steps", [two_calls, change_before_backward], ids=lambda s: s.__name__)
def test_each_call_uses_the_weights_that_it_read(cell, reference, steps, change):
    step = lambda: steps(lambda x: cell(GRAPHS, x), cell, change)  # noqa: E731
    wanted = run_twice(cell, lambda: steps(reference, cell, change))
    for found in (run_twice(cell, step), run_twice(cell, tf.function(step))):
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


def test_gradients_are_those_of_the_values_read_forward_as_of_any_product():
    weight = tf.Variable(tf.fill([UNITS, UNITS], tf.constant(0.5, tf.float64)))

    @cavs.vertex_function(state_size=UNITS, arity=1, dtype="float64")
    def product(v):
        v.scatter(v.gather(0))
        v.push(tf.matmul(v.pull(), weight))

    @tf.function
    def gradient(call):
        x = tf.ones([GRAPHS.num_vertices, UNITS], tf.float64)
        weight.assign(tf.fill([UNITS, UNITS], tf.constant(0.5, tf.float64)))
        with tf.GradientTape() as tape:
            tape.watch(x)
            outputs = call(x)
        weight.assign(2 * weight)
        return tape.gradient(outputs, x)

    product(GRAPHS, tf.ones([GRAPHS.num_vertices, UNITS], tf.float64))
    plain = gradient(lambda x: tf.matmul(x, weight))
    ours = gradient(lambda x: product(GRAPHS, x))
    np.testing.assert_array_equal(plain, tf.fill(plain.shape, tf.constant(16.0, tf.float64)))
    np.testing.assert_allclose(ours, plain, rtol=1e-12)
