"""The methods that a vertex function calls.

Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.1 (gather, scatter, pull, push).
"""

import numbers

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import CHILD_MASK, DEFAULT, GRAPH, NUM_CHILDREN, OWN_INPUTS
from cavs_tf._inputs.keras_private import in_training
from cavs_tf._inputs.variables import add_state
from cavs_tf._native.library import ops
from cavs_tf._tracing.trace import Vertex, current_vertex
from cavs_tf._values.integers import is_int
from cavs_tf._values.wide_sums import widened

_MOST_SLOTS = 64  # Slots from which a vertex function may gather if its arity is None.


class VertexMethods:
    """The methods that a vertex function calls: a base class of `GraphSupport`.

    Tensors have a leading row dimension. Rows of vertices, [None, ...], have one row for each
    vertex that is computed; rows of edges, [edges, ...], one for each of their children.

    A vertex function reads the states of its children from a fixed number of slots (`gather`,
    `gather_all`, `has_child`, `child_mask`), or the states of any number of children as rows of
    edges (`children`, `to_children`, `sum_children`, `mean_children`, `max_children`,
    `softmax_children`). It reads inputs (`pull`, `pull_edge`) and the graph (`num_children`,
    `vertex_ids`). It sets its own state exactly once (`scatter`), and outputs
    (`push`, `push_edge`). In training it may drop elements (`dropout`).

    Each of these methods raises RuntimeError outside of a vertex function, and ValueError in the
    vertex function of another GraphSupport.
    """

    _dropout_seed = None  # The seed that the generator of `dropout` starts with.
    _seed_generator = None  # The generator, made when `dropout` is first called.

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
          slot: An int in [0, arity).

        Returns:
          [None, *state_size].

        Raises:
          ValueError: If `slot` is out of range.
        """
        vertex = self._vertex("gather")
        most = _MOST_SLOTS if self.arity is None else self.arity
        if not is_int(slot) or not 0 <= slot < most:
            raise ValueError(
                f"gather: got slot {slot!r} but expected one in [0, {most}). Raise the arity of "
                "the GraphSupport if vertices have more children, or read them all by children()."
            )
        return vertex.child_state(int(slot))

    def gather_all(self) -> tf.Tensor:
        """What `gather` returns for all slots: [None, arity, *state_size]."""
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
        by itself. `to_children` leads from vertices to edges, `sum_children` and its like lead
        back.

        Returns:
          [edges, *state_size].

        Example (Tai et al. 2015, arXiv:1503.00075, section 3.1: a sum over any number of children):
        >>> from cavs_tf import GraphBatch, vertex_function
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
        """The mean over the edges of each vertex: else it is like `sum_children`."""
        x = _floats("mean_children", x)
        total = self._edges("mean_children").sum(widened(x))
        count = tf.cast(tf.maximum(self.num_children(), 1), total.dtype)
        return tf.cast(total / tf.reshape(count, [-1] + [1] * (x.shape.rank - 1)), x.dtype)

    def max_children(self, x: tf.Tensor) -> tf.Tensor:
        """The largest element over the edges of each vertex; zeros without children.

        Children with equal elements share the gradient. Else it is like `sum_children`.
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
        >>> from cavs_tf import vertex_function
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
        return self._vertex("num_children").graph_input(NUM_CHILDREN)

    def child_mask(self) -> tf.Tensor:
        """Booleans [None, arity]: which slots have a child."""
        vertex = self._vertex("child_mask")
        if not self.arity:
            raise ValueError(
                f"child_mask: got arity {self.arity} but expected at least 1. Set `arity` to the "
                "largest number of children of a vertex; children() has no missing ones."
            )
        return vertex.graph_input(CHILD_MASK, self.arity)

    def has_child(self, slot: int) -> tf.Tensor:
        """Booleans [None]: whether there is a child in this slot, in [0, arity)."""
        mask = self.child_mask()
        if not is_int(slot) or not 0 <= slot < self.arity:
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
          name: The name of the input, in the dict that the GraphSupport is called with.

        Returns:
          [edges, ...].

        Raises:
          ValueError: If there is no such input, or it is pulled by vertices too.

        Example:
        >>> from cavs_tf import GraphBatch, vertex_function
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
          name: The name of the input, if the GraphSupport is called with a dict of them.

        Returns:
          [None, ...], with the sizes of the input; of the compute dtype if it is floating-point.

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
        """The edges of the vertex, which are marked as used."""
        edges = self._vertex(method).edges
        edges.used = True
        return edges

    def _input(self, method, name):
        """The rows of an external input, for `method`."""
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
        if value.dtype == tf.bool:  # Native kernels have no booleans, but can compare numbers.
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
          name: The name of the output, if there are several; the GraphSupport returns a dict then.

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

        The rows of the minibatch are in the order that `pull_edge` describes. There is a row for
        every edge, whatever vertices `at` names; `GraphBatch.edges` says which edge it is.

        Args:
          value: [edges, ...].
          name: The name of the output; the GraphSupport returns a dict.

        Raises:
          ValueError: If it was pushed before, or is pushed by vertices too.

        Example:
        >>> from cavs_tf import GraphBatch, vertex_function
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
          rows: Which rows have the same mask. "vertex": none. "graph": all rows of one graph
            (variational dropout: Gal and Ghahramani 2016, arXiv:1512.05287). Or int32 [None]: all
            rows with equal numbers.

        Returns:
          [None, ...], with the shape of `x`; elements that are left are divided by `1 - rate`.

        Raises:
          ValueError: If `rate` or `rows` is not as described, or the shape of a row is not known.

        Example:
        >>> from cavs_tf import vertex_function
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
        """The factors by which `dropout` multiplies such rows; None if all of them are one."""
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
            rows = vertex.number() if rows == "vertex" else vertex.graph_input(GRAPH)
        return ops.cavs_dropout_mask(
            rows,
            tf.convert_to_tensor(self._seed_generator.state),
            T=x.dtype,
            shape=x.shape[1:],
            rate=rate,
            number=number,
        )


def _floats(method, x) -> tf.Tensor:
    """The rows of edges that `method` was given; ValueError unless they are floating-point."""
    x = tf.convert_to_tensor(x)
    if not x.dtype.is_floating or x.shape.rank is None:
        raise ValueError(
            f"{method}: got {x.dtype.name} of shape {x.shape} but expected floating-point rows of "
            "edges of a known rank. Cast them."
        )
    return x


def _check_dropout(x, rate, rows) -> None:
    """Raises ValueError unless these are arguments that `dropout` takes."""
    if isinstance(rate, bool) or not isinstance(rate, numbers.Real) or not 0 <= rate < 1:
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
