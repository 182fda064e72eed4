"""What several models use: losses, and a product whose gradient is fast."""

import tensorflow as tf


def cross_entropy(w, h, label) -> tf.Tensor:
    """[N]: the losses of the labels of vertices, given h [N, units] and label [N]."""
    logits = tf.nn.bias_add(h @ w["output"], w["output_bias"])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)


def total(w, losses, *others) -> tf.Tensor:
    """The loss of a minibatch whose blocks return losses, and perhaps other outputs."""
    return tf.reduce_sum(losses)


def of_roots(w, h, label) -> tf.Tensor:
    """The loss of a minibatch whose blocks return h and label of the root; runs after the loop."""
    return tf.reduce_sum(cross_entropy(w, h, label))


@tf.RegisterGradient("ProductOfOneShape")
def _gradient(op, gradient):
    a, b = op.inputs
    return gradient * b, gradient * a


def product(a, b) -> tf.Tensor:
    """a * b for tensors of equal shape, in a graph.

    The gradient of `*` asks at every depth which of the two was broadcast, as the number of rows is
    not known before.
    """
    with tf.compat.v1.get_default_graph().gradient_override_map({"Mul": "ProductOfOneShape"}):
        return a * b
