"""The lattice LSTM: a vertex function for words, and one for characters."""

import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline
from benchmarks.workloads.lattice_lstm import CHARACTER


class Model(cavs.GraphSupport):
    """The state of a character is [c, h]; of a word, [c, its term in its last character's gate].

    The first child is the character before; edges lead to it and to the words that end here.
    """

    arity = None
    vertex_types = ("word", "character")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = w

    def word(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = self.pull("x") @ self.w["word_kernel"] + h @ self.w["recurrent_word_kernel"]
        i, f, g = tf.split(gates + self.w["word_bias"], 3, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        self.scatter(tf.concat([c, c @ self.w["recurrent_link_kernel"]], axis=1))
        self.push(c)

    def character(self):
        x = self.pull("x")
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = x @ self.w["kernel"] + h @ self.w["recurrent_kernel"] + self.w["bias"]
        i, f, g, o = tf.split(gates, 4, axis=1)
        words, gate = tf.split(self.children(), 2, axis=1)
        link = self.to_children(x @ self.w["link_kernel"] + self.w["link_bias"])
        linked = self.pull_edge("is_word") * tf.sigmoid(link + gate) * words
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g) + self.sum_children(linked)
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)

    @staticmethod
    def pulled(inputs, embedding):
        """What the vertex functions pull, from a minibatch."""
        return {"x": cavs.ops.look_up(embedding, inputs["token"]), "is_word": inputs["is_word"]}


def batches(examples, size, micro_batch=None, policy="ratio"):
    """Minibatches of words and characters, and of which edges lead to words."""
    leads_to_word = (examples.kind == CHARACTER)[:, np.newaxis] & (
        np.arange(examples.children.shape[1]) > 0
    )
    is_word = leads_to_word[examples.children >= 0][:, np.newaxis].astype("float32")
    return _pipeline.batches(
        examples,
        size,
        Model,
        policy=policy,
        slots=1,
        kind=examples.kind,
        edge_features={"is_word": is_word},
        micro_batch=micro_batch,
    )
