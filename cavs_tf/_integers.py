"""Small helpers for integer tensors and arguments."""

import numpy as np
import tensorflow as tf


def int32_tensor(name: str, values, rank: int) -> tf.Tensor:
    """`values` as an int32 tensor, or a ValueError that names them."""
    if isinstance(values, (list, tuple)) and not values:
        values = np.zeros(0, np.int32)
    if isinstance(values, tf.RaggedTensor):
        raise ValueError(
            f"{name}: got a RaggedTensor but expected integers of rank {rank}. Pass its values or "
            "its row_lengths()."
        )
    tensor = tf.convert_to_tensor(values)
    if not tensor.dtype.is_integer or tensor.shape.rank not in (None, rank):
        raise ValueError(
            f"{name}: got {tensor.dtype.name} of shape {tensor.shape} but expected integers of "
            f"rank {rank}. Convert or reshape it."
        )
    if tensor.shape.rank is None:
        tensor = tf.ensure_shape(tensor, [None] * rank)
    return tf.cast(tensor, tf.int32)


def known(name: str, values):
    """Lists or arrays instead of eager tensors; a ValueError for others."""
    if isinstance(values, (list, tuple)):
        return [known(name, v) if tf.is_tensor(v) else v for v in values]
    if not tf.is_tensor(values):
        return values.to_list() if hasattr(values, "to_list") else values
    if any(map(tf.is_symbolic_tensor, tf.nest.flatten(values, expand_composites=True))):
        raise ValueError(
            f"{name}: got a {type(values).__name__} inside a tf.function but expected one whose "
            "values are known. Use GraphBatch.from_ragged with child ids there, or make the graphs "
            "outside: in the input pipeline, by cavs_tf.data.batch."
        )
    return values.to_list() if isinstance(values, tf.RaggedTensor) else values.numpy()


def splits_of(lengths: tf.Tensor) -> tf.Tensor:
    """[n + 1]: where lists of these lengths begin and end when they stand in a row."""
    return tf.concat([[0], tf.cumsum(lengths)], axis=0)


def list_of_each(splits: tf.Tensor, count) -> tf.Tensor:
    """int32 [count]: in which of the lists with these splits each value stands.

    Not by tf.repeat, whose memory is the number of lists times the length of the longest.
    """
    return tf.searchsorted(splits, tf.range(count, dtype=splits.dtype), side="right") - 1


def length(tensor: tf.Tensor):
    """Size of the first axis: an int, or a scalar tensor where it is not known yet."""
    return tf.shape(tensor)[0] if tensor.shape[0] is None else tensor.shape[0]


def shown(number) -> str:
    """For a repr: the number, if it is known."""
    return str(number) if isinstance(number, int) else "?"


def check_at_least(least: int, **argument: int) -> None:
    """Raises ValueError unless the one argument is an int of at least `least`."""
    ((name, value),) = argument.items()
    if not isinstance(value, int) or value < least:
        raise ValueError(f"{name}: got {value!r} but expected an int of at least {least}.")


def check_all_at_least(least: int, **argument: np.ndarray) -> None:
    """Raises ValueError unless all elements of the one argument are at least `least`."""
    ((name, values),) = argument.items()
    wrong = np.flatnonzero(values < least)
    if wrong.size:
        i = wrong[0]
        raise ValueError(f"{name}[{i}]: got {values[i]} but expected at least {least}.")
