"""The child-sum Tree-LSTM of any arity: a row for each edge."""

import types

import tensorflow as tf

from benchmarks.peers._cavs import _cell


class Model(_cell.Cell):
    """The state of a vertex is [c, h]; every vertex has a word."""

    arity = None
    states = 2
    stacked = types.MappingProxyType(
        {
            "iou_kernel": ("kernel", "recurrent_kernel"),
            "forget_kernel": ("forget_kernel", "recurrent_forget_kernel"),
        }
    )

    def vertex(self):
        x = self.pull()
        c, h = tf.split(self.children(), 2, axis=1)
        i, o, u = tf.split(self.dense("iou", x, self.sum_children(h)), 3, axis=1)
        f = tf.sigmoid(self.dense("forget", self.to_children(x), h, bias="forget_bias"))
        self.finish_lstm(tf.sigmoid(i) * tf.tanh(u) + self.sum_children(f * c), o)
