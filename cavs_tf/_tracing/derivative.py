"""The derivative of a traced vertex function, by TensorFlow's own gradient registry."""

import dataclasses

import tensorflow as tf
from tensorflow.python.framework import ops
from tensorflow.python.ops import gradients_util

from cavs_tf._native.library import ops as _cavs_ops
from cavs_tf._tracing.decomposition import rewritings
from cavs_tf._tracing.derived import DerivedValues, has_own_gradient
from cavs_tf._tracing.function_graph import FunctionGraph
from cavs_tf._tracing.inference import (
    EDGES,
    VERTICES,
    Analysis,
    Kind,
    abstract_rows,
    coupled_message,
    live_operations,
)
from cavs_tf._tracing.trace import TracedVertex, with_tapes_of_its_own

# Operators on booleans that cost less than to keep their results, or that only move booleans.
_OF_BOOLEANS = (
    "Cast ConcatV2 Equal ExpandDims Greater GreaterEqual Identity Less LessEqual LogicalAnd "
    "LogicalNot LogicalOr NotEqual OnesLike Pack Reshape Split SplitV Squeeze StridedSlice Unpack"
)


class DerivativeGraph(FunctionGraph):
    """A graph that repeats concatenations, comparisons and masks of the vertex function.

    The tape then keeps the operands of the concatenation, which are often in memory anyway, in
    the state or an input. Products of the concatenation can then be split into products of
    its operands, too. A mask of dropout is drawn again from the numbers of its rows. Numbers are
    compared again, as native kernels have no booleans to keep.

    Args:
      name: The name of the graph.
      vertex: The traced vertex function.
      analysis: Its analysis.

    Attributes:
      edge_rows: The input that says which row the vertex of each edge has; None if not needed.
    """

    def __init__(self, name: str, vertex: TracedVertex, analysis: Analysis):
        super().__init__(name)
        self._forward = vertex.graph
        self._forward_edge_rows = vertex.edges.rows
        self._analysis = analysis
        self.edge_rows = None
        self._again = {}  # The repeated operators, by id of the original.

    def capture(self, tensor, name=None, shape=None):
        if tensor is self._forward_edge_rows:
            return self._own_edge_rows()
        repeat = self._repetition(tensor)
        if repeat is None:
            return super().capture(tensor, name=name, shape=shape)
        if id(tensor) not in self._again:
            with self.as_default(), ops.control_dependencies(None):
                self._again[id(tensor)] = repeat(tensor.op)
        return self._again[id(tensor)]

    def _own_edge_rows(self):
        if self.edge_rows is None:
            with self.as_default(), ops.control_dependencies(None):
                self.edge_rows = tf.compat.v1.placeholder(tf.int32, [None], name="edge_rows")
        return self.edge_rows

    def _repetition(self, tensor):
        """A function that repeats the operator of `tensor` here; None if it is read instead."""
        if getattr(tensor, "graph", None) is not self._forward:
            return None
        if tensor.op.type == "CavsDropoutMask":
            return self._mask
        if tensor.dtype == tf.bool and tensor.op.type in _OF_BOOLEANS.split():
            return lambda op: self._operator(op).outputs[tensor.value_index]
        axis = self._axis_of_concatenation(tensor)
        return None if axis is None else lambda op: self._concatenation(op, axis)

    def _mask(self, op):
        attributes = {name: op.get_attr(name) for name in ("T", "shape", "rate", "number")}
        return _cavs_ops.cavs_dropout_mask(*map(self.capture, op.inputs), **attributes)

    def _operator(self, op):
        if id(op) not in self._again:
            inputs = [self._operand(value) for value in op.inputs]
            types, attributes = [value.dtype for value in op.outputs], op.node_def.attr
            self._again[id(op)] = self.create_op(op.type, inputs, types, attrs=attributes)
        return self._again[id(op)]

    def _operand(self, tensor):
        if tensor.op.type != "Const":
            return self.capture(tensor)
        return self.create_op("Const", [], [tensor.dtype], attrs=tensor.op.node_def.attr).outputs[0]

    def _concatenation(self, op, axis):
        values = [self.capture(value) for value in op.inputs[: op.get_attr("N")]]
        return (tf.concat if op.type == "ConcatV2" else tf.stack)(values, axis)

    def _axis_of_concatenation(self, tensor):
        """The axis, if `tensor` concatenates float rows in the vertex function; else None."""
        if not tensor.dtype.is_floating:
            return None
        if tensor.op.type not in ("ConcatV2", "Pack") or not _has_rows(tensor, self._analysis):
            return None
        if tensor.op.type == "Pack":
            return tensor.op.get_attr("axis")
        return tf.get_static_value(tensor.op.inputs[-1])


