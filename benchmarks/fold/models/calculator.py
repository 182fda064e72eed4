"""The calculator."""

import tensorflow as tf

from benchmarks.fold import td
from benchmarks.fold.models.common import of_roots

loss = of_roots


def block(w, units):
    """The root's state and its label."""

    def operator(name):
        def cell(left, right):
            operands = tf.concat([left, right], axis=1)
            return tf.tanh(tf.nn.bias_add(operands @ w[f"{name}_kernel"], w[f"{name}_bias"]))

        return td.Record([("left", expression()), ("right", expression())]) >> td.Function(cell)

    expression = td.ForwardDeclaration(td.TensorType((units,)))
    number = td.GetItem("token") >> td.BatchInput(w["embedding"])
    operators = ("plus", "minus", "times", "divide")
    cases = {0: number} | {kind: operator(name) for kind, name in enumerate(operators, 1)}
    expression.resolve_to(td.OneOf(td.GetItem("kind"), cases))
    return td.GetItem("root") >> td.AllOf(expression(), td.GetItem("label") >> td.Scalar())
