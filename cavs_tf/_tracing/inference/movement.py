"""Transfer rules of operators that move elements: reshapes, copies, joins and splits."""

import dataclasses
import math

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.abstract import (
    Abstract,
    Kind,
    Position,
    constant,
    of_integers,
    with_layout,
)
from cavs_tf._tracing.inference.call import CUT, Call, Couples, NotKnown, moved, unknown_axis
from cavs_tf._tracing.inference.integers import shape_of
from cavs_tf._tracing.inference.sizes import ROWS, Size, axis_of, has_rows, is_known
from cavs_tf._tracing.inference.slices import SLICES


def identity(call: Call):
    return [
        Abstract(x.kind, x.axes, x.value, x.position, x.bound, x.element, x.fill)
        for x in call.inputs[: len(call.op.outputs)]
    ]


def wanted_sizes(call: Call, i: int, axes=None) -> list[Size]:
    """The shape in operand `i`. A -1 becomes the size that keeps all elements of `axes`."""
    wanted = call.inputs[i].integers()
    if wanted is None:
        wanted = [sizes.size(axis) for axis in call.result_axes()]
        return wanted
    rest = [k for k, s in enumerate(wanted) if s.constant == -1]
    if rest and axes is not None:
        # As in TensorFlow, sizes of zero are left out when -1 is computed.
        empty = any(s.constant == 0 for s in wanted)
        others = _product(s for s in wanted if s.constant not in (-1, 0))
        own = [s for s in map(sizes.size, axes) if not (empty and s.constant == 0)]
        known = _product(own).divided_by(others)
        wanted[rest[0]] = Size.of(unknown_axis()[0] if known is None else known)
    return wanted


def _product(factors):
    return math.prod(factors, start=Size.of(1))


def reshape(call: Call):
    axes = call.axes(0)
    wanted = wanted_sizes(call, 1, axes)
    result = sizes.reshape(axes, wanted)
    if result is None:
        raise _cut_by(wanted)
    return [moved(call.inputs[0], result)]


def _cut_by(wanted) -> Exception:
    """The exception for sizes that cut rows apart, or may do so."""
    known = all(s.affine is not None for s in wanted)
    return Couples(CUT) if known else NotKnown()


def transpose(call: Call):
    axes, order = call.axes(0), call.constants(1)
    position = call.inputs[0].position
    if position is not None and position.column and order[-1] != len(order) - 1:
        raise Couples(CUT)
    return [moved(call.inputs[0], [axes[p] for p in order])]


def expand_dims(call: Call):
    axes = list(call.axes(0))
    axes.insert(call.axis(1, len(axes) + 1), ())
    return [moved(call.inputs[0], axes)]


def squeeze(call: Call):
    axes = call.axes(0)
    dims = call.attr("squeeze_dims")
    if not dims:
        raise Couples("Say which axis is squeezed: one row alone has two of size one.")
    dropped = {d % len(axes) for d in dims}
    if any(has_rows(axes[d]) for d in dropped):
        raise Couples(CUT)
    return [moved(call.inputs[0], [a for d, a in enumerate(axes) if d not in dropped])]


def broadcast_to(call: Call):
    axes, wanted = call.axes(0), wanted_sizes(call, 1)
    padded = [()] * (len(wanted) - len(axes)) + list(axes)
    result = [
        own if own != () and (is_known(own) or has_rows(own)) else axis_of(new)
        for own, new in zip(padded, wanted, strict=True)
    ]
    for own, new in zip(padded, wanted, strict=True):
        if has_rows(own) and sizes.size(own) != new:
            raise _cut_by([new])
    return [_once(call.inputs[0], result)]


def tile(call: Call):
    axes = call.axes(0)
    times = call.inputs[1].integers()
    if times is None:
        times = [Size.of(unknown_axis()[0])] * len(axes)
    return [_once(call.inputs[0], [(*axis_of(t), *a) for t, a in zip(times, axes, strict=True)])]


def _once(x, axes):
    """Checks that at most one axis has rows."""
    if sum(factor is ROWS for axis in axes for factor in axis) > 1:
        raise Couples(CUT)
    return moved(x, axes)


def fill(call: Call):
    value = call.inputs[1]
    if value.kind is not Kind.INVARIANT:
        raise Couples(CUT)
    return [with_layout([axis_of(s) for s in wanted_sizes(call, 0)], fill=value.fill)]


def same_shape(call: Call):
    """The rule of zeros and ones, which depend only on the shape of the operand."""
    x, fill = call.inputs[0], 0 if call.type == "ZerosLike" else 1
    if x.axes is None and x.element is not None:
        return [dataclasses.replace(x, element=dataclasses.replace(x.element, fill=fill))]
    return [with_layout(call.axes(0), fill=fill)]


def _merged(call, values):
    """The position and bound of concatenated tensors, and whether all are zero."""
    positions = {x.position for x in values if x.position}
    if len(positions) > 1 or (positions and not all(x.position for x in values)):
        raise Couples(CUT)
    bounds = [x.bound for x in values]
    return {
        "position": positions.pop() if positions else None,
        "bound": None if None in bounds else max(bounds, default=None),
        "fill": _common_fill(values),
    }


def _common_fill(values):
    fills = {x.fill for x in values}
    return fills.pop() if len(fills) == 1 else None


