"""The LSTM; its state is [c, h]."""

import tensorflow as tf


def cell(w, x, state):
    """The next state, and h."""
    c, h = tf.split(state, 2, axis=1)
    products = [x @ w["kernel"], h @ w["recurrent_kernel"]]
    i, f, g, o = tf.split(tf.nn.bias_add(tf.add_n(products), w["bias"]), 4, axis=1)
    c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
    h = tf.sigmoid(o) * tf.tanh(c)
    return tf.concat([c, h], axis=1), h
