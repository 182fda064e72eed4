"""Rows of vertices by graph, as layers for sequences take them."""

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import as_graph_batch, check_shapes, size_before, with_tensors
from cavs_tf._inputs.keras_private import SelfContained, asks_for_shapes
from cavs_tf.keras._graph import rows_of_graphs


@keras.saving.register_keras_serializable(package="cavs_tf")
class Split(SelfContained):
    """Divides the rows of vertices by graph, and pads them with zeros to the largest graph.

    The result has a mask, which layers of Keras that know masks read by themselves: in
    `keras.layers.Attention` or `MultiHeadAttention` a decoder attends to the vertices of its graph
    alone. `GraphBatch.split` makes a RaggedTensor instead.

    Args:
      **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      rows: [V, features] in vertex order, from a layer with `return_vertices=True`.

    Returns:
      [B, n, features], n the number of vertices of the largest graph; its mask is bool [B, n].

    Raises:
      ValueError: If there is not a row per vertex.

    Example:
    >>> from cavs_tf import GraphBatch
    >>> graphs = GraphBatch.from_parents([[2, 2, -1], [-1]])
    >>> rows = Split()(graphs, tf.constant([[1.0], [2.0], [3.0], [4.0]]))
    >>> rows[..., 0].numpy()
    array([[1., 2., 3.],
           [4., 0., 0.]], dtype=float32)
    >>> keras.layers.Attention()([tf.ones([2, 1, 1]), rows]).numpy()[1].tolist()
    [[4.0]]
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    @tf.autograph.experimental.do_not_convert
    def __call__(self, graphs, rows, **kwargs):
        # Arguments go by name, since Keras accepts only tensors by position.
        return super().__call__(graphs=graphs, rows=with_tensors(rows), **kwargs)

    def call(self, graphs, rows):
        if asks_for_shapes():
            return tf.repeat(rows_of_graphs(graphs, rows)[:, None], tf.shape(rows)[0], axis=1)
        return as_graph_batch(graphs).split(rows).to_tensor()

    def compute_mask(self, graphs, previous_mask):
        splits = graphs["graph_splits"] if isinstance(graphs, dict) else graphs.graph_splits
        if isinstance(splits, keras.KerasTensor):
            return keras.KerasTensor((None, None), "bool")
        return tf.sequence_mask(splits[1:] - splits[:-1])

    def compute_output_shape(self, graphs_shape=None, rows_shape=None, **others):
        """The arguments are the shapes of `GraphBatch.to_dict()` and of the rows."""
        check_shapes(others, rows_shape=rows_shape)
        return (size_before("graph_splits", graphs_shape), None, *rows_shape[1:])
