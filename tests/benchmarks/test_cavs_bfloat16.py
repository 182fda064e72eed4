"""What `cavs_bfloat16` computes is right to its precision, and computed in it."""

import pytest
import tensorflow as tf

from benchmarks import checks, workloads
from benchmarks.peers import Unsupported

SETTINGS = workloads.Settings(units=16, batch=4, minibatches=2)


@pytest.fixture
def make(in_this_process):
    from benchmarks.peers import cavs_bfloat16

    return lambda name: cavs_bfloat16.Peer(workloads.make(name, SETTINGS), threads=1)


@pytest.mark.parametrize("name", ["tree_lstm", "fixed_lstm"])
def test_losses_and_gradients_are_right_to_16_bits_less(make, name):
    peer = make(name)
    gradients, losses = peer.gradients(), [peer.train(0)]
    checker = checks.Checker(peer.workload, "training")
    assert checker.complaint("bfloat16", losses, gradients, peer.slack) is None
    inputs = peer.first_inputs()
    assert peer.model(inputs["graphs"], peer.embed(inputs)).dtype == tf.bfloat16
    assert all(variable.dtype == tf.float32 for variable in peer.variables.values())


def test_several_models_are_refused(make):
    with pytest.raises(Unsupported, match="more than one GraphSupport"):
        make("bilstm_tagger")
