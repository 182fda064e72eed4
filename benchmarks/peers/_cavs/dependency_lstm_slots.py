"""The child-sum Tree-LSTM of any arity: a vertex function for few children, and one for many."""

import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline

FEW = 3


class Model(cavs.GraphSupport):
    """The state of a vertex also holds its term in its parent's forget gate."""

    arity = 15
    vertex_types = ("leaf", "few", "many")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=3 * units, **kwargs)
        self.w = w

    def leaf(self):
        i, o, u = tf.split(self.pull() @ self.w["kernel"] + self.w["bias"], 3, axis=1)
        self.finish(tf.sigmoid(i) * tf.tanh(u), o)

    def few(self):
        self.inner(FEW)

    def many(self):
        self.inner(self.arity)

    def inner(self, children):
        cs, hs, gates = zip(
            *(tf.split(self.gather(k), 3, axis=1) for k in range(children)), strict=True
        )
        x = self.pull()
        iou = x @ self.w["kernel"] + tf.add_n(hs) @ self.w["recurrent_kernel"] + self.w["bias"]
        i, o, u = tf.split(iou, 3, axis=1)
        forget = x @ self.w["forget_kernel"] + self.w["forget_bias"]
        kept = [tf.sigmoid(forget + gate) * c for c, gate in zip(cs, gates, strict=True)]
        self.finish(tf.sigmoid(i) * tf.tanh(u) + tf.add_n(kept), o)

    def finish(self, c, o):
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h, h @ self.w["recurrent_forget_kernel"]], axis=1))
        self.push(h)


def batches(examples, size, micro_batch=None):
    """Minibatches; the type of a vertex depends on its number of children."""
    children = (examples.children >= 0).sum(axis=1)
    kind = np.digitize(children, [1, FEW + 1]).astype("int32")
    return _pipeline.batches(
        examples, size, Model, policy="ratio", kind=kind, micro_batch=micro_batch
    )
