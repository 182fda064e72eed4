"""The C++ ops of `cavs_tf` and their gradients.

`gather`, `scatter`, `pull` and `push` by themselves; inside a vertex function they are
methods of `GraphSupport`. Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.1.
"""

import tensorflow as tf

from cavs_tf._inputs.inputs import VertexRows
from cavs_tf._inputs.look_up import look_up_rows
from cavs_tf._native.library import in_xla, may_be_out_of_reach
from cavs_tf._native.library import ops as _ops
from cavs_tf._tracing.trace import in_vertex_function
from cavs_tf._values.arguments import check_bools, checked_int
from cavs_tf._values.integers import int32_tensor

__all__ = [
    "gather",
    "look_up",
    "present_ids",
    "pull",
    "push",
    "scatter",
    "sparse_softmax_cross_entropy",
]

_MOST_CLASSES = 64


@tf.autograph.experimental.do_not_convert
def gather(state, child_row):
    """Collects one child's state for every vertex of a task.

    Args:
      state: [V, ...] float32, float64, int32 or int64, one row per vertex.
      child_row: int32 [M], rows in [0, V), or -1: no child.

    Returns:
      [M, ...]: state[child_row[i]], zeros where child_row[i] is -1.

    Raises:
      tf.errors.InvalidArgumentError: If an index is out of range; names it.
      ValueError: If it is not a 32-bit integer.

    >>> gather(tf.constant([[1.0], [2.0]]), [1, -1]).numpy()
    array([[2.],
           [0.]], dtype=float32)
    """
    return _ops.cavs_gather(state, int32_tensor("child_row", child_row, rank=1))


@tf.autograph.experimental.do_not_convert
def scatter(values, child_row, num_rows):
    """Adds rows into the rows of children, in order: the reverse of `gather`.

    Args:
      values: [M, ...] float32, float64, int32 or int64.
      child_row: int32 [M], rows in [0, num_rows), which may repeat, or -1: skipped.
      num_rows: Scalar, V.

    Returns:
      [V, ...].

    Raises:
      tf.errors.InvalidArgumentError: If an index is out of range; names it.
      ValueError: If it is not a 32-bit integer.

    >>> scatter(tf.constant([[1.0], [2.0], [4.0]]), [0, 0, -1], num_rows=2).numpy()
    array([[3.],
           [0.]], dtype=float32)
    """
    child_row = int32_tensor("child_row", child_row, rank=1)
    return _ops.cavs_scatter(values, child_row, int32_tensor("num_rows", num_rows, rank=0))


@tf.autograph.experimental.do_not_convert
def pull(values, order):
    """Brings rows of an external input into execution order.

    Args:
      values: [V, ...] in vertex order.
      order: int32 [V], a permutation, from a `Schedule`.

    Returns:
      [V, ...]: values[order[i]].

    Raises:
      tf.errors.InvalidArgumentError: If `order` is not a permutation.
      ValueError: If an element is not a 32-bit integer.

    >>> pull(tf.constant([10, 20, 30]), [2, 0, 1]).numpy()
    array([30, 10, 20], dtype=int32)
    """
    return _ops.cavs_pull(values, int32_tensor("order", order, rank=1))


@tf.autograph.experimental.do_not_convert
def push(rows, order):
    """Brings rows back into vertex order: the reverse of `pull`.

    Args:
      rows: [V, ...] in execution order.
      order: int32 [V], a permutation, from a `Schedule`.

    Returns:
      [V, ...], of which row order[i] is rows[i].

    Raises:
      tf.errors.InvalidArgumentError: If `order` is not a permutation.
      ValueError: If an element is not a 32-bit integer.

    >>> push(tf.constant([30, 10, 20]), [2, 0, 1]).numpy()
    array([10, 20, 30], dtype=int32)
    """
    return _ops.cavs_push(rows, int32_tensor("order", order, rank=1))


