"""Calls that a user's `tf.function` compiles, and that Keras also makes to infer shapes."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

# Keras warns if it cannot call the model to infer shapes, and says why.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Layer .* looks like it has unbuilt state"),
    pytest.mark.filterwarnings("ignore:`build\\(\\)` was called on layer"),
]
GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])
ROWS = tf.random.stateless_normal([4, 3], [1, 2])


class Plain(keras.Model):
    def __init__(self, return_vertices):
        super().__init__()
        self.tree = cavs.keras.TreeLSTM(5, return_vertices=return_vertices)

    def call(self, features):
        graphs = {name: features[name] for name in GRAPHS.to_dict()}
        return self.tree(graphs, features["rows"])


class Compiled(Plain):
    @tf.function
    def call(self, features):
        return super().call(features)


class CompiledInside(Plain):
    @tf.function
    def run(self, features):
        return super().call(features)

    def call(self, features):
        return self.run(features)


@pytest.mark.in_turns
@pytest.mark.parametrize("return_vertices", [False, True])
@pytest.mark.parametrize("make", [Compiled, CompiledInside])
def test_shapes_are_not_taken_for_results(make, return_vertices):
    features = {**GRAPHS.to_dict(), "rows": ROWS}
    plain, compiled = Plain(return_vertices), make(return_vertices)
    plain(features)
    first = compiled(features)
    plain.set_weights(compiled.get_weights())
    np.testing.assert_allclose(first, plain(features), rtol=1e-5)
    np.testing.assert_allclose(compiled(features), plain(features), rtol=1e-5)


@pytest.mark.in_turns
def test_fit_of_a_compiled_call_trains():
    data = tf.data.Dataset.from_tensors(({**GRAPHS.to_dict(), "rows": ROWS}, tf.ones([2, 5])))
    losses = []
    for make in (Plain, Compiled, CompiledInside):
        keras.utils.set_random_seed(1)
        model = make(return_vertices=False)
        model.compile(keras.optimizers.SGD(0.5), "mse")
        losses.append(model.fit(data, epochs=3, verbose=0, shuffle=False).history["loss"])
    np.testing.assert_allclose(losses[1:], [losses[0]] * 2, rtol=1e-5)
    assert losses[0][2] < losses[0][1] < losses[0][0]


@pytest.mark.parametrize("make", [Compiled, CompiledInside])
def test_a_loop_of_ones_own_trains(make):
    features = {**GRAPHS.to_dict(), "rows": ROWS}
    model, losses = make(return_vertices=False), []
    optimizer = keras.optimizers.SGD(0.5)

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(features) - 1.0))
        weights = model.trainable_variables
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    model(features)
    optimizer.build(model.trainable_variables)
    losses = [float(step()) for _ in range(3)]
    assert losses[2] < losses[1] < losses[0]


def test_a_functional_model_says_why_not():
    compiled = CompiledInside(return_vertices=False)
    inputs = {**cavs.keras.graph_inputs(), "rows": keras.Input((3,), name="rows")}
    message = r"Remove @tf\.function from what the model's call does"
    with pytest.raises(NotImplementedError, match=message):
        compiled.compute_output_spec(inputs)


def test_control_flow_is_seen_by_keras():
    class Choosing(Plain):
        def call(self, features):
            rows = features["rows"]
            return tf.cond(
                tf.reduce_all(rows < 100),
                lambda: super(Choosing, self).call(features),
                lambda: rows,
            )

    features = {**GRAPHS.to_dict(), "rows": tf.ones([4, 5])}
    inputs = {**cavs.keras.graph_inputs(), "rows": keras.Input((5,), name="rows")}
    assert Choosing(return_vertices=True).compute_output_spec(inputs).shape == (None, 5)
    assert Choosing(return_vertices=True)(features).shape == (4, 5)


def test_roots_in_a_compiled_call():
    class Picking(keras.Model):
        def __init__(self):
            super().__init__()
            self.roots = cavs.keras.Roots()

        @tf.function
        def call(self, features):
            graphs = {name: features[name] for name in GRAPHS.to_dict()}
            return 2.0 * self.roots(graphs, features["rows"])

    picked = Picking()({**GRAPHS.to_dict(), "rows": ROWS})
    np.testing.assert_array_equal(picked, 2.0 * tf.gather(ROWS, GRAPHS.roots))


def test_xla_is_refused():
    layer = cavs.keras.TreeLSTM(5)
    layer(GRAPHS, ROWS)
    message = r"got a call in a function with jit_compile=True but expected .*Leave jit_compile out"
    with pytest.raises(NotImplementedError, match=message):
        tf.function(lambda rows: layer(GRAPHS, rows), jit_compile=True)(ROWS)

    @tf.function(jit_compile=True)
    def step(rows):
        inner = tf.function(lambda: layer(GRAPHS, rows))
        return tf.cond(rows[0, 0] > 0, inner, inner)

    with pytest.raises(NotImplementedError, match=message):
        step(ROWS)


@pytest.mark.in_turns
def test_fit_leaves_xla_out():
    data = tf.data.Dataset.from_tensors(({**GRAPHS.to_dict(), "rows": ROWS}, tf.ones([2, 5])))
    model = Plain(return_vertices=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.compile("sgd", "mse", jit_compile="auto")
        model.fit(data, verbose=0, shuffle=False)
    with pytest.warns(UserWarning, match="Proceeding with `jit_compile=False`"):
        model.compile("sgd", "mse", jit_compile=True)
    model.fit(data, verbose=0, shuffle=False)
