"""What `cavs_loop` times are the steps that `cavs` takes, several in a call."""

import pytest

from benchmarks import workloads


@pytest.fixture
def peer(in_this_process):
    from benchmarks.peers import cavs_loop

    settings = workloads.Settings(units=8, batch=3, minibatches=3)
    return cavs_loop.Peer(workloads.make("tree_lstm", settings), threads=1)


def test_a_call_trains_on_the_minibatches_in_order(peer):
    weights = {name: variable.numpy() for name, variable in peer.variables.items()}
    one_by_one = [peer.train(index) for index in range(2 * peer.steps_per_call)]
    for name, variable in peer.variables.items():
        variable.assign(weights[name])
    losses = [peer.timed_train(index * peer.steps_per_call) for index in range(2)]
    expected = one_by_one[peer.steps_per_call - 1 :: peer.steps_per_call]
    assert losses == pytest.approx(expected, rel=1e-5)


def test_a_call_evaluates_the_minibatches_in_order(peer):
    one_by_one = [peer.infer(index) for index in range(2 * peer.steps_per_call)]
    losses = [peer.timed_infer(index * peer.steps_per_call) for index in range(2)]
    expected = one_by_one[peer.steps_per_call - 1 :: peer.steps_per_call]
    assert losses == pytest.approx(expected, rel=1e-5)
