"""Makes the functions that the C++ ops run from the vertex functions of a GraphSupport."""

import contextlib
import dataclasses
import json

import numpy as np
import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import concrete_function

from cavs_tf._inputs.inputs import (
    GRAPH,
    GRAPH_INPUTS,
    OF_CHILDREN,
    graph_spec,
    partial_inputs,
    rows_of,
)
from cavs_tf._native.library import may_run_on_gpus, ops
from cavs_tf._tracing import inference as _inference
from cavs_tf._tracing.decomposition import rewritings
from cavs_tf._tracing.derivative import Derivative, NoGradientError, differentiate
from cavs_tf._tracing.derived import DerivedValues
from cavs_tf._tracing.effects import check_effects
from cavs_tf._tracing.inference import EDGES, VERTICES, Analysis, Kind
from cavs_tf._tracing.lookups import is_looked_up, take_out_lookups
from cavs_tf._tracing.partial_derivatives import PartialDerivatives
from cavs_tf._tracing.trace import TracedVertex, trace


@dataclasses.dataclass
class Functions:
    """The traced functions of one model, one of each kind per vertex type.

    Attributes:
      traced: The vertex functions.
      forward: The (TensorFlow function, signature) pairs of the vertex functions.
      backward: The pairs of their derivatives; empty if they cannot be differentiated.
      gradient_error: The message if they cannot be differentiated; else "".
      push_names, push_specs: The pushes of all types; a spec is the spec of one row.
      pull_names, pull_specs: The inputs in the order of the ops; a spec is the spec of one row.
      edge_pulls, edge_pushes: Numbers of the inputs, and pushes, that have a row for each edge.
      arity: The number of slots that schedules need.
      reads_edges: Whether schedules need edges.
      lookups: The inputs that are looked up in variables: `LookUp`s.
      pulled_by: For each input and each vertex function, whether it pulls the input.
      derived: The values that vertex functions compute from weights alone.
      fingerprints: Of the vertex functions as they were traced.
      sources: All that they captured, kept so that no other object gets its id.
      available: Bytes that a step may take, by device, as `available_bytes` has found them.
      gpus_run: Whether GPUs run all operators, by the passes that are left out.
    """

    traced: list
    forward: list
    backward: list
    gradient_error: str
    push_names: list
    push_specs: list
    pull_names: list
    pull_specs: list
    pulled_by: list
    edge_pulls: list
    edge_pushes: list
    arity: int
    reads_edges: bool
    lookups: list
    derived: DerivedValues
    fingerprints: list
    sources: list
    available: dict = dataclasses.field(default_factory=dict)
    gpus_run: dict = dataclasses.field(default_factory=dict)

    EXAMPLES = Analysis.NUM_ROWS  # The number of rows of a minibatch that tracing uses.

    @property
    def captures(self) -> list:
        return [capture for traced in self.traced for capture in traced.captures]

    def capture_values(self) -> list:
        """The values of the captures to feed now, read so that a GradientTape records them."""
        derived = self.derived.values()
        return [derived[id(c.source)] if c.derived else c.value() for c in self.captures]

    def program_attributes(self, inputs: dict) -> dict:
        """The attributes of ops, by name, that say which programs are compiled for these inputs."""
        partial = partial_inputs(self.pull_names, inputs)
        of_floats = [i for i, spec in enumerate(self.pull_specs) if spec.dtype.is_floating]
        return {
            "partial_pulls": list(partial),
            "partial_pull_grads": [k for k, i in enumerate(of_floats) if i in partial],
            "child_pulls": [i for i, name in enumerate(self.pull_names) if name in OF_CHILDREN],
            "vertex_functions": [function for function, _ in self.forward],
            "vertex_signatures": [signature for _, signature in self.forward],
            "gradient_functions": [function for function, _ in self.backward],
            "gradient_signatures": [signature for _, signature in self.backward],
        }

    def attributes(self, inputs: dict) -> dict:
        """The attributes of ops that run these functions with these inputs, by name."""
        captures = self.captures
        return {
            **self.program_attributes(inputs),
            "pull_shapes": [spec.shape for spec in self.pull_specs],
            "push_shapes": [spec.shape for spec in self.push_specs],
            "capture_shapes": [capture.shape for capture in captures],
            "capture_grad_types": [capture.dtype for capture in captures],
            "differentiable": [capture.differentiable for capture in captures],
            "Tpushes": [spec.dtype for spec in self.push_specs],
        }

    def runs_on_gpus(self, options) -> bool:
        """Whether GPUs run all operators, if there are GPUs that vertex functions run on."""
        if options.disable not in self.gpus_run:
            with tf.init_scope(), tf.device("CPU:0"):
                self.gpus_run[options.disable] = not may_run_on_gpus() or all(
                    node["gpus_run"]
                    for program in self.description({}, options)
                    for node in program["nodes"]
                )
        return self.gpus_run[options.disable]

    def description(self, inputs: dict, options) -> list[dict]:
        """The programs of F and then dF of every vertex type, as `CavsDescribe` describes them."""
        text = ops.cavs_describe(**self.program_attributes(inputs), **options.passes())
        return json.loads(text.numpy())

    def place_of_ops(self, options):
        """A scope for ops that run or describe these functions.

        They are on the CPU if GPUs do not run all operators, as if ops had no kernels for GPUs.
        """
        return contextlib.nullcontext() if self.runs_on_gpus(options) else tf.device("CPU:0")

    def pulled_rows(self, inputs: dict) -> list:
        """The number of rows of each input, by name; -1, one per vertex, if it is not given."""
        sources = {look_up.name: look_up.source for look_up in self.lookups}
        names = [sources.get(name, name) for name in self.pull_names]
        return [
            tf.shape(rows_of(inputs[name]), tf.int64)[0] if name in inputs else -1 for name in names
        ]

    def partial_vertices(self, inputs: dict) -> list:
        """For each input that only some vertices have, these vertices."""
        return [value.vertices for value in partial_inputs(self.pull_names, inputs).values()]

    def is_usable_in(self, graph) -> bool:
        """Whether all captured tensors can be read in `graph`, or eagerly if it is None."""
        reachable = set()
        while graph is not None:
            reachable.add(id(graph))
            graph = getattr(graph, "outer_graph", None)
        return all(
            capture.derived
            or capture.is_variable
            or not tf.is_symbolic_tensor(capture.source)
            or id(capture.source.graph) in reachable
            for capture in (*self.captures, *self.derived.sources)
        )


