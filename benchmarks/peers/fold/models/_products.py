"""A product with a gradient of its own, for the sake of speed only."""

import tensorflow as tf


@tf.RegisterGradient("ProductOfOneShape")
def _gradient(op, gradient):
    a, b = op.inputs
    return gradient * b, gradient * a


def product(a, b) -> tf.Tensor:
    """a * b, of tensors of one shape, in a graph.

    The gradient of `*` asks at every depth which of the two was broadcast, as the number of rows is
    not known before.
    """
    with tf.compat.v1.get_default_graph().gradient_override_map({"Mul": "ProductOfOneShape"}):
        return a * b
