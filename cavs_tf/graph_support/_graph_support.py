"""The vertex function and the layer that runs it over graphs.

Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.1 (gather, scatter, pull, push).
"""

import dataclasses
import inspect
import operator
import types
from collections.abc import Iterable

import keras
import tensorflow as tf

from cavs_tf._inputs.edges import PlainEdges
from cavs_tf._inputs.initial_state import check_initial_state, initial_rows
from cavs_tf._inputs.inputs import (
    CHILD_MASK,
    DEFAULT,
    GRAPH,
    IDS,
    INITIAL_STATE,
    NUM_CHILDREN,
    OWN_INPUTS,
    READ_INPUTS,
    STATES,
    as_graph_batch,
    check_rows,
    check_shapes,
    chosen_pushes,
    first_rows,
    key_of,
    name_inputs,
    own_rows,
    own_spec,
    row_specs,
    rows_of,
    symbolic_graphs,
    symbolic_rows,
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
    in_symbolic_scope,
    in_training,
    in_users_code,
    is_default,
)
from cavs_tf._inputs.variables import Reads, add_state, adopt, check_reads, recorded_reads, track
from cavs_tf._native.library import ops
from cavs_tf._running.evaluation import evaluator
from cavs_tf._running.forward import run_forward
from cavs_tf._running.trace_cache import Known, TraceCache
from cavs_tf._tracing.functions import Functions, make_functions
from cavs_tf._tracing.surroundings import Surroundings
from cavs_tf._tracing.trace import Slots, Vertex, current_vertex
from cavs_tf._values.integers import length, number_of_lists
from cavs_tf._values.wide_sums import widened
from cavs_tf.graph_support._extension import (
    checked_states,
    child_lists,
    extension_of,
    own_inputs,
    rows_of_new,
    with_given_states,
)
from cavs_tf.graphs._micro_batches import choose_micro_batch
from cavs_tf.graphs._options import Options

_OF_CLASS = object()  # The default of an argument, where None has a meaning.
# Methods that a subclass may have itself.
_OVERRIDDEN = ("vertex", "call", "build", "compute_output_shape", "compute_output_spec")
_OVERRIDDEN += ("get_config", "from_config", "get_build_config", "build_from_config")
_OVERRIDDEN += ("load_own_variables", "save_own_variables")
_MOST_SLOTS = 64  # Slots from which a vertex function may gather if its arity is None.


