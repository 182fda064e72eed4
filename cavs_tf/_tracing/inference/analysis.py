"""Infers how tensors of a traced vertex function depend on rows, and annotates the graph.

The C++ side reads shapes from the attribute `_cavs_shapes`: [None, ...] is a tensor with one row
per vertex, a known shape a tensor that is the same for all vertices (or a sum over them), and an
unknown shape a tensor that is computed anew for the rows of each task. The attribute `_cavs_edges`
says whether rows are rows of edges.
"""

import dataclasses
import operator
import re

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

from cavs_tf._native.library import ops as _cavs_ops
from cavs_tf._tracing.inference.abstract import (
    Abstract,
    Kind,
    Space,
    constant,
    invariant,
    is_numeric,
    refined,
    rows,
)
from cavs_tf._tracing.inference.call import Call, Couples, NotKnown
from cavs_tf._tracing.inference.captures import abstract_capture, value_of
from cavs_tf._tracing.inference.indexing import CROSSINGS
from cavs_tf._tracing.inference.rules import Transfer
from cavs_tf._tracing.inference.sizes import ROWS, axis_of, size
from cavs_tf._tracing.inference.trial import NUM_ROWS, NUM_STYLES, Sample, try_operator
from cavs_tf._tracing.source_lines import is_of_a_library, text_of

_SPACES_HINT = (
    "Rows of edges meet rows of vertices. Join them by to_children(x), which gives every edge the "
    "row of its vertex, or by sum_children(x), mean_children(x) or max_children(x), which give "
    "every vertex one row of its edges."
)
_COUPLED_HINT = "Normalise within a row, or compute it outside of the vertex function."
_IDENTITIES = frozenset({"Identity", "IdentityN", "PreventGradient", "Snapshot", "StopGradient"})
_MAX_TRIALS = 40  # The number of operators with a COUPLED operand that are tried.


def abstract_rows(shape, space=Space.VERTICES, owners=False) -> Abstract:
    """The abstract value of an input with one row per vertex, or per edge."""
    return rows(((ROWS,), *(axis_of(d) for d in shape)), space=space, owners=owners)


def live_operations(outputs) -> list[tf.Operation]:
    """The operations that `outputs` are computed by, in an order in which they can run."""
    done, order = set(), []
    stack = [t.op for t in reversed(outputs)]
    while stack:
        op = stack[-1]
        waiting = [t.op for t in op.inputs if id(t.op) not in done]
        if id(op) in done or not waiting:
            stack.pop()
            if id(op) not in done:
                done.add(id(op))
                order.append(op)
        else:
            stack.extend(reversed(waiting))
    return order


