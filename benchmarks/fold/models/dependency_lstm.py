"""The child-sum Tree-LSTM."""

import tensorflow as tf

from benchmarks.fold import td
from benchmarks.fold.models.common import of_roots, product

loss = of_roots


def block(w, units):
    """The root's h and its label."""

    def remembered(child, x):
        c, h = tf.split(child, 2, axis=1)
        products = [x @ w["forget_kernel"], h @ w["recurrent_forget_kernel"]]
        forget = tf.sigmoid(tf.nn.bias_add(tf.add_n(products), w["forget_bias"]))
        return tf.concat([product(forget, c), h], axis=1)

    def cell(x, children):
        c, h = tf.split(children, 2, axis=1)
        gates = tf.add_n([x @ w["kernel"], h @ w["recurrent_kernel"]])
        i, o, u = tf.split(tf.nn.bias_add(gates, w["bias"]), 3, axis=1)
        c = tf.add_n([product(tf.sigmoid(i), tf.tanh(u)), c])
        return tf.concat([c, product(tf.sigmoid(o), tf.tanh(c))], axis=1)

    state = td.TensorType((2 * units,))
    tree = td.ForwardDeclaration(state)
    word = td.GetItem("token") >> td.Embedding(w["embedding"])
    children = td.GetItem("children") >> td.Map(tree())
    below = td.AllOf(children, word) >> td.Broadcast() >> td.Map(td.Function(remembered))
    add = td.Function(lambda a, b: tf.add_n([a, b]))
    total = below >> td.Reduce(add, td.Zeros(state))
    tree.resolve_to(td.AllOf(word, total) >> td.Function(cell))
    h = tree() >> td.Function(lambda root: root[:, units:])
    return td.GetItem("root") >> td.AllOf(h, td.GetItem("label") >> td.Scalar())
