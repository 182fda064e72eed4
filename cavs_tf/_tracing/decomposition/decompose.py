"""Decomposes the operators of one traced graph."""

from collections.abc import Callable

import tensorflow as tf

from cavs_tf._tracing.decomposition.arithmetic import ARITHMETIC
from cavs_tf._tracing.decomposition.columns import Columns
from cavs_tf._tracing.decomposition.contraction import CONTRACTIONS
from cavs_tf._tracing.decomposition.functions import FUNCTIONS
from cavs_tf._tracing.decomposition.movement import ALIASES, MOVEMENTS
from cavs_tf._tracing.inference import Analysis, live_operations

_RULES = ARITHMETIC | CONTRACTIONS | FUNCTIONS | MOVEMENTS


def decompose_operators(analysis: Analysis) -> Callable[[tf.Tensor], tf.Tensor]:
    """Rewrites operators on rows of any rank as operators on vectors.

    A row of rank 2 or more is the concatenation of its vectors. Sums, broadcasts, products and
    movements of such rows become operators on these vectors where there are not many, and
    TensorFlow differentiates the new operators. Results are the same up to rounding.

    Args:
      analysis: The analysis of the graph, which this changes. It analyses the new operators too.

    Returns:
      A function from a tensor of the graph to the tensor that replaces it, perhaps itself.
    """
    columns = Columns(analysis)
    operations = live_operations(analysis.outputs)
    plans = {}
    for op in operations:
        plan = _RULES[op.type](op, columns) if op.type in _RULES else None
        if plan is not None:
            plans[id(op)] = plan
            for run in plan.reads:
                columns.announce(run)
    if not plans:
        return lambda tensor: tensor
    with analysis.graph.as_default(), tf.control_dependencies(None):
        for op in operations:
            if id(op) in plans:
                with tf.name_scope(f"{op.name}/"):
                    plans[id(op)].run(op, columns)
            elif op.type in ALIASES and _is_alias(op, columns):
                columns.alias(op.outputs[0], op.inputs[0])
        for op in operations:
            if id(op) not in plans:
                _read_what_was_made(op, columns)
        analysis.replace_outputs(columns.whole)
    return columns.whole


def _is_alias(op, columns):
    source, result = map(columns.shape_of, (op.inputs[0], op.outputs[0]))
    return source is not None and result is not None


def _read_what_was_made(op, columns):
    if any(columns.is_made(tensor) for tensor in op.outputs):
        return  # It is an alias, which nothing reads any more.
    for index, tensor in enumerate(op.inputs):
        whole = columns.whole(tensor)
        if whole is not tensor:
            op._update_input(index, whole)
