"""The LSTM over sequences of different lengths."""

import keras

from cavs_tf.keras._sequences import SequenceLayer
from cavs_tf.keras._tree_lstm import TreeLSTMCell


@keras.saving.register_keras_serializable("cavs_tf")
class LSTM(SequenceLayer):
    """`keras.layers.LSTM` that computes nothing for padding. Same weights, same results.

    Args:
      units: Size of the output.
      return_sequences: Whether to return the output of every step, or only of the last.
      **kwargs: Arguments of `TreeLSTMCell` (activations, initializers) and `keras.layers.Layer`.

    Call arguments: either
      sequences: [B, T, features], padded, or a RaggedTensor [B, (steps), features].
      mask: bool [B, T], False for padding, anywhere. Comes from `Embedding(mask_zero=True)`
        or `Masking` by itself. None: no padding.
    or, as of any `Graph`,
      sequences: A `GraphBatch` of B chains with V vertices, or its `to_dict()`.
      inputs: [V, features], one sequence after another.

    Returns:
      [B, units], zeros for an empty sequence. With `return_sequences`, in the form of the
      input: [B, T, units] (padding repeats the step before it, as in Keras), ragged
      [B, (steps), units], or [V, units].

    Raises:
      ValueError: If an argument, or the shape of what it is called with, is none of these.

    Source: Hochreiter and Schmidhuber 1997, "Long short-term memory".

    >>> import tensorflow as tf
    >>> sequences = tf.ragged.constant([[[1.0], [2.0]], [[3.0]]], ragged_rank=1)
    >>> LSTM(8)(sequences).shape
    TensorShape([2, 8])
    """

    cell_class = TreeLSTMCell

    def __init__(self, units, return_sequences=False, **kwargs):
        super().__init__(return_sequences, units=units, **({"arity": 1, "mode": "n_ary"} | kwargs))
