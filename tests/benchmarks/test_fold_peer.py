"""TensorFlow Fold computes what its definition says, and costs what it must."""

import numpy as np
import pytest

from benchmarks import checks, peers, workloads
from benchmarks.peers import fold

SETTINGS = workloads.Settings(units=8, batch=3, leaves=8, steps=5, minibatches=2)
OTHERS = set(workloads.names()) - {"lattice_lstm", "tree_fc"}
# Its "tree_lstm" is compared with that of others in test_harness.py.
NAMES = ["tree_fc", *(pytest.param(name, marks=pytest.mark.long) for name in sorted(OTHERS))]


pytestmark = pytest.mark.usefixtures("in_this_process")


def make(name, **options):
    return fold.Peer(workloads.make(name, SETTINGS), threads=1, **options)


@pytest.mark.in_turns
@pytest.mark.parametrize("name", NAMES)
def test_losses_and_gradients_are_those_of_the_definition(name):
    peer = make(name, schedulers=2)
    peer.trace("training")
    gradients = peer.gradients()
    losses = [peer.train(index) for index in range(3)]
    assert checks.Checker(peer.workload, "training").complaint("fold", losses, gradients) is None
    assert losses[2] < losses[0]
    # There is one trace for minibatches of all sizes: steps call a concrete function.
    assert hasattr(peer._train, "structured_input_signature")
    assert peer._gradients.experimental_get_tracing_count() == 1


@pytest.mark.in_turns
def test_inference_changes_nothing():
    peer = make("tree_lstm")
    first = peer.infer(0)
    assert peer.infer(2) == first
    complaint = checks.Checker(peer.workload, "inference").complaint("fold", [first], {})
    assert complaint is None


def test_graphs_whose_vertices_have_several_parents_are_not_supported():
    with pytest.raises(peers.Unsupported, match="several parents would be computed once for each"):
        make("lattice_lstm")


def test_the_fields_of_vertices_are_those_of_the_minibatch():
    workload = workloads.make("tree_lstm", SETTINGS)
    batch = workload.minibatches[0]
    _ = batch.is_leaf  # A cached property of some minibatches, so not a field.
    fields = fold.fields_of(batch, workload.vertex_types)
    assert set(fields) == {
        *("root", "vertices", "token", "label", "kind", "inner", "children", "left", "right"),
        *("leaf_vertices", "inner_vertices"),
    }
    of_kinds, inner = fields["inner_vertices"]
    np.testing.assert_array_equal(inner, np.flatnonzero(fields["inner"]))
    assert of_kinds.tolist() == [(inner < split).sum() for split in batch.graph_splits]
    splits, children = fields["children"]
    root = fields["root"][1]
    below = [fields["left"][root], fields["right"][root]]
    assert children[splits[root] : splits[root + 1]].tolist() == below
    np.testing.assert_array_equal(fields["inner"], ~batch.is_leaf)
    assert fields["vertices"][0].tolist() == batch.graph_splits.tolist()
