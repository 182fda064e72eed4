"""The cells of `tree_lstm` and `lstm` with a weight, a product and a bias for every gate."""

import tensorflow as tf

from benchmarks.peers._cavs import lstm, tree_lstm


def part(name: str, gate: int) -> str:
    """The names of the weights of one gate; `name` is that of the weights of all gates."""
    return f"{name}_gate_{gate}"


def _gate(w, k, *products, bias):
    return sum(a @ w[part(name, k)] for a, name in products) + w[part(bias, k)]


class TreeLSTM(tree_lstm.Model):
    """Words are at the leaves only; forget gates do not read them."""

    def vertex(self):
        (cl, hl), (cr, hr) = (tf.split(self.gather(k), 2, axis=1) for k in range(2))
        products = (self.pull(), "leaf_kernel"), (hl + hr, "kernel")
        i, o, u = (_gate(self.w, k, *products, bias="bias") for k in range(3))
        fl = tf.sigmoid(hl @ self.w["forget_kernel"] + self.w["forget_bias"])
        fr = tf.sigmoid(hr @ self.w["forget_kernel"] + self.w["forget_bias"])
        self.finish_lstm(tf.sigmoid(i) * tf.tanh(u) + fl * cl + fr * cr, o)


class LSTM(lstm.Model):
    """A vertex is a token; its child is the token before it."""

    def vertex(self):
        x = self.pull()
        c, h = tf.split(self.gather(0), 2, axis=1)
        products = (x, "kernel"), (h, "recurrent_kernel")
        i, f, g, o = (_gate(self.w, k, *products, bias="bias") for k in range(4))
        self.finish_lstm(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g), o)
