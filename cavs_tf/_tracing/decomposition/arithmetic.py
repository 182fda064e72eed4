"""Elementwise operators that broadcast within rows, and sums over axes of a row."""

import functools
import math
import operator

import numpy as np
import tensorflow as tf

from cavs_tf._tracing.decomposition.columns import MAX_PIECES, Columns, Run
from cavs_tf._tracing.decomposition.plan import Plan, PlanOfSum


def _divide_no_nan(x, y):
    """x / y, and zero where y is zero."""
    is_zero = tf.equal(y, 0)
    return tf.where(is_zero, tf.zeros([], x.dtype), x / tf.where(is_zero, tf.ones([], y.dtype), y))


_ELEMENTWISE = {
    "Add": tf.add,
    "AddV2": tf.add,
    "BiasAdd": tf.add,
    "Sub": tf.subtract,
    "Mul": tf.multiply,
    "RealDiv": tf.divide,
    "SquaredDifference": tf.math.squared_difference,
    "Maximum": tf.maximum,
    "Minimum": tf.minimum,
    "Greater": tf.greater,
    "GreaterEqual": tf.greater_equal,
    "Less": tf.less,
    "LessEqual": tf.less_equal,
    "Equal": tf.equal,
    "NotEqual": tf.not_equal,
    "LogicalAnd": tf.logical_and,
    "LogicalOr": tf.logical_or,
    "Select": tf.where,
    "SelectV2": tf.where,
    "DivNoNan": _divide_no_nan,
}
_WITHOUT_KERNEL = ("DivNoNan", "Select")  # Of vectors, too.


def _elementwise(op, columns: Columns) -> Plan | None:
    """`op(x, y)` or `where(x, y, z)` as operators on vectors; some operands may be numbers."""
    shape, has_kernel = columns.shape_of(op.outputs[0]), op.type not in _WITHOUT_KERNEL
    if shape is None or (len(shape) < 2 and has_kernel) or _counts_channels_first(op):
        return None
    sources = [_without_true(tensor) for tensor in op.inputs]
    operands = [_Operand.of(tensor, shape, columns) for tensor in sources]
    if None in operands:
        return None
    is_simpler = any(map(operator.is_not, sources, op.inputs))
    if has_kernel and not is_simpler and all(operand.is_native for operand in operands):
        return None
    length = _vector_length(shape, operands)
    leading = shape[: len(shape) - length]
    if math.prod(leading) > MAX_PIECES:
        return None
    indices = list(np.ndindex(leading))
    reads = [
        operand.run(index, length) for operand in operands if operand.has_rows for index in indices
    ]

    def compute(parts):
        parts = iter(parts)
        values = [
            [next(parts) for _ in indices] if operand.has_rows else operand.vectors(indices, length)
            for operand in operands
        ]
        return [[_ELEMENTWISE[op.type](*each) for each in zip(*values, strict=True)]]

    return Plan(reads, compute)


def _without_true(tensor):
    """`mask` of `mask & ones`, as Keras combines masks; its readers broadcast it as well."""
    if tensor.op.type != "LogicalAnd":
        return tensor
    left = [operand for operand in tensor.op.inputs if not _is_true(operand)]
    return _without_true(left[0]) if len(left) == 1 else tensor


def _is_true(mask) -> bool:
    value = mask.op.inputs[1] if mask.op.type == "Fill" else mask
    constant = tf.get_static_value(value)
    return mask.op.type == "OnesLike" or (constant is not None and bool(np.all(constant)))


class _Operand:
    """An operand of an operator that broadcasts, and its shape with as many axes as the result's.

    Attributes:
      shape: The shape of a row, or of an invariant operand.
      has_rows: Whether it is not invariant.
      is_number: Whether it is one number for all columns. A bias of one column does not count:
        its gradient is a sum over rows alone in vectors of one column.
      is_native: Whether native kernels can read it as it is.
    """

    def __init__(self, tensor, shape, has_rows, is_number=False, is_native=False):
        self._tensor = tensor
        self.shape, self.has_rows = shape, has_rows
        self.is_number, self.is_native = is_number, is_native

    @classmethod
    def of(cls, tensor, shape, columns):
        """Makes the operand of a result of this shape; None if it cannot be one."""
        own = columns.shape_of(tensor)
        if own is not None:
            if len(own) != len(shape):
                return None
            return cls(tensor, own, True, is_native=own == shape)
        if not columns.is_invariant(tensor) or tensor.dtype == tf.bool:
            return None
        own = tuple(tensor.shape.as_list())
        if len(own) == len(shape) + 1 and own[0] == 1:
            own = own[1:]
        if len(own) > len(shape):
            return None
        is_number = math.prod(own) == 1 and (tensor.shape.rank == 0 or shape[-1] > 1)
        padded = (1,) * (len(shape) - len(own)) + own
        return cls(tensor, padded, False, is_number, is_number or own == shape)

    def is_vector(self, shape, length) -> bool:
        """Whether it is whole, or one number, over the last axes of a result of this shape."""
        end = self.shape[len(shape) - length :]
        is_number = self.is_number or (self.has_rows and math.prod(end) == 1)
        return is_number or end == shape[len(shape) - length :]

    def run(self, index, length) -> Run:
        """The columns that the vector at `index` of the leading axes reads."""
        width = math.prod(self.shape[len(self.shape) - length :])
        begin = width * self._number(index)
        return Run(self._tensor, begin, begin + width)

    def vectors(self, indices, length) -> list:
        """The parts of an invariant operand that the vectors at `indices` read."""
        width = math.prod(self.shape[len(self.shape) - length :])
        if math.prod(self.shape) == width:
            same = self._tensor
            same = same if same.shape.rank == 1 else tf.reshape(same, [width])
            return [same] * len(indices)
        parts = tf.unstack(tf.reshape(self._tensor, [-1, width]))
        return [parts[self._number(index)] for index in indices]

    def _number(self, index) -> int:
        """The number of the vector that is read at `index` of the result's leading axes."""
        leading = self.shape[: len(index)]
        index = [min(i, d - 1) for i, d in zip(index, leading, strict=True)]
        return int(np.ravel_multi_index(index, leading)) if leading else 0


