"""Values that vertex functions compute from weights alone, which TensorFlow computes before a call.

A weight in another type is such a value, and so are a normalised or a transposed one, its parts,
and numbers that are drawn for all vertices. They are the same for every vertex, so they become
inputs of the compiled program, like weights.
"""

import dataclasses

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import concrete_function
from tensorflow.python.framework import ops

from cavs_tf._tracing.effects import called_functions
from cavs_tf._tracing.function_graph import FunctionGraph
from cavs_tf._tracing.inference import Analysis, is_numeric, live_operations
from cavs_tf._tracing.trace import Capture, TracedVertex

_NATIVE = (tf.float32, tf.float64, tf.bfloat16, tf.float16)
# Operators that give native numbers another shape, which the C++ side does without a copy.
_RESHAPES = frozenset({"ExpandDims", "Reshape", "Squeeze"})


class DerivedValues:
    """The values that the vertex functions of one model compute from weights alone.

    One function of TensorFlow computes all of them in the caller's context, where it has a gradient
    of its own. The values are captures of the vertex functions.

    An operator stays in the vertex function if its gradient is a custom one, which may read tensors
    of the graph that it was traced in; if it has no gradient; if it calls functions; and if its
    result is no number, or has a shape that is not known.

    Attributes:
      sources: The `Capture`s that the values are computed from.
    """

    def __init__(self):
        self.sources = []
        self._graph = FunctionGraph("derived")
        self._known = {}  # The captures of vertex functions, by id of the placeholder.
        self._copies = {}  # Tensors of the function, by id of the tensor of a vertex function.
        self._operators = {}  # Operators of the function, by all that determines their results.
        self._captures = {}  # By ids of the graph of a vertex function and of a source.
        self._differentiated = set()  # The ids of placeholders that values are differentiated by.
        self._results = []  # The results of the function.
        self._function = None

    def take_out(
        self, traced: TracedVertex, analysis: Analysis, tensors, differentiated=False
    ) -> list[tf.Tensor]:
        """Changes a graph so that what `tensors` are computed from reads captures.

        Args:
          traced: The vertex function.
          analysis: Its analysis, annotated.
          tensors: Tensors of its graph.
          differentiated: Whether derivatives by the captures may still be asked for.

        Returns:
          For each tensor, the one to read instead, perhaps itself.
        """
        self._known |= {id(capture.placeholder): capture for capture in traced.captures}

        def captured(tensor):
            return self._captured(traced, analysis, tensor, differentiated)

        results = [captured(tensor) for tensor in tensors]
        waiting, read = [tensor.op for tensor in results], set()
        while waiting:
            op = waiting.pop()
            if op in read:
                continue
            read.add(op)
            for index, tensor in enumerate(op.inputs):
                source = captured(tensor)
                if source is not tensor:
                    op._update_input(index, source)
                waiting.append(source.op)
        self._restore(traced, read)
        return results

    def _restore(self, traced, read) -> None:
        """Adds captures again that `remove_unread` has removed but that operators read."""
        captured = {capture.placeholder.op for capture in traced.captures}
        traced.captures += [
            dataclasses.replace(capture, has_gradient=False)
            for capture in self._known.values()
            if capture.placeholder.op in read - captured
        ]

    def remove_unread(self, traced: TracedVertex, analysis: Analysis) -> None:
        """Removes captures that only the values are computed from."""
        read = set(live_operations(analysis.outputs))
        traced.captures = [
            capture
            for capture in traced.captures
            if capture.placeholder.op in read or not self._replaces(capture)
        ]

    def _replaces(self, capture: Capture) -> bool:
        """Whether a capture is only needed to compute the values, if vertices do not read it."""
        is_source = any(capture.source is source.source for source in self.sources)
        return is_source and (
            not capture.differentiable or id(capture.placeholder) in self._differentiated
        )

    def _captured(self, traced, analysis, tensor, differentiated) -> tf.Tensor:
        if not analysis.is_invariant(tensor):
            return tensor
        while tensor.op.type == "Identity" and not has_own_gradient(tensor.op):
            tensor = tensor.op.inputs[0]
        if tensor.op.type in ("Const", "Placeholder"):
            return tensor
        if tensor.op.type in _RESHAPES and tensor.dtype in _NATIVE:
            source = self._captured(traced, analysis, tensor.op.inputs[0], differentiated)
            if source.op.type in _RESHAPES or source.op.type in ("Const", "Placeholder"):
                return tensor
        if not is_numeric(tensor.dtype) or not analysis.shape(tensor).is_fully_defined():
            return tensor
        flows = self._flows(tensor)
        if flows is None or (flows and not tensor.dtype.is_floating):
            return tensor
        copy = self._copy(tensor)
        key = id(traced.graph), id(copy)
        if key not in self._captures and self._function is None:
            has_gradient = differentiated and bool(flows)
            self._captures[key] = self._capture(traced, analysis, tensor, copy, has_gradient)
            self._differentiated |= flows
        return self._captures[key].placeholder if key in self._captures else tensor

    def _capture(self, traced, analysis, tensor, copy, has_gradient) -> Capture:
        copy.set_shape(analysis.shape(tensor))
        with traced.graph.as_default(), tf.control_dependencies(None):
            placeholder = tf.compat.v1.placeholder(copy.dtype, copy.shape, name=tensor.op.name)
        analysis.replace(tensor, placeholder)
        capture = Capture(placeholder, copy, derived=True, has_gradient=has_gradient)
        traced.captures.append(capture)
        self._known[id(placeholder)] = capture
        return capture

    def _flows(self, tensor) -> set | None:
        """The ids of placeholders that `tensor` can be differentiated by; None if it must stay."""
        flows = {}
        try:
            for op in live_operations([tensor]):
                flows[op] = self._flows_to(op, flows)
        except LookupError:
            return None
        return flows[tensor.op] if _is_differentiable(tensor) else set()

    def _flows_to(self, op, flows) -> set:
        """The ids of placeholders that the results of one operator can be differentiated by.

        Raises:
          LookupError: If the operator must stay in the vertex function.
        """
        capture = self._capture_at(op)
        if capture is not None:
            if capture.by_handle or capture.derived or not is_numeric(capture.dtype):
                raise LookupError(op.name)
            return {id(capture.placeholder)} if capture.differentiable else set()
        if has_own_gradient(op) or any(called_functions(op)):
            raise LookupError(op.name)
        below = set().union(*(flows[t.op] for t in op.inputs if _is_differentiable(t)))
        return below if below and ops.get_gradient_function(op) is not None else set()

    def _capture_at(self, op) -> Capture | None:
        """The capture that is fed to an operator, a placeholder or a constant, if one is."""
        return self._known.get(id(op.outputs[0]))

    def _copy(self, tensor) -> tf.Tensor:
        """The tensor of the function that has the value of `tensor`."""
        with self._graph.as_default(), tf.control_dependencies(None):
            for op in live_operations([tensor]):
                if not all(id(result) in self._copies for result in op.outputs):
                    results = self._copy_of(op).outputs
                    self._copies |= zip(map(id, op.outputs), results, strict=True)
        return self._copies[id(tensor)]

    def _copy_of(self, op):
        capture = self._capture_at(op)
        if capture is not None:
            return self._source(capture)
        inputs = [self._copies[id(value)] for value in op.inputs]
        attributes = {n: v for n, v in op.node_def.attr.items() if not n.startswith("_")}
        texts = ((name, value.SerializeToString()) for name, value in attributes.items())
        key = id(op) if op.op_def.is_stateful else (op.type, *map(id, inputs), *sorted(texts))
        if key not in self._operators:
            types = [value.dtype for value in op.outputs]
            self._operators[key] = self._graph.create_op(op.type, inputs, types, attrs=attributes)
        return self._operators[key]

    def _source(self, capture):
        key = "source", id(capture.source)
        if key not in self._operators:
            self._operators[key] = tf.compat.v1.placeholder(capture.dtype, capture.shape).op
            self.sources.append(capture)
        return self._operators[key]

    def finish(self) -> None:
        """Makes the function. No values are added after this."""
        results = {id(capture.source): capture.source for capture in self._captures.values()}
        self._results = list(results.values())
        if self._results:
            inputs = (self._operators["source", id(own.source)] for own in self.sources)
            self._graph.inputs = [op.outputs[0] for op in inputs]
            self._graph.outputs = list(self._results)
            self._function = concrete_function.ConcreteFunction.from_func_graph(
                self._graph, None, {}
            )

    def values(self) -> dict:
        """The values, by id of the sources of the captures, computed so that tapes record them."""
        if self._function is None:
            return {}
        values = self._function(*(source.value() for source in self.sources))
        return dict(zip(map(id, self._results), values, strict=True))


def _is_differentiable(tensor) -> bool:
    return tensor.dtype.is_floating or tensor.dtype.is_complex


def has_own_gradient(op) -> bool:
    return "_gradient_op_type" in op.node_def.attr
