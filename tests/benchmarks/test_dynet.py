"""What the DyNet peer computes, on a stand-in for DyNet without a backward pass."""

import sys
import types
import weakref

import numpy as np
import pytest

from benchmarks import oracle, peers, workloads


class Expression:
    """A value. As in DyNet, vectors are columns."""

    def __init__(self, value):
        self.array = np.asarray(value, np.float64)

    def __add__(self, other):
        return Expression(self.array + other.array)

    def __mul__(self, other):
        return Expression(self.array @ other.array)

    def __getitem__(self, row):
        return Expression(self.array[row])

    def dim(self):
        return self.array.shape, 1

    def value(self):
        return float(self.array)

    def backward(self):
        """Does nothing."""

    def grad_as_array(self):
        return np.zeros_like(self.array)


class Collection:
    """A collection of parameters made from arrays."""

    parameters_from_numpy = lookup_parameters_from_numpy = staticmethod(Expression)


class Trainer:
    """A trainer that changes nothing. As in DyNet, it does not keep its collection alive."""

    def __init__(self, collection, learning_rate):
        self._collection = weakref.ref(collection)
        self.learning_rate = learning_rate

    def set_clip_threshold(self, threshold):
        assert threshold <= 0

    def update(self):
        assert self._collection() is not None, "DyNet ends the process with SIGSEGV here."


def affine_transform(parts):
    total = parts[0].array
    for weight, x in zip(parts[1::2], parts[2::2], strict=True):
        total = total + weight.array @ x.array
    return Expression(total)


def pickneglogsoftmax(x, label):
    return Expression(np.log(np.exp(x.array).sum()) - x.array[label])


def stand_in():
    return types.SimpleNamespace(
        __version__="stand-in",
        ParameterCollection=Collection,
        SimpleSGDTrainer=Trainer,
        affine_transform=affine_transform,
        pickneglogsoftmax=pickneglogsoftmax,
        renew_cg=lambda: None,
        zeros=lambda dim: Expression(np.zeros(dim)),
        esum=lambda parts: Expression(sum(part.array for part in parts)),
        logistic=lambda x: Expression(1 / (1 + np.exp(-x.array))),
        tanh=lambda x: Expression(np.tanh(x.array)),
        cmult=lambda a, b: Expression(a.array * b.array),
        concatenate=lambda parts: Expression(np.concatenate([part.array for part in parts])),
        pick_range=lambda x, first, last: Expression(x.array[first:last]),
    )


def make_peer(name, monkeypatch):
    monkeypatch.setitem(sys.modules, "dynet", stand_in())
    monkeypatch.setitem(
        sys.modules, "dynet_config", types.SimpleNamespace(set=lambda **options: None)
    )
    monkeypatch.delitem(sys.modules, "benchmarks.peers.dynet", raising=False)
    settings = workloads.Settings(units=4, batch=2, leaves=4, steps=3, minibatches=2)
    workload = workloads.make(name, settings)
    try:
        return peers.load("dynet")(workload, 1), workload
    finally:
        # Other tests must find that DyNet is not installed.
        del sys.modules["benchmarks.peers.dynet"]


@pytest.mark.parametrize("name", workloads.names())
def test_the_loss_is_that_of_the_definition(name, monkeypatch):
    peer, workload = make_peer(name, monkeypatch)
    assert peer.version == "dynet stand-in"
    peer.construct()
    for index, batch in enumerate(workload.minibatches):
        assert peer.infer(index) == pytest.approx(oracle.loss(workload, batch), rel=1e-5)


def test_it_trains_after_gradients_were_asked_for(monkeypatch):
    peer, workload = make_peer("tree_lstm", monkeypatch)
    gradients = peer.gradients()
    assert {name: g.shape for name, g in gradients.items()} == {
        name: weight.shape for name, weight in workload.weights.items()
    }
    expected = oracle.loss(workload, workload.minibatches[0])
    assert peer.train(0) == pytest.approx(expected, rel=1e-5)