def _has_rows(tensor, analysis) -> bool:
    return analysis.known(tensor).kind is Kind.ROWS


class NoGradientError(LookupError):
    """An operator of a vertex function has no gradient."""


@dataclasses.dataclass
class Derivative:
    """`dF` of one vertex function.

    Attributes:
      graph: The graph of the derivative.
      inputs: (role, placeholder) pairs: scatter_grad, push_grad:i, edge_rows, saved:i.
      outputs: (role, tensor) pairs: gather_grad:k, children_grad, pull_grad:i, capture_grad:i.
      saved: The forward tensors that saved:0, saved:1, ... are read from.
      analysis: The analysis of the graph, after `fold`.
    """

    graph: DerivativeGraph
    inputs: list
    outputs: list
    saved: list
    analysis: Analysis

    def reading_tape_of(self, other: "Derivative") -> "Derivative | None":
        """This derivative with `saved` numbered as in `other`; None if `other` lacks some of it."""
        number = {id(tensor): i for i, tensor in enumerate(other.saved)}
        if not all(id(tensor) in number for tensor in self.saved):
            return None
        roles = {f"saved:{i}": f"saved:{number[id(t)]}" for i, t in enumerate(self.saved)}
        inputs = [(roles.get(role, role), placeholder) for role, placeholder in self.inputs]
        return dataclasses.replace(self, inputs=inputs, saved=other.saved)


def differentiate(
    traced: TracedVertex,
    push_names: list[str],
    pull_names: list[str],
    forward: Analysis,
    derived: DerivedValues,
    decompose: bool,
    wanted: frozenset | None = None,
) -> Derivative:
    """Traces the derivative.

    Args:
      traced: The vertex function, folded.
      push_names: All pushes of the model; their position is their number.
      pull_names: All floating-point pulls of the model; their position is their number.
      forward: The analysis of the vertex function.
      derived: The values that it computes from weights alone.
      decompose: Whether operators become operators on vectors.
      wanted: The numbers of the pushes to differentiate; None for all.

    Raises:
      NoGradientError: If an operator has no gradient. The message names the vertex function.
    """
    graph = DerivativeGraph(f"{traced.name}_gradient", traced, forward)
    sources, seeds = _results(traced, push_names, wanted)
    targets = _targets(traced, pull_names)
    _differentiate_without_broadcasts(forward)
    with graph.as_default():
        grad_inputs = [
            (role, tf.compat.v1.placeholder(t.dtype, [None, *t.shape[1:]], name=role.split(":")[0]))
            for role, t in seeds
        ]
        grads = []
        try:
            with_tapes_of_its_own(
                graph,
                lambda: grads.extend(
                    gradients_util._GradientsHelper(
                        sources,
                        [t for _, t in targets],
                        grad_ys=[placeholder for _, placeholder in grad_inputs],
                        src_graph=traced.graph,
                    )
                ),
            )
        except (LookupError, TypeError, ValueError) as error:
            raise NoGradientError(
                f"{traced.name}: an operator of the vertex function has no gradient ({error}). "
                "Use another operator, or wrap the result in tf.stop_gradient."
            ) from error
        outputs = [
            (role, tf.convert_to_tensor(grad))
            for (role, _), grad in zip(targets, grads, strict=True)
            if grad is not None
        ]
    pushed = traced.edge_pushes & traced.pushes.keys()
    of_edges = {f"push_grad:{push_names.index(name)}" for name in pushed}
    return _analyse(traced, graph, grad_inputs, of_edges, outputs, forward, derived, decompose)


# Gradients of operators on two tensors of one shape. For those on rows TensorFlow's own would find
# out by operators, when they run, along which axes there was a broadcast.
_OF_ONE_SHAPE = {
    "Add": lambda op, grad: (grad, grad),
    "AddV2": lambda op, grad: (grad, grad),
    "Sub": lambda op, grad: (grad, -grad),
    "Mul": lambda op, grad: (grad * op.inputs[1], op.inputs[0] * grad),
}


def _differentiate_without_broadcasts(forward) -> None:
    """Gives these gradients to the operators of the vertex function that they are right for."""
    for op in live_operations(forward.outputs):
        gradient = _OF_ONE_SHAPE.get(op.type)
        if gradient is None or op.outputs[0].dtype.is_complex or has_own_gradient(op):
            continue
        axes = [forward.known(value).axes for value in op.inputs]
        if axes[0] is not None and axes[0] == axes[1]:
            op._gradient_function = gradient


