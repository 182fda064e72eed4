"""Transfer rules of operators that move elements: reshapes, slices, joins, paddings."""

import dataclasses
import math

from cavs_tf._inference import sizes
from cavs_tf._inference.abstract import (
    Abstract,
    Kind,
    Position,
    constant,
    of_integers,
    with_layout,
)
from cavs_tf._inference.call import Call, Couples, NotKnown, unknown_axis
from cavs_tf._inference.integers import shape_of
from cavs_tf._inference.sizes import ROWS, Size, axis_of, has_rows, is_known

_CUT = "Keep the first axis, which holds the rows, as it is."


def moved(x: Abstract, axes) -> Abstract:
    """`x` with its elements elsewhere, but with the same rows."""
    if axes is None:
        raise Couples(_CUT)
    if x.kind in (Kind.SUM, Kind.COUNT):
        return Abstract(x.kind, tuple(map(sizes.canonical, axes)), fill=x.fill)
    if x.position is not None and x.position.column and axes[-1] != x.axes[-1]:
        raise Couples(_CUT)
    return with_layout(axes, position=x.position, bound=x.bound, fill=x.fill)


def identity(call: Call):
    return [
        Abstract(x.kind, x.axes, x.value, x.position, x.bound, x.element, x.fill)
        for x in call.inputs[: len(call.op.outputs)]
    ]


def wanted_sizes(call: Call, i: int, axes=None) -> list[Size]:
    """The shape that operand `i` asks for; -1 is what is left of the elements of `axes`."""
    wanted = call.inputs[i].integers()
    if wanted is None:
        wanted = [sizes.size(axis) for axis in call.result_axes()]
        return wanted
    rest = [k for k, s in enumerate(wanted) if s.constant == -1]
    if rest and axes is not None:
        others = math.prod((s for s in wanted if s.constant != -1), start=Size.of(1))
        known = sizes.num_elements(axes).divided_by(others) if others.constant != 0 else None
        wanted[rest[0]] = Size.of(unknown_axis()[0]) if known is None else known
    return wanted


def reshape(call: Call):
    axes = call.axes(0)
    wanted = wanted_sizes(call, 1, axes)
    result = sizes.reshape(axes, wanted)
    if result is None:
        raise _cut_by(wanted)
    return [moved(call.inputs[0], result)]


def _cut_by(wanted) -> Exception:
    """Rows are cut apart by these sizes, or it is not known whether they are."""
    known = all(s.affine is not None for s in wanted)
    return Couples(_CUT) if known else NotKnown()


def transpose(call: Call):
    axes, order = call.axes(0), call.constants(1)
    position = call.inputs[0].position
    if position is not None and position.column and order[-1] != len(order) - 1:
        raise Couples(_CUT)
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
        raise Couples(_CUT)
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
    """Rows at one axis at most."""
    if sum(factor is ROWS for axis in axes for factor in axis) > 1:
        raise Couples(_CUT)
    return moved(x, axes)


def fill(call: Call):
    value = call.inputs[1]
    if value.kind is not Kind.INVARIANT:
        raise Couples(_CUT)
    return [with_layout([axis_of(s) for s in wanted_sizes(call, 0)], fill=value.fill)]


def same_shape(call: Call):
    """Numbers that depend on the shape of the operand alone: zeros, or ones."""
    x, fill = call.inputs[0], 0 if call.type == "ZerosLike" else 1
    if x.axes is None and x.element is not None:
        return [dataclasses.replace(x, element=dataclasses.replace(x.element, fill=fill))]
    return [with_layout(call.axes(0), fill=fill)]


def slice_(call: Call):
    axes = call.axes(0)
    begin, size = (call.inputs[i].integers() for i in (1, 2))
    result = []
    for d, axis in enumerate(axes):
        first = None if begin is None else begin[d]
        count = None if size is None else size[d]
        result.append(_sliced(axis, first, count))
    return [moved(call.inputs[0], result)]


def _sliced(axis, first, count):
    whole = sizes.size(axis)
    if count is not None and (count == whole or (count.constant == -1 and first == 0)):
        return axis
    if has_rows(axis):
        return _groups_of_rows(axis, first, count)
    if count is not None and count.constant == -1:
        count = None if first is None else whole - first
    return unknown_axis() if count is None else axis_of(count)


