"""Layers around vertex functions."""

import types

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import as_graph_batch, check_shapes, size_before, with_tensors
from cavs_tf._inputs.keras_private import SelfContained, asks_for_shapes
from cavs_tf._values.arguments import check_bools
from cavs_tf._values.integers import length
from cavs_tf._values.wide_sums import max_of_segments, sum_of_segments, with_wide_sums
from cavs_tf.graph_support._graph_support import GraphSupport
from cavs_tf.graph_support._shapes import shapes_by_call

_PACKAGE = "cavs_tf"


# Functions by which several rows of a graph become one. They take the rows, the graph of each row,
# and the number of graphs; `pooled` calls them.
POOLS = types.MappingProxyType(
    {
        "sum": sum_of_segments,
        "mean": tf.math.unsorted_segment_mean,
        "max": max_of_segments,
    }
)


def pooled(mode, rows, graph, count):
    """Combines rows, [n, ...], by one of POOLS; numbers of 16 bits are added up in float32."""
    return with_wide_sums(POOLS[mode], rows, graph, count)


def rows_of_graphs(graphs, rows):
    """Zeros of the shape of one row per graph, while Keras asks for shapes."""
    # The graphs may be of any dtype then.
    splits = graphs["graph_splits"] if isinstance(graphs, dict) else graphs.graph_splits
    num_graphs = tf.shape(splits)[:1] - 1
    return tf.nest.map_structure(
        lambda values: tf.zeros(tf.concat([num_graphs, values.shape[1:]], 0), values.dtype),
        rows,
    )


def shapes_of_graphs(graphs_shape, rows_shape):
    """The shapes of one row per graph, of rows of these shapes."""
    if isinstance(rows_shape, dict):
        return {name: shapes_of_graphs(graphs_shape, shape) for name, shape in rows_shape.items()}
    return (size_before("graph_splits", graphs_shape), *rows_shape[1:])


def roots_of(graphs, rows, combine="sum"):
    """Computes the result of `Roots`."""
    if asks_for_shapes():
        return rows_of_graphs(graphs, rows)
    graphs = as_graph_batch(graphs)
    roots, rows = graphs.roots, checked_rows(graphs, rows)
    of_roots = tf.nest.map_structure(lambda values: tf.gather(values, roots), rows)
    return _by_graph(graphs, roots, of_roots, combine)


def checked_rows(graphs, rows):
    """The rows, once it is known that there is one per vertex."""
    with tf.control_dependencies(_check_rows(graphs, rows)):
        return tf.nest.map_structure(tf.identity, rows)


def _check_rows(graphs, rows) -> list:
    """Checks sizes now where they are known; returns operators that check the others."""
    message = "Check that both belong to the same minibatch, and that rows are of all vertices."
    checks = []
    for name, values in (rows if isinstance(rows, dict) else {None: rows}).items():
        label = "rows" if name is None else f"rows[{name!r}]"
        got, expected = length(values), graphs.num_vertices
        if isinstance(got, int) and isinstance(expected, int):
            if got != expected:
                raise ValueError(
                    f"{label}: got {got} rows but expected {expected}, one per vertex of the "
                    f"graphs. {message}"
                )
        else:
            check = tf.debugging.assert_equal(
                got,
                expected,
                f"{label}: got another number of rows than the graphs have vertices but expected "
                f"one per vertex. {message}",
            )
            checks += [] if check is None else [check]
    return checks


def run_for_roots(cell, graphs, inputs, initial_state=None):
    """Runs `cell` for the rows that `Roots` picks, without computing other rows of vertices."""
    if asks_for_shapes():
        rows = cell(graphs, inputs, initial_state=initial_state)
        return _of_vertices(cell, rows, lambda own: roots_of(graphs, own))
    graphs = as_graph_batch(graphs)
    roots = graphs.roots
    rows = cell(graphs, inputs, at=roots, initial_state=initial_state)
    return _of_vertices(cell, rows, lambda own: _by_graph(graphs, roots, own))


def _of_vertices(cell, rows, function):
    """The results of `function` for rows of vertices, and rows of edges as they are."""
    of_edges = cell._cache.edge_pushes
    if not isinstance(rows, dict) or of_edges.isdisjoint(rows):
        return function(rows)
    chosen = function({name: value for name, value in rows.items() if name not in of_edges})
    return {name: chosen.get(name, value) for name, value in rows.items()}


def _by_graph(graphs, roots, rows, combine="sum"):
    """Combines the rows of roots by graph."""
    graph = tf.gather(graphs.vertex_graph, roots)
    return tf.nest.map_structure(
        lambda values: pooled(combine, values, graph, graphs.num_graphs), rows
    )


