"""What `cavs_ops` times is the forward and the backward pass."""

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import workloads


@pytest.fixture(scope="module")
def peer(in_this_process):
    from benchmarks.peers import cavs_ops

    settings = workloads.Settings(units=8, batch=3, minibatches=2)
    return cavs_ops.Peer(workloads.make("tree_lstm", settings), threads=1)


def test_every_gradient_of_the_ops_is_computed(peer):
    graphs, x, gradient = peer.given(0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        h = peer.model(graphs, x)
    by_all = tape.gradient(h, [x, *peer.cell_weights()], gradient)
    expected = [tf.reshape(value, [-1])[0] for value in (h, *by_all)]
    np.testing.assert_allclose(peer.timed_train(0), expected, rtol=1e-5)
    assert len(expected) == 10


def test_the_forward_pass_alone_gives_the_same_output(peer):
    graphs, x, _ = peer.given(1)
    h = peer.model(graphs, x)
    np.testing.assert_allclose(peer.timed_infer(1), h[0, 0], rtol=1e-6)
