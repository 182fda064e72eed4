"""The Tree-FC."""

import tensorflow as tf

from benchmarks.fold import td
from benchmarks.fold.models.common import of_roots

loss = of_roots


def block(w, units):
    """The root's state and its label."""

    def cell(left, right):
        children = tf.concat([left, right], axis=1)
        return tf.tanh(tf.nn.bias_add(children @ w["kernel"], w["bias"]))

    tree = td.ForwardDeclaration(td.TensorType((units,)))
    leaf = td.GetItem("token") >> td.BatchInput(w["embedding"])
    inner = td.Record([("left", tree()), ("right", tree())]) >> td.Function(cell)
    tree.resolve_to(td.OneOf(td.GetItem("inner"), {0: leaf, 1: inner}))
    return td.GetItem("root") >> td.AllOf(tree(), td.GetItem("label") >> td.Scalar())
