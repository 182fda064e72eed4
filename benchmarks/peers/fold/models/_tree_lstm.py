"""The cell of the Tree-LSTM; its state is [c, h]."""

import tensorflow as tf


class Cell:
    """Of leaves and of inner vertices."""

    def __init__(self, w):
        self.w = w

    def leaf(self, x):
        i, o, u = tf.split(x @ self.w["leaf_kernel"] + self.w["leaf_bias"], 3, axis=1)
        return self._state(tf.sigmoid(i) * tf.tanh(u), o)

    def inner(self, left, right):
        (cl, hl), (cr, hr) = (tf.split(state, 2, axis=1) for state in (left, right))
        i, o, u = tf.split((hl + hr) @ self.w["kernel"] + self.w["bias"], 3, axis=1)
        fl = tf.sigmoid(hl @ self.w["forget_kernel"] + self.w["forget_bias"])
        fr = tf.sigmoid(hr @ self.w["forget_kernel"] + self.w["forget_bias"])
        return self._state(tf.sigmoid(i) * tf.tanh(u) + fl * cl + fr * cr, o)

    def _state(self, c, o):
        h = tf.sigmoid(o) * tf.tanh(c)
        return tf.concat([c, h], axis=1), h