@keras.saving.register_keras_serializable(_PACKAGE)
class Roots(SelfContained):
    """Picks, from rows of vertices, the rows of the roots: one row per graph.

    Args:
      combine: How the rows of several roots of one graph become one: their "sum", "mean" or
        "max".
      **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      rows: [V, ...] in vertex order, or a dict of such rows.

    Returns:
      [B, ...]: zeros for a graph without vertices.

    Raises:
      ValueError: If `combine` is something else, or there is not a row per vertex.

    >>> from cavs_tf import GraphBatch
    >>> graphs = GraphBatch.from_parents([[2, 2, -1], [], [-1]])
    >>> Roots()(graphs, tf.constant([[1.0], [2.0], [3.0], [4.0]])).numpy()
    array([[3.],
           [0.],
           [4.]], dtype=float32)
    """

    def __init__(self, combine: str = "sum", **kwargs):
        if combine not in POOLS:
            raise ValueError(
                f"combine: got {combine!r} but expected one of {', '.join(map(repr, POOLS))}. "
                "Choose one of them."
            )
        super().__init__(**kwargs)
        self.combine = combine

    @tf.autograph.experimental.do_not_convert
    def __call__(self, graphs, rows, **kwargs):
        # Arguments go by name, since Keras accepts only tensors by position.
        return super().__call__(graphs=graphs, rows=with_tensors(rows), **kwargs)

    def call(self, graphs, rows):
        return roots_of(graphs, rows, self.combine)

    def compute_output_shape(self, graphs_shape=None, rows_shape=None, **others):
        """The arguments are the shapes of `GraphBatch.to_dict()` and of the rows."""
        check_shapes(others, rows_shape=rows_shape)
        return shapes_of_graphs(graphs_shape, rows_shape)

    def get_config(self):
        return super().get_config() | {"combine": self.combine}


@keras.saving.register_keras_serializable(_PACKAGE)
class Graph(SelfContained):
    """Runs a vertex function over graphs, as `keras.layers.RNN` runs a cell over sequences.

    Args:
      cell: A `GraphSupport`. To save a model, it must be serializable as any Keras layer is:
        register its class with `keras.saving.register_keras_serializable`.
      return_vertices: Whether to return the output of every vertex, or only of the roots.
      go_backwards: Whether to run over `graphs.reverse()`, from parents to children. Its roots are
        the vertices without children. A schedule that the graphs carry is not used.
      **kwargs: Arguments of `keras.layers.Layer`. The default of `dtype` is the cell's.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      inputs: External inputs, [V, ...] in vertex order: a tensor, or a dict by name.
      initial_state: As for calling a `GraphSupport`: [B, *state_size], or None for zeros.

    Returns:
      The outputs of the vertices: [V, ...] in vertex order with `return_vertices`, else the row
      of each graph's root, [B, ...] (see `Roots`). A dict if they have names; outputs of
      `push_edge` are [E, ...], a row for each edge.

    Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.1.

    >>> from cavs_tf import GraphBatch, vertex_function
    >>> @vertex_function(state_size=1, arity=2)
    ... def tree_sum(v):
    ...     total = v.pull() + v.gather(0) + v.gather(1)
    ...     v.scatter(total)
    ...     v.push(total)
    >>> graphs = GraphBatch.from_parents([[2, 2, -1], [-1]])
    >>> Graph(tree_sum)(graphs, tf.constant([[1.0], [2.0], [3.0], [4.0]])).numpy()
    array([[6.],
           [4.]], dtype=float32)
    """

    def __init__(
        self,
        cell: GraphSupport,
        return_vertices: bool = False,
        go_backwards: bool = False,
        **kwargs,
    ):
        if not isinstance(cell, GraphSupport):
            raise ValueError(
                f"cell: got {type(cell).__name__} but expected a GraphSupport. Subclass "
                "GraphSupport, or use vertex_function."
            )
        check_bools(return_vertices=return_vertices, go_backwards=go_backwards)
        kwargs.setdefault("dtype", cell.dtype_policy)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_vertices = return_vertices
        self.go_backwards = go_backwards
        self.supports_jit = False  # XLA cannot compile custom ops.

    @tf.autograph.experimental.do_not_convert
    def __call__(self, graphs, inputs=None, **kwargs):
        return super().__call__(graphs=graphs, inputs=with_tensors(inputs), **kwargs)

    def call(self, graphs, inputs=None, initial_state=None):
        graphs = self._directed(graphs)
        if self.return_vertices:
            return self.cell(graphs, inputs, initial_state=initial_state)
        return run_for_roots(self.cell, graphs, inputs, initial_state)

    def compute_output_shape(
        self, graphs_shape=None, inputs_shape=None, initial_state_shape=None, **others
    ):
        """The arguments are those of `GraphSupport.compute_output_shape`, without `at_shape`."""
        check_shapes(others)
        return shapes_by_call(
            self, self.cell, graphs_shape, inputs_shape, initial_state_shape=initial_state_shape
        )

    @tf.autograph.experimental.do_not_convert
    def extend(self, states, children, inputs=None, vertex_type=None, **arguments):
        """Evaluates new vertices of graphs that grow: see `GraphSupport.extend`.

        `go_backwards` changes nothing: the new vertices gather from `children`.
        """
        return self.cell.extend(states, children, inputs, vertex_type, **arguments)

    def _directed(self, graphs):
        """The graphs, or with `go_backwards` their reverses."""
        if not self.go_backwards or asks_for_shapes():
            return graphs
        return as_graph_batch(graphs).reverse()

    def get_build_config(self):
        return self.cell.get_build_config()

    def build_from_config(self, config):
        self.cell.build_from_config(config)
        self.build(None)

    def get_config(self):
        return super().get_config() | {
            "cell": keras.saving.serialize_keras_object(self.cell),
            "return_vertices": self.return_vertices,
            "go_backwards": self.go_backwards,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        cell = keras.saving.deserialize_keras_object(config["cell"], custom_objects)
        return cls(**(config | {"cell": cell}))