@tf.autograph.experimental.do_not_convert
def look_up(table: tf.Variable, ids) -> tf.Tensor:
    """Copies rows of a variable, such as a table of embeddings.

    As `tf.gather(table, ids)`, whose gradient is a `tf.IndexedSlices` too; but this one names each
    row once, with the sum of its gradients, as optimizers and norms of gradients expect it. Rows
    that are in no cache are asked for ahead, by all threads. For a variable on a device on which
    our operators do not run, and under a strategy, it does so by TensorFlow's operators; in a
    function that XLA compiles it is `tf.gather`. These may return zeros for an id that is out of
    range, as a GPU does.

    Args:
      table: [R, ...] float32, float64, bfloat16 or float16, a variable.
      ids: int32 or int64 of any shape, rows in [0, R).

    Returns:
      A tensor of the shape of `ids`, followed by the shape of a row.

    Raises:
      tf.errors.InvalidArgumentError: If an id is out of range; names it.
      NotImplementedError: If a `tf.autodiff.ForwardAccumulator` watches the variable in a
        `tf.function`.

    >>> look_up(tf.Variable([[1.0], [2.0], [3.0]]), [2, 0]).numpy()
    array([[3.],
           [1.]], dtype=float32)
    """
    # Lookups are taken out of vertex functions, see `_lookups`.
    if in_vertex_function() or in_xla():
        return tf.gather(table, ids)
    return look_up_rows(table, tf.convert_to_tensor(ids))


@tf.autograph.experimental.do_not_convert
def present_ids(ids, mask_negative: bool = True, mask_id: int | None = None) -> VertexRows:
    """Finds the vertices that have an id, such as the vertices of a parse that have a word.

    One operator does the work of `tf.where`, `tf.gather` and a comparison.

    Args:
      ids: int32 or int64 [V], the id of each vertex.
      mask_negative: Whether a vertex with a negative id has none.
      mask_id: An id that vertices without one have; None: no such id.

    Returns:
      A `VertexRows`: ids [n], and vertices int32 [n].

    Raises:
      ValueError, tf.errors.InvalidArgumentError: If `ids` is not a vector.

    >>> words = present_ids([7, -1, 3])
    >>> words.rows.numpy(), words.vertices.numpy()
    (array([7, 3], dtype=int32), array([0, 2], dtype=int32))
    """
    check_bools(mask_negative=mask_negative)
    mask_id = checked_int("mask_id", mask_id)
    masked = [] if mask_id is None else [mask_id]
    return VertexRows(*_ops.cavs_present(ids, mask_negative=mask_negative, masked=masked))


@tf.autograph.experimental.do_not_convert
def sparse_softmax_cross_entropy(labels, logits) -> tf.Tensor:
    """The cross entropy of the softmax of each row, for few classes.

    As `tf.nn.sparse_softmax_cross_entropy_with_logits`, which takes 60 ns for a row of 5 classes on
    one thread; here a vector holds a class of several rows, and all threads compute.

    Args:
      labels: int32 or int64 [n], the class of each row, in [0, classes).
      logits: [n, classes]. Where classes are more than 64 or unknown, the type is neither float32
        nor float64, or the logits may be on a GPU on which our operators do not run, this calls
        TensorFlow's function.

    Returns:
      [n], the losses.

    Raises:
      tf.errors.InvalidArgumentError: If a label is out of range; names it. By TensorFlow's
        function on a GPU, the loss is NaN instead.

    >>> sparse_softmax_cross_entropy([1], tf.constant([[0.0, 0.0, -1e9]])).numpy()
    array([0.6931472], dtype=float32)
    """
    logits, labels = tf.convert_to_tensor(logits), tf.convert_to_tensor(labels)
    few = logits.shape.rank == 2 and (logits.shape[1] or _MOST_CLASSES + 1) <= _MOST_CLASSES
    ours = few and logits.dtype in (tf.float32, tf.float64)
    if in_xla() or not ours or may_be_out_of_reach(logits):
        return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    return _ops.cavs_cross_entropy(logits, labels)[0]


