"""Finds out what the tensors of a traced vertex function are, by running it.

Shapes in a trace are often unknown, and gradients compute many of their own from the
shapes of others. Running the graph with three different numbers of rows shows which
tensors have one row per vertex, and which depend on nothing but the number of rows:
those are replaced by constants, or by numbers affine in it. Running rows together and
one by one shows whether rows are independent.
"""

import dataclasses
import enum

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import ops

from cavs_tf._library import ops as _cavs_ops

ROW_COUNTS = (5, 7, 11)
_SHAPE_OPS = frozenset({"Shape", "ShapeN", "Size", "Rank", "TensorListLength"})
_MAX_FOLDED = 4096  # Elements; larger values are computed where they are needed.


class Kind(enum.Enum):
    """What a tensor of a traced function holds."""

    ROWS = "one row per vertex"
    INVARIANT = "the same for every vertex"
    META = "determined by the number of rows"
    OTHER = "depends on the rows, but has none"


@dataclasses.dataclass
class Values:
    """The values of tensors for every number of rows in ROW_COUNTS."""

    of: dict = dataclasses.field(default_factory=dict)  # id(tensor) -> list of arrays

    def __getitem__(self, tensor):
        return self.of[id(tensor)]

    def __setitem__(self, tensor, values):
        self.of[id(tensor)] = values

    def __contains__(self, tensor):
        return id(tensor) in self.of


def live_operations(outputs) -> list[tf.Operation]:
    """The operations that `outputs` are computed by, in an order in which they can run."""
    seen, stack = {}, [t.op for t in outputs]
    while stack:
        op = stack.pop()
        if id(op) not in seen:
            seen[id(op)] = op
            stack.extend(t.op for t in op.inputs)
    graph_order = outputs[0].graph.get_operations() if outputs else []
    position = {id(op): i for i, op in enumerate(graph_order)}
    return _topological(seen.values(), position)


def _topological(operations, position):
    """By creation, except that rewired operands come before their consumers."""
    operations = sorted(operations, key=lambda op: position[id(op)])
    done, order = set(), []
    for root in operations:
        stack = [root]
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


def run_graph(graph, inputs, fetches, feeds):
    """Runs `graph` once per entry of `feeds`; arrays of `fetches`, in the same order."""
    if not fetches:
        return [[] for _ in feeds]
    kept = graph.inputs, graph.outputs
    graph.inputs, graph.outputs = list(inputs), list(fetches)
    name = f"{graph.name}_probe_{ops.uid()}"
    try:
        function = atomic_function.from_func_graph(name, graph, {})
    finally:
        graph.inputs, graph.outputs = kept
    with tf.init_scope():
        return [
            [_as_array(t) for t in function.call_flat(*(_as_tensor(v) for v in feed))]
            for feed in feeds
        ]


def _as_tensor(value):
    return value if isinstance(value, tf.Tensor) else tf.constant(value)


def _as_array(tensor):
    return tensor.numpy() if is_numeric(tensor) else tensor


def is_numeric(tensor) -> bool:
    dtype = tensor.dtype
    return dtype.is_floating or dtype.is_integer or dtype.is_bool or dtype.is_complex


def random_rows(spec_dtype, shape, seed, rows=None) -> np.ndarray:
    """Numbers that most operators accept: positive, of order one; ids are 0 and 1."""
    full = tuple(shape) if rows is None else (rows, *shape)
    dtype = tf.as_dtype(spec_dtype)
    if dtype.is_floating or dtype.is_complex:
        uniform = np.random.default_rng(seed).uniform(0.1, 1.0, full)
        return uniform.astype(dtype.as_numpy_dtype)
    size = int(np.prod(full))
    return (np.arange(size) % 2).reshape(full).astype(dtype.as_numpy_dtype)


_FLAGS_OF = {
    Kind.ROWS: frozenset({"rows"}),
    Kind.OTHER: frozenset({"rows"}),
    Kind.META: frozenset({"count"}),
    Kind.INVARIANT: frozenset({"weights"}),
}