def _counts_channels_first(op):
    return op.type == "BiasAdd" and op.get_attr("data_format") != b"NHWC"


def _vector_length(shape, operands) -> int:
    """The number of last axes over which each operand is whole, or one number."""
    lengths = range(len(shape), -1, -1)
    return next(n for n in lengths if all(operand.is_vector(shape, n) for operand in operands))


def _broadcast(op, columns: Columns) -> Plan | None:
    """A vector side by side with itself, or a number times a vector of ones."""
    source = op.inputs[0]
    own, shape = columns.shape_of(source), columns.shape_of(op.outputs[0])
    if own is None or shape is None or len(own) != len(shape):
        return None
    operand = _Operand(source, own, has_rows=True)
    length = _vector_length(shape, [operand])
    leading, width = shape[: len(shape) - length], math.prod(shape[len(shape) - length :])
    if math.prod(leading) > MAX_PIECES:
        return None
    reads = [operand.run(index, length) for index in np.ndindex(leading)]

    def compute(parts):
        if reads[0].width == width:
            return [parts]
        return [[part * tf.ones([width], part.dtype) for part in parts]]

    return Plan(reads, compute)


def _sum(op, columns: Columns) -> Plan | None:
    """A sum or mean over axes of a row, as sums of vectors or sums within them."""
    source, shape = op.inputs[0], columns.shape_of(op.inputs[0])
    terms = None if len(shape or ()) == 1 and op.type == "Sum" else terms_of(op, columns)
    if terms is None:
        return None
    width, begins, within = terms
    scale = width ** int(within) * begins.shape[1] if op.type == "Mean" else 1
    reads = [Run(source, int(begin), int(begin) + width) for begin in begins.ravel()]

    def compute(parts):
        terms = begins.shape[1]
        pieces = [parts[i : i + terms] for i in range(0, len(parts), terms)]
        pieces = [piece[0] if terms == 1 else tf.add_n(piece) for piece in pieces]
        if within:
            pieces = [tf.reduce_sum(piece, axis=1, keepdims=True) for piece in pieces]
        return [pieces if scale == 1 else [piece * (1 / scale) for piece in pieces]]

    return Plan(reads, compute)


def _sum_over_rows(op, columns: Columns) -> Plan | None:
    """A sum over rows and all their axes, as the gradient of a number that they share is one."""
    source, shape = op.inputs[0], columns.shape_of(op.inputs[0])
    axes, result = columns.constants_for_one_row(op.inputs[1]), op.outputs[0].shape
    if not shape or axes is None or np.size(axes) <= len(shape) or not result.is_fully_defined():
        return None

    def compute(parts):
        of_each = tf.reduce_sum(parts[0], axis=1, keepdims=True)
        return tf.reshape(tf.reduce_sum(of_each, axis=0), result)

    return PlanOfSum([Run(source, 0, math.prod(shape))], compute)


def terms_of(op, columns):
    """The terms of an operator that reduces axes of a row; None if they are too many."""
    shape, axes = columns.shape_of(op.inputs[0]), columns.constants_for_one_row(op.inputs[1])
    if shape is None or columns.shape_of(op.outputs[0]) is None or axes is None:
        return None
    summed = {int(axis) % (len(shape) + 1) - 1 for axis in np.ravel(axes)}
    if not summed or min(summed) < 0:
        return None
    terms = _terms(shape, summed)
    return None if terms[1].size > MAX_PIECES else terms


