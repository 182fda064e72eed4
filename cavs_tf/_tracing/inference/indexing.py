"""Transfer rules of operators that read, write or add at indices."""

import tensorflow as tf

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.abstract import Kind, Space, rows, summed, with_layout
from cavs_tf._tracing.inference.call import Call, Couples, NotKnown, unknown_axis
from cavs_tf._tracing.inference.movement import wanted_sizes
from cavs_tf._tracing.inference.sizes import ROWS, Size, axis_of, has_rows

_WITHIN = "Look up within a row (batch_dims=1, axis=1), or in a tensor without rows."


def gather(call: Call):
    """The operands are the tensor, indices, and an axis (in GatherV2)."""
    table, indices = call.inputs[0], call.inputs[1]
    batch_dims = call.attr("batch_dims") if call.type == "GatherV2" else 0
    axes, index_axes = call.axes(0), call.axes(1)
    axis = call.axis(2, len(axes)) if call.type == "GatherV2" else 0
    batch_dims += len(index_axes) if batch_dims < 0 else 0
    if table.kind is Kind.SUM and (call.inside or indices.kind is not Kind.INVARIANT):
        raise NotKnown
    if indices.kind is Kind.COUNT:
        raise NotKnown
    along = axes[axis]
    batch = sizes.broadcast(axes[:batch_dims], index_axes[:batch_dims])
    if batch is None:
        raise Couples(_WITHIN)
    if has_rows(along):
        if not _is_own_row(indices.position, along, index_axes[batch_dims:]):
            raise Couples(_WITHIN)
        before, after = axes[batch_dims:axis], axes[axis + 1 :]
        return [rows([*batch, *before, *index_axes[batch_dims:], *after])]
    if indices.position is not None:
        raise Couples(_WITHIN)
    for own, other in zip(axes[:batch_dims], index_axes[:batch_dims], strict=True):
        if has_rows(own) != has_rows(other):
            raise Couples(_WITHIN)  # The rows of one operand are paired with numbers of the other.
    result = [*batch, *axes[batch_dims:axis], *index_axes[batch_dims:], *axes[axis + 1 :]]
    if sum(map(has_rows, result)) > 1:
        raise Couples(_WITHIN)
    if table.kind is Kind.SUM:
        return [summed(result)]
    return [with_layout(result, position=table.position, bound=table.bound)]


def _is_own_row(position, along, index_axes):
    """Whether indices with a position stay among the elements of their own row."""
    if position is None or position.column or not position.stays_in_row:
        return False
    if along[0] is not ROWS or sizes.row_axis(index_axes) is None:
        return False
    return Size.of(position.stride) == sizes.size(along[1:])


def gather_nd(call: Call):
    table, indices = call.inputs[0], call.inputs[1]
    axes, index_axes = call.axes(0), call.axes(1)
    depth = sizes.size(index_axes[-1]).constant
    if depth is None or table.kind is Kind.SUM or indices.kind is Kind.COUNT:
        raise NotKnown
    result = [*index_axes[:-1], *axes[depth:]]
    if any(map(has_rows, axes[:depth])):
        own = depth > 0 and axes[0] == (ROWS,) and not any(map(has_rows, axes[1:depth]))
        if not own or not _has_own_row_first(indices.position, depth):
            raise Couples(_WITHIN)
    elif indices.position is not None or sum(map(has_rows, result)) > 1:
        raise Couples(_WITHIN)
    return [with_layout(result, position=table.position, bound=table.bound)]


def _has_own_row_first(position, depth):
    if position is None or not position.is_row:
        return False
    return position.column or depth == 1


def dropout_mask(call: Call):
    if call.inputs[0].kind is not Kind.ROWS or call.axes(0) != ((ROWS,),):
        raise NotKnown
    shape = tf.TensorShape(call.attr("shape"))
    return [rows([(ROWS,), *map(sizes.axis_of, shape)])]


def spread(call: Call):
    """The rule of CavsGather: from rows of vertices to rows of their edges."""
    _check_crossing(call, Space.VERTICES, "to_children takes rows of vertices.")
    return [rows(call.axes(0), fill=call.inputs[0].fill, space=Space.EDGES)]


def reduce_edges(call: Call):
    """The rule of CavsScatter and CavsScatterMax: from rows of edges to rows of vertices."""
    hint = "sum_children and the like take rows of edges, such as those that children() returns."
    _check_crossing(call, Space.EDGES, hint)
    fill = 0 if call.inputs[0].zero else None
    return [rows(call.axes(0), fill=fill, space=Space.VERTICES)]


def _check_crossing(call, space, hint):
    x = call.inputs[0]
    if x.kind is not Kind.ROWS or x.space is not space:
        raise Couples(hint)
    if call.axes(0)[0] != (ROWS,) or x.position is not None:
        raise Couples(hint)


def scatter_nd(call: Call):
    """The operands are indices [..., depth], updates, and the shape of the result."""
    indices, updates = call.inputs[0], call.inputs[1]
    index_axes, update_axes = call.axes(0), call.axes(1)
    wanted = wanted_sizes(call, 2)
    depth = sizes.size(index_axes[-1]).constant
    if depth is None or updates.kind is Kind.SUM or indices.kind is Kind.COUNT:
        raise NotKnown
    outer = len(index_axes) - 1
    into = [axis_of(s) for s in wanted[:depth]]
    rest = list(update_axes[outer:])
    if indices.row_axis is None and not any(map(has_rows, update_axes[:outer])):
        if any(map(has_rows, into)):
            raise Couples(_WITHIN)
        return [with_layout([*into, *rest])]
    if indices.position is None:
        if any(map(has_rows, into)) or any(map(has_rows, rest)):
            raise Couples(_WITHIN)
        return [summed([*into, *rest])]
    return [rows([*_own_rows(indices.position, depth, wanted[:depth]), *rest])]