class Analysis:
    """Which tensors of one graph are what.

    Args:
      graph: A traced graph.
      row_inputs: Placeholders with one row per vertex.
      other_inputs: Placeholders of weights, and (in a derivative) of forward tensors.
      outputs: The tensors that matter; what they do not need is ignored.
      values: Of all numeric inputs.
      given: Kinds of those in `other_inputs` that are not invariant.
    """

    def __init__(self, graph, row_inputs, other_inputs, outputs, values, given=None):
        self.graph = graph
        self.inputs = [*row_inputs, *other_inputs]
        self.values = values
        self.kinds = {id(t): Kind.ROWS for t in row_inputs}
        for tensor in other_inputs:
            self.kinds[id(tensor)] = (given or {}).get(id(tensor), Kind.INVARIANT)
        self._flags = {key: _FLAGS_OF[kind] for key, kind in self.kinds.items()}
        self._outputs = outputs
        self._run()

    def kind(self, tensor) -> Kind:
        return self.kinds[id(tensor)]

    def extend(self, tensors):
        """Analyses what `tensors`, too, are computed by, if it is not known yet."""
        new = [t for t in tensors if id(t) not in self.kinds]
        if new:
            self._outputs = [*self._outputs, *new]
            self._run()

    def _run(self):
        operations = live_operations(self._outputs)
        tensors = [t for op in operations for t in op.outputs if id(t) not in self.kinds]
        fetched = [t for t in tensors if is_numeric(t) or t.dtype == tf.variant]
        feeds = [[self.values[t][i] for t in self.inputs] for i in range(len(ROW_COUNTS))]
        runs = run_graph(self.graph, self.inputs, fetched, feeds)
        for position, tensor in enumerate(fetched):
            self.values[tensor] = [run[position] for run in runs]
        for op in operations:
            if any(id(t) not in self.kinds for t in op.outputs):
                self._trace_flags(op)

    def _trace_flags(self, op):
        """What the results of `op` depend on, given that of its operands."""
        flags = frozenset().union(*(self._flags[id(t)] for t in op.inputs))
        if op.type in _SHAPE_OPS:
            flags = frozenset({"count"}) if flags & {"rows", "count"} else frozenset()
        if "random" in op.type.lower():
            flags |= {"random"}
        for tensor in op.outputs:
            self._flags[id(tensor)] = flags
            self.kinds[id(tensor)] = self._kind_of(tensor, flags)

    def _kind_of(self, tensor, flags) -> Kind:
        if is_numeric(tensor):
            if flags & {"rows", "count"} and self._is_row_shaped(tensor):
                return Kind.ROWS
            if flags <= {"count"}:
                return Kind.META  # Constants too: they may be folded.
        return Kind.OTHER if flags & {"rows", "count"} else Kind.INVARIANT

    def _shapes(self, tensor):
        return [np.shape(v) for v in self.values[tensor]]

    def _is_row_shaped(self, tensor) -> bool:
        shapes = self._shapes(tensor)
        rows = all(s and s[0] == n for s, n in zip(shapes, ROW_COUNTS, strict=True))
        return rows and len({s[1:] for s in shapes}) == 1

    def declared_shape(self, tensor, sums: bool) -> tf.TensorShape:
        """[-1, ...] for rows, unknown for what has no fixed shape.

        Args:
          tensor: Of this graph.
          sums: Tensors that depend on rows but have none are sums over rows.
        """
        kind = self.kind(tensor)
        if not is_numeric(tensor) or tensor not in self.values:
            return tensor.shape if kind is Kind.INVARIANT else tf.TensorShape(None)
        shapes = self._shapes(tensor)
        if kind is Kind.ROWS:
            return tf.TensorShape([None, *shapes[0][1:]])
        constant = "count" not in self._flags[id(tensor)]
        summed = (
            sums
            and kind is Kind.OTHER
            and "rows" in self._flags[id(tensor)]
            and tensor.dtype.is_floating
            and tensor.op.type != "Placeholder"  # A forward tensor that is no sum.
        )
        if len(set(shapes)) == 1 and (summed or (kind is not Kind.OTHER and constant)):
            return tf.TensorShape(shapes[0])
        return tf.TensorShape(None)

    def fold(self):
        """Replaces what only the number of rows determines; a no-op where it cannot."""
        for op in live_operations(self._outputs):
            for index, tensor in enumerate(op.inputs):
                if self.kind(tensor) is not Kind.META or tensor.op.type == "Const":
                    continue
                if all(self.kind(t) is Kind.META for t in op.outputs) and op.outputs:
                    continue  # Will itself be replaced.
                replacement = self._replacement(tensor)
                if replacement is not None:
                    op._update_input(index, replacement)

    def _replacement(self, tensor):
        values = self.values[tensor]
        if len({v.shape for v in values}) != 1 or values[0].size > _MAX_FOLDED:
            return None
        with self.graph.as_default():
            if all(np.array_equal(v, values[0]) for v in values):
                new = tf.constant(values[0], tensor.dtype)
            elif tensor.dtype in (tf.int32, tf.int64):
                coefficients = _affine(values)
                if coefficients is None:
                    return None
                new = _cavs_ops.cavs_row_count(
                    self.inputs[0],
                    out_type=tensor.dtype,
                    scale=coefficients[0],
                    bias=coefficients[1],
                    shape=values[0].shape,
                )
            else:
                return None
        self.kinds[id(new)] = Kind.META
        self._flags[id(new)] = frozenset({"count"} if new.op.type == "CavsRowCount" else ())
        self.values[new] = values
        return new

    def annotate(self, sums: bool):
        """Writes shapes where the C++ side reads them."""
        for op in live_operations(self._outputs):
            self.annotate_operation(op, sums)

    def annotate_operation(self, op, sums: bool):
        attribute = attr_value_pb2.AttrValue()
        for tensor in op.outputs:
            shape = tf.TensorShape(None)
            if id(tensor) in self.kinds:
                shape = self.declared_shape(tensor, sums)
            attribute.list.shape.append(shape.as_proto())
        op._set_attr("_cavs_shapes", attribute)


