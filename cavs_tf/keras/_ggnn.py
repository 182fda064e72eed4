"""Gated graph sequence neural networks. Source: Li et al. 2016, arXiv:1511.05493, section 3.2."""

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import (
    DEFAULT,
    VertexRows,
    as_graph_batch,
    as_pair,
    check_shapes,
    size_before,
)
from cavs_tf._inputs.keras_private import asks_for_shapes
from cavs_tf._values.arguments import check_bools, checked_size, written_out
from cavs_tf._values.integers import as_int32, rejected_unless
from cavs_tf._values.wide_sums import widened
from cavs_tf.graphs._options import Options
from cavs_tf.keras._graph import POOLS, pooled, rows_of_graphs
from cavs_tf.keras._gru import GatedCell
from cavs_tf.keras._recurrent import CellLayer

EDGE_WEIGHTS = (
    "edge_weights"  # The name of the input with the factor of an edge in the sum of each type.
)


@keras.saving.register_keras_serializable("cavs_tf")
class GGNNCell(GatedCell):
    """The vertex function of a gated graph neural network: a sum of messages, then a GRU.

    It is for graphs of `GraphBatch.from_rounds`. In round 0 the state h of a vertex is its input,
    padded with zeros. After that, with h_u the neighbours' states in the round before, s the
    recurrent activation and * elementwise:

      m = sum_u W h_u
      z = s(K_z m + U_z h + b_z)   r = s(K_r m + U_r h + b_r)
      reset_after:  n = tanh(K_n m + b_n + r * (U_n h + b'_n)), and U_z h, U_r h get a b' too
      otherwise:    n = tanh(K_n m + b_n + U_n (r * h))
      h' = z * h + (1 - z) * n

    With T edge types, m = sum_t W_t sum_u a_ut h_u. The input "edge_weights", [E, T], has a: one
    for the type of the edge, else zero, and zeros for the edge from a vertex to itself.

    Args:
      units: Size of h, at least the number of features.
      edge_types: T, at least 1, or None: all edges are of one type.
      reset_after: Whether r resets the product of U_n and h, or h itself, as in the paper.
      activation: The activation of n, tanh by default.
      recurrent_activation: s, of the gates, sigmoid by default.
      use_bias: Whether the GRU has a bias, of which the paper's b is a part.
      dropout, recurrent_dropout, dropout_rows: As for `GGNN`: the shares of m, and of h in the
        GRU, that are dropped.
      **kwargs: Initializers, regularizers and constraints of "kernel", "recurrent" and "bias",
        named as in `keras.layers.GRU`; and arguments of `GraphSupport`.

    Weights:
      message_kernel: [units, units], or [T units, units], W.
      kernel, recurrent_kernel, bias: The weights of a `keras.layers.GRU` of the message and h.
    """

    def __init__(
        self, units: int, *, edge_types: int | None = None, reset_after: bool = True, **kwargs
    ):
        check_bools(reset_after=reset_after)
        if edge_types is not None:
            edge_types = checked_size("edge_types", edge_types)
        super().__init__(units, 1, **kwargs)
        self.edge_types = edge_types
        self.reset_after = reset_after

    def build(self, inputs_shape=None, graphs_shape=None):
        if isinstance(inputs_shape, dict):
            inputs_shape = inputs_shape.get(DEFAULT)
        super().build(inputs_shape, graphs_shape)

    def _build_weights(self, features):
        if features > self.units:
            raise ValueError(
                f"inputs: got {features} features but expected at most {self.units}, the units, as "
                "they are the first state, padded with zeros. Raise units, or map them by a Dense "
                "layer before."
            )
        self.message_kernel = self._add(
            "kernel", ((self.edge_types or 1) * self.units, self.units), "message_kernel"
        )
        super()._build_weights(self.units)

    def vertex(self):
        x, h = self._cast(self.pull()), self.gather(0)
        x = tf.pad(x, [[0, 0], [0, self.units - x.shape[1]]])
        message = self._product(self._message(h), self.message_kernel)
        after = self._updated(self.dropout(message, self.input_rate, self.dropout_rows), h)
        self._finish(tf.where(self.has_child(0)[:, tf.newaxis], after, x))

    def _message(self, h):
        """The sum of the neighbours' states, or the sums of each type side by side."""
        states = self.children()
        if self.edge_types is None:
            # The first child is the vertex itself, in which the others must not drown.
            return tf.cast(self.sum_children(widened(states)) - widened(h), h.dtype)
        weights = self._cast(self.pull_edge(EDGE_WEIGHTS))
        sums = [self.sum_children(w * states) for w in tf.split(weights, self.edge_types, axis=1)]
        return tf.concat(sums, axis=1)

    def get_config(self):
        own = {"edge_types": self.edge_types, "reset_after": self.reset_after}
        return super().get_config() | own


