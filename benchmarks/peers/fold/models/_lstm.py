"""The LSTM; its state is [c, h]."""

import tensorflow as tf

from benchmarks.peers.fold.models._products import product


def cell(w, x, state, prefix=""):
    """The next state, and h, by the weights whose names start so."""
    c, h = tf.split(state, 2, axis=1)
    products = [x @ w[f"{prefix}kernel"], h @ w[f"{prefix}recurrent_kernel"]]
    i, f, g, o = tf.split(tf.nn.bias_add(tf.add_n(products), w[f"{prefix}bias"]), 4, axis=1)
    c = tf.add_n([product(tf.sigmoid(f), c), product(tf.sigmoid(i), tf.tanh(g))])
    h = product(tf.sigmoid(o), tf.tanh(c))
    return tf.concat([c, h], axis=1), h
