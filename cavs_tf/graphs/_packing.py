"""Several lists of integers in one tensor: a model with fewer inputs has less to do in a step."""

import tensorflow as tf

from cavs_tf._values.integers import on_cpu


@on_cpu
def pack(lists) -> tf.Tensor:
    """int32 [n]: the sizes of the lists, and then the lists, one after the other."""
    return tf.concat([tf.stack([tf.size(values) for values in lists]), *lists], axis=0)


@on_cpu
def unpack(packed: tf.Tensor, count: int) -> list[tf.Tensor]:
    """The lists that `pack` was given, of which there are so many."""
    sizes = tf.concat([[count], packed[:count]], axis=0)
    return tf.split(packed, sizes, num=count + 1)[1:]
