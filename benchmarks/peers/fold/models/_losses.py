"""The loss that all workloads have."""

import tensorflow as tf


def cross_entropy(w, h, label) -> tf.Tensor:
    """[N]: of the classes of vertices, given h [N, units] and label [N]."""
    logits = tf.nn.bias_add(h @ w["output"], w["output_bias"])
    return tf.nn.sparse_softmax_cross_entropy_with_logits(label, logits)
