"""The LSTM; every word has a loss of its own as an output."""

import tensorflow as tf

from benchmarks.peers.fold import td
from benchmarks.peers.fold.models import _lstm
from benchmarks.peers.fold.models._losses import cross_entropy


def block(w, units):
    """The losses of the words of a sequence."""

    def cell(word, state):
        x, label = word
        state, h = _lstm.cell(w, x, state)
        return cross_entropy(w, h, label), state

    start = td.Zeros(td.TensorType((2 * units,)))
    word = td.Record([("token", td.Embedding(w["embedding"])), ("label", td.Scalar())])
    words = td.GetItem("vertices") >> td.Map(word)
    return words >> td.RNN(td.Function(cell), start) >> td.GetItem(0)


def loss(w, losses):
    """Of a minibatch."""
    return tf.reduce_sum(losses)
