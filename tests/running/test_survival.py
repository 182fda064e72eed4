"""Gradients, shapes and state survive what users do around a model."""

import threading

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.eager import cancellation

import cavs_tf as cavs
from cavs_tf._tracing.trace import VertexGraph
from tests.helpers import cells

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]], [[], [0], [1, 0]]])
OTHER = cavs.GraphBatch.from_children([[[], [0], [1]], []])


def rows(graphs, seed=0):
    generator = np.random.default_rng(seed)
    shape = (graphs.child_splits.shape[0] - 1, cells.FEATURES)
    return tf.constant(generator.standard_normal(shape), tf.float32)


@pytest.fixture
def cell():
    tf.keras.utils.set_random_seed(0)
    return cells.TreeLSTM()


def eager_gradients(cell, graphs, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.square(cell(graphs, x)))
    return tape.gradient(loss, [x, *cell.trainable_variables])


def assert_all_close(actual, expected, tolerance=1e-6):
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(a), e, rtol=tolerance, atol=tolerance)


@pytest.mark.in_turns
def test_gradient_tape_inside_tf_function(cell):
    expected = eager_gradients(cell, GRAPHS, rows(GRAPHS))

    @tf.function
    def gradients(graphs, x):
        return eager_gradients(cell, graphs, x)

    assert_all_close(gradients(GRAPHS, rows(GRAPHS)), expected)


@pytest.mark.in_turns
def test_gradient_tape_around_tf_function(cell):
    x = rows(GRAPHS)
    expected = eager_gradients(cell, GRAPHS, x)
    outer = tf.function(lambda graphs, x: tf.reduce_sum(tf.square(cell(graphs, x))))
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = outer(GRAPHS, x)
    assert_all_close(tape.gradient(loss, [x, *cell.trainable_variables]), expected)


@pytest.mark.in_turns
def test_a_model_first_called_inside_tf_function():
    tf.keras.utils.set_random_seed(0)
    cell = cells.TreeLSTM()
    x = rows(GRAPHS)

    @tf.function
    def gradients(graphs, x):
        return eager_gradients(cell, graphs, x)

    # Its weights do not exist before this call, whose gradients are complete all the same.
    assert_all_close(gradients(GRAPHS, x), eager_gradients(cell, GRAPHS, x))
    assert len(cell.trainable_variables) == 6


@pytest.mark.in_turns
def test_tf_gradients_in_a_graph(cell):
    x = rows(GRAPHS)
    expected = eager_gradients(cell, GRAPHS, x)

    @tf.function
    def gradients(graphs, x):
        loss = tf.reduce_sum(tf.square(cell(graphs, x)))
        return tf.gradients(loss, [x, *(v.value for v in cell.trainable_variables)])

    assert_all_close(gradients(GRAPHS, x), expected)


@pytest.mark.in_turns
def test_nested_tf_functions(cell):
    x = rows(GRAPHS)
    inner = tf.function(lambda graphs, x: cell(graphs, x))
    middle = tf.function(lambda graphs, x: tf.square(inner(graphs, x)))

    @tf.function
    def gradients(graphs, x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(middle(graphs, x))
        return tape.gradient(loss, [x, *cell.trainable_variables])

    assert_all_close(gradients(GRAPHS, x), eager_gradients(cell, GRAPHS, x))


def test_recompute_grad(cell):
    x = rows(GRAPHS)
    expected = eager_gradients(cell, GRAPHS, x)
    recomputed = tf.recompute_grad(lambda x: cell(GRAPHS, x))

    @tf.function
    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = tf.reduce_sum(tf.square(recomputed(x)))
        return tape.gradient(loss, [x, *(v.value for v in cell.trainable_variables)])

    assert_all_close(gradients(x), expected)


@pytest.mark.in_turns
def test_a_while_loop_around_the_layer():
    tf.keras.utils.set_random_seed(0)
    cell = cells.TreeLSTM(units=cells.FEATURES)
    x = rows(GRAPHS)

    def unrolled(x):
        for _ in range(3):
            x = cell(GRAPHS, x)
        return tf.reduce_sum(x)

    @tf.function
    def looped(x):
        _, x = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, cell(GRAPHS, x)), (0, x))
        return tf.reduce_sum(x)

    def gradients(function):
        with tf.GradientTape() as tape:
            tape.watch(x)
            loss = function(x)
        return tape.gradient(loss, [x, *cell.trainable_variables])

    assert_all_close(gradients(looped), gradients(unrolled))


