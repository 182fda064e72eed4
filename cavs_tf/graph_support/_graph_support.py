"""The layer that runs a vertex function over graphs.

Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.1.
"""

import inspect
import types

import keras
import tensorflow as tf

from cavs_tf._inputs.initial_state import check_initial_state, initial_rows
from cavs_tf._inputs.inputs import (
    CHILD_MASK,
    DEFAULT,
    GRAPH_INPUTS,
    IDS,
    INITIAL_STATE,
    STATES,
    as_graph_batch,
    check_rows,
    check_shapes,
    chosen_pushes,
    first_rows,
    graph_rows,
    key_of,
    name_inputs,
    row_specs,
    unnamed,
    vertices_to_return,
    with_floats_as,
    with_tensors,
)
from cavs_tf._inputs.keras_private import (
    AutocastScope,
    SelfContained,
    asks_for_shapes,
    compute_output_spec,
    default,
    forgotten_on_failure,
    in_stateless_scope,
    in_users_code,
    is_default,
    outside_of_functions,
)
from cavs_tf._inputs.variables import adopt, track
from cavs_tf._native.library import ops
from cavs_tf._running.evaluation import evaluator
from cavs_tf._running.forward import run_forward
from cavs_tf._running.trace_cache import Known, TraceCache
from cavs_tf._tracing.first_run import first_run
from cavs_tf._tracing.functions import Functions, make_functions
from cavs_tf._tracing.surroundings import Surroundings
from cavs_tf._tracing.trace import current_vertex, in_vertex_function
from cavs_tf._values.integers import is_int
from cavs_tf.graph_support._extension import extension_of, rows_of_new, with_given_states
from cavs_tf.graph_support._shapes import shapes_by_call, state_shape_of, zero_outputs
from cavs_tf.graph_support._vertex_methods import VertexMethods
from cavs_tf.graphs._micro_batches import choose_micro_batch
from cavs_tf.graphs._options import Options

_OF_CLASS = "class"  # The default of `arity`, where None has a meaning; Keras saves strings.
_DTYPES = ("float32", "float64", "bfloat16", "float16")  # The dtypes that a state may have.
# Methods that a subclass may have itself.
_OVERRIDDEN = ("vertex", "call", "build", "compute_output_shape", "compute_output_spec")
_OVERRIDDEN += ("get_config", "from_config", "get_build_config", "build_from_config")
_OVERRIDDEN += ("load_own_variables", "save_own_variables")
# The types of attributes that a subclass may set, but not use for something else.
_ATTRIBUTES = types.MappingProxyType(
    {"options": Options, "_cache": TraceCache, "_state_shape": tuple, "_casts_inputs": bool}
)


