"""The GRU over sequences of different lengths."""

import keras
import tensorflow as tf

from cavs_tf._values.arguments import check_bools, written_out
from cavs_tf.graphs._options import Options
from cavs_tf.keras._recurrent import RecurrentCell
from cavs_tf.keras._sequences import SequenceLayer


class GatedCell(RecurrentCell):
    """A recurrent cell with the weights and the update of a GRU, for subclasses.

    Attributes:
      reset_after: Whether r resets what U_n makes of h, or h itself. See `GRUCell`.
      kernel, recurrent_kernel, bias: See `GRUCell`.
    """

    reset_after = True

    def _build_weights(self, features):
        columns = 3 * self.units
        self.kernel = self._add("kernel", (features, columns))
        self.recurrent_kernel = self._add("recurrent", (self.units, columns), "recurrent_kernel")
        if self.use_bias:
            self.bias = self._add("bias", (2, columns) if self.reset_after else (columns,))

    def _updated(self, x, h):
        """The GRU's next h, of an input x and an h that lies before it."""
        (left,) = self._dropped([h])
        of_input = self._product(x, self.kernel)
        if self.reset_after:
            of_h = self._product(left, self.recurrent_kernel)
            if self.use_bias:
                bias, recurrent_bias = tf.unstack(self._cast(self.bias))
                of_input, of_h = of_input + bias, of_h + recurrent_bias
            of_h = tf.split(of_h, 3, axis=1)
        else:
            of_input = self._with_bias(of_input)
            gates, new = tf.split(self.recurrent_kernel, [2 * self.units, self.units], axis=1)
            of_h = tf.split(self._product(left, gates), 2, axis=1)
        z, r, n = tf.split(of_input, 3, axis=1)
        z = self.recurrent_activation(z + of_h[0])
        r = self.recurrent_activation(r + of_h[1])
        n = self.activation(n + (r * of_h[2] if self.reset_after else self._product(r * left, new)))
        return n + z * (h - n)


@keras.saving.register_keras_serializable("cavs_tf")
class GRUCell(GatedCell):
    """The vertex function of a GRU: the child of a step is the step before it.

    With h the state of the step before, zero at the first, s the recurrent activation and *
    elementwise:

      z = s(W_z x + U_z h + b_z)   r = s(W_r x + U_r h + b_r)
      reset_after:  n = tanh(W_n x + b_n + r * (U_n h + b'_n)), and U_z h, U_r h get a b' too
      otherwise:    n = tanh(W_n x + b_n + U_n (r * h))
      h' = z * h + (1 - z) * n

    Args:
      units: Size of h.
      reset_after: Whether r resets the product of U_n and h, or h itself.
      activation: The activation of n, tanh by default.
      recurrent_activation: s, of the gates, sigmoid by default.
      use_bias: Whether there is a bias.
      dropout, recurrent_dropout, dropout_rows: As for `cavs_tf.keras.GRU`.
      **kwargs: Initializers, regularizers and constraints of "kernel", "recurrent" and "bias",
        named as in `keras.layers.GRU`; and arguments of `GraphSupport`.

    Weights, as in `keras.layers.GRU`, with columns in the order z, r, n:
      kernel: [features, 3 units].
      recurrent_kernel: [units, 3 units].
      bias: [2, 3 units] with `reset_after`, b and b'; else [3 units].
    """

    def __init__(self, units: int, *, reset_after: bool = True, **kwargs):
        check_bools(reset_after=reset_after)
        super().__init__(units, 1, **kwargs)
        self.reset_after = reset_after

    def vertex(self):
        h = self.gather(0)
        self._finish(self._updated(self._pull_dropped(), h))

    def get_config(self):
        return super().get_config() | {"reset_after": self.reset_after}


@keras.saving.register_keras_serializable("cavs_tf")
class GRU(SequenceLayer):
    """`keras.layers.GRU` that computes nothing for padding. It has the same weights and results.

    Args:
      units: Size of the output.
      return_sequences: Whether to return the output of every step, or only of the last.
      return_state: Whether to return the state after the last step as well.
      go_backwards: Whether to go from the last step to the first, and return outputs in that order.
      stateful: Whether the states after a call are the initial states of the next, sequence by
        sequence, until `reset_state()`. The number of sequences must be known, and stay.
      zero_output_for_mask: Whether outputs of padding are zeros.
      reset_after: Whether the reset gate is applied after the
        recurrent product, which then has a bias of its own, or before it.
      dropout, recurrent_dropout: In [0, 1): the share of the inputs, and of the h of the step
        before, that is dropped in training before it is multiplied: the same elements in all steps
        of a sequence, as in Keras, or with `dropout_rows="vertex"` others in each.
      seed: An int with which dropout starts; None: the next of Keras's seeds.
      unroll, implementation, use_cudnn: Arguments of Keras's layer that change nothing here.
      options: An `Options`.
      activation, kernel_initializer, ..., **kwargs: Arguments of Keras's layer, in its order.

    It takes the call arguments of `LSTM` and returns the same, except that its state is h alone.

    Source: Cho et al. 2014, arXiv:1406.1078, equations 5-8; `reset_after` as in its version 1.

    >>> sequences = tf.ragged.constant([[[1.0], [2.0]], [[3.0]]], ragged_rank=1)
    >>> GRU(8)(sequences).shape
    TensorShape([2, 8])
    """

    cell_class = GRUCell

    def __init__(
        self,
        units: int,
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
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = True,
        use_cudnn="auto",
        *,
        implementation: int = 2,
        zero_output_for_mask: bool = False,
        dropout_rows: str = "graph",
        options: Options | None = None,
        **kwargs,
    ):
        super().__init__(**written_out(locals()))
