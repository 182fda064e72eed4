"""The Tree-LSTM; its state is [c, h]."""

import tensorflow as tf

from benchmarks.fold import td
from benchmarks.fold.models.common import cross_entropy, product, total

loss = total


class Cell:
    """The cell of leaves and of inner vertices; returns the state, and h."""

    def __init__(self, w):
        self.w = w

    def leaf(self, x):
        gates = tf.nn.bias_add(x @ self.w["leaf_kernel"], self.w["bias"])
        i, o, u = tf.split(gates, 3, axis=1)
        return self._state(product(tf.sigmoid(i), tf.tanh(u)), o)

    def inner(self, left, right):
        (cl, hl), (cr, hr) = (tf.split(state, 2, axis=1) for state in (left, right))
        gates = tf.nn.bias_add(tf.add_n([hl, hr]) @ self.w["kernel"], self.w["bias"])
        i, o, u = tf.split(gates, 3, axis=1)
        # One product for the forget gates of both children.
        forget = tf.concat([hl, hr], 0) @ self.w["forget_kernel"]
        forget = tf.sigmoid(tf.nn.bias_add(forget, self.w["forget_bias"]))
        fl, fr = tf.split(forget, 2)
        return self._state(
            tf.add_n([product(tf.sigmoid(i), tf.tanh(u)), product(fl, cl), product(fr, cr)]), o
        )

    def _state(self, c, o):
        h = product(tf.sigmoid(o), tf.tanh(c))
        return tf.concat([c, h], axis=1), h


def block(w, units):
    """The loss of a tree: every vertex adds its own to those of its children."""
    cell = Cell(w)

    def leaf_cell(x, label):
        state, h = cell.leaf(x)
        return state, cross_entropy(w, h, label)

    def inner_cell(left, right, label):
        (left, left_loss), (right, right_loss) = left, right
        state, h = cell.inner(left, right)
        return state, tf.add_n([left_loss, right_loss, cross_entropy(w, h, label)])

    label = ("label", td.Scalar())
    tree = td.ForwardDeclaration((td.TensorType((2 * units,)), td.TensorType()))
    leaf = td.Record([("token", td.Embedding(w["embedding"])), label])
    inner = td.Record([("left", tree()), ("right", tree()), label])
    cases = {0: leaf >> td.Function(leaf_cell), 1: inner >> td.Function(inner_cell)}
    tree.resolve_to(td.OneOf(td.GetItem("inner"), cases))
    return td.GetItem("root") >> tree() >> td.GetItem(1)
