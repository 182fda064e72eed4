"""Transfer rules of operators that compute along some axes and leave the others alone."""

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.abstract import Kind, with_layout
from cavs_tf._tracing.inference.call import Call, Couples, NotKnown, unknown_axis
from cavs_tf._tracing.inference.contraction import leading, leading_of
from cavs_tf._tracing.inference.sizes import axis_of, has_rows

_WITHIN = "Compute it within a row, or outside of the vertex function."


def _only_rows(call, indices=None):
    """Raises unless the operands are rows, or the same for all rows, and no positions."""
    chosen = range(len(call.inputs)) if indices is None else indices
    kinds = {call.inputs[i].kind for i in chosen}
    if Kind.COUNT in kinds or any(call.inputs[i].position for i in chosen):
        raise Couples("Rows may not depend on how many are computed together.")
    if Kind.SUM in kinds:
        raise NotKnown


def last_axes(count, results=None):
    """The rule of operators that compute along the last `count` axes and broadcast the others.

    Args:
      count: The number of axes at the end along which they compute.
      results: The number of such axes of each result; None for `count`.
    """

    def rule(call: Call):
        _only_rows(call)
        batches = []
        for i in range(len(call.inputs)):
            axes = call.axes(i)
            if any(map(has_rows, axes[max(len(axes) - count, 0) :])):
                raise Couples(_WITHIN)
            batches.append(axes[: max(len(axes) - count, 0)])
        batch = sizes.broadcast(*batches)
        if batch is None:
            raise Couples(_WITHIN)
        found = []
        for i in range(len(call.op.outputs)):
            ends = count if results is None else results[i]
            axes = call.result_axes(i)
            found.append(with_layout([*batch, *(axes[len(axes) - ends :] if ends else ())]))
        return found

    return rule


def matrices(call: Call):
    """The rule of operators on matrices and their diagonals, whose leading axes are a batch."""
    _only_rows(call)
    wide = (
        call.axes(0)
        if call.type.startswith(("MatrixDiagPart", "MatrixSet", "MatrixBand"))
        else None
    )
    rank = len(call.result_axes() if wide is None else wide) - 2
    for x in call.inputs:
        if x.row_axis is not None and x.row_axis >= rank:
            raise Couples(_WITHIN)
    batch = sizes.broadcast(
        *(call.axes(i)[:rank] for i, x in enumerate(call.inputs) if x.row_axis is not None)
    )
    if batch is None:
        raise Couples(_WITHIN)
    return [with_layout([*batch, *call.result_axes()[rank:]])]


def last_axis_kept(call: Call):
    """The rule of operators along the last axis whose results have the first operand's shape."""
    _only_rows(call)
    axes = sizes.broadcast(*call.all_axes())
    if axes is None or has_rows(axes[-1]):
        raise Couples(_WITHIN)
    return [with_layout(axes)] * len(call.op.outputs)


def along(i):
    """The rule of operators along axes that operand `i` names; they keep the first one's shape."""

    def rule(call: Call):
        axes = call.axes(0)
        _only_rows(call)
        if any(has_rows(axes[d % len(axes)]) for d in call.constants(i)):
            raise Couples(_WITHIN)
        return [with_layout(axes, fill=0 if call.inputs[0].zero else None)]

    return rule


def arg_reduction(call: Call):
    axes = list(call.axes(0))
    _only_rows(call)
    axis = axes.pop(call.axis(1, len(axes)))
    if has_rows(axis):
        raise Couples(_WITHIN)
    return [with_layout(axes, bound=sizes.size(axis).constant)]


def top_k(call: Call):
    _only_rows(call, [0])
    *batch, last = call.axes(0)
    if has_rows(last):
        raise Couples(_WITHIN)
    if len(call.inputs) > 1:
        chosen = call.inputs[1].integers()
        axis = unknown_axis() if chosen is None else axis_of(chosen[0])
    else:
        axis = axis_of(call.attr("k"))
    return [
        with_layout([*batch, axis]),
        with_layout([*batch, axis], bound=sizes.size(last).constant),
    ]


def nth_element(call: Call):
    _only_rows(call, [0])
    *batch, last = call.axes(0)
    if has_rows(last):
        raise Couples(_WITHIN)
    return [with_layout(batch)]


def cross_entropy(call: Call):
    """The operands are logits [n, classes], and labels [n] or like logits."""
    _only_rows(call)
    logits, labels = call.axes(0), call.axes(1)
    sparse = call.type.startswith("Sparse")
    if sparse:
        labels = (*labels, ())
    axes = sizes.broadcast(logits, labels)
    if axes is None or has_rows(axes[1]):
        raise Couples(_WITHIN)
    return [with_layout(axes[:1]), with_layout(axes)]


def in_top_k(call: Call):
    _only_rows(call, [0, 1])
    axes = sizes.broadcast(call.axes(0)[:1], call.axes(1))
    if axes is None or has_rows(call.axes(0)[1]):
        raise Couples(_WITHIN)
    return [with_layout(axes)]


def search_sorted(call: Call):
    """The operands are sorted sequences [b, m], and values [b, k] that are looked up in them."""
    _only_rows(call)
    first, values = call.axes(0), call.axes(1)
    same = first[0] == values[0] or not any(map(has_rows, (*first, values[0])))
    if not same or has_rows(first[1]):
        raise Couples(_WITHIN)
    bound = sizes.size(first[1]).constant
    return [with_layout(values, bound=None if bound is None else bound + 1)]


