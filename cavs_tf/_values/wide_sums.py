"""Sums of numbers of 16 bits, formed in float32 and rounded once.

TensorFlow's operators add up numbers of bfloat16 and float16 in that type, in which a sum of many
numbers stops growing: 256 + 1 is 256 in bfloat16.
"""

from collections.abc import Callable

import tensorflow as tf

NARROW = (tf.bfloat16, tf.float16)


def sum_type(dtype) -> tf.DType:
    """The type in which sums of numbers of `dtype` are formed."""
    dtype = tf.as_dtype(dtype)
    return tf.float32 if dtype in NARROW else dtype


def widened(x: tf.Tensor) -> tf.Tensor:
    """The same numbers in the type of their sums."""
    return tf.cast(x, sum_type(x.dtype))


def with_wide_sums(compute: Callable, x: tf.Tensor, *others) -> tf.Tensor:
    """`compute(x, *others)` and its gradient, whose sums are rounded when they are complete.

    Args:
      compute: Returns a tensor of the type of its first argument.
      x: Numbers; unless they are floating-point, `compute` is just called.
      *others: The other arguments of `compute`.
    """
    return tf.cast(compute(widened(x), *others), x.dtype)


def gather(values: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """`tf.gather(values, ids)`, whose gradient adds up the rows of one id before it rounds."""
    if values.dtype not in NARROW:
        return tf.gather(values, ids)
    wide = widened(values)
    # The gradient of a reshape is a dense tensor, so rows are added up there.
    wide = tf.reshape(wide, tf.shape(wide))
    return tf.cast(tf.gather(wide, ids), values.dtype)


def dense(gradient) -> tf.Tensor:
    """A gradient as a tensor. Rows with one index of `tf.IndexedSlices` are added up."""
    if not isinstance(gradient, tf.IndexedSlices) or gradient.dtype not in NARROW:
        return tf.convert_to_tensor(gradient)
    wide = tf.IndexedSlices(widened(gradient.values), gradient.indices, gradient.dense_shape)
    return tf.cast(tf.convert_to_tensor(wide), gradient.dtype)


def sum_of_segments(x: tf.Tensor, segments: tf.Tensor, count) -> tf.Tensor:
    """`tf.math.unsorted_segment_sum` with sums that are rounded once.

    In forward mode TensorFlow derives `tf.IndexedSlices` from that operator, which not all
    operators take; a product of them is a tensor.
    """

    def compute(x):
        return tf.math.unsorted_segment_sum(x, segments, count) * tf.ones([], x.dtype)

    return with_wide_sums(compute, x)


def max_of_segments(x: tf.Tensor, segments: tf.Tensor, count) -> tf.Tensor:
    """The largest of the rows of each segment; zeros for a segment without rows.

    Equal rows share the gradient.
    """
    # The gradient divides by the number of largest rows.
    largest = with_wide_sums(tf.math.unsorted_segment_max, x, segments, count)
    rows = tf.math.unsorted_segment_sum(tf.ones_like(segments), segments, count)
    shape = tf.concat([[count], tf.ones([tf.rank(x) - 1], tf.int32)], 0)
    return tf.where(tf.reshape(rows, shape) > 0, largest, tf.zeros_like(largest))
