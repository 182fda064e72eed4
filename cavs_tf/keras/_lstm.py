"""The LSTM over sequences of different lengths."""

import keras

from cavs_tf._values.arguments import written_out
from cavs_tf.graphs._options import Options
from cavs_tf.keras._sequences import SequenceLayer
from cavs_tf.keras._tree_lstm import TreeLSTMCell


@keras.saving.register_keras_serializable("cavs_tf")
class LSTM(SequenceLayer):
    """`keras.layers.LSTM` that computes nothing for padding. It has the same weights and results.

    Args:
      units: Size of the output.
      return_sequences: Whether to return the output of every step, or only of the last.
      return_state: Whether to return the state after the last step as well.
      go_backwards: Whether to go from the last step to the first, and return outputs in that order.
      stateful: Whether the states after a call are the initial states of the next, sequence by
        sequence, until `reset_state()`. The number of sequences must be known, and stay.
      zero_output_for_mask: Whether outputs of padding are zeros.
      dropout, recurrent_dropout: In [0, 1): the share of the inputs, and of the h of the step
        before, that is dropped in training before it is multiplied: the same elements in all steps
        of a sequence, as in Keras, or with `dropout_rows="vertex"` others in each.
      seed: An int with which dropout starts; None: the next of Keras's seeds.
      unroll, implementation, use_cudnn: Arguments of Keras's layer that change nothing here.
      options: An `Options`.
      activation, kernel_initializer, ..., **kwargs: Arguments of Keras's layer, in its order.

    Call arguments, for padded or ragged sequences:
      sequences: [B, T, features], padded, or a RaggedTensor [B, (steps), features].
      mask: bool [B, T], False for padding, anywhere. It comes from `Embedding(mask_zero=True)`
        or `Masking` by itself. None: no padding.

    Call arguments, for chains, as for any `Graph`:
      sequences: A `GraphBatch` of B chains with V vertices, or its `to_dict()`.
      inputs: [V, features], one sequence after another.

    Call arguments, for both:
      initial_state: [h, c], each [B, units]. None: zeros.

    Returns:
      [B, units], zeros for an empty sequence. With `return_sequences`, in the form of the
      input: [B, T, units] (padding repeats the step before it, as in Keras), ragged
      [B, (steps), units], or [V, units], in vertex order with `go_backwards` too.
      With `return_state` (that, h, c), where h and c are [B, units]; for an empty sequence they
      are the initial state.

    Raises:
      ValueError: If an argument, or the shape of a call argument, is not as described.

    Source: Hochreiter and Schmidhuber 1997, "Long short-term memory".

    >>> import tensorflow as tf
    >>> sequences = tf.ragged.constant([[[1.0], [2.0]], [[3.0]]], ragged_rank=1)
    >>> LSTM(8)(sequences).shape
    TensorShape([2, 8])
    >>> _, h, c = LSTM(8, return_state=True)(sequences)
    >>> LSTM(8, go_backwards=True)(sequences, initial_state=[h, c]).shape
    TensorShape([2, 8])
    >>> both = keras.layers.Bidirectional(LSTM(8, return_sequences=True))
    >>> both(sequences.to_tensor()).shape
    TensorShape([2, 2, 16])
    """

    cell_class = TreeLSTMCell

    def __init__(
        self,
        units: int,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias: bool = True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias: bool = True,
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
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        use_cudnn="auto",
        *,
        implementation: int = 2,
        zero_output_for_mask: bool = False,
        dropout_rows: str = "graph",
        options: Options | None = None,
        **kwargs,
    ):
        super().__init__(**written_out(locals()), arity=1, mode="n_ary")
