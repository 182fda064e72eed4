"""The LSTM; its state is [c, h]."""

import tensorflow as tf

from benchmarks.fold import td
from benchmarks.fold.models.common import cross_entropy, product, total

loss = total


def cell(w, x, state, prefix=""):
    """The next state, and h; the names of the weights begin with `prefix`."""
    c, h = tf.split(state, 2, axis=1)
    products = [x @ w[f"{prefix}kernel"], h @ w[f"{prefix}recurrent_kernel"]]
    i, f, g, o = tf.split(tf.nn.bias_add(tf.add_n(products), w[f"{prefix}bias"]), 4, axis=1)
    c = tf.add_n([product(tf.sigmoid(f), c), product(tf.sigmoid(i), tf.tanh(g))])
    h = product(tf.sigmoid(o), tf.tanh(c))
    return tf.concat([c, h], axis=1), h


def block(w, units):
    """The loss of a sequence: every word adds its own to those of the words before."""

    def step(before, word):
        (state, losses), (x, label) = before, word
        state, h = cell(w, x, state)
        return state, tf.add_n([losses, cross_entropy(w, h, label)])

    start = td.Zeros((td.TensorType((2 * units,)), td.TensorType()))
    word = td.Record([("token", td.Embedding(w["embedding"])), ("label", td.Scalar())])
    words = td.GetItem("vertices") >> td.Map(word)
    return words >> td.Fold(td.Function(step), start) >> td.GetItem(1)
