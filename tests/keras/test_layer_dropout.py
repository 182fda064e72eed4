"""`dropout` and `recurrent_dropout` of recurrent layers."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import ops
from cavs_tf._running.evaluation import evaluation_by
from cavs_tf.inspect import reference
from cavs_tf.keras import GRU, LSTM, TreeGRU, TreeLSTM

UNITS, FEATURES, STEPS, RATE = 5, 4, 6, 0.5
X = tf.constant(np.random.default_rng(1).normal(size=(3, STEPS, FEATURES)))
TREES = cavs.GraphBatch.from_children([[[], [], [0], [1, 2]], [[]], [[], [], [1, 0]]])
ROWS = tf.constant(np.random.default_rng(2).normal(size=(8, FEATURES)))

LAYERS = {
    "LSTM": (LSTM, {}),
    "GRU": (GRU, {}),
    "GRU before the product": (GRU, {"reset_after": False}),
    "TreeLSTM child_sum": (TreeLSTM, {}),
    "TreeLSTM n_ary": (TreeLSTM, {"mode": "n_ary"}),
    "TreeGRU child_sum": (TreeGRU, {}),
    "TreeGRU n_ary": (TreeGRU, {"mode": "n_ary"}),
}
each_layer = pytest.mark.parametrize("name", LAYERS)


def made(name, **kwargs):
    layer, own = LAYERS[name]
    keras.utils.set_random_seed(0)
    return layer(UNITS, dtype="float64", **own | kwargs)


def arguments(name):
    return (TREES, ROWS) if name.startswith("Tree") else (X,)


def seeded(layer, number=1):
    layer.cell._seed_generator.state.assign([7, number])


def mask(rows, number, columns):
    """The mask that the call of this number draws after `seeded`."""
    seed = tf.constant([7, 2], tf.int64)
    return ops.cavs_dropout_mask(
        rows, seed, T=tf.float64, shape=[columns], rate=RATE, number=number
    )


def test_lstm_drops_what_its_masks_say():
    layer = made("LSTM", dropout=RATE, recurrent_dropout=RATE, return_sequences=True)
    layer(X)
    seeded(layer)
    got = layer(X, training=True)
    of_x, of_h = mask(tf.range(3), 0, FEATURES), mask(tf.range(3), 1, UNITS)
    kernel, recurrent_kernel, bias = (tf.constant(w) for w in layer.get_weights())
    h = c = tf.zeros([3, UNITS], tf.float64)
    for step in range(STEPS):
        gates = (X[:, step] * of_x) @ kernel + (h * of_h) @ recurrent_kernel + bias
        i, f, u, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u) + tf.sigmoid(f) * c
        h = tf.sigmoid(o) * tf.tanh(c)
        np.testing.assert_allclose(got[:, step], h, rtol=1e-9)


def test_gru_mixes_what_is_not_dropped():
    layer = made("GRU", recurrent_dropout=RATE, use_bias=False, return_sequences=True)
    layer(X)
    seeded(layer)
    got = layer(X, training=True)
    of_h = mask(tf.range(3), 1, UNITS)  # Number 0 is of the input, which keeps everything.
    kernel, recurrent_kernel = (tf.constant(w) for w in layer.get_weights())
    h = tf.zeros([3, UNITS], tf.float64)
    for step in range(STEPS):
        of_gates = tf.split(X[:, step] @ kernel, 3, axis=1)
        of_left = tf.split((h * of_h) @ recurrent_kernel, 3, axis=1)
        z, r = (tf.sigmoid(of_gates[k] + of_left[k]) for k in range(2))
        h = z * h + (1 - z) * tf.tanh(of_gates[2] + r * of_left[2])
        np.testing.assert_allclose(got[:, step], h, rtol=1e-9)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "name, rows", [*zip(LAYERS, itertools.cycle(["graph", "vertex"])), ("GRU", "graph")]
)
def test_the_numbers_of_the_reference_executor(name, rows):
    layer = made(name, dropout=0.3, recurrent_dropout=0.4, dropout_rows=rows)
    layer(*arguments(name))

    def results():
        with tf.GradientTape() as tape:
            output = layer(*arguments(name), training=True)
            loss = tf.reduce_sum(tf.sin(output))
        return [output, *tape.gradient(loss, layer.trainable_weights)]

    seeded(layer)
    found = results()
    seeded(layer, 2)  # What the step before has used.
    with evaluation_by(reference._run_cell):
        wanted = results()
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@pytest.mark.in_turns
@each_layer
def test_nothing_is_dropped_in_inference(name):
    dropping, plain = made(name, dropout=0.5, recurrent_dropout=0.5), made(name)
    for layer in (dropping, plain):
        layer(*arguments(name))
    plain.set_weights(dropping.get_weights())
    np.testing.assert_allclose(dropping(*arguments(name)), plain(*arguments(name)), rtol=1e-12)
    trained = dropping(*arguments(name), training=True)
    assert not np.allclose(trained, plain(*arguments(name)))


def test_vertices_of_a_graph_drop_the_same_elements():
    graphs, x = cavs.GraphBatch.from_parents([[-1] * 6, [-1] * 6]), tf.ones([12, 16])
    for rows, count in (("graph", 2), ("vertex", 12)):
        layer = TreeLSTM(8, dropout=RATE, dropout_rows=rows, return_vertices=True)
        output = layer(graphs, x, training=True)
        assert len(np.unique(np.round(output, 5), axis=0)) == count


@pytest.mark.parametrize("layer", [TreeLSTM, TreeGRU])
def test_the_order_of_children_does_not_matter(layer):
    layer = layer(UNITS, arity=3, recurrent_dropout=RATE, dropout_rows="vertex", dtype="float64")
    roots = []
    for children in ([0, 1, 2], [2, 0, 1]):
        graphs = cavs.GraphBatch.from_children([[[], [], [], children]])
        layer(graphs, ROWS[:4])
        seeded(layer)
        roots.append(layer(graphs, ROWS[:4], training=True))
    np.testing.assert_allclose(*roots, rtol=1e-12)


@each_layer
def test_the_configuration_has_rates(name):
    wanted = {"dropout": 0.25, "recurrent_dropout": 0.5, "dropout_rows": "vertex"}
    layer = made(name, **wanted)
    config = type(layer).from_config(layer.get_config()).get_config()
    assert {key: config[key] for key in wanted} == wanted


@pytest.mark.in_turns
def test_bidirectional_fit():
    layer = keras.layers.Bidirectional(LSTM(UNITS, dropout=0.2, recurrent_dropout=0.2))
    model = keras.Sequential([keras.Input((None, FEATURES)), layer, keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    history = model.fit(X, np.ones([3, 1]), epochs=3, verbose=0).history
    assert np.isfinite(history["loss"]).all()


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"dropout": 1}, r"^dropout: got 1 but expected a number in \[0, 1\)"),
        ({"recurrent_dropout": "a"}, r"^recurrent_dropout: got 'a' but expected a number"),
        ({"dropout_rows": "graphs"}, r"^dropout_rows: got 'graphs' but expected one of \('graph',"),
    ],
)
def test_what_is_rejected(argument, message):
    with pytest.raises(ValueError, match=message):
        LSTM(UNITS, **argument)