def _results(traced, push_names, wanted):
    """The tensors to differentiate, and (role of the incoming gradient, tensor) pairs."""
    results = [("scatter_grad", traced.scattered)] if traced.scattered.dtype.is_floating else []
    for i, name in enumerate(push_names):
        if wanted is not None and i not in wanted:
            continue
        if name in traced.pushes and traced.pushes[name].dtype.is_floating:
            results.append((f"push_grad:{i}", traced.pushes[name]))
    return [t for _, t in results], results


def _targets(traced, pull_names):
    """(role of the gradient, tensor) pairs of the tensors to differentiate by."""
    targets = [(f"gather_grad:{k}", t) for k, t in enumerate(traced.gathers)]
    if traced.edges.used:
        targets.append(("children_grad", traced.edges.states))
    targets += [
        (f"pull_grad:{i}", traced.pulls[name])
        for i, name in enumerate(pull_names)
        if name in traced.pulls
    ]
    differentiable = [c for c in traced.captures if c.differentiable]
    targets += [(f"capture_grad:{i}", c.placeholder) for i, c in enumerate(differentiable)]
    return targets


def _in_forward(traced, external, forward):
    """The forward tensor that a capture of the derivative is read from.

    A gradient that recomputes values may itself read variables or tensors from outside: these
    become captures of the vertex function.
    """
    if getattr(external, "graph", None) is traced.graph:
        return external
    capture = traced.graph.capture_from_outside(external)
    if not any(known.placeholder is capture.placeholder for known in traced.captures):
        traced.captures.append(capture)
        forward.add_capture(capture)
    return capture.placeholder


def _analyse(
    traced, graph, grad_inputs, of_edges, outputs, forward, derived, decompose
) -> Derivative:
    """`of_edges` are the roles of the inputs that have a row for each edge."""
    tensors = [t for _, t in outputs]
    captured = [(_in_forward(traced, external, forward), p) for external, p in graph.captures]
    # Gradients of control flow add outputs to the forward operator, for values that they need.
    forward.extend([external for external, _ in captured])
    forward.annotate()
    externals = derived.take_out(traced, forward, [external for external, _ in captured])
    captured = [(e, p) for e, (_, p) in zip(externals, captured, strict=True)]
    if graph.edge_rows is not None:
        grad_inputs = [*grad_inputs, ("edge_rows", graph.edge_rows)]
    inputs = [
        (p, abstract_rows([], EDGES, owners=True))
        if p is graph.edge_rows
        else (p, abstract_rows(p.shape[1:], EDGES if role in of_edges else VERTICES))
        for role, p in grad_inputs
    ]
    inputs += [(p, forward.known(external)) for external, p in captured]
    analysis = Analysis(
        traced.name,
        graph,
        inputs,
        tensors,
        forward=forward,
        captured={id(p): external for external, p in captured},
    )
    for replaced in rewritings(analysis, decompose):
        outputs = [(role, replaced(tensor)) for role, tensor in outputs]
    outputs = _not_zero(traced, outputs, analysis)
    tensors = [t for _, t in outputs]
    forward.annotate()
    analysis.fold()
    analysis.annotate()
    needed = {id(op) for op in live_operations(tensors)}
    saved = [(e, p) for e, p in captured if id(p.op) in needed]
    inputs = list(grad_inputs)
    inputs += [(f"saved:{i}", placeholder) for i, (_, placeholder) in enumerate(saved)]
    return Derivative(graph, inputs, outputs, [e for e, _ in saved], analysis)


def _not_zero(traced, outputs, analysis) -> list:
    """The (role, gradient) pairs that are not known to be zero, for the C++ side to compute.

    Raises:
      NoGradientError: If one is neither per row nor a sum over rows, as its role asks.
    """
    name, kept = traced.name, []
    for role, tensor in outputs:
        known = analysis.known(tensor)
        expected = Kind.SUM if role.startswith("capture_grad") else Kind.ROWS
        if known.kind is Kind.COUPLED:
            raise NoGradientError(
                coupled_message(f"{name}, in its derivative", known, traced.graph)
            )
        if known.kind is Kind.INVARIANT and known.zero:
            continue
        if known.kind is not expected:
            raise NoGradientError(
                f"{name}: the gradient that is its {role} got {known.kind.value!r} but expected "
                f"{expected.value!r}. Use other operators, or wrap the result in tf.stop_gradient."
            )
        kept.append((role, analysis.source(tensor)))
    return kept
