"""Cells whose every product is that of one kernel and of what it reads, concatenated."""

import types

import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class Cell(cavs.GraphSupport):
    """A vertex function with named weights."""

    states = 1  # Vectors of the size `units` in the state.
    stacked = types.MappingProxyType({})  # See `_forms.Stacked`.

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=self.states * units, **kwargs)
        self.w = w

    def dense(self, name, *parts, bias="bias"):
        """A dense layer of what is concatenated."""
        return tf.concat(parts, axis=1) @ self.w[f"{name}_kernel"] + self.w[bias]

    def finish_lstm(self, c, o):
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(self.output(h))

    def output(self, h):
        """What is pushed."""
        return h

    @classmethod
    def batches(cls, examples, size, micro_batch):
        """Minibatches for this model."""
        return _pipeline.batches(examples, size, cls, micro_batch=micro_batch)

    @staticmethod
    def pulled(inputs, embedding):
        """What the vertex function pulls, from a minibatch."""
        return cavs.ops.look_up(embedding, inputs["token"])


class LeafCell(Cell):
    """A cell whose words are at the leaves only: inner vertices have the token -1."""

    @classmethod
    def batches(cls, examples, size, micro_batch):
        is_leaf = (examples.children < 0).all(axis=1)
        token = np.where(is_leaf, examples.token, -1)
        return _pipeline.batches(examples, size, cls, token=token, micro_batch=micro_batch)

    @staticmethod
    def pulled(inputs, embedding):
        words = cavs.ops.present_ids(inputs["token"])
        return cavs.VertexRows(cavs.ops.look_up(embedding, words.rows), words.vertices)