def make_functions(
    vertex_functions,
    arity,
    state,
    pulls,
    edge_pulls=frozenset(),
    variables=(),
    examples=None,
    decompose=True,
    look_up=True,
    pushes=None,
    others=(),
) -> Functions:
    """Traces vertex functions and their derivatives.

    Args:
      vertex_functions: One (name, callable) pair per vertex type.
      arity, state, pulls, edge_pulls, variables: As for `trace`.
      examples: The first rows of the inputs, by name, if they are known. Operators that must be
        tried and accept no invented values are tried with them.
      decompose, look_up: See `Options`.
      pushes: Names of the pushes that are wanted; None: all.
      others: `Functions` that were made before with the same arguments. If the vertex functions
        are traced as for one of these, it is returned: few depend on whether they are trained.

    Raises:
      ValueError: If a vertex function breaks a rule. The message says which.
    """
    with tf.init_scope():
        traced = [
            trace(name, fn, arity, state, pulls, edge_pulls, variables)
            for name, fn in vertex_functions
        ]
        for t in traced:
            t.pushes = {n: v for n, v in t.pushes.items() if pushes is None or n in pushes}
        fingerprints = [t.fingerprint() for t in traced]
        for other in others:
            if other.fingerprints == fingerprints:
                return other
        sources = [capture.source for t in traced for capture in t.captures]
        lookups = [found for t in traced for found in take_out_lookups(t)] if look_up else []
        looked_up = {found.name: found.source for found in lookups}
        edge_pulls |= {name for name, source in looked_up.items() if source in edge_pulls}
        analyses = [_analyse(t, examples, decompose) for t in traced]
        derived = DerivedValues()
        for t, analysis in zip(traced, analyses, strict=True):
            derived.take_out(t, analysis, analysis.outputs, differentiated=True)
            derived.remove_unread(t, analysis)
        push_names, push_specs = _merge_pushes(traced)
        read = GRAPH_INPUTS.intersection(name for t in traced for name in t.pulls)
        pulls = pulls | {name: graph_spec(name, arity) for name in sorted(read)}
        pulls |= {found.name: found.spec for found in lookups}
        # Ids that are only looked up are no longer pulled.
        unread = {s for s in looked_up.values() if not any(s in t.pulls for t in traced)}
        pulls = {name: spec for name, spec in pulls.items() if name not in unread}
        pull_names = list(pulls)
        float_pulls = [name for name in pull_names if pulls[name].dtype.is_floating]
        derivatives, error = [], ""
        try:
            derivatives = [
                differentiate(t, push_names, float_pulls, a, derived, decompose)
                for t, a in zip(traced, analyses, strict=True)
            ]
        except NoGradientError as missing:
            error = str(missing)
        derived.finish()
        forward = [
            _forward_function(
                t, analyses[i], push_names, pull_names, derivatives[i] if derivatives else None
            )
            for i, t in enumerate(traced)
        ]
        backward = [_backward_function(d) for d in derivatives]

    def partial_functions(wanted):
        # The forward functions are made, so no captures may be added to them.
        settled = [dataclasses.replace(t, captures=list(t.captures)) for t in traced]
        partial = [
            differentiate(
                t, push_names, float_pulls, a, derived, decompose, wanted
            ).reading_tape_of(d)
            for t, a, d in zip(settled, analyses, derivatives, strict=True)
        ]
        return [_backward_function(d) for d in partial] if all(partial) else None

    PartialDerivatives(partial_functions).attach(derivatives)
    return Functions(
        traced,
        forward,
        backward,
        error,
        push_names,
        push_specs,
        pull_names,
        [pulls[name] for name in pull_names],
        [looked_up.get(name, name) in t.pulled for name in pull_names for t in traced],
        [i for i, name in enumerate(pull_names) if name in edge_pulls],
        [i for i, n in enumerate(push_names) if any(n in t.edge_pushes for t in traced)],
        max(len(t.gathers) for t in traced),
        any(t.edges.used for t in traced),
        lookups,
        derived,
        fingerprints,
        sources,
    )


