"""The binary Tree-LSTM, of one vertex function."""

import types

import tensorflow as tf

from benchmarks.peers._cavs import _cell


class Model(_cell.LeafCell):
    """Child-sum gates; the state is [c, h]."""

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
