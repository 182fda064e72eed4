"""The lattice LSTM: a vertex function for words, and one for characters."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class Model(cavs.GraphSupport):
    """The state of a character is [c, h]; of a word, [c, its term in its last character's gate]."""

    arity = 7
    vertex_types = ("word", "character")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = w

    def word(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = self.pull() @ self.w["word_kernel"] + h @ self.w["recurrent_word_kernel"]
        i, f, g = tf.split(gates + self.w["word_bias"], 3, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        self.scatter(tf.concat([c, c @ self.w["recurrent_link_kernel"]], axis=1))
        self.push(c)

    def character(self):
        (c, h), *words = (tf.split(self.gather(k), 2, axis=1) for k in range(self.arity))
        x = self.pull()
        gates = x @ self.w["kernel"] + h @ self.w["recurrent_kernel"] + self.w["bias"]
        i, f, g, o = tf.split(gates, 4, axis=1)
        link = x @ self.w["link_kernel"] + self.w["link_bias"]
        linked = tf.add_n([tf.sigmoid(link + gate) * c_word for c_word, gate in words])
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g) + linked
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)


def batches(examples, size, micro_batch=None):
    """Minibatches of words and characters."""
    return _pipeline.batches(
        examples, size, Model, policy="ratio", kind=examples.kind, micro_batch=micro_batch
    )