class Analysis:
    """The abstract values of the tensors of one graph.

    Args:
      name: The name of the vertex function, for messages.
      graph: A traced graph.
      inputs: (placeholder, `Abstract`) pairs.
      outputs: The tensors to analyse; operators that they do not depend on are ignored.
      captures: Every `Capture` of the graph.
      forward: For a derivative: the analysis of the vertex function.
      captured: For a derivative: forward tensors by the ids of the placeholders that they feed.
      examples: By id of a placeholder, its rows in the first minibatch, if they are known.
    """

    NUM_ROWS = NUM_ROWS

    def __init__(
        self,
        name,
        graph,
        inputs,
        outputs,
        captures=(),
        forward=None,
        captured=None,
        examples=None,
    ):
        self.name = name
        self.graph = graph
        self.inputs = [tensor for tensor, _ in inputs]
        self._known = {id(tensor): known for tensor, known in inputs}
        self._varies = {}  # The results of `_varies_by_task`, by id of an operator.
        self._annotated = {}  # The knowledge that operators were annotated with, by their ids.
        self._trials_left = _MAX_TRIALS
        self._outputs = list(outputs)
        self._given = {}
        self._forward = forward
        self._captured = captured or {}
        self._examples = examples or {}
        self._transfer = Transfer(self._infer_function)
        for capture in captures:
            self.add_capture(capture)
        self._run()

    def add_capture(self, capture):
        """Adds a tensor that the graph reads from outside.

        Raises:
          ValueError: If it cannot be captured.
        """
        placeholder = capture.placeholder
        self._known[id(placeholder)] = abstract_capture(self.name, capture)
        value = value_of(capture)
        if value is not None:
            self._given[id(placeholder)] = value

    def known(self, tensor) -> Abstract:
        return self._known[id(tensor)]

    @property
    def outputs(self) -> list:
        return list(self._outputs)

    def is_invariant(self, tensor) -> bool:
        """Whether a tensor is computed from captures and constants alone, after `annotate`."""
        return self.known(tensor).kind is Kind.INVARIANT and not self._varies[id(tensor.op)]

    def shape(self, tensor) -> tf.TensorShape:
        """The shape, as far as it is known."""
        return self.known(tensor).declared_shape(tensor.dtype)

    def replace(self, tensor, placeholder):
        """Tells that `placeholder` has the value of `tensor`."""
        self._known[id(placeholder)] = self._known[id(tensor)]

    def replace_outputs(self, replacement):
        """Analyses `replacement(tensor)` instead of each output; operators may have changed."""
        self._outputs = [replacement(tensor) for tensor in self._outputs]
        self._run()

    def extend(self, tensors):
        """Also analyses `tensors`."""
        self._outputs = [*self._outputs, *tensors]
        self._run()

    # --- inference ------------------------------------------------------------------

    def _run(self):
        for op in live_operations(self._outputs):
            if any(id(t) not in self._known for t in op.outputs):
                for tensor, known in zip(op.outputs, self._results(op), strict=True):
                    self._known[id(tensor)] = known

    def _results(self, op):
        inputs = [self._known[id(t)] for t in op.inputs]
        return self._infer(op, inputs, inside=False)

    def _infer(self, op, inputs, inside):
        if _compares_with_itself(op):
            return [constant(np.array(True))]
        if op.type == "Const":
            value = tf.make_ndarray(op.get_attr("value"))
            return [constant(value) if is_numeric(op.outputs[0].dtype) else invariant(())]
        if op.type in CROSSINGS and inputs[1].owners and inputs[0].kind is not Kind.COUPLED:
            return self._cross(op, inputs, inside)
        spaces = set().union(*map(_spaces_of, inputs))
        if len(spaces) > 1 and all(x.kind is not Kind.COUPLED for x in inputs):
            return _coupled(op, _SPACES_HINT)
        space = next(iter(spaces), None)
        return [_in_space(x, space) for x in self._infer_in_space(op, inputs, inside)]

    def _cross(self, op, inputs, inside):
        """The results of an operator between rows of vertices and rows of edges."""
        try:
            return CROSSINGS[op.type](Call(op, inputs, inside))
        except Couples as couples:
            return _coupled(op, couples.hint)

    def _infer_in_space(self, op, inputs, inside):
        coupled = next((x for x in inputs if x.kind is Kind.COUPLED), None)
        if coupled is not None:
            open_ = all(x.open for x in inputs if x.kind is Kind.COUPLED)
            return self._try(op) if open_ and not inside else [coupled] * len(op.outputs)
        try:
            results = self._transfer(Call(op, inputs, inside))
            results = [refined(x, t.shape) for x, t in zip(results, op.outputs, strict=True)]
            if self._forward is None and any(x.kind is Kind.SUM for x in results):
                raise Couples
            self._refine_indices(op, inputs)
            return results
        except Couples as couples:
            return _coupled(op, couples.hint)
        except NotKnown:
            if inside:
                raise
            return self._try(op)

    def _refine_indices(self, op, inputs):
        """Bounds indices by the axis that they index, as the operator fails for larger indices."""
        if op.type not in ("Gather", "GatherV2") or inputs[1].bound is not None:
            return
        indices, table = inputs[1], inputs[0]
        if indices.kind is not Kind.ROWS or indices.position or id(op.inputs[1]) not in self._known:
            return
        axis = inputs[2].scalar() if op.type == "GatherV2" else 0
        if axis is not None and table.axes is not None:
            bound = size(table.axes[axis]).constant
            self._known[id(op.inputs[1])] = dataclasses.replace(indices, bound=bound)

    def _infer_function(self, graph, inputs, count):
        """The abstract values of the `count` results of a function that an operator calls.

        Its graph may have further outputs: TensorFlow adds values for a gradient when it makes the
        gradient of a `tf.function`, without a change of the function itself.
        """
        outputs = list(graph.outputs)[:count]
        known = dict(zip(map(id, graph.inputs), inputs, strict=True))
        for op in live_operations(outputs):
            operands = [known[id(t)] for t in op.inputs]
            missing = [t for t in op.outputs if id(t) not in known]
            if missing:
                results = self._infer(op, operands, inside=True)
                known |= dict(zip(map(id, op.outputs), results, strict=True))
        return [known[id(t)] for t in outputs]

    # --- operators without a rule -----------------------------------------------------

    def _try(self, op):
        inputs = [self._known[id(t)] for t in op.inputs]
        before = next((x for x in inputs if x.kind is Kind.COUPLED), None)
        if before is not None and self._trials_left == 0:
            return [before] * len(op.outputs)
        self._trials_left -= before is not None
        functions = {}
        invented = (self.sample(style, functions) for style in range(NUM_STYLES))
        tried = try_operator(op, invented, sums_allowed=self._forward is not None)
        if tried.results is None and self._examples:
            examples = [self.sample(None, {})]
            tried = try_operator(op, examples, sums_allowed=self._forward is not None)
        if tried.results is None:
            return _coupled(
                op,
                "It is not known to compute every row by itself, and it could not be tried"
                f" ({tried.failure or 'no values for its operands'}). Call the layer once, eagerly,"
                " with a minibatch before it becomes part of a tf.function, or compute it outside"
                " of the vertex function.",
            )
        counted = any(x.kind is Kind.COUNT and x.value is None for x in inputs)
        return [
            before or dataclasses.replace(x, open=counted) if x.kind is Kind.COUPLED else x
            for x in tried.results
        ]

    def sample(self, style, functions) -> Sample:
        """Values for the tensors of this graph; of the first minibatch if style is None."""
        captured = None
        if self._forward is not None:
            captured = self._captured, self._forward.sample(style, functions)
        if style is not None:
            known, given = self._known_or_none, self._given
        else:
            known, given = (lambda _: None), {**self._given, **self._examples}
        return Sample(self.graph, known, given, style or 0, functions, captured)

    def _known_or_none(self, tensor):
        return self._known.get(id(tensor))

    # --- for the C++ side --------------------------------------------------------------

    def fold(self):
        """Replaces operators whose results are constants or numbers of rows by such operators.

        Identities of a derivative are skipped: identities of several tensors join rows with sums.
        """
        replaced, made = {}, {}
        for op in live_operations(self._outputs):
            for index, tensor in enumerate(op.inputs):
                if id(tensor) not in replaced:
                    replaced[id(tensor)] = self._replaced(self.source(tensor), made)
                if replaced[id(tensor)] is not tensor:
                    op._update_input(index, replaced[id(tensor)])

    def source(self, tensor):
        """The tensor that this one is a copy of by identities of a derivative.

        Identities of the vertex function stay: they may have a gradient of their own, or stop it.
        """
        while self._forward is not None and tensor.op.type in _IDENTITIES:
            tensor = tensor.op.inputs[tensor.value_index]
        return tensor

    def _replaced(self, tensor, made):
        """The operator to read instead; one of `made`, by what it computes, or a new one in it."""
        known = self._known[id(tensor)]
        if tensor.op.type in ("Const", "CavsRowCount"):
            return tensor
        if not is_numeric(tensor.dtype) or known.value is None:
            return tensor
        if known.is_constant:
            value = np.asarray(known.value).astype(tensor.dtype.as_numpy_dtype)
            key, make = value.tobytes(), lambda: tf.constant(value, tensor.dtype)
        elif known.kind is Kind.COUNT and tensor.dtype in (tf.int32, tf.int64):
            affine = tuple(size.affine for size in known.integers())
            if None in affine:
                return tensor
            key, make = (affine, known.space), lambda: self._row_count(tensor, known, affine)
        else:
            return tensor
        key = key, tensor.dtype, known.value.shape
        if key not in made:
            with self.graph.as_default():
                made[key] = make()
            self._known[id(made[key])] = known
        return made[key]

    def _row_count(self, tensor, known, affine):
        return _cavs_ops.cavs_row_count(
            self._input_of(known.space),
            out_type=tensor.dtype,
            scale=[scale for scale, _ in affine],
            bias=[bias for _, bias in affine],
            shape=known.value.shape,
        )

    def _input_of(self, space):
        """An input of the graph whose rows stand for this."""
        return next(t for t in self.inputs if self._known[id(t)].space in (space, None))

    def annotate(self):
        """Writes `_cavs_shapes` and `_cavs_edges` of all operators, for the C++ side."""
        for op in live_operations(self._outputs):
            self._varies[id(op)] = self._varies_by_task(op)
            self.annotate_operation(op)

    def annotate_operation(self, op):
        now = [self._varies.get(id(op), False), *(self._known.get(id(t)) for t in op.outputs)]
        then = self._annotated.get(id(op), ())
        if len(now) == len(then) and all(map(operator.is_, now, then)):
            return
        self._annotated[id(op)] = now
        attribute = attr_value_pb2.AttrValue()
        for tensor in op.outputs:
            attribute.list.shape.append(self._declared_shape(tensor).as_proto())
        op._set_attr("_cavs_shapes", attribute)
        if any(map(self._is_of_edges, op.outputs)):
            edges = attr_value_pb2.AttrValue()
            edges.list.b.extend(map(self._is_of_edges, op.outputs))
            op._set_attr("_cavs_edges", edges)

    def _is_of_edges(self, tensor):
        known = self._known.get(id(tensor))
        return known is not None and known.space is Space.EDGES

    def _varies_by_task(self, op):
        """Whether the C++ side computes the results of `op` anew for the rows of each task."""
        if op.type == "CavsRowCount" or any(self._varies[id(t.op)] for t in op.inputs):
            return True
        return op.type == "Placeholder" and self._input_varies(op.outputs[0])

    def _input_varies(self, tensor):
        external = self._captured.get(id(tensor))
        if external is not None:
            return self._forward._varies[id(external.op)]
        known = self._known.get(id(tensor))
        return known is not None and known.kind is not Kind.INVARIANT

    def _declared_shape(self, tensor):
        known = self._known.get(id(tensor))
        if known is None:
            return tf.TensorShape(None)
        if known.kind is Kind.INVARIANT and self._varies.get(id(tensor.op), False):
            return tf.TensorShape(
                None
            )  # It is computed for every task, though it is always the same.
        if not is_numeric(tensor.dtype) and known.kind is Kind.INVARIANT:
            return tensor.shape
        return known.declared_shape(tensor.dtype)


