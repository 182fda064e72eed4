"""The Tree-LSTM; every vertex adds its loss to those of its children."""

import tensorflow as tf

from benchmarks.peers.fold import td
from benchmarks.peers.fold.models._losses import cross_entropy
from benchmarks.peers.fold.models._tree_lstm import Cell


def block(w, units):
    """The loss of a tree."""
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


def loss(w, losses):
    """Of a minibatch."""
    return tf.reduce_sum(losses)
