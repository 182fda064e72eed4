"""The Tree-FC, of one vertex function that asks whether a vertex has children."""

import types

import tensorflow as tf

from benchmarks.peers._cavs import _cell


class Model(_cell.LeafCell):
    """The state of a leaf is its input."""

    arity = 2
    stacked = types.MappingProxyType({"children_kernel": ("kernel",)})

    def vertex(self):
        inner = tf.tanh(self.dense("children", self.gather(0), self.gather(1)))
        h = tf.where(self.has_child(0)[:, tf.newaxis], inner, self.pull())
        self.scatter(h)
        self.push(h)