@pytest.mark.in_turns
def test_two_models_in_one_process(cell):
    other = cells.Linear()
    x = rows(GRAPHS)
    expected = eager_gradients(cell, GRAPHS, x), eager_gradients(other, GRAPHS, x)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first = tf.reduce_sum(tf.square(cell(GRAPHS, x)))
        second = tf.reduce_sum(tf.square(other(GRAPHS, x)))
    assert_all_close(tape.gradient(first, [x, *cell.trainable_variables]), expected[0])
    assert_all_close(tape.gradient(second, [x, *other.trainable_variables]), expected[1])


@pytest.mark.in_turns
def test_one_model_called_twice_in_one_step_with_different_graphs(cell):
    x, z = rows(GRAPHS), rows(OTHER)
    expected = [
        tf.convert_to_tensor(a) + tf.convert_to_tensor(b)
        for a, b in zip(
            eager_gradients(cell, GRAPHS, x)[1:], eager_gradients(cell, OTHER, z)[1:], strict=True
        )
    ]

    @tf.function
    def gradients(x, z):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(cell(GRAPHS, x)))
            loss += tf.reduce_sum(tf.square(cell(OTHER, z)))
        return tape.gradient(loss, cell.trainable_variables)

    assert_all_close(gradients(x, z), expected)


@pytest.mark.in_turns
def test_layers_joined_by_push_and_pull_with_static_layers_around():
    tf.keras.utils.set_random_seed(0)
    before, after = tf.keras.layers.Dense(cells.FEATURES), tf.keras.layers.Dense(2)
    lower, upper = cells.TreeLSTM(units=cells.FEATURES), cells.Linear()
    x = rows(GRAPHS)

    def loss(run):
        hidden = run(lower, before(x))
        return tf.reduce_sum(tf.square(after(run(upper, hidden))))

    def gradients(run):
        with tf.GradientTape() as tape:
            tape.watch(x)
            value = loss(run)
        layers = (before, lower, upper, after)
        return tape.gradient(
            value, [x, *(v for layer in layers for v in layer.trainable_variables)]
        )

    fast = gradients(lambda cell, rows: cell(GRAPHS, rows))
    slow = gradients(lambda cell, rows: cavs.reference.run(cell, GRAPHS, rows))
    assert_all_close(fast, slow, 1e-5)


def test_a_captured_tensor_gets_its_gradient():
    bias = tf.constant([0.5, -0.5, 0.25, 1.0])

    @cavs.vertex_function(state_size=4, arity=1)
    def cell(v):
        state = tf.tanh(v.gather(0) + bias * tf.norm(bias))
        v.scatter(state)
        v.push(state)

    def gradient(run):
        with tf.GradientTape() as tape:
            tape.watch(bias)
            loss = tf.reduce_sum(run(cell, cavs.GraphBatch.chain([3, 2])))
        return tape.gradient(loss, bias)

    fast = gradient(lambda cell, graphs: cell(graphs))
    np.testing.assert_allclose(fast, gradient(cavs.reference.run), rtol=1e-5)


def test_a_tensor_of_the_calling_function_is_captured_anew_in_every_function():
    @tf.function
    def scaled(x, scale):
        cell.scale = scale
        return cell(GRAPHS, x)

    @cavs.vertex_function(state_size=cells.FEATURES, arity=2)
    def cell(v):
        v.scatter(v.pull() * cell.scale)
        v.push(v.pull() * cell.scale)

    x = rows(GRAPHS)
    cell.scale = tf.constant(2.0)
    np.testing.assert_allclose(cell(GRAPHS, x), 2 * x, rtol=1e-6)
    np.testing.assert_allclose(scaled(x, tf.constant(3.0)), 3 * x, rtol=1e-6)
    np.testing.assert_allclose(scaled(x[:, :], tf.constant(4.0)), 4 * x, rtol=1e-6)


@pytest.mark.in_turns
def test_threads_call_at_once(cell):
    batches = [cells.random_graphs(seed, 8, 9) for seed in range(8)]
    expected = [eager_gradients(cell, g, rows(g)) for g in batches]
    results, errors = [None] * len(batches), []

    def work(i):
        try:
            for _ in range(5):
                results[i] = eager_gradients(cell, batches[i], rows(batches[i]))
        except Exception as error:  # Raised below, in the thread of the test.
            errors.append(error)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(batches))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert not errors
    for result, right in zip(results, expected, strict=True):
        for a, b in zip(result, right, strict=True):
            np.testing.assert_array_equal(a, b)