def _own_rows(position, depth, wanted):
    """The axes of the result, if every row writes only elements of its own row."""
    if position.column or position.is_row:
        if wanted[0] != Size.of(ROWS) or not _has_own_row_first(position, depth):
            raise Couples(_WITHIN)
        return [(ROWS,), *(axis_of(s) for s in wanted[1:])]
    if depth != 1 or not position.stays_in_row:
        raise Couples(_WITHIN)
    if wanted[0] != Size.of(ROWS) * position.stride:
        raise Couples(_WITHIN)
    return [(ROWS, position.stride)]


def tensor_scatter(call: Call):
    """The operands are a tensor, indices [..., depth], and the values to write."""
    tensor, indices, updates = call.inputs
    axes, index_axes, update_axes = call.all_axes()
    depth = sizes.size(index_axes[-1]).constant
    if depth is None or Kind.SUM in (tensor.kind, updates.kind) or indices.kind is Kind.COUNT:
        raise NotKnown
    outer = len(index_axes) - 1
    if indices.position is not None:
        own = axes[0] == (ROWS,) and _has_own_row_first(indices.position, depth)
        if not own or not any(map(has_rows, update_axes[:outer])):
            raise Couples(_WITHIN)
        return [rows(axes)]
    if indices.row_axis is not None or any(map(has_rows, update_axes[:outer])):
        raise Couples(_WITHIN)
    rest = sizes.broadcast(axes[depth:], update_axes[outer:])
    if rest is None or any(map(has_rows, axes[:depth])) or rest != tuple(axes[depth:]):
        raise Couples(_WITHIN)
    return [with_layout(axes)]


def segments(additive: bool):
    """The operands are data, ids of segments, and (unless sorted) the number of segments."""

    def rule(call: Call):
        data, ids = call.inputs[0], call.inputs[1]
        axes, id_axes = call.axes(0), call.axes(1)
        if data.kind is Kind.SUM or ids.kind is Kind.COUNT:
            raise NotKnown
        rest = list(axes[len(id_axes) :])
        into = _number_of_segments(call)
        if not any(map(has_rows, (*axes[: len(id_axes)], *id_axes))):
            return [with_layout([into, *rest])]
        if ids.position is not None:
            (own,) = _own_rows(ids.position, 1, [sizes.size(into)])
            return [rows([own, *rest])]
        if not additive or has_rows(into) or len(call.inputs) < 3:
            raise Couples(_WITHIN)
        return [summed([into, *rest])]

    return rule


def _number_of_segments(call):
    """The axis of segments: as given, or for sorted segments from the last id if it is constant."""
    if len(call.inputs) > 2:
        count = call.inputs[2].integers()
        return unknown_axis() if count is None else axis_of(count[0])
    ids = call.inputs[1].constants()
    return unknown_axis() if ids is None else axis_of(ids[-1] + 1 if ids else 0)


def one_hot(call: Call):
    indices = call.inputs[0]
    if indices.position is not None:
        raise Couples(_WITHIN)
    axes = list(call.axes(0))
    depth = call.inputs[1].integers()
    axis = call.attr("axis")
    axis = len(axes) if axis == -1 else axis
    axes.insert(axis, unknown_axis() if depth is None else axis_of(depth[0]))
    if sum(map(has_rows, axes)) > 1 or any(x.row_axis is not None for x in call.inputs[2:]):
        raise Couples(_WITHIN)
    return [with_layout(axes)]


def bincount(call: Call):
    """The rule of DenseBincount for [n, m]: a histogram of every row."""
    axes = call.axes(0)
    if len(axes) != 2 or axes[0] == () or not has_rows(axes[0]) or has_rows(axes[1]):
        raise Couples(_WITHIN)
    size = call.inputs[1].integers()
    weights = call.inputs[2]
    if weights.axes is not None and weights.row_axis not in (0, None):
        raise Couples(_WITHIN)
    return [with_layout([axes[0], unknown_axis() if size is None else axis_of(size[0])])]


def dynamic(call: Call):
    """The rule of operators whose number of results depends on the values of all rows."""
    raise Couples("Keep all elements, and use tf.where(condition, x, y) to choose among values.")


# Operators between rows of vertices and rows of edges, if they get the owners of edges.
CROSSINGS = {
    "CavsGather": spread,
    "CavsScatter": reduce_edges,
    "CavsScatterMax": reduce_edges,
}

_SCATTERS = ("Add", "Max", "Min", "Sub", "Update")

INDEXING = {
    "CavsDropoutMask": dropout_mask,
    "DenseBincount": bincount,
    "DynamicPartition": dynamic,
    "Gather": gather,
    "GatherNd": gather_nd,
    "GatherV2": gather,
    "ListDiff": dynamic,
    "OneHot": one_hot,
    "ScatterNd": scatter_nd,
    "SegmentMax": segments(False),
    "SegmentMean": segments(False),
    "SegmentMin": segments(False),
    "SegmentProd": segments(False),
    "SegmentSum": segments(True),
    "Unique": dynamic,
    "UniqueV2": dynamic,
    "UniqueWithCounts": dynamic,
    "UniqueWithCountsV2": dynamic,
    "UnsortedSegmentMax": segments(False),
    "UnsortedSegmentMin": segments(False),
    "UnsortedSegmentProd": segments(False),
    "UnsortedSegmentSum": segments(True),
    "Where": dynamic,
    **dict.fromkeys((f"TensorScatter{how}" for how in _SCATTERS), tensor_scatter),
}