def concat(call: Call):
    """The operands are the values, then the axis; in `Concat`, the axis first."""
    values = list(range(len(call.inputs)))
    where = values.pop(0 if call.type == "Concat" else -1)
    rank = max(len(call.axes(i)) for i in values)
    return [_join(call, values, call.axis(where, rank), new=False)]


def pack(call: Call):
    rank = len(call.axes(0)) + 1
    return [_join(call, range(len(call.inputs)), call.attr("axis") % rank, new=True)]


def _join(call, indices, axis, new):
    values = [call.inputs[i] for i in indices]
    shapes = [list(call.axes(i)) for i in indices]
    if new:
        for axes in shapes:
            axes.insert(axis, ())
    along = [axes[axis] for axes in shapes]
    for axes in shapes:
        axes[axis] = ()
    result = sizes.broadcast(*shapes)
    if result is None or any(
        has_rows(mine) and not has_rows(own)
        for axes in shapes
        for own, mine in zip(axes, result, strict=True)
    ):
        raise Couples(CUT)
    result = list(result)
    if any(map(has_rows, along)):
        if len(set(along)) > 1:
            raise Couples(CUT)
        result[axis] = (len(along), *along[0])
    else:
        result[axis] = axis_of(sum(map(sizes.size, along), start=Size.of(0)))
    if any(x.kind is Kind.SUM for x in values):
        return Abstract(Kind.SUM, tuple(result), fill=_common_fill(values))
    column = _leading_position(values, along, axis == len(result) - 1)
    if column is not None:
        return with_layout(result, position=column)
    return with_layout(result, **_merged(call, values))


def _leading_position(values, along, last):
    """The position of index vectors whose first element is the row; rows compute the others."""
    first, *others = values
    if not last or not others or any(x.position for x in others) or along[0] != ():
        return None
    if first.position is None or not first.position.is_row:
        return None
    return Position(1, 1, column=True)


def unpack(call: Call):
    axes = list(call.axes(0))
    axis = call.attr("axis") % len(axes)
    part = sizes.part_of(axes[axis], call.attr("num"))
    if part is None or part != ():
        raise Couples(CUT)
    del axes[axis]
    return [moved(call.inputs[0], axes)] * call.attr("num")


def split(call: Call):
    axes = list(call.axes(1))
    axis = call.axis(0, len(axes))
    axes[axis] = sizes.part_of(axes[axis], call.attr("num_split"))
    if axes[axis] is None:
        raise Couples(CUT)
    return [moved(call.inputs[1], axes)] * call.attr("num_split")


def split_v(call: Call):
    axes = call.axes(0)
    axis = call.axis(2, len(axes))
    if has_rows(axes[axis]):
        raise Couples(CUT)
    counts = call.inputs[1].integers() or [None] * call.attr("num_split")
    if any(c is not None and c.constant == -1 for c in counts):
        known = sum((c for c in counts if c.constant != -1), start=Size.of(0))
        counts = [sizes.size(axes[axis]) - known if c.constant == -1 else c for c in counts]
    parts = [unknown_axis() if c is None else axis_of(c) for c in counts]
    return [moved(call.inputs[0], [*axes[:axis], part, *axes[axis + 1 :]]) for part in parts]


def shape(call: Call):
    results = []
    for i in range(len(call.op.outputs)):
        dims = shape_of(call.inputs[i])
        if dims is None:
            raise NotKnown
        results.append(of_integers(dims, (len(dims),)))
    return results


def size(call: Call):
    return [of_integers([sizes.num_elements(call.axes(0))], ())]


def rank(call: Call):
    return [constant(len(call.axes(0)))]


def range_(call: Call):
    """The rule of Range: 0, d, 2 d, ... are positions of rows if every row has as many numbers."""
    start, limit, delta = (x.integers() for x in call.inputs)
    if None in (start, limit, delta) or start[0] != 0 or delta[0].constant is None:
        raise NotKnown
    step = delta[0].constant
    count = limit[0].divided_by(step) if step > 0 else None
    if count is None or count.affine is None or count.affine[1] != 0:
        raise NotKnown
    per_row = count.affine[0]
    position = Position(step * per_row, step * (per_row - 1) + 1)
    return [with_layout(((ROWS, per_row),), position=position)]


MOVEMENT = {
    **SLICES,
    "BroadcastTo": broadcast_to,
    "CheckNumerics": identity,
    "CheckNumericsV2": identity,
    "Concat": concat,
    "ConcatV2": concat,
    "DebugIdentityV2": identity,
    "DeepCopy": identity,
    "DebugGradientIdentity": identity,
    "EnsureShape": identity,
    "ExpandDims": expand_dims,
    "Fill": fill,
    "GuaranteeConst": identity,
    "Identity": identity,
    "IdentityN": identity,
    "OnesLike": same_shape,
    "Pack": pack,
    "PlaceholderWithDefault": identity,
    "PreventGradient": identity,
    "Range": range_,
    "Rank": rank,
    "Reshape": reshape,
    "Shape": shape,
    "ShapeN": shape,
    "Size": size,
    "Snapshot": identity,
    "Split": split,
    "SplitV": split_v,
    "Squeeze": squeeze,
    "StopGradient": identity,
    "Tile": tile,
    "Transpose": transpose,
    "ConjugateTranspose": transpose,
    "Unpack": unpack,
    "ZerosLike": same_shape,
}
