"""Transfer rules of products, convolutions and sums."""

import string

from cavs_tf._tracing.inference.abstract import Abstract, Kind, rows, summed, with_layout
from cavs_tf._tracing.inference.call import Call, Couples, NotKnown
from cavs_tf._tracing.inference.sizes import ROWS, has_rows

_WITHIN = "Compute it within a row, or outside of the vertex function."


def contract(call: Call, operands: str, result: str) -> list[Abstract]:
    """A product summed over all labels that `result` lacks, as in `tf.einsum`.

    Args:
      call: The operator.
      operands: A label for each axis of each operand, "ik,kj" for example.
      result: Labels of the result.
    """
    axis_of_label, holders = {}, set()
    for i, labels in enumerate(operands.split(",")):
        axes = call.axes(i)
        if len(axes) != len(labels):
            raise NotKnown
        for label, axis in zip(labels, axes, strict=True):
            known = axis_of_label.get(label, ())
            meet = () not in (known, axis) and (has_rows(known) or has_rows(axis))
            if meet and known != axis:
                raise Couples(_WITHIN)
            if known == () or has_rows(axis):
                axis_of_label[label] = axis
            if has_rows(axis):
                holders.add(label)
    if len(holders) > 1:
        raise Couples(_WITHIN)
    axes = [axis_of_label[label] for label in result]
    if not holders:
        return [_linear(call, axes)]
    if holders.pop() in result:
        if any(x.kind is Kind.SUM for x in call.inputs):
            raise Couples(_WITHIN)
        return [rows(axes)]
    return [summed(axes)]


def _linear(call, axes):
    """A product that is linear in a sum over rows: at most one factor is such a sum."""
    sums = sum(x.kind is Kind.SUM for x in call.inputs)
    if sums > 1 and call.inside:
        raise NotKnown
    return Abstract(Kind.SUM, tuple(axes)) if sums else with_layout(axes)


def matmul(call: Call):
    first = "ki" if call.attr("transpose_a") else "ik"
    second = "jk" if call.attr("transpose_b") else "kj"
    return contract(call, f"{first},{second}", "ij")


def batch_matmul(call: Call):
    ranks = [len(call.axes(i)) for i in range(2)]
    batch = string.ascii_uppercase[: max(ranks) - 2]
    first = "ki" if call.attr("adj_x") else "ik"
    second = "jk" if call.attr("adj_y") else "kj"
    own = [batch[len(batch) - (rank - 2) :] for rank in ranks]
    return contract(call, f"{own[0]}{first},{own[1]}{second}", f"{batch}ij")


def einsum(call: Call):
    operands, _, result = call.attr("equation").replace(" ", "").partition("->")
    parts = operands.split(",")
    free = [c for c in string.ascii_letters if c not in call.attr("equation")]
    widths = [
        len(call.axes(i)) - len(part.replace("...", ""))
        for i, part in enumerate(parts)
        if "..." in part
    ]
    batch = "".join(free[: max(widths, default=0)])
    for i, part in enumerate(parts):
        if "..." in part:
            width = len(call.axes(i)) - len(part.replace("...", ""))
            parts[i] = part.replace("...", batch[len(batch) - width :])
    if any(len(set(part)) < len(part) for part in parts):
        return _repeated_labels(call, parts, result.replace("...", batch))
    return contract(call, ",".join(parts), result.replace("...", batch))


def _repeated_labels(call, parts, result):
    """Checks repeated labels, which take diagonals: none may be the label of rows."""
    for i, part in enumerate(parts):
        axis = call.rows_in(i)
        if axis is not None and part.count(part[axis]) > 1:
            raise Couples(_WITHIN)
    for label in set("".join(parts)):
        if label in result or not any(
            has_rows(axis)
            for i, part in enumerate(parts)
            for own, axis in zip(part, call.axes(i), strict=True)
            if own == label
        ):
            continue
        raise NotKnown
    axes = {}
    for i, part in enumerate(parts):
        for label, axis in zip(part, call.axes(i), strict=True):
            if axes.get(label, ()) == () or has_rows(axis):
                axes[label] = axis
    if any(x.kind is Kind.SUM for x in call.inputs):
        raise NotKnown
    return [_one_layout([axes[label] for label in result])]


def _one_layout(axes):
    if sum(map(has_rows, axes)) > 1:
        raise Couples(_WITHIN)
    return with_layout(axes)


def reduction(additive: bool):
    """The rule of a reduction along given axes. If `additive`, reducing rows is a sum over rows."""

    def rule(call: Call):
        axes = call.axes(0)
        dropped = {d % max(len(axes), 1) for d in call.constants(1)}
        kept = []
        for d, axis in enumerate(axes):
            if d not in dropped:
                kept.append(axis)
            elif call.attr("keep_dims"):
                kept.append(())
        if any(has_rows(axes[d]) for d in dropped):
            if not additive or call.inputs[0].position is not None:
                raise Couples(_WITHIN)
            return [summed(kept)]
        x = call.inputs[0]
        if x.position is not None:
            raise Couples(_WITHIN)
        if x.kind is Kind.SUM:
            if not additive and call.inside:
                raise NotKnown
            return [summed(kept)]
        return [with_layout(kept, fill=0 if x.zero and call.type == "Sum" else None)]

    return rule


