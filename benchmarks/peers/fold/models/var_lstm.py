"""The LSTM; every word adds its loss to those of the words before."""

import tensorflow as tf

from benchmarks.peers.fold import td
from benchmarks.peers.fold.models import _lstm
from benchmarks.peers.fold.models._losses import cross_entropy


def block(w, units):
    """The loss of a sequence."""

    def cell(before, word):
        (state, losses), (x, label) = before, word
        state, h = _lstm.cell(w, x, state)
        return state, tf.add_n([losses, cross_entropy(w, h, label)])

    start = td.Zeros((td.TensorType((2 * units,)), td.TensorType()))
    word = td.Record([("token", td.Embedding(w["embedding"])), ("label", td.Scalar())])
    words = td.GetItem("vertices") >> td.Map(word)
    return words >> td.Fold(td.Function(cell), start) >> td.GetItem(1)


def loss(w, losses):
    """Of a minibatch."""
    return tf.reduce_sum(losses)