def _merge_pushes(traced):
    names, specs = [], []
    for vertex in traced:
        for name, value in vertex.pushes.items():
            spec = tf.TensorSpec(value.shape[1:], value.dtype)
            if name not in names:
                names.append(name)
                specs.append(spec)
            elif specs[names.index(name)] != spec:
                raise ValueError(
                    f"{vertex.name}: push {name!r} got rows of shape {spec.shape} "
                    f"({spec.dtype.name}) but expected {specs[names.index(name)].shape} "
                    f"({specs[names.index(name)].dtype.name}), as in another vertex function of "
                    "the model. Push the same kind of row, or under another name."
                )
    return names, specs


def _analyse(traced: TracedVertex, examples, decompose) -> Analysis:
    inputs = [(t, _inference.abstract_rows(t.shape[1:])) for t in (traced.ids, *traced.gathers)]
    inputs += [
        (t, _inference.abstract_rows(t.shape[1:], EDGES if name in traced.edge_pulls else VERTICES))
        for name, t in traced.pulls.items()
    ]
    edges = traced.edges
    inputs.append((edges.states, _inference.abstract_rows(edges.states.shape[1:], EDGES)))
    inputs.append((edges.rows, _inference.abstract_rows([], EDGES, owners=True)))
    outputs = [traced.scattered, *traced.pushes.values()]
    rows_seen = _as_values(traced, examples)
    analysis = Analysis(
        traced.name, traced.graph, inputs, outputs, traced.captures, examples=rows_seen
    )
    _check_results(traced, analysis)
    check_effects(traced.name, traced.graph, outputs)
    for replaced in rewritings(analysis, decompose):
        traced.scattered = replaced(traced.scattered)
        traced.pushes = {name: replaced(value) for name, value in traced.pushes.items()}
    analysis.fold()
    analysis.annotate()
    return analysis


