"""Traces a vertex function into a TensorFlow graph.

Weights are captured by value: reading a variable inside a vertex function becomes
an input of the traced function, which the caller fills with the value of the variable
at that moment. The C++ side then sees tensors only.
"""

import contextlib
import contextvars
import dataclasses
import hashlib
from collections.abc import Callable
from concurrent import futures

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, record
from tensorflow.python.framework import ops
from tensorflow.python.ops import resource_variable_ops

from cavs_tf._inputs.edges import Edges, TracedEdges
from cavs_tf._inputs.inputs import IDS, INITIAL_STATE, STATES, graph_spec
from cavs_tf._inputs.keras_private import layers_called, set_thread_state, thread_state
from cavs_tf._native.library import is_on_cpu
from cavs_tf._tracing.function_graph import FunctionGraph

# The vertex whose function is running. A constant handle: the value belongs to
# the thread (or task) that set it.
_CURRENT = contextvars.ContextVar("cavs_tf_vertex")


class Slots:
    """The states that are gathered from each slot, made when they are first asked for.

    Args:
      make: A function from the number of a slot to its [None, *state].
    """

    def __init__(self, make: Callable[[int], tf.Tensor]):
        self._make = make
        self._states = []

    def __getitem__(self, slot: int) -> tf.Tensor:
        while len(self._states) <= slot:
            self._states.append(self._make(len(self._states)))
        return self._states[slot]

    def __len__(self) -> int:
        """The number of slots that were asked for, from 0 on."""
        return len(self._states)

    def states(self) -> list[tf.Tensor]:
        return list(self._states)


@dataclasses.dataclass
class Vertex:
    """The state of a running vertex function, for `gather`, `pull`, `scatter` and so on.

    `owner` is the GraphSupport whose function it is.
    """

    gathered: "Slots"
    pulls: dict[str, tf.Tensor]
    ids: tf.Tensor
    edges: Edges
    scattered: tf.Tensor | None = None
    pulled: set = dataclasses.field(default_factory=set)
    pulled_by_vertex: set = dataclasses.field(default_factory=set)
    pulled_by_edge: set = dataclasses.field(default_factory=set)
    pushed_by_edge: set = dataclasses.field(default_factory=set)
    pushes: dict = dataclasses.field(default_factory=dict)
    num_dropouts: int = 0
    owner: object = None

    def run(self, function: Callable[[], None]) -> "Vertex":
        token = _CURRENT.set(self)
        try:
            function()
        finally:
            _CURRENT.reset(token)
        return self

    def child_state(self, slot: int) -> tf.Tensor:
        """The result of `gather(slot)`."""
        state = self.gathered[slot]
        if slot == 0 and INITIAL_STATE in self.pulls:
            self.pulled.add(INITIAL_STATE)
            state += self.pulls[INITIAL_STATE]
        return state

    def number(self) -> tf.Tensor:
        """int32 [None]: the result of `vertex_ids()`."""
        return self.graph_input(IDS) if STATES in self.pulls else self.ids

    def graph_input(self, name: str, arity: int | None = None) -> tf.Tensor:
        """The rows of one of GRAPH_INPUTS, [None, ...]."""
        if name not in self.pulls:  # The function is being traced.
            with self.ids.graph.as_default():
                self.pulls[name] = _rows(f"pull_{name}", graph_spec(name, arity))
        self.pulled.add(name)
        return self.pulls[name]


def current_vertex(method: str) -> Vertex:
    """The vertex being evaluated, for `method` of a `GraphSupport`.

    Raises:
      RuntimeError: Outside of a vertex function.
    """
    vertex = _CURRENT.get(None)
    if vertex is None:
        raise RuntimeError(
            f"{method}: called outside of a vertex function but expected inside one. "
            "Call it from `vertex()`, and the GraphSupport itself with graphs."
        )
    return vertex


def in_vertex_function() -> bool:
    """Whether a vertex function runs, or is traced."""
    return _CURRENT.get(None) is not None


@dataclasses.dataclass(frozen=True)
class Capture:
    """A tensor that a vertex function reads but does not compute from its vertex.

    Attributes:
      placeholder: The input of the traced graph that it is fed to.
      source: The variable that it is read from, or else the tensor itself.
      by_handle: The variable is passed as a resource, because a function called by
        the vertex function reads it.
      derived: The source is a tensor of `DerivedValues`.
      has_gradient: Whether anything is differentiated by it.
    """

    placeholder: tf.Tensor
    source: object
    by_handle: bool = False
    derived: bool = False
    has_gradient: bool = True

    @property
    def is_variable(self) -> bool:
        return not isinstance(self.source, tf.Tensor)

    @property
    def shape(self) -> tf.TensorShape:
        """The shape of the value, and so of its gradient."""
        return tf.TensorShape(self.source.shape)

    @property
    def dtype(self) -> tf.DType:
        return tf.as_dtype(self.source.dtype)

    @property
    def differentiable(self) -> bool:
        is_known = self.dtype.is_floating and self.shape.is_fully_defined()
        return self.has_gradient and is_known

    def value(self) -> tf.Tensor:
        """The value to feed now, read so that a GradientTape records it."""
        if not self.is_variable:
            return self.source
        if not self.by_handle:
            return self.source.read_value()
        if is_on_cpu(self.source):
            resource_variable_ops.variable_accessed(self.source)
            return self.source.handle
        return _copied_to_cpu(self.source.read_value())


