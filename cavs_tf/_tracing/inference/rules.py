"""The table of all transfer rules, and their common part."""

import tensorflow as tf

from cavs_tf._tracing.inference.abstract import (
    MAX_INTEGERS,
    Abstract,
    Kind,
    axes_of_shape,
    invariant,
    summed,
    unknown_integers,
)
from cavs_tf._tracing.inference.batched import BATCHED
from cavs_tf._tracing.inference.call import Call, Couples, NotKnown
from cavs_tf._tracing.inference.contraction import CONTRACTIONS
from cavs_tf._tracing.inference.elementwise import ELEMENTWISE
from cavs_tf._tracing.inference.functions import LISTS, added_lists, function_rules
from cavs_tf._tracing.inference.indexing import INDEXING
from cavs_tf._tracing.inference.integers import evaluate
from cavs_tf._tracing.inference.movement import MOVEMENT, identity
from cavs_tf._tracing.inference.sizes import broadcast, size

RULES = {**ELEMENTWISE, **MOVEMENT, **CONTRACTIONS, **BATCHED, **INDEXING, **LISTS}

# Results of these depend only on a shape, whatever the tensor holds.
_OF_SHAPES = frozenset({"OnesLike", "Rank", "Shape", "ShapeN", "Size", "ZerosLike"})
# Results of these are sums of products, or of elements.
_SUMS = frozenset({"BatchMatMulV2", "BatchMatMulV3", "BiasAddGrad", "Einsum", "MatMul", "Sum"})
_FUNCTIONS = frozenset(function_rules(None))

_DRAW = (
    "For dropout, call self.dropout(x, rate) of the GraphSupport. Draw other random numbers "
    "outside of the vertex function and pull them: a row for each vertex."
)


def has_rule(op_type: str) -> bool:
    """Whether an operator has a rule, so that it need not be tried."""
    return op_type in RULES or op_type in _FUNCTIONS


class Transfer:
    """The transfer function: from abstract values of operands to abstract values of results.

    Args:
      infer: As for `function_rules`.
    """

    def __init__(self, infer):
        self._functions = function_rules(infer)

    def __call__(self, call: Call) -> list[Abstract]:
        """The abstract values of the results of an operator.

        Raises:
          Couples: If it makes rows depend on each other.
          NotKnown: If it has no rule.
        """
        op, kinds = call.op, {x.kind for x in call.inputs}
        # Keras's layers draw by a seed numbers that depend on how many rows there are.
        by_seed = op.type.startswith("StatelessRandom")
        if is_random(op) or (by_seed and Kind.COUNT in kinds):
            raise Couples(_DRAW)
        if RULES.get(op.type) is identity:
            return identity(call)
        if op.type in _OF_SHAPES:
            return _exactly(call) or self._rule(call)
        exact = evaluate(op, call.inputs) if call.inputs else None
        if exact is not None:
            return exact
        finished = Kind.SUM in kinds and kinds <= {Kind.SUM, Kind.INVARIANT} and not call.inside
        if finished:
            # Sums over all rows are finished before other operators read them.
            return [summed(call.any_result_axes(i)) for i in range(len(op.outputs))]
        if op.type in self._functions or op.type in LISTS:
            return self._rule(call)
        if any(t.dtype == tf.variant for t in op.outputs) and op.type == "AddN":
            return added_lists(call)
        if kinds <= {Kind.INVARIANT}:
            return [_invariant(call, i) for i in range(len(op.outputs))]
        if kinds <= {Kind.INVARIANT, Kind.COUNT}:
            return self._of_counts(call)
        try:
            return self._rule(call)
        except Couples:
            if all(_counts_alone(x) for x in call.inputs):
                axes = broadcast(*call.all_axes()) if op.type in ELEMENTWISE else None
                return [
                    _count(call, i) if axes is None else Abstract(Kind.COUNT, axes)
                    for i in range(len(op.outputs))
                ]
            raise

    def _rule(self, call):
        rule = self._functions.get(call.type) or RULES.get(call.type)
        if rule is None:
            raise NotKnown
        return rule(call)

    def _of_counts(self, call):
        """Results computed from numbers of rows: they may be tensors of that many rows."""
        try:
            results = self._rule(call)
        except (Couples, NotKnown):
            results = [None] * len(call.op.outputs)
        return [
            x if x is not None and x.kind is Kind.ROWS else _count(call, i)
            for i, x in enumerate(results)
        ]


def is_random(op) -> bool:
    """Whether an operator draws other random numbers every time it runs."""
    words = ("Random", "Multinomial", "TruncatedNormal", "CandidateSampler", "NonDeterministic")
    return op.op_def.is_stateful and any(word in op.type for word in words)


def _counts_alone(x) -> bool:
    """Whether a result depends only on the number of rows, and not on their values."""
    if x.kind is Kind.ROWS:
        return x.position is not None and x.position.bound == 1 and not x.position.column
    return x.kind in (Kind.INVARIANT, Kind.COUNT)


def _exactly(call):
    return evaluate(call.op, call.inputs) if all(x.is_constant for x in call.inputs) else None


def _count(call, i):
    return Abstract(Kind.COUNT, call.any_result_axes(i))


def _is_empty(x) -> bool:
    return x.axes is not None and any(size(axis).constant == 0 for axis in x.axes)


def _fill_of(call):
    """The number that all elements of a result equal, if they are copies of one or sums of none."""
    if call.type in _SUMS and any(map(_is_empty, call.inputs)):
        return 0
    if call.type in ("AddN", "AddV2") and all(x.zero for x in call.inputs):
        return 0
    if call.type in ("Fill", "BroadcastTo", "Tile", "Reshape", "Identity", "Cast"):
        return call.inputs[1 if call.type == "Fill" else 0].fill
    return None


def _invariant(call, i) -> Abstract:
    tensor = call.op.outputs[i]
    shape = tensor.shape
    if not shape.is_fully_defined():
        axes = call.any_result_axes(i)
        return invariant(axes)
    if tensor.dtype.is_integer and shape.num_elements() <= MAX_INTEGERS:
        return unknown_integers(shape.as_list())
    return invariant(axes_of_shape(shape), fill=_fill_of(call))
