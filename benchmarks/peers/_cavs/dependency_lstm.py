"""The child-sum Tree-LSTM of any arity: a row for each edge."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class Model(cavs.GraphSupport):
    """The state of a vertex is [c, h]."""

    arity = None

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = w

    def vertex(self):
        x = self.pull()
        c, h = tf.split(self.children(), 2, axis=1)
        gates = x @ self.w["kernel"] + self.sum_children(h) @ self.w["recurrent_kernel"]
        i, o, u = tf.split(gates + self.w["bias"], 3, axis=1)
        forget = self.to_children(x @ self.w["forget_kernel"] + self.w["forget_bias"])
        kept = tf.sigmoid(forget + h @ self.w["recurrent_forget_kernel"]) * c
        c = tf.sigmoid(i) * tf.tanh(u) + self.sum_children(kept)
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)


def batches(examples, size, micro_batch=None):
    """Minibatches with their edges."""
    return _pipeline.batches(examples, size, Model, micro_batch=micro_batch)
