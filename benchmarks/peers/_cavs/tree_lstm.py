"""The binary Tree-LSTM, with vertex functions for leaves and for inner vertices."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class Model(cavs.GraphSupport):
    """Vertex functions for leaves and for inner vertices."""

    arity = 2
    pushes_logits = True
    vertex_types = ("leaf", "inner")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = w

    def leaf(self):
        i, o, u = tf.split(self.pull() @ self.w["leaf_kernel"] + self.w["bias"], 3, axis=1)
        self.finish(tf.sigmoid(i) * tf.tanh(u), o)

    def inner(self):
        (cl, hl), (cr, hr) = (tf.split(self.gather(k), 2, axis=1) for k in range(2))
        i, o, u = tf.split((hl + hr) @ self.w["kernel"] + self.w["bias"], 3, axis=1)
        fl = tf.sigmoid(hl @ self.w["forget_kernel"] + self.w["forget_bias"])
        fr = tf.sigmoid(hr @ self.w["forget_kernel"] + self.w["forget_bias"])
        self.finish(tf.sigmoid(i) * tf.tanh(u) + fl * cl + fr * cr, o)

    def finish(self, c, o):
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h @ self.w["output"] + self.w["output_bias"])


def batches(examples, size, micro_batch=None):
    """Minibatches; leaves are of type 0."""
    kind = _pipeline.leaf_or_inner(examples)
    return _pipeline.batches(examples, size, Model, kind=kind, micro_batch=micro_batch)
