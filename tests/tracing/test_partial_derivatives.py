"""Outputs that a loss does not use are not differentiated."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._tracing import partial_derivatives
from tests.helpers import cells

CHAINS = cavs.GraphBatch.chain([3, 1])
ROWS = tf.constant([[0.0, 1.0], [2.0, 3.0], [0.0, 5.0], [6.0, 0.0]])
SQUARE = [[0.1, 0.2], [0.3, 0.4]]


class Singular(cavs.GraphSupport):
    """Pushes a value whose derivative is infinite at zero, beside its state."""

    arity = 1

    def __init__(self, loop=False, **kwargs):
        super().__init__(state_size=2, **kwargs)
        self.w = tf.Variable(SQUARE)
        self.loop = loop

    def vertex(self):
        state = tf.tanh(tf.matmul(self.pull(), self.w) + self.gather(0))
        if self.loop:
            state = tf.while_loop(lambda i, _: i < 2, lambda i, x: (i + 1, tf.sin(x)), (0, state))[
                1
            ]
        self.scatter(state)
        self.push(state, "state")
        self.push(tf.math.log(self.pull()), "log")
        self.push(self.vertex_ids(), "id")
        self.push(tf.sqrt(0 * state), "root")


def eagerly(cell, x, names):
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = cell(CHAINS, x)
        loss = tf.add_n([tf.reduce_sum(outputs[name]) for name in names])
    return tape.gradient(loss, [x, cell.w])


def by_a_tape_in_a_function(cell, x, names):
    return tf.function(eagerly)(cell, x, names)


def by_gradients(cell, x, names):
    @tf.function
    def gradients(x):
        outputs = cell(CHAINS, x)
        loss = tf.add_n([tf.reduce_sum(outputs[name]) for name in names])
        return tf.gradients(loss, [x, cell.w])

    return gradients(x)


def of_a_function(cell, x, names):
    """Gradients of a `tf.function` that returns only these outputs."""

    @tf.function
    def call(x):
        outputs = cell(CHAINS, x)
        return {name: outputs[name] for name in names}

    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.add_n([tf.reduce_sum(value) for value in call(x).values()])
    return tape.gradient(loss, [x, cell.w])


WAYS = [eagerly, by_a_tape_in_a_function, by_gradients, of_a_function]


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_what_is_not_wanted_is_not_differentiated(way):
    cell = Singular()
    of_x, of_w = way(cell, ROWS, ["state"])
    with tf.GradientTape() as tape:
        tape.watch(ROWS)
        loss = tf.reduce_sum(cavs.reference.run(cell, CHAINS, ROWS)["state"])
    for got, want in zip((of_x, of_w), tape.gradient(loss, [ROWS, cell.w]), strict=True):
        np.testing.assert_allclose(got, tf.convert_to_tensor(want), rtol=1e-5)


@pytest.mark.parametrize("way", WAYS, ids=lambda f: f.__name__)
def test_what_is_wanted_is_differentiated_all_the_same(way):
    of_x, of_w = way(Singular(), ROWS, ["state", "log"])
    assert np.isinf(of_x).sum() == 3
    assert np.all(np.isfinite(of_w))
    of_x, of_w = way(Singular(), ROWS, ["root"])
    assert not np.any(np.isfinite(of_w))


def test_gradients_of_zero_are_zero():
    with tf.GradientTape() as tape:
        tape.watch(ROWS)
        outputs = Singular()(CHAINS, ROWS)
        loss = 0.0 * tf.reduce_sum(outputs["state"]) + 0.0 * tf.reduce_sum(outputs["root"])
    np.testing.assert_array_equal(tape.gradient(loss, ROWS), tf.zeros_like(ROWS))


def test_a_loop_in_the_vertex_function():
    of_x, of_w = eagerly(Singular(loop=True), tf.abs(ROWS) + 1.0, ["state"])
    assert np.all(np.isfinite(of_x))
    assert np.all(np.isfinite(of_w))


@pytest.mark.in_turns
@pytest.mark.parametrize("options", [cavs.Options(), cavs.Options(disable=["eager", "lazy"])])
@pytest.mark.parametrize("cell_class", [cells.Fallback, cells.Typed])
def test_gradients_of_some_outputs_are_those_of_the_reference(cell_class, options):
    tf.keras.utils.set_random_seed(0)
    cell = cell_class(dtype="float64", options=options)
    graphs = cells.random_graphs(3, 5, 7, num_types=len(cell.vertex_types))
    inputs = cells.inputs_for(cell, graphs.num_vertices, "float64", 0)
    x = inputs["x"] if isinstance(inputs, dict) else inputs

    def gradients(call, names):
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(x)
            outputs = call(graphs, inputs)
            loss = tf.add_n([tf.reduce_sum(tf.sin(outputs[name])) for name in names])
        sources = [x, *(v.value for v in cell.trainable_variables)]
        found = tape.gradient(loss, sources, unconnected_gradients="zero")
        return [tf.convert_to_tensor(g) for g in found], list(outputs)

    _, all_names = gradients(cell, list(cell(graphs, inputs)))
    for count in range(1, len(all_names) + 1):
        for names in itertools.combinations(all_names, count):
            got, _ = gradients(cell, names)
            want, _ = gradients(lambda *a: cavs.reference.run(cell, *a), names)
            for a, b in zip(got, want, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9)


def test_a_gradient_is_made_once_for_the_same_outputs(monkeypatch):
    made = []
    monkeypatch.setattr(
        partial_derivatives.PartialDerivatives,
        "of",
        lambda self, wanted, of=partial_derivatives.PartialDerivatives.of: (
            made.append(of(self, wanted)) or made[-1]
        ),
    )
    cell = Singular()
    for _ in range(3):
        eagerly(cell, ROWS, ["state"])
    assert len(made) == 3
    assert made[0] is made[1] is made[2]
    eagerly(cell, ROWS, ["state", "log", "root"])
    assert len(made) == 3


def test_tensorflow_differentiates_all_that_a_function_returns():
    """A tape outside of the function gets the same NaN as in plain TensorFlow."""

    def gradient(function):
        with tf.GradientTape() as tape:
            tape.watch(ROWS)
            loss = tf.reduce_sum(tf.function(function)(ROWS)["state"])
        return tape.gradient(loss, ROWS).numpy()

    plain = gradient(lambda x: {"state": tf.tanh(tf.matmul(x, SQUARE)), "log": tf.math.log(x)})
    cell = Singular()
    ours = gradient(lambda x: cell(CHAINS, x))
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(plain))
