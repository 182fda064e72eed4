"""Cells as the README and textbooks write them: one vertex function for all vertices.

Every product is that of one kernel and of what it reads, concatenated. Where vertices compute
different things, as operators do, they have a type each. Schedules are the default ones.
"""

import types

import tensorflow as tf

from benchmarks.peers._cavs import _cell


class TreeLSTM(_cell.LeafCell):
    """The child-sum Tree-LSTM; words are at the leaves only."""

    arity = 2
    states = 2
    pushes_logits = True
    stacked = types.MappingProxyType(
        {"iou_kernel": ("leaf_kernel", "kernel"), "forget_kernel": (None, "forget_kernel")}
    )

    def vertex(self):
        x = self.pull()
        children = [tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)]
        total = tf.add_n([h for _, h in children])
        i, o, u = tf.split(self.dense("iou", x, total), 3, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u)
        for c_k, h_k in children:
            c += tf.sigmoid(self.dense("forget", x, h_k, bias="forget_bias")) * c_k
        self.finish_lstm(c, o)

    def output(self, h):
        return h @ self.w["output"] + self.w["output_bias"]


MODELS = types.MappingProxyType({"tree_lstm": TreeLSTM})
