"""Exact arithmetic on shapes: integers that are polynomials in the number of rows.

Operators that only move elements are run on the numbers of the elements; those that
compute are evaluated on `Size`s. Operators without an exact rule give None: their results
are known only when the function runs.
"""

import functools
import math

import numpy as np
import tensorflow as tf

from cavs_tf._tracing.inference.abstract import MAX_INTEGERS, Abstract, constant, of_integers
from cavs_tf._tracing.inference.execution import run_operator
from cavs_tf._tracing.inference.sizes import Size

# Operators that move elements: the number of leading inputs that hold these elements (-1 for
# all but the last one). The other inputs say where the elements go.
_MOVES = {
    "BroadcastTo": 1,
    "ConcatV2": -1,
    "EnsureShape": 1,
    "ExpandDims": 1,
    "Gather": 1,
    "GatherNd": 1,
    "GatherV2": 1,
    "Identity": 1,
    "Pack": None,
    "PreventGradient": 1,
    "Reshape": 1,
    "ReverseV2": 1,
    "Roll": 1,
    "Slice": 1,
    "Snapshot": 1,
    "SplitV": 1,
    "Squeeze": 1,
    "StopGradient": 1,
    "StridedSlice": 1,
    "Tile": 1,
    "Transpose": 1,
    "Unpack": 1,
}


def evaluate(op: tf.Operation, inputs: list[Abstract]) -> list[Abstract] | None:
    """Exact values of the results of `op`; None if they cannot be computed."""
    if all(x.is_constant for x in inputs):
        return _evaluate_constants(op, inputs)
    if not all(t.dtype.is_integer or t.dtype.is_bool for t in (*op.inputs, *op.outputs)):
        return None
    if any(x.integers() is None for x in inputs):
        return None
    moved = _moved_inputs(op)
    if moved is not None:
        return _move(op, inputs, moved)
    rule = _ARITHMETIC.get(op.type)
    return None if rule is None else rule(op, inputs)


def _evaluate_constants(op, inputs):
    if op.op_def.is_stateful or not op.outputs or op.type == "Placeholder":
        return None
    if any(not _is_plain(tensor.dtype) for tensor in op.outputs):
        return None
    try:
        results = run_operator(op, [x.value for x in inputs])
    except tf.errors.OpError:
        return None  # The operator will fail in the same way when the user runs it.
    return [constant(result.numpy()) for result in results]


def _is_plain(dtype):
    return dtype.is_floating or dtype.is_integer or dtype.is_bool


