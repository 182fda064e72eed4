"""Systems that compute something else are found before they are timed."""

import dataclasses

import numpy as np
import pytest

from benchmarks import checks, oracle, workloads

SETTINGS = workloads.Settings(units=4, batch=2, leaves=4, minibatches=2)


@pytest.fixture(params=workloads.names())
def workload(request):
    return workloads.make(request.param, SETTINGS)


def numeric_gradients(workload):
    """Central differences for every element of every weight; slow."""
    gradients = {}
    for name, weight in workload.weights.items():
        flat = np.zeros(weight.size)
        for i in range(weight.size):
            if name == "embedding" and i // workload.units not in workload.minibatches[0].token:
                continue
            unit = np.zeros(weight.size)
            unit[i] = 1.0
            directions = {n: np.zeros(w.shape) for n, w in workload.weights.items()}
            directions[name] = unit.reshape(weight.shape)
            flat[i] = oracle.slope(workload, workload.minibatches[0], directions)
        gradients[name] = flat.reshape(weight.shape).astype(np.float32)
    return gradients


@pytest.fixture
def tree_fc():
    return workloads.make("tree_fc", SETTINGS)


def test_the_definition_itself_passes(tree_fc):
    loss = oracle.loss(tree_fc, tree_fc.minibatches[0])
    gradients = numeric_gradients(tree_fc)
    checker = checks.Checker(tree_fc, "training")
    assert checker.complaint("a", [loss, 1.0], gradients) is None
    assert checker.complaint("b", [loss, 1.0], gradients) is None


def test_a_wrong_loss_is_caught(workload):
    loss = oracle.loss(workload, workload.minibatches[0])
    checker = checks.Checker(workload, "inference")
    assert checker.complaint("a", [loss], {}) is None
    assert "wrong loss: got" in checker.complaint("b", [loss * 1.001], {})
    assert "wrong loss: got nan" in checker.complaint("c", [float("nan")], {})


def test_a_wrong_later_loss_is_caught(workload):
    loss = oracle.loss(workload, workload.minibatches[0])
    checker = checks.Checker(workload, "inference")
    assert checker.complaint("a", [loss, 2.0], {}) is None
    assert checker.complaint("b", [loss, 2.1], {}) == "loss of step 1: got 2.1 but a has 2.0"


def test_slack_widens_all_tolerances_and_sets_nothing_for_others(tree_fc):
    loss = oracle.loss(tree_fc, tree_fc.minibatches[0])
    right = numeric_gradients(tree_fc)
    near = {name: 1.01 * gradient for name, gradient in right.items()}
    checker = checks.Checker(tree_fc, "training")
    assert checker.complaint("coarse", [1.001 * loss, 1.001], near, 50.0) is None
    assert checker.complaint("exact", [loss, 1.0], right) is None
    assert checker.complaint("coarse", [1.001 * loss, 1.001], near, 50.0) is None
    assert "wrong loss" in checker.complaint("coarse", [1.01 * loss, 1.0], near, 50.0)
    far = {name: 1.2 * gradient for name, gradient in right.items()}
    assert "differs by" in checker.complaint("coarse", [loss, 1.0], far, 50.0)


@pytest.mark.parametrize("name", ["kernel", "bias", "embedding", "output", "output_bias"])
def test_a_wrong_gradient_is_caught(tree_fc, name):
    loss = oracle.loss(tree_fc, tree_fc.minibatches[0])
    right = numeric_gradients(tree_fc)
    wrong = right | {name: right[name] * 1.01}
    checker = checks.Checker(tree_fc, "training")
    assert checker.complaint("a", [loss], right) is None
    assert f"gradient by {name}: differs by" in checker.complaint("b", [loss], wrong)
    missing = {n: g for n, g in right.items() if n != name}
    assert checker.complaint("c", [loss], missing) == f"no gradient by {name}"


def test_the_first_system_is_held_to_the_definition_too(tree_fc):
    loss = oracle.loss(tree_fc, tree_fc.minibatches[0])
    right = numeric_gradients(tree_fc)
    doubled = {name: 2 * gradient for name, gradient in right.items()}
    checker = checks.Checker(tree_fc, "training")
    assert "wrong gradients: got a slope of" in checker.complaint("a", [loss], doubled)


def test_labels_outside_the_loss_do_not_count():
    workload = workloads.make("tree_lstm", SETTINGS)
    batch = workload.minibatches[0]
    whole = oracle.loss(workload, batch)
    halves = [
        oracle.loss(workload, dataclasses.replace(batch, label=np.where(part, batch.label, -1)))
        for part in (batch.is_leaf, ~batch.is_leaf)
    ]
    assert sum(halves) == pytest.approx(whole, rel=1e-12)
