"""Readouts: one row per graph, from the rows of its vertices."""

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import as_graph_batch, check_shapes, with_tensors
from cavs_tf._inputs.keras_private import SelfContained, asks_for_shapes
from cavs_tf._values.arguments import checked_size
from cavs_tf._values.wide_sums import sum_of_segments, widened
from cavs_tf.keras._graph import (
    POOLS,
    checked_rows,
    pooled,
    rows_of_graphs,
    shapes_of_graphs,
)

_MODES = (*POOLS, "attention")


@keras.saving.register_keras_serializable(package="cavs_tf")
class Pool(SelfContained):
    """Combines the rows of each graph's vertices to one row.

    Args:
      mode: "mean", "max" or "sum" of the rows, or "attention": their mean weighed by
        softmax(v . tanh(W x + b)) over the vertices of the graph, with a learned W, b and v.
      units: The size of v, for "attention" only; None: as many as a row has columns.
      **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      rows: [V, features] in vertex order, from a layer with `return_vertices=True`.
      return_attention_scores: Whether to return the weights of "attention" as well.

    Returns:
      [B, features]: zeros for a graph without vertices. With `return_attention_scores`
      (that, weights): [V], positive and with sum 1 over the vertices of each graph.

    Raises:
      ValueError: If there is no such mode, the numbers of rows and vertices differ, or weights are
        asked for that the mode does not have.

    Source of "attention": Yang et al. 2016, "Hierarchical attention networks for document
    classification", equations 5 to 7.

    Example:
    >>> from cavs_tf import GraphBatch
    >>> graphs = GraphBatch.from_parents([[2, 2, -1], [], [-1]])
    >>> Pool("mean")(graphs, tf.constant([[1.0], [2.0], [6.0], [4.0]])).numpy()
    array([[3.],
           [0.],
           [4.]], dtype=float32)
    """

    def __init__(self, mode: str = "mean", units: int | None = None, **kwargs):
        if mode not in _MODES:
            raise ValueError(
                f"mode: got {mode!r} but expected one of {', '.join(map(repr, _MODES))}. Choose "
                "one of them."
            )
        if units is not None and mode != "attention":
            raise ValueError(
                f"units: got {units!r} but expected None, as {mode!r} has no weights. Leave it out."
            )
        super().__init__(**kwargs)
        self.mode = mode
        self.units = None if units is None else checked_size("units", units)

    def build(self, graphs_shape=None, rows_shape=None):
        if self.mode == "attention":
            columns = rows_shape[-1]
            units = self.units or columns
            self.kernel = self.add_weight(shape=(columns, units), name="kernel")
            self.bias = self.add_weight(shape=(units,), initializer="zeros", name="bias")
            self.query = self.add_weight(shape=(units, 1), name="query")

    @tf.autograph.experimental.do_not_convert
    def __call__(self, graphs, rows, **kwargs):
        # Arguments go by name, since Keras accepts only tensors by position.
        return super().__call__(graphs=graphs, rows=with_tensors(rows), **kwargs)

    def call(self, graphs, rows, return_attention_scores=False):
        if return_attention_scores and self.mode != "attention":
            raise ValueError(
                f"return_attention_scores: got True but expected False, as {self.mode!r} has no "
                "weights. Make the layer with mode='attention'."
            )
        if asks_for_shapes():
            zeros = rows_of_graphs(graphs, rows)
            return (zeros, tf.zeros_like(rows[:, 0])) if return_attention_scores else zeros
        graphs = as_graph_batch(graphs)
        rows = checked_rows(graphs, rows)
        graph, count = graphs.vertex_graph, graphs.num_graphs
        if self.mode != "attention":
            return pooled(self.mode, rows, graph, count)
        wide = widened(rows)
        weights = _softmax_of_graphs(self._scores(wide), graph, count)
        mean = tf.cast(sum_of_segments(weights * wide, graph, count), rows.dtype)
        if not return_attention_scores:
            return mean
        return mean, tf.cast(tf.squeeze(weights, axis=1), rows.dtype)

    def _scores(self, rows):
        kernel, bias, query = (tf.cast(w, rows.dtype) for w in (self.kernel, self.bias, self.query))
        return tf.tanh(rows @ kernel + bias) @ query

    def compute_output_shape(self, graphs_shape=None, rows_shape=None, **others):
        """The arguments are the shapes of `GraphBatch.to_dict()` and of the rows."""
        check_shapes(others, rows_shape=rows_shape)
        return shapes_of_graphs(graphs_shape, rows_shape)

    def get_config(self):
        return super().get_config() | {"mode": self.mode, "units": self.units}


def _softmax_of_graphs(scores, graph, count):
    """The softmax over the vertices of each graph, of scores [V, 1]."""
    largest = tf.math.unsorted_segment_max(tf.stop_gradient(scores), graph, count)
    exponentials = tf.exp(scores - tf.gather(largest, graph))
    return exponentials / tf.gather(sum_of_segments(exponentials, graph, count), graph)
