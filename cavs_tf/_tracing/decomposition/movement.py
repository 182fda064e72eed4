"""Operators whose results are columns of their operands, in another order or several times."""

import math

import numpy as np
import tensorflow as tf

from cavs_tf._tracing.decomposition.columns import MAX_PIECES, Columns, Run, runs_of
from cavs_tf._tracing.decomposition.plan import Plan
from cavs_tf._tracing.inference import run_operator

# Operators that return their operand, perhaps in another shape.
ALIASES = frozenset({"Reshape", "ExpandDims", "Squeeze", "Identity"})
_TYPES = (
    "ConcatV2 GatherV2 MirrorPad Pack ReverseV2 Roll Slice Split SplitV StridedSlice "
    "Tile Transpose Unpack"
)


def _movement(op, columns: Columns) -> Plan | None:
    """Moves columns where the other operands do not depend on rows."""
    if _is_native(op, columns):
        return None
    shapes = [columns.shape_of(tensor) for tensor in op.outputs]
    results = _positions(op, columns)
    if results is None or None in shapes:
        return None
    sources = [(t, columns.width_of(t)) for t in op.inputs if columns.shape_of(t) is not None]
    runs = [runs_of(sources, positions.ravel()) for positions in results]
    if None in runs or any(r.shape != (1, *s) for r, s in zip(results, shapes, strict=True)):
        return None
    reads = [run for of_output in runs for run in of_output]

    def compute(parts):
        parts = iter(parts)
        return [[next(parts) for _ in of_output] for of_output in runs]

    return Plan(reads, compute)


def _is_native(op, columns):
    """Whether the operator and its gradient have native kernels as they are."""
    if op.type == "Pack":
        return op.get_attr("axis") == 1
    axis = {"ConcatV2": -1, "Split": 0, "SplitV": 2}.get(op.type)
    if axis is not None:
        known = columns.constants_for_one_row(op.inputs[axis])
        rank = op.outputs[0].shape.rank
        return known is not None and rank is not None and int(known) % rank == 1
    return op.type == "Unpack" and op.get_attr("axis") == 1


def _positions(op, columns):
    """For each output, which columns of the operands one row of it holds; None if unknown."""
    values, start = [], 0
    for tensor in op.inputs:
        shape = columns.shape_of(tensor)
        if shape is None:
            if tensor.dtype.is_floating:
                return None
            value = columns.constants_for_one_row(tensor)
            if value is None:
                return None
            values.append(tf.constant(value, tensor.dtype))
        else:
            width = columns.width_of(tensor)
            numbers = np.arange(start, start + width, dtype=np.int32)
            values.append(tf.constant(numbers.reshape(1, *shape)))
            start += width
    retyped = {op.outputs[0].dtype: tf.int32}
    try:
        return [result.numpy() for result in run_operator(op, values, retyped)]
    except tf.errors.OpError:
        return None


def _padding(op, columns: Columns) -> Plan | None:
    """Zeros, or another number, before and after columns."""
    source, shape = op.inputs[0], columns.shape_of(op.inputs[0])
    paddings = columns.constants_for_one_row(op.inputs[1])
    if shape is None or paddings is None or np.any(paddings[0]):
        return None
    places = np.pad(np.arange(math.prod(shape)).reshape(shape), paddings[1:], constant_values=-1)
    pieces = _pieces_of(places.ravel())
    if len(pieces) > MAX_PIECES:
        return None
    reads = [Run(source, piece[0], piece[-1] + 1) for piece in pieces if piece[0] >= 0]

    def number(like, width):
        zeros = tf.zeros([tf.shape(like)[0], width], like.dtype)
        return zeros + op.inputs[2] if op.type == "PadV2" else zeros

    def compute(parts):
        like, parts = parts[0], iter(parts)
        return [[next(parts) if p[0] >= 0 else number(like, len(p)) for p in pieces]]

    return Plan(reads, compute)


def _pieces_of(places) -> list[list[int]]:
    """Cuts places into runs of consecutive places, and runs of -1."""
    are_read, steps = places >= 0, np.diff(places)
    breaks = (are_read[1:] != are_read[:-1]) | (steps != are_read[1:])
    return [piece.tolist() for piece in np.split(places, np.flatnonzero(breaks) + 1)]


MOVEMENTS = dict.fromkeys(_TYPES.split(), _movement) | dict.fromkeys(("Pad", "PadV2"), _padding)
