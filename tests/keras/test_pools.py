"""Readouts: `Pool` and the roots of graphs with several."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import Pool, Roots
from tests.helpers import batches as make

SIZES = [3, 0, 1, 5, 0]
FEATURES = 4
GRAPHS = make.random_trees(SIZES)
ROWS = make.random_rows(GRAPHS, FEATURES) - 3.0  # Most are negative: a maximum is seldom 0.
EMPTY = np.zeros(FEATURES, np.float32)


def by_graph(rows):
    return np.split(np.asarray(rows), np.cumsum(SIZES)[:-1])


def softmax(scores):
    exponentials = np.exp(scores - scores.max(initial=-np.inf))
    return exponentials / exponentials.sum()


PLAIN = {
    "mean": lambda rows: rows.mean(0),
    "max": lambda rows: rows.max(0),
    "sum": lambda rows: rows.sum(0),
}


@pytest.mark.parametrize("mode", PLAIN)
def test_each_graph_has_one_row(mode):
    wanted = [PLAIN[mode](part) if len(part) else EMPTY for part in by_graph(ROWS)]
    np.testing.assert_allclose(Pool(mode)(GRAPHS, ROWS), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("units", [None, 7])
def test_attention_is_what_the_paper_says(units):
    pool = Pool("attention", units)
    found = pool(GRAPHS, ROWS)
    kernel, bias, query = (weight.numpy() for weight in pool.weights)
    assert kernel.shape == (FEATURES, units or FEATURES)
    wanted = []
    for part in by_graph(ROWS):
        weights = softmax((np.tanh(part @ kernel + bias) @ query)[:, 0])
        wanted.append(weights @ part if len(part) else EMPTY)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("mode", [*PLAIN, "attention"])
def test_gradients_are_finite_differences(mode):
    pool = Pool(mode, dtype="float64")
    rows = tf.cast(ROWS, tf.float64)
    found, wanted = tf.test.compute_gradient(lambda x: pool(GRAPHS, x), [rows])
    np.testing.assert_allclose(found, wanted, atol=1e-6)


@pytest.mark.parametrize("mode", [*PLAIN, "attention"])
def test_a_minibatch_without_graphs(mode):
    nothing = cavs.GraphBatch.from_parents([])
    assert Pool(mode)(nothing, tf.zeros([0, FEATURES])).shape == (0, FEATURES)


@pytest.mark.parametrize("combine", PLAIN)
def test_rows_of_several_roots_are_combined(combine):
    forest = cavs.GraphBatch.from_parents([[-1, -1, 0], [-1], []])
    rows = np.array([[1.0, -4.0], [3.0, -2.0], [9.0, 9.0], [5.0, -6.0]], np.float32)
    wanted = [PLAIN[combine](rows[:2]), rows[3], [0.0, 0.0]]
    np.testing.assert_allclose(Roots(combine)(forest, rows), wanted)


@pytest.mark.in_turns
def test_a_functional_model_trains_and_is_saved(tmp_path):
    keras.utils.set_random_seed(0)
    inputs = cavs.keras.graph_inputs(2)
    features = keras.Input((FEATURES,), name="features")
    vertices = cavs.keras.TreeLSTM(6, 2, return_vertices=True)(inputs, features)
    pooled = [Pool(mode)(inputs, vertices) for mode in (*PLAIN, "attention")]
    roots = Roots("mean")(inputs, vertices)
    assert {tuple(x.shape) for x in (*pooled, roots)} == {(None, 6)}
    outputs = keras.layers.Dense(1)(keras.layers.Concatenate()([*pooled, roots]))
    model = keras.Model({**inputs, "features": features}, outputs)
    model.compile(keras.optimizers.Adam(0.03), "mse")
    given = {**GRAPHS.with_schedule(2).to_dict(), "features": ROWS}
    target = np.array([1.0, 0.0, -1.0, 0.5, 0.0], np.float32)
    losses = [model.train_on_batch(given, target) for _ in range(20)]
    assert losses[-1] < 0.7 * losses[0]
    model.save(tmp_path / "pooled.keras")
    loaded = keras.models.load_model(tmp_path / "pooled.keras")
    np.testing.assert_array_equal(loaded(given), model(given))


@pytest.mark.parametrize(
    ("make_layer", "message"),
    [
        (lambda: Pool("median"), "mode: got 'median' but expected one of 'sum', 'mean', 'max', "),
        (lambda: Pool("max", 3), "units: got 3 but expected None, as 'max' has no weights"),
        (lambda: Roots("first"), "combine: got 'first' but expected one of 'sum', 'mean', 'max'"),
        (lambda: Pool()(GRAPHS, ROWS[1:]), "rows: got 8 rows but expected 9, one per vertex"),
    ],
)
def test_rejections(make_layer, message):
    with pytest.raises(ValueError, match=message):
        make_layer()


def weights_by_numpy(pool, rows):
    kernel, bias, query = (weight.numpy() for weight in pool.weights)
    parts = by_graph(rows)
    return np.concatenate([softmax((np.tanh(p @ kernel + bias) @ query)[:, 0]) for p in parts])


def test_attention_returns_its_weights():
    pool = Pool("attention", 7)
    pooled, weights = pool(GRAPHS, ROWS, return_attention_scores=True)
    np.testing.assert_allclose(pooled, pool(GRAPHS, ROWS), rtol=1e-6)
    np.testing.assert_allclose(weights, weights_by_numpy(pool, ROWS), rtol=1e-5)


def test_weights_have_gradients():
    pool = Pool("attention", dtype="float64")
    rows = tf.cast(ROWS, tf.float64)
    found, wanted = tf.test.compute_gradient(
        lambda x: pool(GRAPHS, x, return_attention_scores=True)[1], [rows]
    )
    np.testing.assert_allclose(found, wanted, atol=1e-6)


def test_a_functional_model_returns_weights():
    inputs = {**cavs.keras.graph_inputs(), "rows": keras.Input((FEATURES,), name="rows")}
    pool = Pool("attention")
    pooled, weights = pool(inputs, inputs["rows"], return_attention_scores=True)
    assert tuple(pooled.shape) == (None, FEATURES) and tuple(weights.shape) == (None,)
    model = keras.Model(inputs, {"pooled": pooled, "weights": weights})
    outputs = model({**GRAPHS.to_dict(), "rows": ROWS})
    np.testing.assert_allclose(outputs["weights"], weights_by_numpy(pool, ROWS), rtol=1e-5)


def test_weights_of_a_mode_without_weights_are_rejected():
    message = "return_attention_scores: got True but expected False, as 'mean' has no weights"
    with pytest.raises(ValueError, match=message):
        Pool("mean")(GRAPHS, ROWS, return_attention_scores=True)