@keras.saving.register_keras_serializable("cavs_tf")
class GGNN(CellLayer):
    """A gated graph neural network: rounds of messages between neighbours, each then a GRU's step.

    The graphs say how many rounds there are (`GraphBatch.from_rounds`, `cavs_tf.data.batch` with
    `rounds`); they may have cycles. Messages go along edges, so neighbours in both directions take
    an edge each way; give these two edge types to tell them apart, as the paper does.

    Args:
      units: Size of the output, at least the number of features.
      edge_types: How many types of edges there are, each with weights of its own; None: one.
      return_vertices: Whether to return the output of every vertex, or one row per graph.
      combine: How the rows of a graph's vertices become one: their "sum", "mean" or "max".
      reset_after: Whether the reset gate is applied after the recurrent product, as in PyTorch and
        by default in Keras, or before it, as in the paper.
      dropout: In [0, 1): the share of the messages that is dropped in training.
      recurrent_dropout: The share of the state of the round before that is dropped, likewise.
      activation, kernel_initializer, seed, ..., **kwargs: Arguments of `keras.layers.GRU`, by
        keyword. The arguments for "kernel" are for the weights of messages, too.
      options: An `Options`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs, made of N vertices in all, or its `to_dict()`. The
        schedule that it may carry has edges and arity 1:
        `cavs_tf.data.batch(..., rounds=4, arity=1, edges=True)`.
      inputs: [N, features], a row for each vertex, floating-point: its state in round 0, padded
        with zeros. Or rows of all rounds, of which the rows of round 0 are read; or a
        `VertexRows` of some rows of round 0.
      edge_type: With `edge_types`, integers [E] in [0, edge_types): the features of edges that
        `from_rounds(..., edge_features=...)` and `batch(..., per_edge=...)` return. The type of an
        edge from a vertex to itself is not read.

    Returns:
      [B, units], zeros for a graph without vertices; or with `return_vertices` [N, units], the
      vertices after the last round, in their order.

    Raises:
      ValueError: If an argument is not as described, there are more features than units, inputs are
        missing or have another rank, or types of edges do not go with `edge_types`.
      tf.errors.InvalidArgumentError: If there are more or fewer rows, or a type is out of range.

    Source: Li et al. 2016, "Gated graph sequence neural networks", arXiv:1511.05493, equations 1 to
    6.

    >>> from cavs_tf import GraphBatch
    >>> ring, pair = [(0, 1), (1, 2), (2, 0)], [(0, 1), (1, 0)]
    >>> graphs, _ = GraphBatch.from_rounds([3, 2], [ring, pair], rounds=4)
    >>> x = tf.ones([5, 3])
    >>> GGNN(8)(graphs, x).shape, GGNN(8, return_vertices=True)(graphs, x).shape
    (TensorShape([2, 8]), TensorShape([5, 8]))
    """

    cell_class = GGNNCell

    def __init__(
        self,
        units: int,
        *,
        edge_types: int | None = None,
        return_vertices: bool = False,
        combine: str = "sum",
        reset_after: bool = True,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias: bool = True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        dropout_rows: str = "graph",
        options: Options | None = None,
        **kwargs,
    ):
        given = written_out(locals())
        combine = given.pop("combine")
        if combine not in POOLS:
            raise ValueError(
                f"combine: got {combine!r} but expected one of {', '.join(map(repr, POOLS))}. "
                "Choose one of them."
            )
        super().__init__(**given, return_state=False, go_backwards=False)
        self.combine = combine

    @property
    def edge_types(self) -> int | None:
        return self.cell.edge_types

    def call(self, graphs, inputs=None, edge_type=None):
        self._check_has_types(edge_type)
        if asks_for_shapes():
            return self._zeros(graphs, inputs)
        graphs = as_graph_batch(graphs)
        pulls = {DEFAULT: _in_round_0(graphs, inputs)}
        if edge_type is not None:
            pulls[EDGE_WEIGHTS] = self._edge_weights(graphs, edge_type)
        roots = graphs.roots
        rows = self.cell(graphs, pulls, at=roots)
        if self.return_vertices:
            return rows
        graph = tf.gather(graphs.vertex_graph, roots)
        return pooled(self.combine, rows, graph, graphs.num_graphs)

    def _check_has_types(self, edge_type) -> None:
        if (edge_type is None) != (self.edge_types is None):
            if edge_type is not None:
                raise ValueError(
                    "edge_type: got some but expected none, as edge_types is None. Say how many "
                    "types there are."
                )
            raise ValueError(
                f"edge_type: got none but expected integers in [0, {self.edge_types}), a type for "
                "each edge. Pass them, or leave edge_types out."
            )

    def _edge_weights(self, graphs, edge_type) -> tf.Tensor:
        """[E, edge_types]: one for the type of an edge; zeros from a vertex to itself."""
        edge_type = tf.convert_to_tensor(edge_type)
        if not edge_type.dtype.is_integer or edge_type.shape.rank not in (None, 1):
            raise ValueError(
                f"edge_type: got {edge_type.dtype.name} of shape {edge_type.shape} but expected "
                "integers of shape [E], a type for each edge. Convert or reshape them."
            )
        edge_type = as_int32("edge_type", edge_type)
        counts = graphs.num_children
        first = tf.boolean_mask(tf.cumsum(counts, exclusive=True), counts > 0)
        expected = tf.reduce_sum(counts)
        checks = rejected_unless(
            tf.size(edge_type) == expected,
            "edge_type: got {} values but expected {}, one per edge of all rounds. Pass what "
            "from_rounds(..., edge_features=...) or batch(..., per_edge=...) returns.",
            *(tf.size(edge_type), expected),
        )
        with tf.control_dependencies(checks):
            to_itself = tf.fill(tf.shape(first), -1)
            edge_type = tf.tensor_scatter_nd_update(edge_type, first[:, tf.newaxis], to_itself)
        is_own = tf.scatter_nd(first[:, tf.newaxis], tf.ones_like(first), tf.shape(edge_type)) > 0
        is_wrong = ((edge_type < 0) | (edge_type >= self.edge_types)) & ~is_own
        wrong = tf.where(is_wrong)[:1, 0]
        checks = rejected_unless(
            tf.size(wrong) == 0,
            f"edge_type[{{}}]: got {{}} but expected a type in [0, {self.edge_types}). Raise "
            "edge_types, or correct it.",
            *(wrong, tf.gather(edge_type, wrong)),
        )
        with tf.control_dependencies(checks):
            return tf.one_hot(edge_type, self.edge_types, dtype=self.compute_dtype)

    def _zeros(self, graphs, inputs):
        """Zeros of the shapes that a call returns, for Keras. This makes the weights."""
        pulls = {DEFAULT: inputs}
        if self.edge_types is not None:
            splits = graphs["child_splits"] if isinstance(graphs, dict) else graphs.child_splits
            pulls[EDGE_WEIGHTS] = tf.zeros([tf.shape(splits)[0], self.edge_types])
        rows = self.cell(graphs, pulls)
        if self.return_vertices:  # No shape says how many of the rows are of the last round.
            return tf.boolean_mask(rows, tf.zeros(tf.shape(rows)[:1], tf.bool))
        return rows_of_graphs(graphs, rows)

    def compute_output_shape(
        self, graphs_shape=None, inputs_shape=None, edge_type_shape=None, **others
    ):
        """The arguments are the shapes of `GraphBatch.to_dict()` and of the inputs.

        They do not say how many vertices there are.
        """
        check_shapes(others)
        num_graphs = size_before("graph_splits", graphs_shape)
        return (None if self.return_vertices else num_graphs, self.units)

    def get_config(self):
        config = super().get_config() | {"combine": self.combine}
        return {k: v for k, v in config.items() if k not in ("return_state", "go_backwards")}


def _in_round_0(graphs, inputs) -> VertexRows:
    """A row for each vertex, as an input of the rows of round 0, which have no children."""
    x, vertices = as_pair(inputs)
    if vertices is not None or x is None:
        return inputs
    x, first = tf.convert_to_tensor(x), tf.where(graphs.num_children == 0)[:, 0]
    got, expected, rows = tf.shape(x)[0], tf.size(first), graphs.num_vertices
    checks = rejected_unless(
        (got == expected) | (got == rows),
        "inputs: got {} rows but expected {}, one per vertex, or {}, one per vertex and round. "
        "Check that both belong to the same minibatch.",
        *(got, expected, rows),
    )
    with tf.control_dependencies(checks):
        number = tf.range(expected, dtype=first.dtype)
        x = tf.gather(x, tf.where(got == expected, number, first))
    return VertexRows(x, tf.cast(first, tf.int32))