class GraphSupport(SelfContained):
    """A dynamic network: one vertex function, run for every vertex of every graph.

    Subclass it, say how many children a vertex may have (`arity`) and how large its state
    is, and write `vertex`: what one vertex computes. Inside, tensors have a leading row
    dimension, [None, ...], and every row must be computed by itself; any TensorFlow
    operator or Keras layer that does so is allowed. The function is traced once, whatever
    the graphs; and again if something that it sees has changed since: an attribute, a layer,
    a closure, a global (docs/how/tensorflow.md says what is seen).

    It is a Keras layer. Its weights are those of the layers and variables that it holds or
    that its vertex functions read, a plain `tf.Variable` too. Layers that it holds are built
    the first time it is called.

    For several vertex types, set `vertex_types` to the names of several methods; the type
    of a vertex is an index into them. They share one state.

    Args:
      state_size: Elements of one vertex's state, or its shape.
      arity: The largest number of children of a vertex, or None: any number, for functions that
        read `children()`. The default is the class's `arity`.
      options: An `Options`.
      **kwargs: Arguments of `keras.layers.Layer`; `dtype` (or its compute dtype) is the state's:
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
    _dropout_seed = None  # The next of Keras's seeds.
    _reserved = frozenset()  # The names of methods that a subclass may not hide.
    _default_pushes = None  # The names of the pushes that a call returns; None: all.

    def __init__(self, state_size, arity=_OF_CLASS, options=None, **kwargs):
        autocast = kwargs.pop("autocast", True)
        # `_check_inputs` casts, as vertex functions are evaluated apart from calls.
        super().__init__(autocast=False, **kwargs)
        self._casts_inputs = autocast
        self.state_size = state_size
        if arity is not _OF_CLASS:
            self.arity = arity
        if self.arity is not None and (not isinstance(self.arity, int) or self.arity < 0):
            raise ValueError(
                f"arity: got {self.arity!r} but expected an integer of at least 0, the largest "
                "number of children of a vertex, or None: any number."
            )
        if isinstance(options, dict):  # Of a config.
            options = Options(**options)
        if not isinstance(options, (Options, type(None))):
            raise ValueError(
                f"options: got {options!r} but expected an Options. Write cavs_tf.Options(...)."
            )
        self.options = Options() if options is None else options
        self.supports_jit = False  # XLA cannot compile custom ops.
        self._seed_generator = None  # Of dropout; made when it is first called.
        self._state_shape = _checked_shape(state_size)
        self._cache = TraceCache()

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        ours = [base for base in cls.__mro__ if base.__module__.startswith("cavs_tf.")]
        cls._reserved = frozenset().union(*map(_methods_of, ours))
        for name, value in {} if cls in ours else vars(cls).items():
            if name.startswith("_"):  # To override what is documented is a choice.
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
        super().__setattr__(name, value)
        if isinstance(value, tf.Variable):
            self._track_variable(adopt(value))

    # --- inside a vertex function ---------------------------------------------

    def vertex(self) -> None:
        """Computes one vertex; to be overridden. Calls `scatter` exactly once."""
        raise NotImplementedError(
            f"{type(self).__name__}.vertex: expected a method that computes one vertex. "
            "Override it."
        )

    def gather(self, slot: int) -> tf.Tensor:
        """The state that child number `slot` scattered; zeros where there is no such child.

        With an `initial_state`, a vertex without any child gathers that from slot 0.

        Args:
          slot: In [0, arity).

        Returns:
          [None, *state_size].

        Raises:
          ValueError: If `slot` is out of range.
        """
        vertex = self._vertex("gather")
        most = _MOST_SLOTS if self.arity is None else self.arity
        if not isinstance(slot, int) or not 0 <= slot < most:
            raise ValueError(
                f"gather: got slot {slot!r} but expected one in [0, {most}). Raise the arity of "
                "the GraphSupport if vertices have more children, or read them all by children()."
            )
        return vertex.child_state(slot)

    def gather_all(self) -> tf.Tensor:
        """The states of all children, as of `gather`: [None, arity, *state_size]."""
        vertex = self._vertex("gather_all")
        if not self.arity:
            raise ValueError(
                f"gather_all: got arity {self.arity} but expected at least 1. Set `arity` to the "
                "largest number of children of a vertex, or call children()."
            )
        return tf.stack([vertex.child_state(slot) for slot in range(self.arity)], axis=1)

    def children(self) -> tf.Tensor:
        """The states that all children scattered: a row for each edge.

        The edges of a vertex lead to its children, in their order, without missing ones; so a
        vertex may have any number of them. Rows of edges are computed like rows of vertices, each
        by itself, and meet those of vertices by `to_children` and `sum_children` only.

        Returns:
          [edges, *state_size].

        Example (Tai et al. 2015, arXiv:1503.00075, section 3.1: a sum over any number of children):
        >>> from cavs_tf import GraphBatch
        >>> @vertex_function(state_size=1, arity=None)
        ... def tree_sum(v):
        ...     total = v.pull() + v.sum_children(v.children())
        ...     v.scatter(total)
        ...     v.push(total)
        >>> star = GraphBatch.from_parents([[3, 3, 3, -1]])
        >>> tree_sum(star, tf.constant([[1.0], [2.0], [3.0], [4.0]])).numpy().ravel()
        array([ 1.,  2.,  3., 10.], dtype=float32)
        """
        return self._edges("children").states

    def to_children(self, x: tf.Tensor) -> tf.Tensor:
        """Gives every edge the row of its vertex, the parent.

        Args:
          x: [None, ...], rows of vertices.

        Returns:
          [edges, ...], rows of edges.
        """
        return self._edges("to_children").spread(tf.convert_to_tensor(x))

    def sum_children(self, x: tf.Tensor) -> tf.Tensor:
        """The sum over the edges of each vertex, in the order of its children.

        Args:
          x: [edges, ...], rows of edges, floating-point.

        Returns:
          [None, ...], rows of vertices; zeros without children.

        Raises:
          ValueError: If `x` is not floating-point.
        """
        return self._edges("sum_children").sum(_floats("sum_children", x))

    def mean_children(self, x: tf.Tensor) -> tf.Tensor:
        """The mean over the edges of each vertex; else as `sum_children`."""
        x = _floats("mean_children", x)
        total = self._edges("mean_children").sum(widened(x))
        count = tf.cast(tf.maximum(self.num_children(), 1), total.dtype)
        return tf.cast(total / tf.reshape(count, [-1] + [1] * (x.shape.rank - 1)), x.dtype)

    def max_children(self, x: tf.Tensor) -> tf.Tensor:
        """The largest element over the edges of each vertex; zeros without children.

        Children with equal elements share the gradient. Else as `sum_children`.
        """
        return self._edges("max_children").max(_floats("max_children", x))

    def softmax_children(self, x: tf.Tensor) -> tf.Tensor:
        """Softmax over the edges of each vertex: attention.

        Args:
          x: [edges, ...], rows of edges, floating-point.

        Returns:
          [edges, ...]: positive numbers that add up to 1 over the edges of each vertex.

        Raises:
          ValueError: If `x` is not floating-point.

        Example (a mean of the children's states, weighed by attention):
        >>> @vertex_function(state_size=4, arity=None)
        ... def cell(v):
        ...     h = v.children()
        ...     score = tf.reduce_sum(h * v.to_children(v.pull()), axis=1, keepdims=True)
        ...     message = v.sum_children(v.softmax_children(score) * h)
        ...     v.scatter(tf.tanh(v.pull() + message))
        """
        edges, x = self._edges("softmax_children"), _floats("softmax_children", x)
        powers = tf.exp(x - edges.spread(tf.stop_gradient(edges.max(x))))
        return powers / edges.spread(edges.sum(powers))

    def num_children(self) -> tf.Tensor:
        """int32 [None]: the number of children of each vertex, without missing ones."""
        return self._vertex("num_children").own_input(NUM_CHILDREN)

    def child_mask(self) -> tf.Tensor:
        """Booleans [None, arity]: which slots have a child."""
        vertex = self._vertex("child_mask")
        if not self.arity:
            raise ValueError(
                f"child_mask: got arity {self.arity} but expected at least 1. Set `arity` to the "
                "largest number of children of a vertex; children() has no missing ones."
            )
        return vertex.own_input(CHILD_MASK, self.arity)

    def has_child(self, slot: int) -> tf.Tensor:
        """Booleans [None]: whether there is a child in this slot, in [0, arity)."""
        mask = self.child_mask()
        if not isinstance(slot, int) or not 0 <= slot < self.arity:
            raise ValueError(
                f"has_child: got slot {slot!r} but expected one in [0, {self.arity}). Raise the "
                "arity of the GraphSupport if vertices have more children."
            )
        return mask[:, slot]

    def pull_edge(self, name: str) -> tf.Tensor:
        """The rows of an external input that has a row for each edge: a relation, a distance.

        The rows of the minibatch are in the order of its edges: vertex by vertex, and for each
        vertex in the order of its children, without missing ones.

        Args:
          name: Of the input; the GraphSupport is called with a dict of them.

        Returns:
          [edges, ...].

        Raises:
          ValueError: If there is no such input, or it is pulled by vertices too.

        Example:
        >>> from cavs_tf import GraphBatch
        >>> @vertex_function(state_size=1, arity=None)
        ... def longest_path(v):
        ...     length = v.max_children(v.children() + v.pull_edge("length"))
        ...     v.scatter(length)
        ...     v.push(length)
        >>> graphs = GraphBatch.from_children([[[], [0], [0, 1]]])
        >>> lengths = {"length": tf.constant([[2.0], [1.0], [3.0]])}
        >>> longest_path(graphs, lengths).numpy().ravel()
        array([0., 2., 5.], dtype=float32)
        """
        self._edges("pull_edge")
        row = self._input("pull_edge", name)
        self._vertex("pull_edge").pulled_by_edge.add(name)
        return row

    def pull(self, name: str = DEFAULT) -> tf.Tensor:
        """This vertex's row of an external input.

        Args:
          name: Of the input, if the GraphSupport is called with a dict of them.

        Returns:
          [None, ...], the shape of the input; of the compute dtype if it is floating-point.

        Raises:
          ValueError: If there is no such input.
        """
        row = self._input("pull", name)
        self._vertex("pull").pulled_by_vertex.add(name)
        return row

    def _vertex(self, method) -> Vertex:
        """The vertex whose function is running, for `method`.

        Raises:
          RuntimeError: Outside of a vertex function.
          ValueError: In the vertex function of another GraphSupport.
        """
        vertex = current_vertex(method)
        if vertex.owner is not self:
            raise ValueError(
                f"{method}: got a call on {self.name!r} in the vertex function of "
                f"{vertex.owner.name!r} but expected one on the latter, whose vertex is computed. "
                "Call it on `self`; to run another GraphSupport, call that with graphs outside, "
                "and pull what it pushes."
            )
        return vertex

    def _edges(self, method):
        """The edges, of which a vertex function reads something."""
        edges = self._vertex(method).edges
        edges.used = True
        return edges

    def _input(self, method, name):
        vertex = self._vertex(method)
        pulls = vertex.pulls
        if name not in pulls:
            names = sorted(pulls.keys() - OWN_INPUTS)
            expected = f"one of {names}" if names else "no pull, as no input was given"
            raise ValueError(
                f"{method}: got {name!r} but expected {expected}. Call the GraphSupport with "
                "(graphs, tensor), or with (graphs, {name: tensor})."
            )
        vertex.pulled.add(name)
        value = pulls[name]
        if value.dtype == tf.bool:  # Compared numbers: native kernels have no booleans.
            return tf.not_equal(tf.cast(value, self.compute_dtype), 0)
        return value

    def scatter(self, state: tf.Tensor) -> None:
        """Sets this vertex's state, for its parents to gather. Exactly once per function.

        Args:
          state: [None, *state_size].

        Raises:
          ValueError: The second time.
        """
        vertex = self._vertex("scatter")
        if vertex.scattered is not None:
            raise ValueError(
                "scatter: got a second state but expected exactly one per vertex function. "
                "Concatenate what parents need into one tensor."
            )
        vertex.scattered = tf.convert_to_tensor(state)

    def push(self, value: tf.Tensor, name: str = DEFAULT) -> None:
        """Sets this vertex's row of an external output.

        Args:
          value: [None, ...].
          name: If there are several outputs; the GraphSupport then returns a dict.

        Raises:
          ValueError: If it was pushed before.
        """
        vertex = self._vertex("push")
        if name in vertex.pushes:
            raise ValueError(
                f"push: got {name!r} a second time but expected every output once. Give the "
                "outputs different names."
            )
        vertex.pushes[name] = tf.convert_to_tensor(value)

    def push_edge(self, value: tf.Tensor, name: str) -> None:
        """Sets the rows of an external output that has a row for each edge: attention weights.

        They are in the order of the minibatch's edges, as those of `pull_edge`: vertex by vertex,
        and for each vertex in the order of its children, without missing ones. There is a row for
        every edge, whatever vertices `at` names; `GraphBatch.edges` says which edge it is.

        Args:
          value: [edges, ...].
          name: Of the output; the GraphSupport returns a dict.

        Raises:
          ValueError: If it was pushed before, or is pushed by vertices too.

        Example:
        >>> from cavs_tf import GraphBatch
        >>> @vertex_function(state_size=1, arity=None)
        ... def cell(v):
        ...     h, own = v.children(), v.to_children(v.pull())
        ...     weights = v.softmax_children(h * own)
        ...     v.scatter(v.pull() + v.sum_children(weights * h))
        ...     v.push_edge(weights, "attention")
        >>> graphs = GraphBatch.from_children([[[], [], [0, 1]]])
        >>> cell(graphs, tf.ones([3, 1]))["attention"].numpy().ravel()
        array([0.5, 0.5], dtype=float32)
        """
        self._edges("push_edge")
        self.push(value, name)
        self._vertex("push_edge").pushed_by_edge.add(name)

    def vertex_ids(self) -> tf.Tensor:
        """int32 [None]: which vertex of the minibatch each row is."""
        return self._vertex("vertex_ids").number()

    def dropout(self, x: tf.Tensor, rate: float, rows: tf.Tensor | str = "vertex") -> tf.Tensor:
        """Drops elements of rows in training: sets them to zero, and scales those that are left.

        An element is dropped, with probability `rate`, by a hash of the step's seed, the number of
        this call in the vertex function, the row's number and the column. So the mask is the same
        however vertices are batched, and is drawn again in the backward pass instead of being
        stored. Every call of the model in training has a seed of its own, from Keras's generators
        (`keras.utils.set_random_seed`). In inference, nothing is dropped (Srivastava et al. 2014).

        Args:
          x: [None, ...], floating-point.
          rate: In [0, 1).
          rows: Which rows have the same mask. "vertex": none. "graph": those of one graph
            (variational dropout: Gal and Ghahramani 2016, arXiv:1512.05287). Or int32 [None]: those
            with equal numbers.

        Returns:
          [None, ...], as `x`; elements that are left are divided by `1 - rate`.

        Raises:
          ValueError: If `rate` or `rows` is not as described, or the shape of a row is not known.

        Example:
        >>> @vertex_function(state_size=4, arity=1)
        ... def cell(v):
        ...     h = tf.tanh(v.dropout(v.pull(), 0.5) + v.gather(0))
        ...     v.scatter(h)
        ...     v.push(h)
        """
        x = tf.convert_to_tensor(x)
        rows = rows if isinstance(rows, str) else tf.convert_to_tensor(rows)
        mask = self._dropout_mask(x, rate, rows)
        return x if mask is None else x * mask

    def _dropout_mask(self, x, rate, rows):
        """What `dropout` multiplies such rows by; None for ones."""
        vertex = self._vertex("dropout")
        number, vertex.num_dropouts = vertex.num_dropouts, vertex.num_dropouts + 1
        _check_dropout(x, rate, rows)
        if rate == 0:
            return None
        if self._seed_generator is None:
            with tf.init_scope():
                add_state(self, "_seed_generator", keras.random.SeedGenerator(self._dropout_seed))
        if not in_training():
            return None
        if isinstance(rows, str):
            rows = vertex.number() if rows == "vertex" else vertex.own_input(GRAPH)
        return ops.cavs_dropout_mask(
            rows,
            tf.convert_to_tensor(self._seed_generator.state),
            T=x.dtype,
            shape=x.shape[1:],
            rate=rate,
            number=number,
        )

    # --- called with graphs ---------------------------------------------------

    def __call__(self, graphs, inputs=None, **kwargs):
        # By name, since Keras accepts only tensors as positional arguments. None is the default of
        # the others, which a `call` that is overridden need not take.
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
            example. None: all. Faster than to pick rows afterwards.
          initial_state: [B, *state_size], a row for each graph: what its vertices without children
            gather from their first slot, such as the last state of an encoder, which it pushed,
            for the first vertex of a decoder. None: zeros.
          pushes: Names of the pushes that are wanted; others are not returned, and what only they
            need is not computed. None: all.
          redraw_dropout: Whether `dropout` draws what it drops, as it does for every call in
            training, or drops the same as in the last call.

        Returns:
          What the vertices pushed, [V, ...] in vertex order, or [n, ...] in the order of `at`; what
          `push_edge` set, [E, ...], a row for each of the E edges. A tensor, or a dict by name.

        Raises:
          ValueError, tf.errors.InvalidArgumentError: If the inputs do not fit the graphs,
            or the vertex function breaks a rule.

        Example:
        >>> from cavs_tf import GraphBatch
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
        if evaluate is not None:
            return evaluate(self, graphs, inputs, at, pushes)
        pulls = self._check_inputs(graphs, inputs)
        at = vertices_to_return(at)
        functions = self._functions_for(pulls, training, pushes)
        if training and redraw_dropout and self._seed_generator is not None:
            self._seed_generator.next()
        schedule = self._schedule_of(graphs, pulls, at)
        self._check_pushed(functions.push_names)
        for look_up in functions.lookups:
            pulls[look_up.name] = look_up.rows(pulls, graphs.num_vertices)
        for name in READ_INPUTS.intersection(functions.pull_names).difference(pulls):
            pulls[name] = self._own_rows(name, graphs)
        return unnamed(run_forward(functions, schedule, pulls, self.options, at))

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

        Some calls give the numbers that one call with all vertices gives, and so do gradients of
        weights, inputs and `states`: a loop, or a `tf.while_loop`, may read values, choose the next
        vertices and go on, under one tape. States that no new vertex gathers cost nothing.

        Args:
          states: [n, *state_size], the states of vertices that exist: what this method returned,
            in any order. None: there are none.
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
          redraw_dropout: False in all calls but the first if they are to drop what one call with
            these numbers of vertices would.

        Returns:
          (outputs, states): what the new vertices pushed, [m, ...], as a call returns it; {} if
          they push nothing. And their states, [m, *state_size].

        Raises:
          ValueError, tf.errors.InvalidArgumentError: If the arguments do not fit together; the
            message names vertex and child.

        Example:
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
        graphs, inputs = self.extension(
            states, children, inputs, vertex_type, vertex_ids, vertex_graph
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

    def extension(
        self,
        states,
        children,
        inputs=None,
        vertex_type=None,
        vertex_ids=None,
        vertex_graph=None,
    ):
        """What `extend` calls the model with, for tools that take a model, graphs and inputs.

        Args:
          states, children, inputs, vertex_type, vertex_ids, vertex_graph: As for `extend`.

        Returns:
          (graphs, inputs): a graph of the new vertices and of those children that exist, and the
          inputs of both. A call with them also returns the new states, by the name ".states".
          `cavs_tf.explain`, `cavs_tf.predict_memory` and `cavs_tf.reference.run` take them too.

        Example:
        >>> @vertex_function(state_size=1, arity=1)
        ... def running_sum(v):
        ...     v.scatter(v.pull() + v.gather(0))
        >>> graphs, inputs = running_sum.extension([[5.0]], [[0]], [[1.0]])
        >>> graphs
        GraphBatch(num_graphs=1, num_vertices=2, num_edges=1, arity=1, depth=1)
        >>> running_sum(graphs, inputs, at=[0])[".states"].numpy()
        array([[6.]], dtype=float32)
        """
        states = checked_states(states, self._state_shape, self.compute_dtype)
        children = child_lists(children)
        num_new = number_of_lists(children[0])
        graphs, given = extension_of(
            states, children, vertex_type, self.arity, len(self.vertex_types)
        )
        own = own_inputs(given, length(states), num_new, vertex_ids, vertex_graph)

        def pulled(pulls):
            self._build_for(unnamed({n: rows_of(v).shape for n, v in pulls.items()}) or None)
            known = self._known(pulls | own)
            return known.pulled[:-1], known.edge_pulls

        dtype = self.compute_dtype if self._casts_inputs else None
        rows = rows_of_new(inputs, dtype, pulled, graphs.vertex_type, num_new)
        return graphs, rows | own

    @property
    def _edge_outputs(self) -> frozenset:
        """The names of the outputs that had a row for each edge in the last call."""
        return self._cache.known[0].edge_pushes if self._cache.known else frozenset()

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
        """What a call with such inputs evaluates, as pairs (name, function) by vertex type.

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
        num_types, options = self._num_types(pulls or ()), self.options
        micro_batch = options.micro_batch
        if micro_batch == "auto":
            micro_batch, _ = self._choose_micro_batch(graphs, pulls, at)
        arity, edges = self.arity, self.arity is None
        functions = self._last_functions()
        if functions is not None:
            arity, edges = functions.arity, functions.reads_edges
        return graphs.schedule(arity or 0, num_types, options.policy, micro_batch, edges)

    def _choose_micro_batch(self, graphs, pulls=None, at=None) -> tuple:
        """Resolves `micro_batch="auto"`: see `_micro_batches.choose_micro_batch`."""
        if self._last_functions() is None:
            raise ValueError(
                f"{self.name}: got micro_batch='auto' before any call but expected one: what a "
                "vertex takes is not known yet. Call the model, or explain() with inputs, first."
            )
        functions = self._last_functions()
        return choose_micro_batch(graphs, functions, self.options, pulls, at)

    def _prepare(self, graphs, inputs) -> tuple:
        """Checks inputs and builds weights: (pulls by name, specs of the pushes by name)."""
        pulls = self._check_inputs(graphs, inputs)
        return pulls, self._known(pulls).pushed

    def _zeros(self, graphs, inputs, at=None, pushes=None):
        """Zeros of the shapes that a call returns. Keras may pass graphs of any dtype."""
        pulls, pushed = self._prepare(None, inputs)
        splits = graphs["child_splits"] if isinstance(graphs, dict) else graphs.child_splits
        rows = tf.shape(splits)[0] - 1 if at is None else tf.shape(at)[0]
        self._check_pushed(pushed)
        of_edges = self._edge_pushes(pulls)
        outputs = {
            name: tf.zeros(
                tf.concat([[_count_edges(graphs) if name in of_edges else rows], spec.shape], 0),
                spec.dtype,
            )
            for name, spec in chosen_pushes(pushed, pushes).items()
        }
        return unnamed(outputs)

    def _own_rows(self, name: str, graphs) -> tf.Tensor:
        if name == CHILD_MASK:
            return ops.cavs_child_mask(graphs.child_splits, graphs.child_ids, arity=self.arity)
        return own_rows(name, graphs, self.arity)

    def _check_pushed(self, names) -> None:
        if not names:
            raise ValueError(
                f"{self.name}: got no push but expected at least one. Call self.push(value) with "
                "what the GraphSupport is to return for a vertex."
            )

    def _pulled_by_type(self, pulls) -> list[set]:
        """For each vertex type, the names of the inputs that it pulls."""
        return self._known(pulls).pulled

    def _edge_pulls(self, pulls) -> frozenset:
        """The names of the inputs that have a row for each edge."""
        return self._known(pulls).edge_pulls

    def _edge_pushes(self, pulls) -> frozenset:
        """The names of the outputs that have a row for each edge."""
        return self._known(pulls).edge_pushes

    def _reads_edges(self, pulls) -> bool:
        """Whether a vertex function reads edges, so that vertices may have any number of them."""
        return self._known(pulls).reads_edges

    def _num_slots(self, pulls) -> int:
        """The number of slots from which vertex functions gather, or may gather."""
        return self._known(pulls).num_slots

    def _functions_for(self, pulls, training=None, pushes=None) -> Functions:
        """The traced functions for such pulls.

        They are traced the first time, and when something that they see (attributes, layers,
        closures, globals) has changed since.
        """
        with self._cache.lock:
            options = self.options
            known = self._known(pulls)
            pushes = frozenset(chosen_pushes(known.pushed, pushes))
            kind = (training, options.decompose, options.look_up, pushes)
            with in_users_code():
                return self._cache.functions_of(
                    known, kind, lambda: self._trace(pulls, pushes), self._surroundings
                )

    def _last_functions(self) -> Functions | None:
        """The traced functions of the last call; None if there was none."""
        return self._cache.last

    # --- for Keras ----------------------------------------------------------------

    @default  # So Keras still takes the arguments of a class without a `get_config` by itself.
    def get_config(self) -> dict:
        """As of Keras's layers, with `options` and `autocast` if they are not the default ones."""
        config = super().get_config()
        if self.options != Options():
            config["options"] = dataclasses.asdict(self.options)
        if not self._casts_inputs:
            config["autocast"] = False
        return config

    @classmethod
    def from_config(cls, config):
        """Makes a GraphSupport of what `get_config` returned, whose `__init__` may set options."""
        config = dict(config)
        options, autocast = config.pop("options", None), config.pop("autocast", None)
        cell = super().from_config(config)
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
        """The shapes of what a call returns. Makes the weights.

        Args:
          graphs_shape: The shapes of `GraphBatch.to_dict()`, or None.
          inputs_shape: [V, ...], a dict by name, or a pair for `VertexRows`.
          at_shape, initial_state_shape: Of these arguments of a call, or None.

        Raises:
          NotImplementedError: If there are shapes of other arguments.
        """
        check_shapes(others)
        self._build_for(inputs_shape)
        return shapes_by_call(self, self, graphs_shape, inputs_shape, at_shape, initial_state_shape)

    def _build_for(self, shapes) -> None:
        """Calls `build`, if a subclass has one."""
        if self.built or is_default(self.build):
            return
        by_name = "inputs_shape" in inspect.signature(self.build).parameters
        self.build(inputs_shape=shapes) if by_name else self.build(shapes)

    def get_build_config(self) -> dict | None:
        """The inputs that the layer was built for: shape and dtype of a row of each."""
        specs = self._cache.built_for
        if specs is None:
            return None
        return {"inputs": {n: [list(s.shape), s.dtype.name] for n, s in specs.items()}}

    def build_from_config(self, config) -> None:
        """Makes the weights, into which a saved model is then loaded."""
        if not config or self.built:
            return
        specs = {name: tf.TensorSpec(*spec) for name, spec in config["inputs"].items()}
        rows = {n: keras.KerasTensor((None, *s.shape), s.dtype.name) for n, s in specs.items()}
        shapes = unnamed({name: row.shape for name, row in rows.items()}) if rows else None
        self._build_for(shapes)
        # Builds inner layers without a call, which would add a node to a functional model.
        splits = keras.KerasTensor((None,), "int32")
        with forgotten_on_failure():
            compute_output_spec(self.call, graphs={"child_splits": splits}, inputs=rows or None)
        if not self.built:
            self.build(shapes)

    def _trace(self, pulls, pushes) -> Functions:
        known = self._known(pulls)
        read = frozenset().union(*known.pulled)
        return make_functions(
            self._evaluated_functions(pulls),
            self.arity,
            tf.TensorSpec(self._state_shape, self.compute_dtype),
            {n: spec for n, spec in row_specs(pulls).items() if n not in READ_INPUTS or n in read},
            known.edge_pulls,
            [variable.value for variable in self.variables],
            first_rows(pulls, Functions.EXAMPLES),
            self.options.decompose,
            self.options.look_up,
            pushes,
        )

    def _with_initial_state(self, graphs, inputs, initial_state) -> dict:
        """External inputs by name, with what is added to the states that are gathered."""
        state = check_initial_state(
            initial_state, self.arity, self._state_shape, self.compute_dtype
        )
        rows = state if asks_for_shapes() else initial_rows(as_graph_batch(graphs), state)
        return name_inputs(inputs) | {INITIAL_STATE: rows}

    def _check_inputs(self, graphs, inputs) -> dict:
        """External inputs by name."""
        pulls = name_inputs(inputs)
        if self._casts_inputs:
            pulls = with_floats_as(self.compute_dtype, pulls)
        if graphs is not None:
            edge_pulls = self._known(pulls).edge_pulls
            check_rows(graphs, pulls, self._num_types(pulls), edge_pulls)
        return pulls

    def _num_types(self, pulls) -> int:
        """How many vertex types a call with such inputs has."""
        return len(self.vertex_types) + (STATES in pulls)

    def _surroundings(self) -> Surroundings:
        read = ("dtype_policy", "state_shape", "arity", "vertex_types")
        return Surroundings(self._vertex_functions(), GraphSupport, read)

    def _known(self, pulls) -> Known:
        """The cache entry for such inputs, for which vertex functions are run if there is none."""
        specs = row_specs(pulls)
        key = (key_of(specs), keras.config.floatx())
        with self._cache.lock:
            known = self._cache.find(key)
            if known is None or in_symbolic_scope():  # Keras must see layers called.
                with in_users_code():
                    found = self._create_weights(pulls)
                known = self._cache.find(key)
            if known is None:
                self._cache.built_for = {n: s for n, s in specs.items() if n != INITIAL_STATE}
                known = Known(key, self._surroundings(), *found)
                self._cache.add(known, self.name)
            return known

    def _create_weights(self, pulls):
        """Runs every vertex function on one row, so that layers get their weights.

        Not while tracing, so that variables are created as they would be if the layers were
        called by themselves. Returns what `Known` has from `pushed` on.

        Raises:
          ValueError: If a vertex function makes variables whenever it runs, or an input is pulled
            by vertices and by edges.
        """
        pushed, pulled, read = {}, [], Reads()
        by_vertex, by_edge, reads_edges, num_slots = set(), set(), False, self.arity or 0
        pushed_by_vertex, pushed_by_edge = set(), set()
        for name, function in self._evaluated_functions(pulls):
            with recorded_reads() as reads:
                vertex = self._one_vertex(pulls).run(function)
            check_reads(name, reads, lambda f=function: self._one_vertex(pulls).run(f))
            read.add(reads)
            pulled.append(vertex.pulled)
            by_vertex |= vertex.pulled_by_vertex
            by_edge |= vertex.pulled_by_edge
            pushed_by_vertex |= vertex.pushes.keys() - vertex.pushed_by_edge
            pushed_by_edge |= vertex.pushed_by_edge
            reads_edges |= vertex.edges.used
            num_slots = max(num_slots, len(vertex.gathered))
            for push, value in vertex.pushes.items():
                pushed[push] = tf.TensorSpec(value.shape[1:], value.dtype)
        for name in sorted(by_vertex & by_edge):
            raise ValueError(
                f"pull_edge: got {name!r}, which is pulled by vertices too, but expected an input "
                "with a row for each edge alone. Pass two inputs."
            )
        for name in sorted(pushed_by_vertex & pushed_by_edge):
            raise ValueError(
                f"push_edge: got {name!r}, which is pushed by vertices too, but expected an output "
                "with a row for each edge alone. Give the outputs different names."
            )
        track(self, read.as_keras_variables())
        return pushed, pulled, frozenset(by_edge), frozenset(pushed_by_edge), reads_edges, num_slots

    def _one_vertex(self, pulls):
        """The minibatch's first vertex with one edge; rows are zeros if they are not known."""
        state = tf.zeros([1, *self._state_shape], self.compute_dtype)
        specs = row_specs(pulls) | {name: own_spec(name, self.arity or 0) for name in READ_INPUTS}
        zeros = {n: tf.zeros([1, *spec.shape], spec.dtype) for n, spec in specs.items()}
        number = tf.zeros([1], tf.int32)
        edges = PlainEdges(state, number, number)
        return Vertex(Slots(lambda _: state), zeros | first_rows(pulls, 1), number, edges)


def _methods_of(base) -> set:
    """The names of the methods and properties of a class that its subclasses may not hide."""
    kinds = (types.FunctionType, property, classmethod, staticmethod)
    methods = {name for name, value in vars(base).items() if isinstance(value, kinds)}
    return {name for name in methods.difference(_OVERRIDDEN) if not name.startswith("__")}


def _count_edges(graphs):
    """The number of edges; of graphs of which only the shape is known, any number."""
    ids = graphs.get("child_ids") if isinstance(graphs, dict) else graphs.child_ids
    if ids is None:
        return tf.shape(graphs["child_splits"])[0]
    return tf.math.count_nonzero(tf.cast(ids, tf.int32) >= 0, dtype=tf.int32)


def _floats(method, x) -> tf.Tensor:
    x = tf.convert_to_tensor(x)
    if not x.dtype.is_floating or x.shape.rank is None:
        raise ValueError(
            f"{method}: got {x.dtype.name} of shape {x.shape} but expected floating-point rows of "
            "edges of a known rank. Cast them."
        )
    return x


def shapes_by_call(
    layer, cell, graphs_shape, inputs_shape, at_shape=None, initial_state_shape=None
):
    """The shapes of what `layer` returns, which calls `cell`: see `compute_output_shape`."""
    dtypes = {name: spec.dtype.name for name, spec in (cell._cache.built_for or {}).items()}
    arguments = {
        "graphs": symbolic_graphs(graphs_shape),
        "inputs": symbolic_rows(inputs_shape, dtypes, cell.compute_dtype),
    }
    if at_shape is not None:
        arguments["at"] = keras.KerasTensor(at_shape, "int32")
    if initial_state_shape is not None:
        arguments["initial_state"] = keras.KerasTensor(initial_state_shape, cell.compute_dtype)
    with forgotten_on_failure():
        outputs = layer.compute_output_spec(**arguments)
    return tf.nest.map_structure(lambda output: tuple(output.shape), outputs)


def _checked_shape(state_size) -> tuple[int, ...]:
    """The shape of a state; ValueError if `state_size` is not valid."""
    try:
        sizes = state_size if isinstance(state_size, Iterable) else (state_size,)
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise ValueError(
            f"state_size: got {state_size!r} but expected a positive integer, or a shape of them. "
            "It is the number of elements that one vertex scatters."
        )
    return shape


def _check_dropout(x, rate, rows):
    if not isinstance(rate, (int, float)) or not 0 <= rate < 1:
        raise ValueError(
            f"dropout: got rate {rate!r} but expected a number in [0, 1), the share of elements "
            "that is dropped."
        )
    if not x.dtype.is_floating or not x.shape[1:].is_fully_defined():
        raise ValueError(
            f"dropout: got a tensor of shape {x.shape} ({x.dtype.name}) but expected "
            "floating-point rows of a known shape. Give it one with tf.ensure_shape."
        )
    if isinstance(rows, str):
        is_valid, shown = rows in ("vertex", "graph"), repr(rows)
    else:
        is_valid = rows.dtype == tf.int32 and rows.shape.rank == 1
        shown = f"{rows.dtype.name} {rows.shape}"
    if not is_valid:
        raise ValueError(
            f"dropout: got rows {shown} but expected 'vertex', 'graph' or int32 [None], a "
            "number for each row. Rows with equal numbers have the same mask."
        )


@keras.saving.register_keras_serializable("cavs_tf", "vertex_function")
class _FunctionCell(GraphSupport):
    """A GraphSupport around a plain function."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self._function = function

    def vertex(self):
        self._function(self)

    def get_config(self):
        own = {
            "function": keras.saving.serialize_keras_object(self._function),
            "state_size": self.state_size,
            "arity": self.arity,
        }
        return super().get_config() | own

    @classmethod
    def from_config(cls, config, custom_objects=None):
        name = config["function"]["config"]
        try:
            function = keras.saving.deserialize_keras_object(config["function"], custom_objects)
        except TypeError as error:  # Keras found nothing of this name.
            raise ValueError(
                f"vertex_function: got {name!r} from a file, which is no function that is known "
                "here, but expected one. Write @keras.saving.register_keras_serializable() between "
                "@cavs_tf.vertex_function(...) and the function, or pass "
                f"custom_objects={{{name!r}: ...}} to keras.models.load_model."
            ) from error
        function = getattr(function, "_function", function)  # The name is that of the cell.
        return super().from_config(config | {"function": function})


def vertex_function(state_size, arity=0, **kwargs):
    """Makes a `GraphSupport` of a function: the short form, for short cells.

    Args:
      state_size, arity, **kwargs: As for `GraphSupport`.

    Returns:
      A decorator. The function takes the GraphSupport, whose gather, pull, scatter and
      push it calls.

    >>> from cavs_tf import GraphBatch
    >>> @vertex_function(state_size=1, arity=1)
    ... def running_sum(v):
    ...     total = v.pull() + v.gather(0)
    ...     v.scatter(total)
    ...     v.push(total)
    >>> running_sum(GraphBatch.chain([3]), tf.constant([[1.0], [2.0], [3.0]])).numpy()
    array([[1.],
           [3.],
           [6.]], dtype=float32)
    """

    _checked_shape(state_size)

    def decorate(function):
        kwargs.setdefault("name", function.__name__.strip("_<>"))
        return _FunctionCell(function, state_size=state_size, arity=arity, **kwargs)

    return decorate
