"""The tagger; every word has a loss of its own as an output."""

import tensorflow as tf

from benchmarks.fold import td
from benchmarks.fold.models import lstm
from benchmarks.fold.models.common import cross_entropy, total

loss = total


def block(w, units):
    """The losses of the words of a sentence."""

    def rnn(direction):
        def cell(x, state):
            state, h = lstm.cell(w, x, state, f"{direction}_")
            return h, state

        start = td.Zeros(td.TensorType((2 * units,)))
        return td.RNN(td.Function(cell), start) >> td.GetItem(0)

    def tag(forward, backward, label):
        both = tf.concat([forward, backward], axis=1)
        h = tf.tanh(tf.nn.bias_add(both @ w["tag_kernel"], w["tag_bias"]))
        return cross_entropy(w, h, label)

    words = td.Map(td.GetItem("token") >> td.Embedding(w["embedding"]))
    forward = words >> rnn("forward")
    backward = words >> td.Reverse() >> rnn("backward") >> td.Reverse()
    labels = td.Map(td.GetItem("label") >> td.Scalar())
    tagged = td.AllOf(forward, backward, labels) >> td.Zip() >> td.Map(td.Function(tag))
    # The sentence as the forward LSTM reads it.
    return td.GetItem("forward_vertices") >> tagged
