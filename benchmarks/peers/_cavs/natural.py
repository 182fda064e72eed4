"""Cells as the README and textbooks write them: one vertex function for all vertices.

Every product is that of one kernel and of what it reads, concatenated; leaves and vertices without
a word compute with zeros.
"""

import types

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class _Cell(cavs.GraphSupport):
    """A vertex function with named weights."""

    states = 1  # Vectors of the size `units` in the state.
    stacked = types.MappingProxyType({})  # See `_forms.Natural`.

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=self.states * units, **kwargs)
        self.w = w

    def dense(self, name, *parts):
        """A dense layer of what is concatenated."""
        x = tf.concat(parts, axis=1)
        bias = "forget_bias" if name == "forget" else "bias"
        return x @ self.w[f"{name}_kernel"] + self.w[bias]

    def finish_lstm(self, c, o):
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h @ self.w["output"] + self.w["output_bias"])

    @staticmethod
    def pulled(inputs, x):
        """What the vertex function pulls, from a minibatch and its embedded tokens."""
        return x


def _is_leaf(inputs):
    return (inputs["kind"] == 0)[:, None]


class TreeLSTM(_Cell):
    """The child-sum Tree-LSTM; words are at the leaves, other vertices have zeros."""

    arity = 2
    states = 2
    pushes_logits = True
    stacked = types.MappingProxyType(
        {"iou_kernel": ("leaf_kernel", "kernel"), "forget_kernel": (None, "forget_kernel")}
    )

    def vertex(self):
        x = self.pull()
        children = [tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)]
        total = tf.add_n([h for _, h in children])
        i, o, u = tf.split(self.dense("iou", x, total), 3, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u)
        for c_k, h_k in children:
            c += tf.sigmoid(self.dense("forget", x, h_k)) * c_k
        self.finish_lstm(c, o)

    @staticmethod
    def pulled(inputs, x):
        return tf.where(_is_leaf(inputs), x, tf.zeros_like(x))


class LSTM(_Cell):
    """A vertex is a token; its child is the token before it."""

    arity = 1
    states = 2
    pushes_logits = True
    stacked = types.MappingProxyType({"gates_kernel": ("kernel", "recurrent_kernel")})

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, f, g, o = tf.split(self.dense("gates", self.pull(), h), 4, axis=1)
        self.finish_lstm(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g), o)


class TreeFC(_Cell):
    """The state of a leaf is its input."""

    arity = 2
    stacked = types.MappingProxyType({"children_kernel": ("kernel",)})

    def vertex(self):
        inner = tf.tanh(self.dense("children", self.gather(0), self.gather(1)))
        h = tf.where(self.pull("is_leaf"), self.pull("leaf"), inner)
        self.scatter(h)
        self.push(h)

    @staticmethod
    def pulled(inputs, x):
        return {"is_leaf": _is_leaf(inputs), "leaf": x}


MODELS = types.MappingProxyType(
    {"tree_lstm": TreeLSTM, "tree_fc": TreeFC, "fixed_lstm": LSTM, "var_lstm": LSTM}
)


def batches(model, examples, size, micro_batch=None):
    """Minibatches for a model of this module; leaves are of kind 0."""
    kind = _pipeline.leaf_or_inner(examples)
    return _pipeline.batches(examples, size, model, kind=kind, micro_batch=micro_batch)
