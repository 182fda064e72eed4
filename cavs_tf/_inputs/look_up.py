"""Lookups of rows of a variable."""

import tensorflow as tf
from tensorflow.python.eager import forwardprop_util
from tensorflow.python.ops import resource_variable_ops

from cavs_tf._native.library import has_operators, ops
from cavs_tf._values.wide_sums import gather


def look_up_rows(table: tf.Variable, ids: tf.Tensor) -> tf.Tensor:
    """Does `cavs_tf.ops.look_up` outside of vertex functions and XLA."""
    if not has_operators(table):
        return _gather_distinct(table, ids)
    resource_variable_ops.variable_accessed(table)
    if forwardprop_util.pack_tangents([table.handle]).tangents:
        return _look_up_in_forward_mode(table, ids)
    return ops.cavs_look_up(table.handle, ids, dtype=table.dtype)


def _gather_distinct(table, ids) -> tf.Tensor:
    """`tf.gather`, whose gradient names each row once, with the sum of its gradients."""
    rows, places = tf.unique(tf.reshape(ids, [-1]))
    places = tf.reshape(places, tf.shape(ids))
    return gather(tf.gather(table, rows), places)


def _look_up_in_forward_mode(table, ids):
    """Does `look_up_rows` for a variable that a `tf.autodiff.ForwardAccumulator` watches."""
    if not tf.executing_eagerly():
        raise NotImplementedError(
            "look_up: got a variable that a tf.autodiff.ForwardAccumulator watches, in a "
            "tf.function, but expected a call outside of any, as TensorFlow has no forward-mode "
            "derivatives by variables there. Call it eagerly, or derive by tf.GradientTape."
        )
    return tf.gather(table, ids)