class GraphSupport(VertexMethods, SelfContained):
    """A dynamic network: one vertex function F, run for every vertex of every graph.

    A call gives what this loop gives, in far fewer and larger steps:

        for v in topological_order:  # Children come before their parents.
            state[v], out[v] = F(x[v], [state[c] for c in children[v]])

    Subclass it, say how many children a vertex may have (`arity`) and how large its state is, and
    write F as the method `vertex`: it reads x[v] by `pull` and the states of the children by
    `gather` or `children`, and sets state[v] by `scatter` and out[v] by `push`. Inside, tensors
    have a leading row dimension, [None, ...], and every row must be computed by itself; any
    TensorFlow operator or Keras layer that does so is allowed. The function is traced once,
    whatever the graphs; and again if something that it sees has changed since: an attribute, a
    layer, a closure, a global (docs/how/tensorflow.md says what is seen).

    It is a Keras layer. Its weights are the weights of the layers and variables that it holds or
    that its vertex functions read, a plain `tf.Variable` too. Layers that it holds are built
    the first time it is called.

    For several vertex types, set `vertex_types` to the names of several methods; the type
    of a vertex is an index into them. They share one state.

    Args:
      state_size: Elements of one vertex's state, or its shape.
      arity: The largest number of children of a vertex, or None: any number, for functions that
        call `children`. The default, "class", is the class's `arity`.
      options: An `Options`.
      **kwargs: Arguments of `keras.layers.Layer`. The state has the compute dtype of `dtype`:
        float32, float64, bfloat16 or float16. Floating-point inputs are cast to it, as by other
        layers, unless `autocast` is False.

    Example:
    >>> from cavs_tf import GraphBatch
    >>> class TreeSum(GraphSupport):
    ...     arity = 2
    ...     def vertex(self):
    ...         total = self.pull() + self.gather(0) + self.gather(1)
    ...         self.scatter(total)
    ...         self.push(total)
    >>> graphs = GraphBatch.from_children([[[], [], [0, 1]], [[]]])
    >>> TreeSum(state_size=1)(graphs, tf.constant([[1.0], [2.0], [3.0], [4.0]])).numpy()
    array([[1.],
           [2.],
           [6.],
           [4.]], dtype=float32)
    """

    arity = 0
    vertex_types = ("vertex",)
    _reserved = frozenset()  # The names of methods that a subclass may not hide.
    _default_pushes = None  # The names of the pushes that a call returns; None: all.

    def __init__(self, state_size, arity=_OF_CLASS, options=None, **kwargs):
        autocast = kwargs.pop("autocast", True)
        # `_prepared` casts, as vertex functions are evaluated apart from calls.
        super().__init__(autocast=False, **kwargs)
        self._casts_inputs = autocast
        self.state_size = state_size
        if self.compute_dtype not in _DTYPES:
            raise ValueError(
                f"dtype: got {self.compute_dtype!r} but expected one of {', '.join(_DTYPES)}, or a "
                "policy that computes in one of them. Inputs may have any type."
            )
        if arity != _OF_CLASS:
            self.arity = int(arity) if is_int(arity) else arity
        if self.arity is not None and (type(self.arity) is not int or self.arity < 0):
            raise ValueError(
                f"arity: got {self.arity!r} but expected an integer of at least 0, the largest "
                "number of children of a vertex, or None: any number."
            )
        if isinstance(options, dict):  # It comes from a config.
            options = Options(**options)
        if not isinstance(options, (Options, type(None))):
            raise ValueError(
                f"options: got {options!r} but expected an Options. Write cavs_tf.Options(...)."
            )
        self.options = Options() if options is None else options
        self.supports_jit = False  # XLA cannot compile custom ops.
        self._state_shape = state_shape_of(state_size)
        self._cache = TraceCache()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        ours = [base for base in cls.__mro__ if base.__module__.startswith("cavs_tf.")]
        cls._reserved = frozenset().union(*map(_methods_of, ours))
        for name, value in {} if cls in ours else vars(cls).items():
            if name.startswith("_"):  # Users choose to override a method that is documented.
                cls._check_name(name, value)

    @classmethod
    def _check_name(cls, name, value):
        """Raises ValueError if an attribute would hide a method of a class of this package."""
        if name in cls._reserved:
            raise ValueError(
                f"{name}: got {type(value).__name__} as an attribute of {cls.__name__} but "
                "expected another name, as a GraphSupport has a method of this name. Rename it."
            )

    def __setattr__(self, name, value):
        self._check_name(name, value)
        kind = _ATTRIBUTES.get(name, object)
        if not isinstance(value, kind):
            raise ValueError(
                f"{name}: got {type(value).__name__} as an attribute of {type(self).__name__} but "
                f"expected {kind.__name__}, as a GraphSupport has an attribute of this name. "
                "Rename yours."
            )
        super().__setattr__(name, value)
        if isinstance(value, tf.Variable):
            self._track_variable(adopt(value))

    # --- called with graphs ---------------------------------------------------

    @tf.autograph.experimental.do_not_convert
    def __call__(self, graphs, inputs=None, **kwargs):
        # Arguments go by name, since Keras accepts only tensors by position. A `call` that is
        # overridden need not take arguments that are None, the default.
        kwargs = {name: value for name, value in kwargs.items() if value is not None}
        return super().__call__(graphs=graphs, inputs=with_tensors(inputs), **kwargs)

    def call(
        self,
        graphs,
        inputs=None,
        training=None,
        at=None,
        initial_state=None,
        pushes=None,
        redraw_dropout=True,
    ):
        """Evaluates every vertex of every graph.

        Args:
          graphs: A `GraphBatch` with V vertices, or its `to_dict()`. If it carries a
            schedule, that is used as it is: `policy` and `micro_batch` of the options are for
            graphs without one. Pass them to `data.batch` or `with_schedule` instead.
          inputs: External inputs, [V, ...] in vertex order: a tensor, or a dict by name. With
            several vertex types an input may also be [n, ...]: a row for each of the n
            vertices whose type pulls it, still in vertex order.
          training: Passed on to Keras layers in the vertex function, as Keras does.
          at: Integers [n], distinct: the vertices whose outputs are wanted, `graphs.roots` for
            example. None: all. This is faster than to pick rows afterwards.
          initial_state: [B, *state_size], a row for each graph, which its vertices without children
            gather from their first slot. The first vertex of a decoder takes the last state of an
            encoder, which pushed it, so. None: zeros.
          pushes: Names of the pushes that are wanted. Others are neither returned nor computed.
            None: all.
          redraw_dropout: Whether `dropout` draws a new mask, as it does for every call in training,
            or drops the same as in the last call.

        Returns:
          The outputs: rows that `push` set, [V, ...] in vertex order, or [n, ...] in the order of
          `at`; rows that `push_edge` set, [E, ...], one for each of the E edges. A tensor, or a
          dict by name.

        Raises:
          ValueError, tf.errors.InvalidArgumentError: If the inputs do not fit the graphs,
            or the vertex function breaks a rule.

        Example:
        >>> from cavs_tf import GraphBatch, vertex_function
        >>> @vertex_function(state_size=1, arity=1)
        ... def running_sum(v):
        ...     total = v.pull() + v.gather(0)
        ...     v.scatter(total)
        ...     v.push(total)
        >>> chains = GraphBatch.chain([2, 1])
        >>> running_sum(chains, tf.ones([3, 1]), initial_state=[[10.0], [20.0]]).numpy()
        array([[11.],
               [12.],
               [21.]], dtype=float32)
        """
        if in_vertex_function():
            raise ValueError(
                f"{self.name}: got a call in the vertex function of "
                f"{current_vertex('call').owner.name!r} but expected one outside, as it computes "
                "whole graphs. Call it before, and pull what it returns."
            )
        if initial_state is not None:
            inputs = self._with_initial_state(graphs, inputs, initial_state)
        if pushes is None:
            pushes = self._default_pushes
        if asks_for_shapes():
            return self._zeros(graphs, inputs, at, pushes)
        if in_stateless_scope():
            raise NotImplementedError(
                f"{self.name}: got a call in a StatelessScope but expected one that reads the "
                "layer's own variables. Call the model itself instead of stateless_call."
            )
        graphs = as_graph_batch(graphs)
        evaluate = evaluator(self.name)
        pulls, known = self._prepared(graphs, inputs)
        if evaluate is not None:
            return evaluate(self, graphs, pulls, at, pushes)
        at = vertices_to_return(at)
        functions = self._functions_for(known, pulls, training, pushes)
        if training and redraw_dropout and self._seed_generator is not None:
            self._seed_generator.next()
        schedule = self._schedule_of(graphs, pulls, at)
        self._check_pushed(functions.push_names)
        for look_up in functions.lookups:
            pulls[look_up.name] = look_up.rows(pulls, graphs.num_vertices)
        for name in GRAPH_INPUTS.intersection(functions.pull_names).difference(pulls):
            pulls[name] = _graph_rows(name, graphs, self.arity)
        return unnamed(run_forward(functions, schedule, pulls, self.options, at))

    @tf.autograph.experimental.do_not_convert
    def extend(
        self,
        states,
        children,
        inputs=None,
        vertex_type=None,
        *,
        training=None,
        pushes=None,
        vertex_ids=None,
        vertex_graph=None,
        redraw_dropout=True,
    ):
        """Evaluates new vertices of graphs that grow: structures that values decide.

        Several calls give the numbers that one call with all vertices gives, and the gradients of
        weights, inputs and `states`. So a loop, or a `tf.while_loop`, may read values, choose the
        next vertices and go on, under one tape. States that no new vertex gathers cost nothing.

        Args:
          states: [n, *state_size], the states of vertices that exist, as this method returned
            them, in any order. None: there are none.
          children: The children of each of m new vertices: lists, a RaggedTensor [m, (slots)], or
            a tensor [m, slots]. An id below n is a row of `states`; n + i is new vertex i, in any
            order without cycles; -1 is a missing child.
          inputs: Rows of the new vertices, as for a call with them alone.
          vertex_type: Integers [m], the types of the new vertices. None: all are of type 0.
          training: As for a call.
          pushes: As for a call.
          vertex_ids: Integers [m], the numbers of the new vertices, for `vertex_ids()` and
            `dropout`. None: n + i for new vertex i.
          vertex_graph: Integers [m], the graph of each new vertex, for `dropout(rows="graph")`.
            None: all are of one graph.
          redraw_dropout: False in all calls but the first if they are to drop the same as one
            call with these numbers of vertices.

        Returns:
          (outputs, states): the outputs of the new vertices, [m, ...], as a call returns them, or
          {} if they push nothing; and their states, [m, *state_size].

        Raises:
          ValueError, tf.errors.InvalidArgumentError: If the arguments do not fit together; the
            message names vertex and child.

        Example:
        >>> from cavs_tf import vertex_function
        >>> @vertex_function(state_size=1, arity=2)
        ... def tree_sum(v):
        ...     total = v.pull() + v.gather(0) + v.gather(1)
        ...     v.scatter(total)
        ...     v.push(total)
        >>> _, states = tree_sum.extend(None, [[], []], tf.constant([[1.0], [2.0]]))
        >>> total, more = tree_sum.extend(states, [[0, 1], [2, 0]], tf.constant([[3.0], [4.0]]))
        >>> total.numpy()
        array([[ 6.],
               [11.]], dtype=float32)
        >>> tf.concat([states, more], 0).shape
        TensorShape([4, 1])
        """
        if type(self).call is not GraphSupport.call:
            raise ValueError(
                f"extend: got a call of {type(self).__name__}, which overrides it, but expected "
                "that of GraphSupport. Compute in the vertex function, or before extend, what the "
                "method adds."
            )
        graphs, inputs = extension_of(
            self, states, children, inputs, vertex_type, vertex_ids, vertex_graph
        )
        wanted = self._default_pushes if pushes is None else pushes
        outputs = self(
            graphs,
            inputs,
            training=training,
            at=inputs[IDS].vertices,
            pushes=None if wanted is None else [*wanted, STATES],
            redraw_dropout=redraw_dropout,
        )
        own = {name: rows for name, rows in outputs.items() if name != STATES}
        return unnamed(own), outputs[STATES]

    @tf.autograph.experimental.do_not_convert
    def extension(
        self,
        states,
        children,
        inputs=None,
        vertex_type=None,
        vertex_ids=None,
        vertex_graph=None,
    ):
        """The graphs and inputs that `extend` calls the model with, for tools that take them.

        Args:
          states, children, inputs, vertex_type, vertex_ids, vertex_graph: As for `extend`.

        Returns:
          (graphs, inputs): a graph of the new vertices and of their children that exist, and the
          inputs of both. A call with them also returns the new states, by the name ".states".
          `cavs_tf.explain`, `cavs_tf.predict_memory` and `cavs_tf.reference.run` take them too.

        Example:
        >>> from cavs_tf import vertex_function
        >>> @vertex_function(state_size=1, arity=1)
        ... def running_sum(v):
        ...     v.scatter(v.pull() + v.gather(0))
        >>> graphs, inputs = running_sum.extension([[5.0]], [[0]], [[1.0]])
        >>> graphs
        GraphBatch(num_graphs=1, num_vertices=2, num_edges=1, arity=1, depth=1)
        >>> running_sum(graphs, inputs, at=[0])[".states"].numpy()
        array([[6.]], dtype=float32)
        """
        graphs, inputs = extension_of(
            self, states, children, inputs, vertex_type, vertex_ids, vertex_graph
        )
        pulls, _ = self._prepared(graphs, inputs)
        return graphs, pulls

    # --- for the reference executor, explain() and plots -------------------------

    @property
    def state_shape(self) -> tuple:
        """The shape of one vertex's state."""
        return self._state_shape

    def _vertex_functions(self) -> list:
        """A list of (name, function), one per vertex type."""
        for name in self.vertex_types:
            if not callable(getattr(self, name, None)):
                raise ValueError(
                    f"vertex_types: got {name!r} but expected names of methods. Write a method "
                    f"{name}(self) of {type(self).__name__} that computes such a vertex."
                )
        return [
            (f"{type(self).__name__}.{name}", getattr(self, name)) for name in self.vertex_types
        ]

    def _evaluated_functions(self, pulls) -> list:
        """The functions that a call with such inputs evaluates, as pairs (name, function) by type.

        In mixed precision vertex functions cast weights wherever they are called.
        """
        dtype = None if self.compute_dtype == self.variable_dtype else self.compute_dtype

        def cast(function):
            def evaluate():
                current_vertex("vertex").owner = self
                with AutocastScope(dtype):
                    function()

            return evaluate

        functions = [(name, cast(function)) for name, function in self._vertex_functions()]
        return with_given_states(functions, pulls)

    def _schedule_of(self, graphs, pulls=None, at=None):
        """The schedule that a call runs: the attached one, if there is one.

        `pulls`, by name, and `at` matter to `micro_batch="auto"`: see `choose_micro_batch`.
        """
        if graphs.attached_schedule is not None:
            return graphs.attached_schedule
        num_types, options = len(self.vertex_types) + (STATES in (pulls or ())), self.options
        micro_batch = options.micro_batch
        if micro_batch == "auto":
            micro_batch, _ = self._choose_micro_batch(graphs, pulls, at)
        arity, edges = self.arity, self.arity is None
        functions = self._cache.last
        if functions is not None:
            arity, edges = functions.arity, functions.reads_edges
        return graphs.schedule(arity or 0, num_types, options.policy, micro_batch, edges)

    def _choose_micro_batch(self, graphs, pulls=None, at=None) -> tuple:
        """Resolves `micro_batch="auto"`: see `_micro_batches.choose_micro_batch`."""
        functions = self._cache.last
        if functions is None:
            raise ValueError(
                f"{self.name}: got micro_batch='auto' before any call but expected one: what a "
                "vertex takes is not known yet. Call the model, or explain() with inputs, first."
            )
        return choose_micro_batch(graphs, functions, self.options, pulls, at)

    def _with_initial_state(self, graphs, inputs, initial_state) -> dict:
        """External inputs by name, with the initial state as one more."""
        state = check_initial_state(
            initial_state, self.arity, self._state_shape, self.compute_dtype
        )
        rows = state if asks_for_shapes() else initial_rows(as_graph_batch(graphs), state)
        return name_inputs(inputs) | {INITIAL_STATE: rows}

    def _prepared(self, graphs, inputs) -> tuple[dict, Known]:
        """External inputs by name, checked, and the `Known` of calls with them.

        This makes the weights. `graphs` are None if only shapes are wanted.
        """
        pulls = name_inputs(inputs)
        if self._casts_inputs:
            pulls = with_floats_as(self.compute_dtype, pulls)
        known = self._known(pulls)
        if graphs is not None:
            if STATES in pulls:
                pulls = rows_of_new(pulls, known, graphs.vertex_type)
            check_rows(graphs, pulls, len(known.pulled), known.edge_pulls)
        return pulls, known

    def _zeros(self, graphs, inputs, at=None, pushes=None):
        """Zeros of the shapes that a call returns."""
        _, known = self._prepared(None, inputs)
        self._check_pushed(known.pushed)
        pushed = chosen_pushes(known.pushed, pushes)
        return unnamed(zero_outputs(pushed, known.edge_pushes, graphs, at))

    def _check_pushed(self, names) -> None:
        if not names:
            raise ValueError(
                f"{self.name}: got no push but expected at least one. Call self.push(value) with "
                "what the GraphSupport is to return for a vertex."
            )

    # --- traces -----------------------------------------------------------------

    def _functions_for(self, known, pulls, training=None, pushes=None) -> Functions:
        """The traced functions for calls with such inputs, which have this `Known`."""
        pushes = frozenset(chosen_pushes(known.pushed, pushes))
        kind = (training, self.options.does("decompose"), self.options.does("look_up"), pushes)
        with self._cache.lock, in_users_code():
            return self._cache.functions_of(
                known, kind, lambda: self._trace(known, pulls, kind), self._surroundings
            )

    def _trace(self, known, pulls, kind) -> Functions:
        _, decompose, look_up, pushes = kind
        read = frozenset().union(*known.pulled)
        return make_functions(
            self._evaluated_functions(pulls),
            self.arity,
            tf.TensorSpec(self._state_shape, self.compute_dtype),
            {n: spec for n, spec in row_specs(pulls).items() if n not in GRAPH_INPUTS or n in read},
            known.edge_pulls,
            [variable.value for variable in self.variables],
            first_rows(pulls, Functions.EXAMPLES),
            decompose,
            look_up,
            pushes,
            [made for other, made in known.functions.items() if other[1:] == kind[1:]],
        )

    def _surroundings(self) -> Surroundings:
        read = ("dtype_policy", "state_shape", "arity", "vertex_types")
        return Surroundings(self._vertex_functions(), GraphSupport, read)

    def _known(self, pulls) -> Known:
        """The cache entry for such inputs. Without one, vertex functions are run to make it."""
        specs = row_specs(pulls)
        key = (key_of(specs), keras.config.floatx())
        with self._cache.lock:
            known = self._cache.find(key)
            if known is None:
                state = tf.TensorSpec(self._state_shape, self.compute_dtype)
                with in_users_code():
                    functions = self._evaluated_functions(pulls)
                    findings, reads = first_run(functions, pulls, state, self.arity)
                    track(self, reads.as_keras_variables())
                known = self._cache.find(key)
            if known is None:
                self._cache.built_for = {n: s for n, s in specs.items() if n != INITIAL_STATE}
                known = Known(key, self._surroundings(), **findings)
                self._cache.add(known, self.name)
            return known

    # --- for Keras ----------------------------------------------------------------

    @default  # Keras then still takes the arguments of a class without a `get_config` by itself.
    def get_config(self) -> dict:
        """The config of a Keras layer; `arity`, `options`, `autocast` unless they are default."""
        config = super().get_config()
        if self.arity != type(self).arity:
            config["arity"] = self.arity
        if self.options != Options():
            config["options"] = self.options.config()
        if not self._casts_inputs:
            config["autocast"] = False
        return config

    @classmethod
    def from_config(cls, config):
        """Makes a GraphSupport from a config; its `__init__` may set arity and options itself."""
        config = dict(config)
        options, autocast = config.pop("options", None), config.pop("autocast", None)
        of_init = inspect.signature(cls.__init__).parameters
        arity = {"arity": config.pop("arity")} if "arity" in config.keys() - of_init else {}
        cell = super().from_config(config)
        for name, value in arity.items():
            setattr(cell, name, value)
        if autocast is not None:
            cell._casts_inputs = autocast
        if options is not None:
            cell.options = Options(**options)
        return cell

    def compute_output_shape(
        self,
        graphs_shape=None,
        inputs_shape=None,
        at_shape=None,
        initial_state_shape=None,
        **others,
    ):
        """The shapes of the outputs of a call. This makes the weights.

        Args:
          graphs_shape: The shapes of `GraphBatch.to_dict()`, or None.
          inputs_shape: [V, ...], a dict by name, or a pair for `VertexRows`.
          at_shape, initial_state_shape: The shapes of these arguments of a call, or None.

        Raises:
          NotImplementedError: If there are shapes of other arguments.
        """
        check_shapes(others)
        self._build_for(inputs_shape)
        return shapes_by_call(self, self, graphs_shape, inputs_shape, at_shape, initial_state_shape)

    def _build_for(self, shapes) -> None:
        """Calls `build`, if a subclass has one, to make weights, and notes what they are for."""
        if self.built or is_default(self.build):
            return
        by_name = "inputs_shape" in inspect.signature(self.build).parameters
        with outside_of_functions():
            self.build(inputs_shape=shapes) if by_name else self.build(shapes)
        if (
            self._cache.built_for is None
            and isinstance(shapes, (tuple, list))
            and isinstance(shapes[-1], int)
        ):
            row = tf.TensorSpec(shapes[1:], self.compute_dtype)
            self._cache.built_for = {DEFAULT: row}  # Until there is a call.

    def get_build_config(self) -> dict | None:
        """The shape and dtype of a row of each input that the layer was built for."""
        specs = self._cache.built_for
        if specs is None:
            return None
        return {"inputs": {n: [list(s.shape), s.dtype.name] for n, s in specs.items()}}

    def build_from_config(self, config) -> None:
        """Makes the weights, before the weights of a saved model are loaded."""
        if not config or self.built:
            return
        specs = {name: tf.TensorSpec(*spec) for name, spec in config["inputs"].items()}
        rows = {n: keras.KerasTensor((None, *s.shape), s.dtype.name) for n, s in specs.items()}
        shapes = unnamed({name: row.shape for name, row in rows.items()}) if rows else None
        self._build_for(shapes)
        # This builds inner layers without a call, which would add a node to a functional model.
        splits = keras.KerasTensor((None,), "int32")
        with forgotten_on_failure():
            compute_output_spec(self.call, graphs={"child_splits": splits}, inputs=rows or None)
        if not self.built:
            self.build(shapes)


def _graph_rows(name: str, graphs, arity: int | None) -> tf.Tensor:
    """The rows of one of GRAPH_INPUTS."""
    if name == CHILD_MASK:
        return ops.cavs_child_mask(graphs.child_splits, graphs.child_ids, arity=arity)
    return graph_rows(name, graphs, arity)


def _methods_of(base) -> set:
    """The names of the methods and properties of a class that its subclasses may not hide."""
    kinds = (types.FunctionType, property, classmethod, staticmethod)
    methods = {name for name, value in vars(base).items() if isinstance(value, kinds)}
    return {name for name in methods.difference(_OVERRIDDEN) if not name.startswith("__")}