def _groups_of_rows(axis, first, count):
    """Whole groups of an axis such as (3, ROWS), where each holds something of every row."""
    group = Size.of(1)
    for factor in reversed(axis):
        group = group * Size.of(factor)
        if factor is ROWS:
            break
    if first is not None and count is not None and axis[0] is not ROWS:
        groups, begin = count.divided_by(group), first.divided_by(group)
        if groups is not None and begin is not None and groups.constant is not None:
            return (groups.constant, *axis[len(axis) - _length(axis, group) :])
    raise Couples("Slice within a row, not between rows.")


def _length(axis, group):
    """How many of the last factors of `axis` make up `group`."""
    product = Size.of(1)
    for count, factor in enumerate(reversed(axis), 1):
        product = product * Size.of(factor)
        if product == group:
            return count
    return len(axis)


def strided_slice(call: Call):
    return [moved(call.inputs[0], _strided(call, call.axes(0), 1))]


def _strided(call: Call, axes, first):
    """The axes of what a strided slice takes; its begin is operand `first`."""
    result, whole = [], []
    for axis, part in zip_slices(call, axes, first):
        if part == "new":
            result.append(())
            continue
        if part == "drop":
            if has_rows(axis):
                raise Couples("Take a column or an element within each row.")
            continue
        result.append(_range_of(axis, *part))
        whole.append(axis)
    return result


def zip_slices(call: Call, axes, first):
    """Pairs of an axis and what a strided slice does with it.

    That is "new" (an axis that it inserts, which is then None), "drop" (one element is
    taken), or (begin, end, stride), each a `Size` or None for "from the start, to the end";
    of what is not known, an unknown `Size`.
    """
    count = _num_parts(call, first)
    bits = {
        name: call.attr(f"{name}_mask")
        for name in ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    }
    numbers = [call.inputs[first + i].integers() for i in range(3)]
    begin, end, stride = (
        [Size.of(unknown_axis()[0]) for _ in range(count)] if n is None else n for n in numbers
    )
    used = sum(
        not (bits["new_axis"] >> i & 1) and not (bits["ellipsis"] >> i & 1) for i in range(count)
    )
    left = list(axes)
    for i in range(count):
        if bits["ellipsis"] >> i & 1:
            for _ in range(len(axes) - used):
                yield left.pop(0), (None, None, Size.of(1))
        elif bits["new_axis"] >> i & 1:
            yield None, "new"
        elif bits["shrink_axis"] >> i & 1:
            yield left.pop(0), "drop"
        else:
            low = None if bits["begin"] >> i & 1 else begin[i]
            high = None if bits["end"] >> i & 1 else end[i]
            yield left.pop(0), (low, high, stride[i])
    for axis in left:
        yield axis, (None, None, Size.of(1))


def _num_parts(call, first):
    known = [sizes.size(call.axes(first + i)[0]).constant for i in range(3)]
    found = next((n for n in known if n is not None), None)
    if found is None:
        raise NotKnown
    return found


def _range_of(axis, begin, end, stride):
    whole = sizes.size(axis)
    step = stride.constant
    all_of_it = step == 1 and (begin is None or begin == 0)
    if all_of_it and (end is None or end.is_at_least(whole)):
        return axis
    if has_rows(axis):
        begin = Size.of(0) if begin is None else begin
        end = whole if end is None else end
        if step != 1:
            raise Couples("Slice within a row, not between rows.")
        return _groups_of_rows(axis, begin, end - begin)
    known = [None if bound is None else bound.constant for bound in (begin, end)]
    if whole.constant is None or step is None or not step:
        return unknown_axis()
    if any(b is not None and k is None for b, k in zip((begin, end), known, strict=True)):
        return unknown_axis()
    return axis_of(len(range(*slice(*known, step).indices(whole.constant))))


def strided_slice_grad(call: Call):
    """Operands: the shape of what was sliced, begin, end, strides, and the gradient."""
    shape = call.inputs[0].integers()
    if shape is None:
        shape = [sizes.size(axis) for axis in call.result_axes()]
    gradient = list(call.axes(4))
    result = []
    for wanted, part in zip_slices(call, shape, 1):
        axis = None if part == "drop" else gradient.pop(0)
        if part == "new":
            continue
        if axis is not None and sizes.size(axis) == wanted:
            result.append(axis)
        elif axis is not None and has_rows(axis):
            result.append(_as_groups(axis, wanted))
        else:
            result.append(axis_of(wanted))
    return [_checked(call.inputs[4], result)]


