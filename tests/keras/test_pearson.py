"""Pearson's correlation over minibatches."""

import keras
import numpy as np
import pytest

from cavs_tf.keras import Pearson


def expected(true, predicted, weights=None):
    weights = np.ones_like(true) if weights is None else weights
    covariance = np.cov(true, predicted, aweights=weights)
    return covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])


@pytest.mark.parametrize("offset", [0.0, 1e4])
@pytest.mark.parametrize("is_weighed", [False, True])
def test_it_is_that_of_all_minibatches_together(offset, is_weighed):
    random = np.random.default_rng(0)
    true = random.normal(size=100) + offset
    predicted = 0.5 * true + random.normal(size=100)
    weights = random.integers(0, 3, size=100).astype(float) if is_weighed else None
    metric = Pearson()
    for part in np.split(np.arange(100), [1, 1, 40, 90]):
        of_part = None if weights is None else weights[part]
        metric.update_state(true[part], predicted[part, None], of_part)
    assert float(metric.result()) == pytest.approx(expected(true, predicted, weights), abs=1e-4)
    metric.reset_state()
    assert float(metric.result()) == 0.0


def test_labels_that_are_all_the_same_have_none():
    metric = Pearson()
    metric.update_state([1.0, 1.0], [2.0, 3.0])
    assert float(metric.result()) == 0.0


def test_fit_and_evaluate_report_it():
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse", metrics=[Pearson()], weighted_metrics=[Pearson("weighed")])
    x = np.random.default_rng(0).normal(size=(30, 2)).astype(np.float32)
    y = x[:, 0] + x[:, 1] ** 2
    weights = np.arange(30) % 2
    logs = model.evaluate(x, y, sample_weight=weights, batch_size=8, verbose=0, return_dict=True)
    predicted = model.predict(x, verbose=0)[:, 0]
    assert logs["pearson"] == pytest.approx(expected(y, predicted), abs=1e-4)
    assert logs["weighed"] == pytest.approx(expected(y, predicted, weights), abs=1e-4)


def test_another_number_of_predictions_is_rejected():
    with pytest.raises(ValueError, match=r"^y_pred: got 4 numbers but expected 2, one for each la"):
        Pearson().update_state([1.0, 2.0], [[1.0, 2.0], [3.0, 4.0]])
    with pytest.raises(ValueError, match=r"^sample_weight: got 1 numbers but expected 2"):
        Pearson().update_state([1.0, 2.0], [1.0, 2.0], [1.0])
