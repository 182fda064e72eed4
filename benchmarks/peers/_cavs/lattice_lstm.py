"""The lattice LSTM: a vertex function for words, and one for characters."""

import types

import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _cell, _pipeline
from benchmarks.workloads.lattice_lstm import CHARACTER


class Model(_cell.Cell):
    """The state of a character is [c, h]; of a word, its c twice.

    The first child is the character before; edges lead to it and to the words that end here.
    """

    arity = None
    states = 2
    vertex_types = ("word", "character")
    stacked = types.MappingProxyType(
        {
            "gates_kernel": ("kernel", "recurrent_kernel"),
            "link_kernel": ("link_kernel", "recurrent_link_kernel"),
            "word_kernel": ("word_kernel", "recurrent_word_kernel"),
        }
    )

    def word(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = self.dense("word", self.pull("x"), h, bias="word_bias")
        i, f, g = tf.split(gates, 3, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        self.scatter(tf.concat([c, c], axis=1))
        self.push(c)

    def character(self):
        x = self.pull("x")
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, f, g, o = tf.split(self.dense("gates", x, h), 4, axis=1)
        words, _ = tf.split(self.children(), 2, axis=1)
        link = tf.sigmoid(self.dense("link", self.to_children(x), words, bias="link_bias"))
        linked = self.sum_children(self.pull_edge("is_word") * link * words)
        self.finish_lstm(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g) + linked, o)

    @staticmethod
    def pulled(inputs, embedding):
        """What the vertex functions pull, from a minibatch."""
        return {"x": cavs.ops.look_up(embedding, inputs["token"]), "is_word": inputs["is_word"]}

    @classmethod
    def batches(cls, examples, size, micro_batch):
        """Minibatches of words and characters, and of which edges lead to words."""
        leads_to_word = (examples.kind == CHARACTER)[:, np.newaxis] & (
            np.arange(examples.children.shape[1]) > 0
        )
        is_word = leads_to_word[examples.children >= 0][:, np.newaxis].astype("float32")
        return _pipeline.batches(
            examples,
            size,
            cls,
            slots=1,
            kind=examples.kind,
            edge_features={"is_word": is_word},
            micro_batch=micro_batch,
        )