def l2_loss(call: Call):
    return [summed(())]


def bias_add(call: Call):
    axes = call.axes(0)
    channel = 1 if call.type == "BiasAdd" and call.attr("data_format") == "NCHW" else -1
    if has_rows(axes[channel]) or call.inputs[1].kind not in (Kind.INVARIANT, Kind.SUM):
        raise Couples(_WITHIN)
    if call.inputs[1].kind is Kind.SUM:
        raise NotKnown
    return [with_layout(axes)]


def bias_add_grad(call: Call):
    axes = call.axes(0)
    channel = axes[1 if call.attr("data_format") == "NCHW" else -1]
    if has_rows(channel):
        raise Couples(_WITHIN)
    return [summed([channel])]


def leading(call: Call):
    """The rule of operators whose operand 0 and results have rows first; others are weights."""
    return _batched(call, [0])


def leading_of(*indices):
    """The rule `leading` for several operands that may have rows."""
    return lambda call: _batched(call, indices)


def _batched(call, indices):
    axes = {call.axes(i)[0] for i in indices if call.rows_in(i) is not None}
    others = [i for i in range(len(call.inputs)) if i not in indices]
    if any(call.inputs[i].row_axis is not None for i in others) or len(axes) > 1:
        raise Couples(_WITHIN)
    if any(call.inputs[i].kind is Kind.SUM for i in range(len(call.inputs))):
        raise NotKnown
    for i in indices:
        if call.rows_in(i) not in (0, None):
            raise Couples(_WITHIN)
    first = axes.pop()
    return [with_layout([first, *call.result_axes(i)[1:]]) for i in range(len(call.op.outputs))]


def filter_gradient(first, second):
    """A sum over rows of products of two operands that have rows first."""

    def rule(call: Call):
        if call.rows_in(first) != 0 or call.rows_in(second) != 0:
            raise Couples(_WITHIN)
        return [summed(call.result_axes())]

    return rule


def batch_norm(call: Call):
    if call.attr("is_training") or any(x.row_axis is not None for x in call.inputs[1:]):
        raise Couples(
            "Use training=False, which normalises by moving averages, or LayerNormalization."
        )
    results = _batched(call, [0])
    return [results[0], *(with_layout(call.result_axes(i)) for i in range(1, len(results)))]


def batch_norm_grad(call: Call):
    if call.attr("is_training"):
        raise Couples("Use training=False, which normalises by moving averages.")
    axes = call.axes(0)
    if axes[0] != (ROWS,) and not has_rows(axes[0]):
        raise Couples(_WITHIN)
    results = [rows(axes)]
    results += [summed(call.result_axes(i)) for i in (1, 2)]
    return results + [with_layout(call.result_axes(i)) for i in (3, 4)]


_CONVOLUTIONS = ("Conv", "Conv2D", "Conv3D", "DepthwiseConv2dNative", "Dilation2D")
_FILTER_GRADIENTS = (
    "Conv2DBackpropFilter",
    "Conv3DBackpropFilterV2",
    "DepthwiseConv2dNativeBackpropFilter",
)
_INPUT_GRADIENTS = (
    "Conv2DBackpropInput",
    "Conv3DBackpropInputV2",
    "DepthwiseConv2dNativeBackpropInput",
    "AvgPoolGrad",
    "AvgPool3DGrad",
)


def input_gradient(call: Call):
    """The first operand is the shape of the result; the last one has rows."""
    return _batched(call, [len(call.inputs) - 1])


CONTRACTIONS = {
    "All": reduction(False),
    "Any": reduction(False),
    "BatchMatMul": batch_matmul,
    "BatchMatMulV2": batch_matmul,
    "BatchMatMulV3": batch_matmul,
    "BiasAdd": bias_add,
    "BiasAddV1": bias_add,
    "BiasAddGrad": bias_add_grad,
    "Dilation2DBackpropFilter": filter_gradient(0, 2),
    "Dilation2DBackpropInput": leading_of(0, 2),
    "Einsum": einsum,
    "EuclideanNorm": reduction(False),
    "FusedBatchNorm": batch_norm,
    "FusedBatchNormGradV3": batch_norm_grad,
    "FusedBatchNormV2": batch_norm,
    "FusedBatchNormV3": batch_norm,
    "L2Loss": l2_loss,
    "MatMul": matmul,
    "Max": reduction(False),
    "Mean": reduction(False),
    "Min": reduction(False),
    "Prod": reduction(False),
    "Sum": reduction(True),
    **dict.fromkeys(_CONVOLUTIONS, leading),
    **dict.fromkeys(_FILTER_GRADIENTS, filter_gradient(0, 2)),
    **dict.fromkeys(_INPUT_GRADIENTS, input_gradient),
}
