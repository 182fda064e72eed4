"""Layers over sequences of different lengths."""

import keras
import tensorflow as tf

from cavs_tf.graphs import GraphBatch
from cavs_tf.keras._graph import run_for_roots
from cavs_tf.keras._recurrent import CellLayer


class SequenceLayer(CellLayer):
    """A `CellLayer` whose graphs are chains: takes the place of a recurrent layer of Keras.

    Args:
      return_sequences: Whether to return the output of every step, or only of the last.
      **kwargs: Arguments of the cell and `keras.layers.Layer`.

    It is called with what `LSTM` is called with, and returns the same.
    """

    def __init__(self, return_sequences: bool, **kwargs):
        super().__init__(return_sequences, **kwargs)
        self.return_sequences = return_sequences
        self.supports_masking = True

    def __call__(self, sequences, inputs=None, mask=None, **kwargs):
        arguments = {} if inputs is None else {"inputs": inputs}
        if mask is not None:
            arguments["mask"] = mask
        return keras.layers.Layer.__call__(self, sequences=sequences, **arguments, **kwargs)

    def call(self, sequences, inputs=None, mask=None):
        if inputs is not None:
            return super().call(sequences, inputs)
        if isinstance(sequences, (GraphBatch, dict)):
            raise ValueError(
                "inputs: got graphs without any but expected [V, features], one row per vertex. "
                "Call the layer with (graphs, inputs)."
            )
        if sequences.shape.rank != 3:
            raise ValueError(
                f"sequences: got shape {sequences.shape} but expected [B, T, features], or a "
                "RaggedTensor [B, (steps), features]. Embed tokens first."
            )
        if isinstance(sequences, tf.RaggedTensor):
            return self._call_ragged(sequences)
        return self._call_padded(sequences, mask)

    def compute_mask(self, sequences, mask):
        return mask if self.return_sequences else None

    def _call_ragged(self, sequences):
        graphs = GraphBatch.chain(sequences.row_lengths())
        if not self.return_sequences:
            return run_for_roots(self.cell, graphs, sequences.values)
        return sequences.with_values(self.cell(graphs, sequences.values))

    def _call_padded(self, sequences, mask):
        if mask is None:
            mask = tf.ones(tf.shape(sequences)[:2], tf.bool)
        if not mask.shape.is_compatible_with(sequences.shape[:2]):
            raise ValueError(
                f"mask: got shape {mask.shape} but expected {sequences.shape[:2]}, one value per "
                "step. Pass the mask of the same sequences."
            )
        mask = tf.ensure_shape(mask, sequences.shape[:2])
        steps_so_far = tf.cumsum(tf.cast(mask, tf.int32), axis=1)
        graphs = GraphBatch.chain(steps_so_far[:, -1])
        inputs = tf.ensure_shape(tf.boolean_mask(sequences, mask), [None, sequences.shape[2]])
        if not self.return_sequences:
            return run_for_roots(self.cell, graphs, inputs)
        rows = self.cell(graphs, inputs)
        # No step precedes padding at the beginning: its output is row 0, which is zeros.
        first_row = graphs.graph_splits[:-1, None]
        index = tf.where(steps_so_far > 0, first_row + steps_so_far, 0)
        return tf.gather(tf.pad(rows, [[1, 0], [0, 0]]), index)

    def get_config(self):
        config = super().get_config()
        for name in ("arity", "mode", "return_vertices"):  # Constant for chains.
            config.pop(name, None)
        return config | {"return_sequences": self.return_sequences}