def _terms(shape, summed):
    """(columns of each term, where they begin: [results, terms], whether to sum within terms)."""
    axes = [(size, axis in summed) for axis, size in enumerate(shape) if size > 1]
    shape, is_summed = [size for size, _ in axes], [flag for _, flag in axes]
    kept = [axis for axis, flag in enumerate(is_summed) if not flag]
    moved = kept + [axis for axis, flag in enumerate(is_summed) if flag]
    terms = math.prod(size for size, flag in axes if flag)
    positions = np.arange(math.prod(shape)).reshape(shape).transpose(moved).reshape(-1, terms)
    within = bool(axes) and is_summed[-1]
    width = 1
    for size, flag in reversed(axes):
        if flag != within:
            break
        width *= size
    return width, positions[:, ::width] if within else positions[::width], within


_REDUCTIONS = {
    "All": tf.logical_and,
    "Any": tf.logical_or,
    "Max": tf.maximum,
    "Min": tf.minimum,
    "Prod": tf.multiply,
}


def _reduction(op, columns: Columns) -> Plan | None:
    """A maximum, minimum or product over axes of a row, across vectors or within them."""
    terms = terms_of(op, columns)
    if terms is None:
        return None
    width, begins, within = terms
    combine, count = _REDUCTIONS[op.type], begins.shape[1]
    reads = [Run(op.inputs[0], int(begin), int(begin) + width) for begin in begins.ravel()]

    def reduce(*pieces):
        reduced = functools.reduce(combine, pieces)
        return _within(combine, reduced) if within else reduced

    def compute(parts):
        groups = [parts[i : i + count] for i in range(0, len(parts), count)]
        of_group = _with_shares(reduce, within) if op.type in ("Max", "Min") else reduce
        return [[of_group(*group) for group in groups]]

    return Plan(reads, compute)


def _with_shares(extreme, within):
    """`extreme` of vectors, whose gradient is divided among equal ones as TensorFlow does."""

    @tf.custom_gradient
    def run(*pieces):
        found = extreme(*pieces)

        def gradient(dy):
            masks = [tf.cast(tf.equal(piece, found), dy.dtype) for piece in pieces]
            total = masks[0] if len(masks) == 1 else tf.add_n(masks)
            total = tf.reduce_sum(total, axis=1, keepdims=True) if within else total
            return [mask / total * dy for mask in masks]

        return found, gradient

    return run


def _within(combine, x):
    """The largest number of each row, for example: [None, 1]. Halves are combined."""
    left_over = []
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        first, second, *odd = tf.split(x, [half, half] + [1] * (x.shape[1] % 2), axis=1)
        x = combine(first, second)
        left_over += odd
    return functools.reduce(combine, left_over, x)


def _running_sum(op, columns: Columns) -> Plan | None:
    """The sums of the columns before and at each column of a vector, in log2(columns) steps."""
    source, shape = op.inputs[0], columns.shape_of(op.inputs[0])
    axis = columns.constants_for_one_row(op.inputs[1])
    if shape is None or len(shape) != 1 or axis is None or int(axis) not in (1, -1):
        return None
    if op.get_attr("exclusive"):
        return None
    backwards = op.get_attr("reverse")

    def compute(parts):
        (x,) = parts
        step = 1
        while step < shape[0]:
            ends = [step, shape[0] - step]
            before, at = tf.split(x, ends[:: -1 if backwards else 1], axis=1)
            first, last = tf.split(x, ends[:: 1 if backwards else -1], axis=1)
            x = tf.concat([before + last, at] if backwards else [before, at + first], axis=1)
            step *= 2
        return [[x]]

    return Plan([Run(source, 0, shape[0])], compute)


def _softmax(op, columns: Columns) -> Plan | None:
    """The softmax of short vectors, or its logarithm."""
    source = op.inputs[0]
    shape = columns.shape_of(source)
    if shape is None or math.prod(shape[:-1]) > MAX_PIECES:
        return None
    width = shape[-1]
    reads = [Run(source, i * width, (i + 1) * width) for i in range(math.prod(shape[:-1]))]
    function = _log_softmax_of if op.type == "LogSoftmax" else _softmax_of
    return Plan(reads, lambda parts: [[function(part) for part in parts]])


def _softmax_of(x):
    exponentials = tf.exp(x - _largest(x))
    return exponentials / tf.reduce_sum(exponentials, axis=1, keepdims=True)


def _log_softmax_of(x):
    x -= _largest(x)
    return x - tf.math.log(tf.reduce_sum(tf.exp(x), axis=1, keepdims=True))


def _largest(x):
    """The largest number of each row; results depend on it only where they overflow."""
    return _within(tf.maximum, tf.stop_gradient(x))


ARITHMETIC = (
    dict.fromkeys(_ELEMENTWISE, _elementwise)
    | dict.fromkeys(_REDUCTIONS, _reduction)
    | {
        "BroadcastTo": _broadcast,
        "Cumsum": _running_sum,
        "LogSoftmax": _softmax,
        "Mean": _sum,
        "Softmax": _softmax,
        "Sum": lambda op, columns: _sum_over_rows(op, columns) or _sum(op, columns),
    }
)
