"""The LSTM, without and with an output layer, and what models of two LSTMs share."""

import types

import tensorflow as tf

from benchmarks.peers._cavs import _cell


class LSTM(_cell.Cell):
    """A vertex is a token; its child is the token before it."""

    arity = 1
    states = 2
    stacked = types.MappingProxyType({"gates_kernel": ("kernel", "recurrent_kernel")})

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, f, g, o = tf.split(self.dense("gates", self.pull(), h), 4, axis=1)
        self.finish_lstm(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g), o)


class Model(LSTM):
    """An LSTM with a label for every token."""

    pushes_logits = True

    def output(self, h):
        return h @ self.w["output"] + self.w["output_bias"]


def stacked_of(*sides):
    """The stacked weights of several LSTMs, whose names begin with a side."""
    return types.MappingProxyType(
        {
            f"{side}_{name}": tuple(f"{side}_{part}" for part in parts)
            for side in sides
            for name, parts in LSTM.stacked.items()
        }
    )


def weights_of(side, w):
    """The weights of one of them."""
    prefix = f"{side}_"
    return {name.removeprefix(prefix): v for name, v in w.items() if name.startswith(prefix)}
