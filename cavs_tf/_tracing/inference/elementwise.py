"""Transfer rules of operators that compute every element from elements at the same place."""

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.abstract import Kind, Position, summed, with_layout
from cavs_tf._tracing.inference.call import Call, Couples, NotKnown
from cavs_tf._tracing.inference.sizes import has_rows

_COUNTS = "Rows may not depend on how many are computed together."
_BROADCASTS = "Give every row its own elements along the same axis."

UNARY = (
    "Abs Acos Acosh Angle AsString Asin Asinh Atan Atanh BesselI0 BesselI0e BesselI1 "
    "BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1 "
    "Bitcast Bucketize Cast Ceil ComplexAbs Conj Cos Cosh Dawsn Digamma Elu Erf Erfc Erfinv "
    "Exp Expint Expm1 FakeQuantWithMinMaxArgs Floor FresnelCos FresnelSin Imag Inv Invert "
    "IsFinite IsInf IsNan LeakyRelu Lgamma Log Log1p LogicalNot Ndtri Neg PopulationCount "
    "Real Reciprocal Relu Relu6 Rint Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign "
    "Spence Sqrt Square Tan Tanh"
)

BINARY = (
    "Add AddV2 ApproximateEqual Atan2 BitwiseAnd BitwiseOr BitwiseXor Complex Div DivNoNan "
    "EluGrad Equal FakeQuantWithMinMaxArgsGradient FloorDiv FloorMod Greater GreaterEqual "
    "Igamma IgammaGradA Igammac InvGrad LeakyReluGrad LeftShift Less LessEqual LogicalAnd "
    "LogicalOr Maximum Minimum Mod Mul MulNoNan NextAfter NotEqual Polygamma Pow RealDiv "
    "ReciprocalGrad Relu6Grad ReluGrad RightShift RsqrtGrad SeluGrad SigmoidGrad SoftplusGrad "
    "SoftsignGrad SqrtGrad SquaredDifference Sub TanhGrad TruncateDiv TruncateMod Xdivy "
    "Xlog1py Xlogy Zeta"
)

OTHERS = "AccumulateNV2 AddN Betainc ClipByValue SelectV2"

_LINEAR = {
    "Neg",
    "Cast",
    "Real",
    "Imag",
    "Conj",
    "Mul",
    "RealDiv",
    "Add",
    "AddV2",
    "AddN",
    "AccumulateNV2",
    "Sub",
    "DivNoNan",
    "MulNoNan",
    "Div",
}
_SUMS = {"Add", "AddV2", "AddN", "AccumulateNV2", "Sub"}
_KEEP_ZERO = {
    "Abs",
    "Cast",
    "Neg",
    "Real",
    "Imag",
    "Conj",
    "Sin",
    "Tanh",
    "Relu",
    "Sqrt",
    "Square",
    "Sign",
}


def elementwise(call: Call):
    if any(x.kind is Kind.COUNT for x in call.inputs):
        raise Couples(_COUNTS)
    axes = sizes.broadcast(*call.all_axes())
    if axes is None:
        raise Couples(_BROADCASTS)
    if any(x.kind is Kind.SUM for x in call.inputs):
        return [_sum(call, axes)]
    positions = [x.position for x in call.inputs]
    if any(positions):
        return [_position(call, axes)]
    keeps_zero = call.type in _KEEP_ZERO or call.type in _SUMS
    fill = 0 if keeps_zero and all(x.zero for x in call.inputs) else None
    if call.type == "Cast":
        (x,) = call.inputs
        integer = call.op.outputs[0].dtype.is_integer
        return [with_layout(axes, fill=x.fill, bound=x.bound if integer else None)]
    return [with_layout(axes, fill=fill)]


def _sum(call, axes):
    """A sum over rows stays one if it is scaled, or added to other sums."""
    if sizes.row_axis(axes) is not None:
        raise Couples("Compute what depends on several rows outside of the vertex function.")
    if not call.inside:
        return summed(axes)
    if call.type not in _LINEAR and call.type != "SelectV2":
        raise NotKnown
    if call.type == "SelectV2":
        condition, *chosen = call.inputs
        if condition.kind is not Kind.INVARIANT or not all(
            x.kind is Kind.SUM or x.zero for x in chosen
        ):
            raise NotKnown
    elif call.type in _SUMS:
        if not all(x.kind is Kind.SUM or x.zero for x in call.inputs):
            raise NotKnown
    elif sum(x.kind is Kind.SUM for x in call.inputs) > 1 or (
        "Div" in call.type and call.inputs[1].kind is Kind.SUM
    ):
        raise NotKnown
    return summed(axes)


def _position(call, axes):
    """Positions stay positions if they are scaled by a number, or moved within the row."""
    x = call.inputs[0]
    if call.type == "Cast" and call.op.outputs[0].dtype.is_integer:
        return with_layout(axes, position=x.position)
    if len(call.inputs) != 2:
        raise Couples(_COUNTS)
    mine, other = sorted(call.inputs, key=lambda i: i.position is None)
    position = mine.position
    if other.position is not None or position.column:
        raise Couples(_COUNTS)
    scale = None if other.fill is None else int(other.fill)
    if call.type == "Mul" and scale == 0:
        return with_layout(axes, fill=0, bound=1)
    if call.type == "Mul" and scale is not None and scale > 0:
        bound = None if position.bound is None else (position.bound - 1) * scale + 1
        return with_layout(axes, position=Position(position.stride * scale, bound))
    if call.type in ("Add", "AddV2") and other.kind in (Kind.INVARIANT, Kind.ROWS):
        bounds = (position.bound, other.bound)
        bound = None if None in bounds else sum(bounds) - 1
        return with_layout(axes, position=Position(position.stride, bound))
    raise Couples(_COUNTS)


def select(call: Call):
    """The operator Select, where a vector of conditions may choose whole rows."""
    if any(x.kind is Kind.COUNT for x in call.inputs):
        raise Couples(_COUNTS)
    condition, x, y = call.all_axes()
    if len(condition) == 1 and len(x) > 1:
        condition = (*condition, *[()] * (len(x) - 1))
    axes = sizes.broadcast(condition, x, y)
    if axes is None or any(i.position for i in call.inputs):
        raise Couples(_BROADCASTS)
    if any(i.kind is Kind.SUM for i in call.inputs):
        raise NotKnown
    return [with_layout(axes)]


def inplace_rows(call: Call):
    """Operators that compute x[i] op= v, for numbers i of whole rows."""
    raise Couples("Update all rows alike.")


def fake_quantized(call: Call):
    """Fake quantization, whose limits must not have rows."""
    axes = call.axes(0)
    if any(x.kind is not Kind.INVARIANT for x in call.inputs[1:]) or (
        "Channel" in call.type and has_rows(axes[-1])
    ):
        raise Couples(_BROADCASTS)
    return [with_layout(axes)]


ELEMENTWISE = {
    **dict.fromkeys((*UNARY.split(), *BINARY.split(), *OTHERS.split()), elementwise),
    "FakeQuantWithMinMaxVars": fake_quantized,
    "FakeQuantWithMinMaxVarsPerChannel": fake_quantized,
    "InplaceAdd": inplace_rows,
    "InplaceSub": inplace_rows,
    "InplaceUpdate": inplace_rows,
    "Select": select,
}