def sequences_reversed(call: Call):
    """The operands are values, and a length for each entry of the batch axis."""
    axes, lengths = call.axes(0), call.axes(1)
    _only_rows(call)
    batch, along_axis = call.attr("batch_dim"), call.attr("seq_dim")
    if has_rows(axes[along_axis]) or (has_rows(lengths[0]) and lengths[0] != axes[batch]):
        raise Couples(_WITHIN)
    return [with_layout(axes)]


_LAST_AXIS_KEPT = ("LogSoftmax", "Softmax")
_ONE_MATRIX = (
    "Cholesky",
    "MatrixExponential",
    "MatrixInverse",
    "MatrixLogarithm",
    "MatrixSquareRoot",
)
_TWO_MATRICES = ("CholeskyGrad", "MatrixSolve", "MatrixTriangularSolve", "BandedTriangularSolve")
_FIRST_AXIS = (
    "AvgPool",
    "AvgPool3D",
    "DepthToSpace",
    "ExtractImagePatches",
    "ExtractVolumePatches",
    "LRN",
    "MaxPool",
    "MaxPool3D",
    "ResizeArea",
    "ResizeBicubic",
    "ResizeBilinear",
    "ResizeNearestNeighbor",
    "ResizeNearestNeighborGrad",
    "SpaceToDepth",
)
_MATRICES = (
    "BatchMatrixBandPart",
    "MatrixBandPart",
    "MatrixDiag",
    "MatrixDiagPart",
    "MatrixDiagPartV2",
    "MatrixDiagPartV3",
    "MatrixDiagV2",
    "MatrixDiagV3",
    "MatrixSetDiag",
    "MatrixSetDiagV2",
    "MatrixSetDiagV3",
)
_ALL_FIRST_AXIS = (
    "LRNGrad",
    "MaxPoolGrad",
    "MaxPool3DGrad",
    "ResizeBicubicGrad",
    "ResizeBilinearGrad",
)


def decomposition(vectors, num_vectors=1):
    """The rule of decompositions of matrices: a vector of values each, then matrices of vectors.

    Args:
      vectors: The name of the attribute that says whether vectors are computed. If not, TensorFlow
        gives a scalar in place of each, whatever its shape functions say.
      num_vectors: The number of results with vectors.
    """
    with_vectors = last_axes(2, (1, *[2] * num_vectors))

    def rule(call: Call):
        values, *others = with_vectors(call)
        return [values, *(others if call.attr(vectors) else [with_layout([])] * num_vectors)]

    return rule


def argmax_pool(call: Call):
    """The rule of pooling that says, or reads, where in its image each maximum is."""
    if call.attr("include_batch_in_index"):
        raise Couples("Leave include_batch_in_index False.")
    return _all_leading(call)


def _all_leading(call: Call):
    return leading_of(*range(len(call.inputs)))(call)


BATCHED = {
    "ArgMax": arg_reduction,
    "ArgMin": arg_reduction,
    "Cross": last_axis_kept,
    "Cumprod": along(1),
    "Cumsum": along(1),
    "CumulativeLogsumexp": along(1),
    "FFT": last_axis_kept,
    "FFT2D": last_axes(2),
    "FFT3D": last_axes(3),
    "Eig": decomposition("compute_v"),
    "HSVToRGB": last_axis_kept,
    "IFFT": last_axis_kept,
    "IFFT2D": last_axes(2),
    "IFFT3D": last_axes(3),
    "IRFFT": last_axes(1),
    "IRFFT2D": last_axes(2),
    "IRFFT3D": last_axes(3),
    "InTopK": in_top_k,
    "InTopKV2": in_top_k,
    "IsotonicRegression": last_axes(1),
    "LogMatrixDeterminant": last_axes(2, (0, 0)),
    "LowerBound": search_sorted,
    "Lu": last_axes(2, (2, 1)),
    "MatrixDeterminant": last_axes(2, (0,)),
    "MatrixSolveLs": last_axes(2),
    "MaxPoolGradWithArgmax": argmax_pool,
    "MaxPoolWithArgmax": argmax_pool,
    "NthElement": nth_element,
    "Qr": last_axes(2, (2, 2)),
    "RGBToHSV": last_axis_kept,
    "RFFT": last_axes(1),
    "RFFT2D": last_axes(2),
    "RFFT3D": last_axes(3),
    "ReverseSequence": sequences_reversed,
    "ReverseV2": along(1),
    "Roll": along(2),
    "SelfAdjointEigV2": decomposition("compute_v"),
    "SoftmaxCrossEntropyWithLogits": cross_entropy,
    "SparseSoftmaxCrossEntropyWithLogits": cross_entropy,
    "Svd": decomposition("compute_uv", 2),
    "TopK": top_k,
    "TopKV2": top_k,
    "TridiagonalMatMul": last_axes(2),
    "TridiagonalSolve": last_axes(2),
    "UpperBound": search_sorted,
    **dict.fromkeys(_LAST_AXIS_KEPT, last_axis_kept),
    **dict.fromkeys(_ONE_MATRIX, last_axes(2)),
    **dict.fromkeys(_TWO_MATRICES, last_axes(2)),
    **dict.fromkeys(_MATRICES, matrices),
    **dict.fromkeys(_FIRST_AXIS, leading),
    **dict.fromkeys(_ALL_FIRST_AXIS, _all_leading),
}