def test_threads_trace_at_once():
    cell = cells.TreeLSTM()
    x = rows(GRAPHS)
    results = []
    threads = [
        threading.Thread(target=lambda: results.append(cell(GRAPHS, x).numpy())) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=120)
    assert len(results) == 4
    assert len(cell._cache.known) == 1
    assert len(cell.trainable_variables) == 6


@pytest.mark.in_turns
def test_100_minibatches_cause_one_trace():
    traces, steps = [0], [0]  # Lists that the vertex function reads are part of its trace.

    class Counting(cells.TreeLSTM):
        def vertex(self):
            traces[0] += isinstance(tf.compat.v1.get_default_graph(), VertexGraph)
            super().vertex()

    cell = Counting()
    optimizer = tf.keras.optimizers.SGD(0.01)

    @tf.function(reduce_retracing=True)
    def step(graphs, x):
        steps[0] += 1
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(cell(graphs, x)))
        optimizer.apply(tape.gradient(loss, cell.trainable_variables), cell.trainable_variables)
        return loss

    cell(GRAPHS, rows(GRAPHS))
    assert traces == [1]
    spec = tf.TensorSpec([None, cells.FEATURES], tf.float32)
    concrete = step.get_concrete_function(cavs.GraphBatch.Spec(), spec)
    for seed in range(100):
        graphs = cells.random_graphs(seed, 1 + seed % 7, 9)
        concrete(graphs, rows(graphs, seed))
    assert traces == steps == [1]


def test_weights_assigned_between_two_calls_in_one_function(cell):
    x = rows(GRAPHS)
    cell(GRAPHS, x)
    kernel = cell.trainable_variables[0]

    @tf.function
    def twice(x):
        first = cell(GRAPHS, x)
        kernel.assign(2 * kernel.value)
        return first, cell(GRAPHS, x)

    first, second = twice(x)
    np.testing.assert_allclose(second, cell(GRAPHS, x), rtol=1e-6)
    assert np.abs(first - second).max() > 1e-3


def test_a_persistent_tape_is_replayed(cell):
    x = rows(GRAPHS)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        loss = tf.reduce_sum(tf.square(cell(GRAPHS, x)))
    first, second = tape.gradient(loss, x), tape.gradient(loss, x)
    np.testing.assert_array_equal(first, second)


def test_second_derivatives_say_where_to_get_them(cell):
    x = rows(GRAPHS)
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            loss = tf.reduce_sum(tf.square(cell(GRAPHS, x)))
        gradient = inner.gradient(loss, x)
    with pytest.raises(NotImplementedError, match=r"second derivatives.*reference\.run"):
        outer.gradient(gradient, x)


@pytest.mark.in_turns
def test_checkpoints_restore_weights(cell, tmp_path):
    x = rows(GRAPHS)
    expected = cell(GRAPHS, x)
    path = tf.train.Checkpoint(cell=cell).save(tmp_path / "checkpoint")
    other = cells.TreeLSTM()
    other(GRAPHS, x)
    tf.train.Checkpoint(cell=other).restore(path).assert_existing_objects_matched()
    np.testing.assert_array_equal(other(GRAPHS, x), expected)


def test_cancellation_is_honoured_between_tasks():
    length = 200_000

    @cavs.vertex_function(state_size=256, arity=1)
    def slow(v):
        v.scatter(tf.cumsum(v.gather(0) + 1.0, axis=1))  # Runs by TensorFlow in every task.
        v.push(v.gather(0)[:, :1])

    graphs = cavs.GraphBatch.chain([length])
    slow(cavs.GraphBatch.chain([2]))
    manager = cancellation.CancellationManager()
    function = tf.function(lambda g: slow(g)).get_concrete_function(graphs)
    failure = []

    def work():
        try:
            with cancellation.CancellationManagerContext(manager):
                function(graphs)
        except tf.errors.CancelledError as error:
            failure.append(error)

    started = threading.Thread(target=work)
    started.start()
    manager.start_cancel()
    started.join(timeout=120)
    assert not started.is_alive()
    assert failure
