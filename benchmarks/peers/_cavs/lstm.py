"""The LSTM, without and with an output layer."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class LSTM(cavs.GraphSupport):
    """A vertex is a token; its child is the token before it."""

    arity = 1

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = w

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = self.pull() @ self.w["kernel"] + h @ self.w["recurrent_kernel"] + self.w["bias"]
        i, f, g, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.finish(h)

    def finish(self, h):
        self.push(h)


class Model(LSTM):
    """The LSTM with a label for every token."""

    pushes_logits = True

    def finish(self, h):
        self.push(h @ self.w["output"] + self.w["output_bias"])


def batches(examples, size, micro_batch=None):
    """Minibatches of chains."""
    return _pipeline.batches(examples, size, Model, micro_batch=micro_batch)