def _as_values(traced, examples):
    """The rows of the minibatch by id of the placeholder; states and looked up rows are zeros."""
    looked_up = {name for name in traced.pulls if is_looked_up(name)}
    pulled = set(traced.pulls) - {GRAPH} - looked_up
    if not examples or pulled - examples.keys() or traced.edges.used:
        return None
    examples = examples | {GRAPH: np.zeros(Functions.EXAMPLES, np.int32)}
    values = {id(traced.pulls[name]): examples[name] for name in traced.pulls.keys() - looked_up}
    values[id(traced.ids)] = np.arange(Functions.EXAMPLES, dtype=np.int32)
    for tensor in (*traced.gathers, *(traced.pulls[name] for name in looked_up)):
        shape = [Functions.EXAMPLES, *tensor.shape[1:]]
        values[id(tensor)] = np.zeros(shape, tensor.dtype.as_numpy_dtype)
    return {key: lambda rows, value=value: tf.gather(value, rows) for key, value in values.items()}


def _check_results(traced, analysis):
    results = [("scatter", traced.scattered, VERTICES)]
    for name, value in traced.pushes.items():
        of_edges = name in traced.edge_pushes
        label = f"push_edge {name!r}" if of_edges else f"push {name!r}"
        results.append((label, value, EDGES if of_edges else VERTICES))
    for label, tensor, space in results:
        known = analysis.known(tensor)
        if known.kind is Kind.COUPLED:
            raise ValueError(_inference.coupled_message(traced.name, known))
        if known.kind is not Kind.ROWS:
            raise ValueError(
                f"{traced.name}: {label} got a tensor of shape {tensor.shape} that has no row per "
                "vertex but expected [None, ...]. Compute it from something pulled or gathered."
            )
        if known.space is EDGES and space is VERTICES:
            raise ValueError(
                f"{traced.name}: {label} got rows of edges but expected a row per vertex. Reduce "
                "them by sum_children(x), mean_children(x) or max_children(x), or set an output "
                "of edges by push_edge(x, name)."
            )
        if known.space is not space:
            raise ValueError(
                f"{traced.name}: {label} got rows of vertices but expected a row per edge. Compute "
                "it from children() or pull_edge(name), or give every edge the row of its vertex "
                "by to_children(x)."
            )
        if not _inference.is_numeric(tensor.dtype):
            raise ValueError(
                f"{traced.name}: {label} got a tensor of type {tensor.dtype.name} but expected "
                "numbers. Compute texts outside of the vertex function."
            )
        if known.declared_shape(tensor.dtype).rank is None:
            raise ValueError(
                f"{traced.name}: {label} got a tensor of shape {tensor.shape} but expected [None, "
                "...] with the rows first and sizes that are known when the function is traced. "
                "Transpose it, or give it a fixed size."
            )
        tensor.set_shape(known.declared_shape(tensor.dtype))


def _forward_function(traced, analysis, push_names, pull_names, derivative: Derivative | None):
    inputs = [("vertex_ids", traced.ids)]
    inputs += [(f"gather:{k}", t) for k, t in enumerate(traced.gathers)]
    if traced.edges.used:
        inputs += [("children", traced.edges.states), ("edge_rows", traced.edges.rows)]
    inputs += [(f"pull:{pull_names.index(n)}", t) for n, t in traced.pulls.items()]
    inputs += [(f"capture:{i}", c.placeholder) for i, c in enumerate(traced.captures)]
    outputs = [("scatter", traced.scattered)]
    outputs += [(f"push:{push_names.index(n)}", t) for n, t in traced.pushes.items()]
    if derivative is not None:
        outputs += [(f"saved:{i}", t) for i, t in enumerate(derivative.saved)]
    return _concrete(traced.graph, inputs, outputs, analysis)


def _backward_function(derivative: Derivative):
    return _concrete(derivative.graph, derivative.inputs, derivative.outputs, derivative.analysis)


def _concrete(graph, inputs, outputs, analysis):
    """A TensorFlow function, and its signature: the roles of its arguments and results."""
    for _, tensor in inputs:
        analysis.annotate_operation(tensor.op)
    graph.inputs = [t for _, t in inputs]
    graph.outputs = [t for _, t in outputs]
    signature = "->".join(",".join(role for role, _ in side) for side in (inputs, outputs))
    return concrete_function.ConcreteFunction.from_func_graph(graph, None, {}), signature
