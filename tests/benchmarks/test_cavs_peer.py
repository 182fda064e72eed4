"""Our peer with each of its options: what it computes, and what is timed."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from benchmarks import checks, peers, workloads

SETTINGS = workloads.Settings(units=8, batch=3, minibatches=3)


@pytest.fixture
def make(in_this_process):
    """Sets up the peer of that name for a workload."""
    return lambda system, name="tree_lstm": peers.load(system)(
        workloads.make(name, SETTINGS), threads=1
    )


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("system", "name"),
    [
        *itertools.product(["cavs"], workloads.names()),
        ("cavs_gates", "tree_lstm"),
        ("cavs_bfloat16", "fixed_lstm"),
        pytest.param("cavs_gates", "fixed_lstm", marks=pytest.mark.long),
        pytest.param("cavs_bfloat16", "tree_lstm", marks=pytest.mark.long),
    ],
)
def test_losses_and_gradients_are_right_to_the_precision(make, system, name):
    peer = make(system, name)
    gradients, losses = peer.gradients(), [peer.train(0)]
    checker = checks.Checker(peer.workload, "training")
    assert checker.complaint(system, losses, gradients, peer.slack) is None
    assert all(variable.dtype == tf.float32 for variable in peer.variables.values())


@pytest.mark.parametrize("system", ["cavs", "cavs_bfloat16"])
def test_the_cell_computes_in_its_precision(make, system):
    peer = make(system)
    inputs = peer.first_inputs()
    computed = peer.model(inputs["graphs"], peer.embed(inputs)).dtype
    assert computed == (tf.bfloat16 if system == "cavs_bfloat16" else tf.float32)


@pytest.mark.parametrize(
    ("system", "name", "message"),
    [
        ("cavs_bfloat16", "bilstm_tagger", "more than one GraphSupport"),
        ("cavs_ops", "encoder_decoder", "more than one GraphSupport"),
        ("cavs_gates", "tree_fc", "tree_fc is not written gate by gate"),
    ],
)
def test_what_is_not_written_is_refused(make, system, name, message):
    with pytest.raises(peers.Unsupported, match=message):
        make(system, name)


@pytest.mark.in_turns
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_a_call_takes_the_steps_of_the_minibatches_in_order(make, mode):
    peer = make("cavs_loop")
    step = peer.train if mode == "training" else peer.infer
    weights = {name: variable.numpy() for name, variable in peer.variables.items()}
    one_by_one = [step(index) for index in range(2 * peer.steps_per_call)]
    for name, variable in peer.variables.items():
        variable.assign(weights[name])
    losses = [peer.timed(mode, index * peer.steps_per_call) for index in range(2)]
    expected = one_by_one[peer.steps_per_call - 1 :: peer.steps_per_call]
    assert losses == pytest.approx(expected, rel=1e-5)


@pytest.mark.in_turns
def test_the_ops_alone_compute_every_gradient(make):
    peer = make("cavs_ops")
    *_, (graphs, x, gradient) = peer.ops.given.repeat().take(peer.steps_per_call)
    with tf.GradientTape() as tape:
        tape.watch(x.rows)
        h = peer.model(graphs, x)
    expected = [tf.reshape(value, [-1])[0] for value in (h, tape.gradient(h, x.rows, gradient))]
    np.testing.assert_allclose(peer.timed("training", 0), expected, rtol=1e-5)
    np.testing.assert_allclose(peer.timed("inference", 0), expected[:1], rtol=1e-6)
    step = tf.function(peer.ops.both).get_concrete_function((graphs, x, gradient))
    (backward,) = [op for op in step.graph.get_operations() if op.type == "CavsBackward"]
    assert len(peer.ops.cell_weights()) == 6
    assert len(backward.outputs) == 1 + 6
