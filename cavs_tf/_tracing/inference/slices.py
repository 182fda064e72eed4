"""Transfer rules of slices and paddings."""

import dataclasses

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.abstract import Kind
from cavs_tf._tracing.inference.call import CUT, Call, Couples, NotKnown, moved, unknown_axis
from cavs_tf._tracing.inference.sizes import ROWS, Size, axis_of, has_rows


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
    """The axis after a slice of whole groups of an axis such as (3, ROWS), which hold all rows."""
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
    """The number of the last factors of `axis` whose product is `group`."""
    product = Size.of(1)
    for count, factor in enumerate(reversed(axis), 1):
        product = product * Size.of(factor)
        if product == group:
            return count
    return len(axis)


def strided_slice(call: Call):
    return [moved(call.inputs[0], _strided(call, call.axes(0), 1))]


def _strided(call: Call, axes, first):
    """The axes of a strided slice, whose begin is operand `first`."""
    result = []
    for axis, part in zip_slices(call, axes, first):
        if part == "new":
            result.append(())
            continue
        if part == "drop":
            if has_rows(axis):
                raise Couples("Take a column or an element within each row.")
            continue
        result.append(_range_of(axis, *part))
    return result


def zip_slices(call: Call, axes, first):
    """Pairs of an axis and the action of a strided slice on it.

    The action is "new" (an axis that it inserts, which is then None), "drop" (one element is
    taken), or (begin, end, stride), each a `Size` or None for "from the start, to the end";
    an unknown `Size` where it is not known.
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
    """The operands are the shape of the sliced tensor, begin, end, strides, and the gradient."""
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
    """The axis with its groups, if it holds groups that each have all rows."""
    start = axis.index(ROWS)
    groups = wanted.divided_by(sizes.size(axis[start:]))
    if groups is None:
        raise Couples(CUT)
    return (*axis_of(groups), *axis[start:])


def _checked(x, axes):
    if (sizes.row_axis(axes) is None) != (x.row_axis is None):
        raise Couples(CUT)
    return moved(x, axes)


def pad(call: Call):
    axes, paddings = call.axes(0), call.inputs[1].integers()
    added = call.inputs[2:]
    if call.inputs[0].position is not None or any(x.kind is not Kind.INVARIANT for x in added):
        raise Couples(CUT)
    result = []
    for d, axis in enumerate(axes):
        before, after = (None, None) if paddings is None else paddings[2 * d : 2 * d + 2]
        none = before is not None and before == 0 and after == 0
        if none:
            result.append(axis)
        elif has_rows(axis):
            raise Couples(CUT)
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
            raise Couples(CUT)
        result.append(axis_of(sizes.size(axis) - before - after) if before or after else axis)
    return [moved(call.inputs[0], result)]


SLICES = {
    "MirrorPad": pad,
    "MirrorPadGrad": mirror_pad_grad,
    "Pad": pad,
    "PadV2": pad,
    "Slice": slice_,
    "StridedSlice": strided_slice,
    "StridedSliceGrad": strided_slice_grad,
}