def _affine(values):
    """(scale, bias) with value = scale * rows + bias at every ROW_COUNTS, or None."""
    first, second, third = (v.astype(np.int64).ravel() for v in values)
    n = ROW_COUNTS
    scale, rest = np.divmod(second - first, n[1] - n[0])
    bias = first - scale * n[0]
    if rest.any() or not np.array_equal(scale * n[2] + bias, third):
        return None
    return scale.tolist(), bias.tolist()


def check_row_independence(name, analysis: Analysis, row_inputs):
    """Raises if a row's result depends on which rows it is computed with.

    Args:
      name: Of the vertex function.
      analysis: Of its graph, unfolded.
      row_inputs: As given to it.

    Raises:
      ValueError: Naming the operator.
    """
    operations = live_operations(analysis._outputs)
    watched = [
        t
        for op in operations
        for t in op.outputs
        if analysis.kind(t) is Kind.ROWS and t in analysis.values and op.type != "Placeholder"
    ]
    if not watched:
        return
    is_row_input = {id(t) for t in row_inputs}
    single = []
    for row in range(3):
        feed = []
        for tensor in analysis.inputs:
            value = analysis.values[tensor][0]
            feed.append(value[row : row + 1] if id(tensor) in is_row_input else value)
        single.append(feed)
    runs = run_graph(analysis.graph, analysis.inputs, watched, single)
    for position, tensor in enumerate(watched):
        together = analysis.values[tensor][0]
        for row, run in enumerate(runs):
            if not _same(together[row : row + 1], run[position]):
                raise ValueError(_dependence_message(name, analysis, tensor))


def _same(x, y) -> bool:
    if x.shape != y.shape:
        return False
    if not np.issubdtype(x.dtype, np.integer) and x.dtype != np.bool_:
        # TensorFlow rounds 16-bit numbers at other places for other numbers of rows.
        rtol, atol = (1e-1, 5e-2) if x.dtype.itemsize == 2 else (1e-2, 1e-4)
        x, y = x.astype(np.float64), y.astype(np.float64)
        return np.allclose(x, y, rtol=rtol, atol=atol, equal_nan=True)
    return np.array_equal(x, y)


def _dependence_message(name, analysis, tensor) -> str:
    culprit = tensor.op
    for op in live_operations([tensor]):
        if any(analysis.kind(t) is Kind.OTHER for t in op.outputs):
            culprit = op
            break
    hint = "Normalise within a row, or compute it outside of the vertex function."
    if any("random" in analysis._flags[id(t)] for t in culprit.outputs):
        hint = (
            "Draw random numbers outside of the vertex function and pull them (for dropout, a "
            "mask: tf.nn.dropout(tf.ones([V, units]), rate) with V vertices)."
        )
    return (
        f"{name}: got rows that depend on each other at operator {culprit.name} "
        f"({culprit.type}) but expected every row to be computed by itself. {hint}"
    )