def _spaces_of(x) -> set:
    """What the rows of a tensor, or of the tensors of a list, stand for."""
    own = set() if x.space is None else {x.space}
    return own if x.element is None else own | _spaces_of(x.element)


def _in_space(x, space):
    if space is None:
        return x
    element = None if x.element is None else _in_space(x.element, space)
    own = None if x.kind in (Kind.INVARIANT, Kind.SUM) else space
    return dataclasses.replace(x, space=own, element=element)


def _compares_with_itself(op):
    """Whether `op` is `x == x` of a scalar that is not NaN: tf.recompute_grad adds it for XLA."""
    return (
        op.type == "Equal"
        and op.inputs[0] is op.inputs[1]
        and not op.inputs[0].dtype.is_floating
        and op.inputs[0].shape.rank == 0
    )


def _coupled(op, hint):
    return [Abstract(Kind.COUPLED, None, cause=op, hint=hint)] * len(op.outputs)


def coupled_message(name: str, known: Abstract, forward=None) -> str:
    """The message that a vertex function couples rows: by which operator, and in which line.

    Args:
      name: The name of the vertex function.
      known: The abstract value of the tensor that should have a row per vertex.
      forward: For a derivative: the graph of the vertex function.
    """
    op = known.cause
    return (
        f"{name}: got rows that depend on each other at operator {op.name} ({op.type}) "
        f"{_line(_operator_behind(op, forward))}but expected every row to be computed by itself. "
        f"{known.hint or _COUPLED_HINT}"
    )


def _operator_behind(op, forward):
    """The operator of the vertex function whose derivative `op` is part of."""
    named = re.match(r"gradients(?:_\d+)?/(.+?)_grad/", op.name) if forward is not None else None
    try:
        return op if named is None else forward.as_graph_element(named.group(1), allow_tensor=False)
    except KeyError:
        return op


def _line(op):
    """The user's line that made an operator, if it is known."""
    frames = [frame for frame in op.traceback or [] if not is_of_a_library(frame)]
    if not frames:
        return ""
    frame = frames[-1]
    text = text_of(frame.filename, frame.lineno)
    return f"{frame.filename}:{frame.lineno}, `{text}`, "