def _device_of(result):
    """The scope of the device on which an operator was called, whichever is in scope by now."""
    return tf.device(result.device or None)


def _is_zero(gradient) -> bool:
    """Whether TensorFlow has made up a gradient of zeros for what nothing is computed from."""
    if not tf.is_symbolic_tensor(gradient):
        return False
    if gradient.op.type == "ZerosLike":
        return True
    filled = gradient.op.inputs[1] if gradient.op.type == "Fill" else gradient
    return filled.op.type == "Const" and not tf.get_static_value(filled).any()


@tf.RegisterGradient("CavsCrossEntropy")
def _cross_entropy_grad(op, grad, grad_of_gradient):
    (logits, _), (_, gradient) = op.inputs, op.outputs
    with _device_of(gradient):
        result = _ops.cavs_cross_entropy_grad(gradient, grad)
    if not _is_zero(grad_of_gradient):
        # For second derivatives.
        softmax = tf.nn.softmax(logits)
        mean = tf.reduce_sum(softmax * grad_of_gradient, axis=1, keepdims=True)
        result += softmax * (grad_of_gradient - mean)
    return [result, None]


@tf.RegisterGradient("CavsCrossEntropyGrad")
def _cross_entropy_grad_grad(op, grad):
    gradient, factors = op.inputs
    return [
        _ops.cavs_cross_entropy_grad(grad, factors),
        tf.reduce_sum(gradient * grad, axis=1),
    ]


@tf.RegisterGradient("CavsLookUp")
def _look_up_grad(op, grad):
    table, ids = op.inputs
    with _device_of(op.outputs[0]):
        sums, rows = _ops.cavs_look_up_grad(ids, grad)
    return [tf.IndexedSlices(sums, rows, tf.raw_ops.VariableShape(input=table)), None]


@tf.RegisterGradient("CavsLookUpGrad")
def _look_up_grad_grad(op, grad, _):
    ids, rows = op.inputs[0], op.outputs[1]
    positions = tf.searchsorted(rows, tf.reshape(ids, [-1]))
    return [None, tf.reshape(tf.gather(grad, positions), tf.shape(op.inputs[1]))]


@tf.RegisterGradient("CavsScatterMax")
def _scatter_max_grad(op, grad):
    """Rows that share the maximum share its gradient, as in `tf.math.unsorted_segment_max`."""
    values, rows, num_rows = op.inputs
    is_max = tf.cast(tf.equal(values, _ops.cavs_gather(op.outputs[0], rows)), grad.dtype)
    ties = _ops.cavs_scatter(is_max, rows, num_rows)
    share = grad / tf.maximum(ties, tf.ones_like(ties))
    return [is_max * _ops.cavs_gather(share, rows), None, None]


tf.no_gradient("CavsSchedule")
tf.no_gradient("CavsMicroBatch")
tf.no_gradient("CavsPresent")
tf.no_gradient("CavsCudaReport")
tf.no_gradient("CavsInstructionSet")
tf.no_gradient("CavsRowCount")
tf.no_gradient("CavsDropoutMask")


@tf.RegisterGradient("CavsGather")
def _gather_grad(op, grad):
    num_rows = tf.shape(op.inputs[0])[0]
    return [_ops.cavs_scatter(grad, op.inputs[1], num_rows), None]


@tf.RegisterGradient("CavsScatter")
def _scatter_grad(op, grad):
    return [_ops.cavs_gather(grad, op.inputs[1]), None, None]


@tf.RegisterGradient("CavsPull")
def _pull_grad(op, grad):
    return [_ops.cavs_push(grad, op.inputs[1]), None]


@tf.RegisterGradient("CavsPush")
def _push_grad(op, grad):
    return [_ops.cavs_pull(grad, op.inputs[1]), None]
