"""The Tree-LSTM; every vertex has a loss of its own as an output."""

import tensorflow as tf

from benchmarks.peers.fold import td
from benchmarks.peers.fold.models._losses import cross_entropy
from benchmarks.peers.fold.models._tree_lstm import Cell


def block(w, units):
    """The state of the root, and the losses of all vertices."""
    cell = Cell(w)

    def leaf_cell(x, label):
        state, h = cell.leaf(x)
        return state, cross_entropy(w, h, label)

    def inner_cell(left, right, label):
        state, h = cell.inner(left, right)
        return state, cross_entropy(w, h, label)

    label = ("label", td.Scalar())
    tree = td.ForwardDeclaration(td.TensorType((2 * units,)))
    leaf = td.Record([("token", td.Embedding(w["embedding"])), label])
    inner = td.Record([("left", tree()), ("right", tree()), label])
    cases = {0: leaf >> td.Function(leaf_cell), 1: inner >> td.Function(inner_cell)}
    with_loss = td.OneOf(td.GetItem("inner"), cases)
    metric = td.GetItem(1) >> td.Metric()
    tree.resolve_to(with_loss >> td.AllOf(td.GetItem(0), metric) >> td.GetItem(0))
    return td.GetItem("root") >> tree()


def loss(w, losses, root):
    """Of a minibatch."""
    return tf.reduce_sum(losses)
