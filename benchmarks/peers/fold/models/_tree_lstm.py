"""The cell of the Tree-LSTM; its state is [c, h]."""

import tensorflow as tf

from benchmarks.peers.fold.models._products import product


class Cell:
    """Of leaves and of inner vertices: gives the state, and h."""

    def __init__(self, w):
        self.w = w

    def leaf(self, x):
        gates = tf.nn.bias_add(x @ self.w["leaf_kernel"], self.w["leaf_bias"])
        i, o, u = tf.split(gates, 3, axis=1)
        return self._state(product(tf.sigmoid(i), tf.tanh(u)), o)

    def inner(self, left, right):
        (cl, hl), (cr, hr) = (tf.split(state, 2, axis=1) for state in (left, right))
        gates = tf.nn.bias_add(tf.add_n([hl, hr]) @ self.w["kernel"], self.w["bias"])
        i, o, u = tf.split(gates, 3, axis=1)
        # One product for the forget gates of both children.
        forget = tf.concat([hl, hr], 0) @ self.w["forget_kernel"]
        forget = tf.sigmoid(tf.nn.bias_add(forget, self.w["forget_bias"]))
        fl, fr = tf.split(forget, 2)
        return self._state(
            tf.add_n([product(tf.sigmoid(i), tf.tanh(u)), product(fl, cl), product(fr, cr)]), o
        )

    def _state(self, c, o):
        h = product(tf.sigmoid(o), tf.tanh(c))
        return tf.concat([c, h], axis=1), h
