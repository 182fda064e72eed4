"""Sums in float32 of operators that would add up numbers of 16 bits in that type."""

from collections.abc import Callable

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.framework import op_callbacks

from cavs_tf._tracing.decomposition.arithmetic import ARITHMETIC, terms_of
from cavs_tf._tracing.decomposition.columns import Columns
from cavs_tf._tracing.decomposition.contraction import CONTRACTIONS
from cavs_tf._tracing.inference import Analysis, Kind, live_operations
from cavs_tf._values.wide_sums import NARROW

# Operators whose kernels in TensorFlow form sums in the type of their operands. The kernels of
# products of matrices do not.
_SUMS = frozenset(
    [
        "BiasAddGrad",
        "Cumsum",
        "Einsum",
        "EuclideanNorm",
        "Mean",
        "ScatterNd",
        "SegmentMean",
        "SegmentSum",
        "Sum",
        "TensorScatterAdd",
        "UnsortedSegmentSum",
    ]
)
_RULES = ARITHMETIC | CONTRACTIONS
# The most terms that vector operators may add up, which round where a group of them ends.
_FEW_TERMS = 8


def widen_sums(analysis: Analysis, decompose: bool) -> Callable[[tf.Tensor], tf.Tensor]:
    """Rewrites sums of bfloat16 and float16 as sums of float32 that are rounded once.

    Sums that native kernels form stay as they are, since these kernels add up in float32.

    Args:
      analysis: The analysis of the graph, which this changes.
      decompose: Whether operators will become operators on vectors.

    Returns:
      A function from a tensor of the graph to the tensor that replaces it, perhaps itself.
    """
    columns, replaced = Columns(analysis), {}
    operators = [
        op
        for op in live_operations(analysis.outputs)
        if _is_narrow(op) and not _is_native(op, columns, analysis, decompose)
    ]
    with analysis.graph.as_default(), tf.control_dependencies(None):
        for op in operators:
            with tf.name_scope(f"{op.name}/"):
                replaced[id(op.outputs[0])] = _in_float32(op)
    if not replaced:
        return lambda tensor: tensor

    def replacement(tensor):
        return replaced.get(id(tensor), tensor)

    analysis.replace_outputs(replacement)
    return replacement


def _is_narrow(op) -> bool:
    return op.type in _SUMS and op.outputs[0].dtype in NARROW


def _is_native(op, columns, analysis, decompose) -> bool:
    """Whether a native kernel will form the sum, or vector operators one of a few terms."""
    shape = columns.shape_of(op.inputs[0])
    if op.type == "BiasAddGrad":
        return shape is not None and len(shape) == 1
    if op.type not in ("Mean", "Sum"):
        return decompose and op.type in _RULES and _RULES[op.type](op, columns) is not None
    axes = columns.constants_for_one_row(op.inputs[1])
    if axes is None or (op.type == "Mean" and op.inputs[0].dtype == tf.float16):
        return False  # The sum of a mean may be too large for float16.
    if not axes.size:
        return True
    if op.type == "Sum" and shape is not None:
        axes = [int(axis) % (len(shape) + 1) for axis in axes.ravel()]
        over_rows = axes == [0] and analysis.known(op.outputs[0]).kind is Kind.SUM
        if over_rows or (axes == [1] and len(shape) == 1):
            return True
    terms = terms_of(op, columns)
    if terms is None:
        return decompose and _RULES[op.type](op, columns) is not None
    _, begins, _ = terms
    return decompose and begins.shape[1] <= _FEW_TERMS


def _in_float32(op) -> tf.Tensor:
    """A copy of the operator in float32, whose rounded result the readers of `op` then read."""
    readers, rounded = list(op.outputs[0].consumers()), _wide_copy(op)
    for reader in readers:
        for index, value in enumerate(reader.inputs):
            if value is op.outputs[0]:
                reader._update_input(index, rounded)
    return rounded


def _wide_copy(op) -> tf.Tensor:
    """The rounded result of a copy of the operator in float32."""
    narrow = op.outputs[0].dtype
    inputs = [tf.cast(x, tf.float32) if x.dtype == narrow else x for x in op.inputs]
    attributes = {name: value for name, value in op.node_def.attr.items() if name[0] != "_"}
    wide = attr_value_pb2.AttrValue(type=tf.float32.as_datatype_enum)
    for name, value in attributes.items():
        if value.type == narrow.as_datatype_enum:
            attributes[name] = wide
    copy = op.graph.create_op(op.type, inputs, [tf.float32], attrs=attributes)
    return tf.cast(copy.outputs[0], narrow)


def in_a_graph_with_wide_sums(compute: Callable):
    """The results of `compute()` as a graph of TensorFlow whose sums are float32.

    Sums of bfloat16 and float16 are then rounded once, as in calls of a `GraphSupport`, and do not
    overflow where their terms and their result do not.
    """

    def widen(op_type, inputs, attributes, outputs, op_name=None, graph=None):
        op = outputs[0].op if outputs and graph is not None else None
        return [_wide_copy(op)] if op is not None and _is_narrow(op) else None

    @tf.function(autograph=False)
    def run():
        op_callbacks.add_op_callback(widen)
        try:
            return compute()
        finally:
            op_callbacks.remove_op_callback(widen)

    return run()