def _copied_to_cpu(value):
    """The handle of a variable with this value: an operator runs where its variables are."""
    with tf.device("CPU:0"):
        handle = tf.raw_ops.VarHandleOp(
            dtype=value.dtype, shape=value.shape, shared_name=context.anonymous_name()
        )
        return _assigned(handle, value)


@tf.custom_gradient
def _assigned(handle, value):
    """The handle of a variable, once it has this value."""
    assigned = tf.raw_ops.AssignVariableOp(resource=handle, value=value)
    with tf.control_dependencies([] if assigned is None else [assigned]):
        return tf.identity(handle), lambda gradient: (None, gradient)


class VertexGraph(FunctionGraph):
    """A graph in which variables are read through inputs of the graph.

    Attributes:
      layers: The Keras layers whose calls made each operator, by its name: "mlp/dense"; or "".
    """

    def __init__(self, name: str, variables=()):
        super().__init__(name)
        self.layers = {}
        self._num_layers_outside = len(layers_called())
        # Under a distribution strategy a variable has one copy per replica. The function reads the
        # copy of one replica; the whole is captured, as every replica calls the function.
        self._whole = {
            id(copy): variable for variable in variables for copy in getattr(variable, "values", ())
        }
        self._variable_of_handle = {}
        self._read_values = {}  # The captures of read values, by id of the variable.

    def watch_variable(self, v):
        self._variable_of_handle[id(v.handle)] = self._whole.get(id(v), v)
        super().watch_variable(v)

    def _create_op_internal(self, op_type, inputs, *args, **kwargs):
        if op_type in ("ReadVariableOp", "ResourceGather"):
            variable = self._variable_behind(inputs[0])
            if variable is not None:
                value = self._read(variable)
                if op_type == "ReadVariableOp":
                    return value.op
                with self.as_default():
                    return tf.gather(value, inputs[1]).op
        op = super()._create_op_internal(op_type, inputs, *args, **kwargs)
        self.layers[op.name] = "/".join(layers_called()[self._num_layers_outside :])
        return op

    def _variable_behind(self, handle):
        """The variable that a handle, or its placeholder in this graph, belongs to; else None."""
        for external, placeholder in self.captures:
            if placeholder is handle:
                handle = external
        return self._variables_by_handle().get(id(handle))

    def _variables_by_handle(self) -> dict:
        """Variables read here, or in functions that are called from here."""
        inner = {id(v.handle): self._whole.get(id(v), v) for v in self._watched_variables}
        return inner | self._variable_of_handle

    def _read(self, variable) -> tf.Tensor:
        if id(variable) not in self._read_values:
            with self.as_default(), ops.control_dependencies(None):
                placeholder = tf.compat.v1.placeholder(
                    variable.dtype, variable.shape, name=variable.name.split(":")[0]
                )
            self._read_values[id(variable)] = Capture(placeholder, variable)
        return self._read_values[id(variable)].placeholder

    def all_captures(self) -> list[Capture]:
        """All captures, in the order in which they were first read."""
        captures = list(self._read_values.values())
        by_handle = self._variables_by_handle()
        for external, placeholder in self.captures:
            # Without consumers, it is the handle of a variable that is read by value.
            if placeholder.consumers():
                captures.append(_capture(placeholder, external, by_handle))
        return captures

    def capture_from_outside(self, external) -> Capture:
        """Captures a tensor, or the handle of a variable, that the derivative reads."""
        placeholder = self.capture(external)
        return _capture(placeholder, external, self._variables_by_handle())


def _capture(placeholder, external, by_handle):
    variable = by_handle.get(id(external))
    if variable is None:
        return Capture(placeholder, external)
    return Capture(placeholder, variable, by_handle=True)


