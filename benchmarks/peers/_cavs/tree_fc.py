"""The Tree-FC."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class Model(cavs.GraphSupport):
    """The state of a leaf is its input."""

    arity = 2
    vertex_types = ("leaf", "inner")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=units, **kwargs)
        self.w = w

    def leaf(self):
        self.finish(tf.identity(self.pull()))

    def inner(self):
        children = tf.concat([self.gather(0), self.gather(1)], axis=1)
        self.finish(tf.tanh(children @ self.w["kernel"] + self.w["bias"]))

    def finish(self, h):
        self.scatter(h)
        self.push(h)


def batches(examples, size, micro_batch=None):
    """Minibatches; leaves are of type 0."""
    kind = _pipeline.leaf_or_inner(examples)
    return _pipeline.batches(examples, size, Model, kind=kind, micro_batch=micro_batch)