def _moved_inputs(op):
    """The inputs whose elements `op` moves; None if it does not only move elements."""
    count = len(op.inputs)
    if op.type in _MOVES:
        last = {None: count, -1: count - 1}.get(_MOVES[op.type], _MOVES[op.type])
        return range(last)
    later = {
        "DynamicStitch": range(count // 2, count),
        "Fill": range(1, 2),
        "Select": range(1, 3),
        "SelectV2": range(1, 3),
        "Split": range(1, 2),
        "TensorScatterUpdate": (0, 2),
    }
    return later.get(op.type)


def _move(op, inputs, moved):
    where = [x for i, x in enumerate(inputs) if i not in moved]
    if any(x.constants() is None for x in where):
        return None
    elements, values = [], []
    for i, x in enumerate(inputs):
        if i in moved:
            own = x.integers()
            first = len(elements)
            values.append(np.arange(first, first + len(own)).reshape(x.value.shape))
            elements += own
        else:
            values.append(np.array(x.constants()).reshape(x.value.shape))
    try:
        results = run_operator(op, values)
    except (tf.errors.OpError, TypeError):
        return None
    return [
        of_integers([elements[i] for i in result.numpy().ravel()], result.shape)
        for result in results
    ]


def _elementwise(function):
    def rule(op, inputs):
        arrays = np.broadcast_arrays(*(_sizes(x) for x in inputs))
        results = [
            function(*elements) for elements in zip(*(a.ravel() for a in arrays), strict=True)
        ]
        if len(results) > MAX_INTEGERS or any(result is None for result in results):
            return None
        return [of_integers(results, arrays[0].shape)]

    return rule


def _sizes(x):
    array = np.empty(len(x.integers()), object)
    array[:] = x.integers()
    return array.reshape(x.value.shape)


def _floor_divide(x, y):
    if x.constant is not None and y.constant:
        return Size.of(x.constant // y.constant)
    return x.divided_by(y)


def _floor_mod(x, y):
    if x.constant is not None and y.constant:
        return Size.of(x.constant % y.constant)
    return Size.of(0) if x.divided_by(y) is not None else None


def _maximum(x, y):
    return x if x.is_at_least(y) else (y if y.is_at_least(x) else None)


def _minimum(x, y):
    return y if x.is_at_least(y) else (x if y.is_at_least(x) else None)


def _maximum_or_none(x, y):
    return None if x is None else _maximum(x, y)


def _minimum_or_none(x, y):
    return None if x is None else _minimum(x, y)


def _reduce(function):
    def rule(op, inputs):
        axes = inputs[1].constants()
        if axes is None:
            return None
        values = _sizes(inputs[0])
        axes = tuple({axis % max(values.ndim, 1) for axis in axes})
        kept = [d for i, d in enumerate(values.shape) if i not in axes]
        moved = np.moveaxis(values, axes, range(len(axes))).reshape([-1, math.prod(kept)])
        if moved.shape[0] == 0 and op.type in ("Max", "Min"):
            return None
        results = [function(column) for column in moved.T]
        if any(result is None for result in results):
            return None
        shape = kept
        if op.get_attr("keep_dims"):
            shape = [1 if i in axes else d for i, d in enumerate(values.shape)]
        return [of_integers(results, shape)]

    return rule


def _compare(equal, different):
    def rule(op, inputs):
        arrays = np.broadcast_arrays(*(_sizes(x) for x in inputs))
        results = []
        for x, y in zip(*(a.ravel() for a in arrays), strict=True):
            difference = (x - y).constant
            if difference is None:
                return None
            results.append(equal if difference == 0 else different)
        return [constant(np.array(results).reshape(arrays[0].shape))]

    return rule


def _cast(op, inputs):
    if not op.outputs[0].dtype.is_integer:
        return None
    return [of_integers(inputs[0].integers(), inputs[0].value.shape)]


def _broadcast_gradient_axes(op, inputs):
    """The axes along which each of two shapes is broadcast to the other."""
    shapes = [x.integers() for x in inputs]
    rank = max(map(len, shapes))
    padded = [[Size.of(1)] * (rank - len(shape)) + shape for shape in shapes]
    reduced = ([], [])
    for axis, (x, y) in enumerate(zip(*padded, strict=True)):
        if x == y:
            continue
        if x.constant == 1:
            reduced[0].append(axis)
        elif y.constant == 1:
            reduced[1].append(axis)
        else:
            return None  # A size is unknown, and may be 1.
    results = []
    for own, shape in zip(reduced, shapes, strict=True):
        own = sorted({*own, *range(rank - len(shape))})
        results.append(constant(np.array(own, np.int32)))
    return results


def _broadcast_shapes(op, inputs):
    """The shape that two shapes are broadcast to."""
    shapes = [x.integers() for x in inputs]
    rank = max(map(len, shapes))
    padded = [[Size.of(1)] * (rank - len(shape)) + shape for shape in shapes]
    result = []
    for x, y in zip(*padded, strict=True):
        if x != y and 1 not in (x.constant, y.constant):
            return None
        result.append(y if x.constant == 1 else x)
    return [of_integers(result, (rank,))]


def _concat_offset(op, inputs):
    """The offsets of several tensors in their concatenation."""
    axis = inputs[0].scalar()
    if axis is None:
        return None
    results, begin = [], Size.of(0)
    for x in inputs[1:]:
        shape = x.integers()
        offset = [Size.of(0)] * len(shape)
        offset[axis % len(shape)] = begin
        begin = begin + shape[axis % len(shape)]
        results.append(of_integers(offset, (len(shape),)))
    return results


def _ordered(first, second, strict):
    """The rule of a comparison that is true if operand `first` is larger than operand `second`."""

    def rule(op, inputs):
        arrays = np.broadcast_arrays(*(_sizes(x) for x in inputs))
        results = []
        for pair in zip(*(a.ravel() for a in arrays), strict=True):
            x, y = pair[first], pair[second]
            more = 1 if strict else 0
            if x.is_at_least(y + more):
                results.append(True)
            elif y.is_at_least(x + (1 - more)):
                results.append(False)
            else:
                return None
        return [constant(np.array(results).reshape(arrays[0].shape))]

    return rule


def _range(op, inputs):
    start, limit, delta = (x.scalar() for x in inputs)
    if None in (start, limit, delta):
        return None
    return [constant(np.arange(start, limit, delta))]


_ARITHMETIC = {
    "Add": _elementwise(lambda x, y: x + y),
    "AddV2": _elementwise(lambda x, y: x + y),
    "BroadcastArgs": _broadcast_shapes,
    "BroadcastGradientArgs": _broadcast_gradient_axes,
    "Cast": _cast,
    "ConcatOffset": _concat_offset,
    "Equal": _compare(True, False),
    "FloorDiv": _elementwise(_floor_divide),
    "Greater": _ordered(0, 1, strict=True),
    "GreaterEqual": _ordered(0, 1, strict=False),
    "Less": _ordered(1, 0, strict=True),
    "LessEqual": _ordered(1, 0, strict=False),
    "FloorMod": _elementwise(_floor_mod),
    "Max": _reduce(lambda column: functools.reduce(_maximum_or_none, column)),
    "Maximum": _elementwise(_maximum),
    "Min": _reduce(lambda column: functools.reduce(_minimum_or_none, column)),
    "Minimum": _elementwise(_minimum),
    "Mul": _elementwise(lambda x, y: x * y),
    "Neg": _elementwise(lambda x: -x),
    "NotEqual": _compare(False, True),
    "Prod": _reduce(lambda column: math.prod(column, start=Size.of(1))),
    "Range": _range,
    "Sub": _elementwise(lambda x, y: x - y),
    "Sum": _reduce(lambda column: sum(column, start=Size.of(0))),
}


def shape_of(x: Abstract) -> list[Size] | None:
    """The shape of a tensor, as `Size`s."""
    if x.axes is None:
        return None
    return [math.prod((Size.of(f) for f in axis), start=Size.of(1)) for axis in x.axes]
