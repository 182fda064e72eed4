"""Small helpers for integer tensors and arguments."""

import functools

import numpy as np
import tensorflow as tf

INT32 = np.iinfo(np.int32)


def on_cpu(function):
    """Makes a function of graphs compute on the CPU, where our operators read its results.

    Else an accelerator would compute integers, and each would be copied there and back. AutoGraph
    does not convert the function.
    """

    @tf.autograph.experimental.do_not_convert
    @functools.wraps(function)
    def computed(*args, **kwargs):
        with tf.device("CPU:0"):
            return function(*args, **kwargs)

    return computed


def as_int32(name: str, tensor: tf.Tensor) -> tf.Tensor:
    """Converts an integer tensor to int32 without wrapping values around.

    If values are not known yet, those that do not fit become the largest or the smallest int32.
    No vertex, row or type has such a number, so the op rejects it by name.

    Raises:
      ValueError: If a value is known not to fit. The message names it.
    """
    if tensor.dtype == tf.int32:
        return tensor
    if hasattr(tensor, "numpy"):
        check_all_fit(name, tensor.numpy())
    return saturated(tensor)


def saturated(tensor: tf.Tensor) -> tf.Tensor:
    """Converts an integer tensor to int32; values that do not fit become the nearest int32."""
    # tf.saturate_cast does not accept all integer types.
    for limit, beyond in ((INT32.max, tf.greater), (INT32.min, tf.less)):
        if tensor.dtype.min <= limit <= tensor.dtype.max:
            limit = tf.constant(limit, tensor.dtype)
            tensor = tf.where(beyond(tensor, limit), limit, tensor)
    return tf.cast(tensor, tf.int32)


def check_all_fit(name: str, values: np.ndarray) -> None:
    """Raises ValueError unless all elements are 32-bit integers."""
    wrong = np.argwhere((values > INT32.max) | (values < INT32.min))
    if len(wrong):
        place = "".join(f"[{i}]" for i in wrong[0])
        raise ValueError(
            f"{name}{place}: got {values[tuple(wrong[0])]} but expected an integer in [-2**31, "
            "2**31). Vertices, rows and types are numbered from 0 within a minibatch."
        )


def check_total(name: str, total) -> list:
    """Rejects too many vertices: by ValueError, or InvalidArgumentError if `total` is symbolic.

    Args:
      name: The name of the argument that gives the number of vertices.
      total: The number of vertices, as an int or as an int64 scalar tensor.

    Returns:
      Operators that must run before a tensor of that size is made.
    """
    advice = "vertices in all but expected fewer than 2**31 - 1. Make smaller minibatches."
    if tf.is_symbolic_tensor(total):
        return rejected_unless(total < INT32.max, f"{name}: got {{}} {advice}", total)
    if int(total) >= INT32.max:
        raise ValueError(f"{name}: got {int(total)} {advice}")
    return []


def rejected_unless(condition, message: str, *values) -> list:
    """Raises InvalidArgumentError now, or returns operators that will raise it.

    Args:
      condition: A boolean scalar tensor.
      message: The text, with "{}" where the values go.
      *values: Strings, ints, and integer tensors, of one value where the condition is false.

    Returns:
      Operators that must run before the condition is relied on; none if it is known to hold.
    """
    if not tf.is_symbolic_tensor(condition) and condition:
        return []
    parts = message.split("{}")
    texts = [v if isinstance(v, str) else _text(v) for v in (*values, "")]
    text = tf.strings.join([t for both in zip(parts, texts, strict=True) for t in both])
    if tf.is_symbolic_tensor(condition):
        return [tf.debugging.Assert(condition, [text])]
    raise tf.errors.InvalidArgumentError(None, None, text.numpy().decode())


def _text(values) -> tf.Tensor:
    return tf.strings.reduce_join(tf.strings.as_string(values))


def tensor_of(values) -> tf.Tensor:
    """`values` as a tensor; an empty list, whose type TensorFlow cannot know, as int32."""
    if isinstance(values, (list, tuple)) and not values:
        values = np.zeros(0, np.int32)
    return tf.convert_to_tensor(values)


def int32_tensor(name: str, values, rank: int) -> tf.Tensor:
    """`values` as an int32 tensor, or a ValueError that names them."""
    if isinstance(values, tf.RaggedTensor):
        raise ValueError(
            f"{name}: got a RaggedTensor but expected integers of rank {rank}. Pass its values or "
            "its row_lengths()."
        )
    tensor = tensor_of(values)
    if not tensor.dtype.is_integer or tensor.shape.rank not in (None, rank):
        raise ValueError(
            f"{name}: got {tensor.dtype.name} of shape {tensor.shape} but expected integers of "
            f"rank {rank}. Convert or reshape it."
        )
    if tensor.shape.rank is None:
        tensor = tf.ensure_shape(tensor, [None] * rank)
    return as_int32(name, tensor)


def eager_values(name: str, values):
    """Converts eager tensors to lists or arrays; ValueError for symbolic tensors, and graphs."""
    if isinstance(values, tf.experimental.ExtensionType):
        raise ValueError(
            f"{name}: got {values} but expected lists of integers. It need not be converted."
        )
    if isinstance(values, (list, tuple)):
        return [eager_values(name, v) if tf.is_tensor(v) else v for v in values]
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
    """[n + 1]: the splits of n concatenated lists with these lengths."""
    return tf.concat([[0], tf.cumsum(lengths)], axis=0)


def number_of_lists(splits: tf.Tensor):
    """The number of lists with these splits, as `length` returns it; 0 if there are no splits."""
    if splits.shape[0] is None:
        return tf.maximum(tf.shape(splits)[0] - 1, 0)
    return max(splits.shape[0] - 1, 0)


def list_of_each(splits: tf.Tensor, count) -> tf.Tensor:
    """int32 [count]: the number of the list, of those with these splits, that has each value.

    It uses neither tf.repeat, whose memory is the number of lists times the longest length, nor
    tf.searchsorted, which is slow.
    """
    first = tf.clip_by_value(splits, 0, tf.cast(count, splits.dtype))
    ones = tf.ones_like(splits, tf.int32)
    begun = tf.cumsum(tf.math.unsorted_segment_sum(ones, first, count + 1))
    return begun[:count] - 1


def length(tensor: tf.Tensor):
    """Size of the first axis: an int, or a scalar tensor where it is not known yet."""
    return tf.shape(tensor)[0] if tensor.shape[0] is None else tensor.shape[0]


def shown(number) -> str:
    """Text for a repr: the number, or "?" if it is not known."""
    return str(number) if isinstance(number, int) else "?"


def is_int(value) -> bool:
    """Whether it is an int, of Python or NumPy, and no bool."""
    return isinstance(value, (int, np.integer)) and type(value) is not bool


def check_at_least(least: int, **argument: int) -> None:
    """Raises ValueError unless the one argument is an int of at least `least`."""
    ((name, value),) = argument.items()
    if not is_int(value) or value < least:
        raise ValueError(f"{name}: got {value!r} but expected an int of at least {least}.")


def check_all_at_least(least: int, **argument: np.ndarray) -> None:
    """Raises ValueError unless all elements of the one argument are at least `least`."""
    ((name, values),) = argument.items()
    wrong = np.flatnonzero(values < least)
    if wrong.size:
        i = wrong[0]
        raise ValueError(f"{name}[{i}]: got {values[i]} but expected at least {least}.")