def _as_groups(axis, wanted):
    """What an axis is part of, if it holds groups of all rows."""
    start = axis.index(ROWS)
    groups = wanted.divided_by(sizes.size(axis[start:]))
    if groups is None:
        raise Couples(_CUT)
    return (*axis_of(groups), *axis[start:])


def _checked(x, axes):
    if (sizes.row_axis(axes) is None) != (x.row_axis is None):
        raise Couples(_CUT)
    return moved(x, axes)


def pad(call: Call):
    axes, paddings = call.axes(0), call.inputs[1].integers()
    added = call.inputs[2:]
    if call.inputs[0].position is not None or any(x.kind is not Kind.INVARIANT for x in added):
        raise Couples(_CUT)
    result = []
    for d, axis in enumerate(axes):
        before, after = (None, None) if paddings is None else paddings[2 * d : 2 * d + 2]
        none = before is not None and before == 0 and after == 0
        if none:
            result.append(axis)
        elif has_rows(axis):
            raise Couples(_CUT)
        else:
            known = paddings is not None
            result.append(axis_of(sizes.size(axis) + before + after) if known else unknown_axis())
    fill = 0 if all(x.zero for x in (call.inputs[0], *added)) else None
    return [dataclasses.replace(moved(call.inputs[0], result), bound=None, fill=fill)]


def mirror_pad_grad(call: Call):
    axes, paddings = call.axes(0), call.constants(1)
    result = []
    for d, axis in enumerate(axes):
        before, after = paddings[2 * d : 2 * d + 2]
        if has_rows(axis) and (before or after):
            raise Couples(_CUT)
        result.append(axis_of(sizes.size(axis) - before - after) if before or after else axis)
    return [moved(call.inputs[0], result)]


def _merged(call, values):
    """The position and bound of tensors side by side, and whether they are all zero."""
    positions = {x.position for x in values if x.position}
    if len(positions) > 1 or (positions and not all(x.position for x in values)):
        raise Couples(_CUT)
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
    """Operands: the values, then the axis; in `Concat`, the axis first."""
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
        raise Couples(_CUT)
    result = list(result)
    if any(map(has_rows, along)):
        if len(set(along)) > 1:
            raise Couples(_CUT)
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
    """Index vectors whose first element is the row, and whose others a row computes."""
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
        raise Couples(_CUT)
    del axes[axis]
    return [moved(call.inputs[0], axes)] * call.attr("num")


def split(call: Call):
    axes = list(call.axes(1))
    axis = call.axis(0, len(axes))
    axes[axis] = sizes.part_of(axes[axis], call.attr("num_split"))
    if axes[axis] is None:
        raise Couples(_CUT)
    return [moved(call.inputs[1], axes)] * call.attr("num_split")


def split_v(call: Call):
    axes = call.axes(0)
    axis = call.axis(2, len(axes))
    if has_rows(axes[axis]):
        raise Couples(_CUT)
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
    """0, d, 2 d, ... with as many numbers for every row: where each row's numbers begin."""
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
    "MirrorPad": pad,
    "MirrorPadGrad": mirror_pad_grad,
    "OnesLike": same_shape,
    "Pack": pack,
    "Pad": pad,
    "PadV2": pad,
    "PlaceholderWithDefault": identity,
    "PreventGradient": identity,
    "Range": range_,
    "Rank": rank,
    "Reshape": reshape,
    "Shape": shape,
    "ShapeN": shape,
    "Size": size,
    "Slice": slice_,
    "Snapshot": identity,
    "Split": split,
    "SplitV": split_v,
    "Squeeze": squeeze,
    "StopGradient": identity,
    "StridedSlice": strided_slice,
    "StridedSliceGrad": strided_slice_grad,
    "Tile": tile,
    "Transpose": transpose,
    "ConjugateTranspose": transpose,
    "Unpack": unpack,
    "ZerosLike": same_shape,
}