@dataclasses.dataclass
class TracedVertex:
    """One traced vertex function.

    Attributes:
      graph: The graph. Its tensors are rows, [None, ...], unless they are weights.
      ids: int32 [None], the vertex of each row.
      gathers: One [None, *state] placeholder per slot.
      edges: The placeholders of edges.
      pulls: The inputs by name, [None, ...].
      pulled: Names of the inputs that it pulls.
      edge_pulls: Names of the inputs of the model that have a row for each edge.
      captures: The `Capture`s that it reads.
      scattered: The state, [None, *state].
      pushes: The outputs by name, [None, ...].
      edge_pushes: Names of the pushes that have a row for each edge.
    """

    name: str
    graph: VertexGraph
    ids: tf.Tensor
    gathers: list
    edges: TracedEdges
    pulls: dict
    pulled: set
    edge_pulls: frozenset
    captures: list
    scattered: tf.Tensor
    pushes: dict
    edge_pushes: frozenset

    def fingerprint(self) -> tuple:
        """Equal for two traces that compute the same from the same tensors and variables."""
        graph = self.graph.as_graph_def().SerializeToString(deterministic=True)
        return (
            hashlib.sha256(graph).digest(),
            self.scattered.name,
            tuple((name, value.name) for name, value in self.pushes.items()),
            tuple((c.placeholder.name, c.by_handle, id(c.source)) for c in self.captures),
            (self.edge_pushes, frozenset(self.pulled), self.edges.used),
        )


def trace(
    name: str,
    function: Callable[[], None],
    arity: int | None,
    state: tf.TensorSpec,
    pulls: dict[str, tf.TensorSpec],
    edge_pulls=frozenset(),
    variables=(),
) -> TracedVertex:
    """Traces `function`, once, for any number of rows.

    Args:
      name: The name of the vertex function, for messages.
      function: The vertex function, which calls methods of its GraphSupport.
      arity: How many slots there are; None for as many as it gathers from.
      state: Shape (of one vertex) and dtype of the state.
      pulls: Shape (of one vertex or edge) and dtype of every external input.
      edge_pulls: The inputs that have a row for each edge.
      variables: The variables that it may read and that a distribution strategy may have copied.

    Raises:
      ValueError: If it does not scatter a state of the given shape exactly once, or
        changes variables.
    """
    graph = VertexGraph(name, variables)
    with graph.as_default():
        ids = _rows("vertex_ids", tf.TensorSpec([], tf.int32))
        gathers = Slots(lambda k: _rows(f"gather_{k}", state))
        if arity:
            gathers[arity - 1]  # This makes all slots.
        edges = TracedEdges(
            _rows("children", state), _rows("edge_rows", tf.TensorSpec([], tf.int32)), ids
        )
        inputs = {key: _rows(f"pull_{key}", spec) for key, spec in pulls.items()}
        vertex = Vertex(gathers, inputs, ids, edges)
        with_tapes_of_its_own(graph, lambda: vertex.run(function))
        _check_scattered(name, vertex.scattered, state)
    return TracedVertex(
        name,
        graph,
        ids,
        gathers.states(),
        edges,
        inputs,
        vertex.pulled,
        frozenset(edge_pulls),
        graph.all_captures(),
        vertex.scattered,
        vertex.pushes,
        frozenset(vertex.pushed_by_edge),
    )


def _rows(label, spec) -> tf.Tensor:
    return tf.compat.v1.placeholder(spec.dtype, [None, *spec.shape], name=label)


def with_tapes_of_its_own(graph, run: Callable[[], None]) -> None:
    """Runs a function so that tapes in it record, although `tf.init_scope` stops tapes.

    The caller's tapes, if there are any, do not see it: tapes belong to a thread.
    """
    with _recording():
        if not record.could_possibly_record():
            run()
            return
    state, context = thread_state(), contextvars.copy_context()

    def run_here():
        set_thread_state(state)
        with graph.as_default():
            run()

    with futures.ThreadPoolExecutor(1) as thread:
        thread.submit(context.run, run_here).result()


@contextlib.contextmanager
def _recording():
    stopped = pywrap_tfe.TFE_Py_TapeSetIsStopped()
    if stopped:
        pywrap_tfe.TFE_Py_TapeSetRestartOnThread()
    try:
        yield
    finally:
        if stopped:
            pywrap_tfe.TFE_Py_TapeSetStopOnThread()


def _check_scattered(name, scattered, state):
    if scattered is None:
        raise ValueError(
            f"{name}: got no scatter but expected exactly one. Call self.scatter(state) at the "
            "end of the vertex function, with zeros if the parents need nothing."
        )
    if not scattered.shape[1:].is_compatible_with(state.shape) or scattered.shape.rank == 0:
        raise ValueError(
            f"{name}: scatter got shape {scattered.shape} but expected [None, "
            f"{', '.join(map(str, state.shape))}], one state of the declared state_size per row."
        )
    if scattered.dtype != state.dtype:
        raise ValueError(
            f"{name}: scatter got {scattered.dtype.name} but expected {state.dtype.name}. "
            "Pass dtype=... to the GraphSupport and its layers, or cast."
        )
