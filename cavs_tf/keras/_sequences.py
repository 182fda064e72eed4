"""Layers over sequences of different lengths."""

import types

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import with_tensors
from cavs_tf._inputs.keras_private import SelfContained, asks_for_shapes
from cavs_tf._values.arguments import check_bools, checked_size
from cavs_tf.graphs._graph_batch import GraphBatch
from cavs_tf.keras._recurrent import CellLayer

_OF_LAYER = (
    "return_sequences",
    "stateful",
    "zero_output_for_mask",
    "unroll",
    "implementation",
    "use_cudnn",
)


class SequenceLayer(CellLayer):
    """A `CellLayer` whose graphs are chains: takes the place of a recurrent layer of Keras.

    Args:
      return_sequences: Whether to return the output of every step, or only of the last.
      stateful: Whether the states after a call are the initial states of the next.
      zero_output_for_mask: Whether outputs of padding are zeros. Otherwise they repeat the step
        before.
      unroll, implementation, use_cudnn: Arguments of Keras's layers that change nothing here.
      **kwargs: Arguments of the cell, `CellLayer` and `keras.layers.Layer`.

    It takes the call arguments of `LSTM` and returns the same.
    """

    def __init__(
        self,
        *,
        return_sequences: bool,
        return_state: bool,
        stateful: bool,
        zero_output_for_mask: bool,
        unroll: bool,
        implementation: int,
        use_cudnn: bool | str,
        **kwargs,
    ):
        check_bools(
            return_sequences=return_sequences,
            stateful=stateful,
            zero_output_for_mask=zero_output_for_mask,
            unroll=unroll,
        )
        if use_cudnn not in ("auto", True, False):
            raise ValueError(
                f"use_cudnn: got {use_cudnn!r} but expected 'auto', True or False. Leave it out."
            )
        super().__init__(
            return_vertices=return_sequences,
            return_state=return_state,
            push_states=bool(return_state or stateful),
            **kwargs,
        )
        self.return_sequences = return_sequences
        self.stateful = stateful
        self.zero_output_for_mask = zero_output_for_mask
        self.unroll = unroll
        self.implementation = checked_size("implementation", implementation, least=0)
        self.use_cudnn = use_cudnn
        self.supports_masking = True
        # Keras would track a list in an attribute, but states are not weights.
        self._kept = types.SimpleNamespace(states=None)

    @property
    def states(self) -> list[keras.Variable] | None:
        """The states after the last call, with `stateful`, once there has been one."""
        return self._kept.states

    def reset_state(self) -> None:
        """Sets the states of a `stateful` layer to zeros, where unrelated sequences begin."""
        for state in self.states or ():
            state.assign(tf.zeros(state.shape, state.dtype))

    reset_states = reset_state  # Keras has both names.

    def build(self, sequences_shape=None, inputs_shape=None, initial_state_shape=None):
        """Makes the weights for inputs of this shape, unless `call` will say why there are none."""
        if self.stateful:
            self._make_states(sequences_shape)
        rank, shape = (3, sequences_shape) if inputs_shape is None else (2, inputs_shape)
        if isinstance(shape, (tuple, list)) and len(shape) == rank and shape[-1] is not None:
            self.cell._build_for((None, shape[-1]))

    @tf.autograph.experimental.do_not_convert
    def __call__(self, sequences, inputs=None, mask=None, initial_state=None, **kwargs):
        if initial_state is None and not isinstance(sequences, (GraphBatch, dict)):
            inputs, initial_state = None, inputs  # It is the second argument of Keras's layers.
        inputs = with_tensors(inputs)
        optional = {"inputs": inputs, "mask": mask, "initial_state": initial_state}
        kwargs |= {name: value for name, value in optional.items() if value is not None}
        return SelfContained.__call__(self, sequences=with_tensors(sequences), **kwargs)

    def call(self, sequences, inputs=None, mask=None, initial_state=None):
        if inputs is not None:
            return super().call(sequences, inputs, initial_state)
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
        if self.stateful:
            initial_state = self._last_states(sequences, initial_state)
        if isinstance(sequences, tf.RaggedTensor):
            output, states = self._call_ragged(sequences, initial_state)
        else:
            output, states = self._call_padded(sequences, mask, initial_state)
        if self.stateful and not asks_for_shapes():
            for kept, state in zip(self.states, states, strict=True):
                kept.assign(tf.cast(state, kept.dtype))
        return (output, *states) if self.return_state else output

    def compute_mask(self, sequences, mask):
        mask = mask if self.return_sequences else None
        return [mask, *[None] * len(self.cell.state_names)] if self.return_state else mask

    def compute_output_shape(self, sequences_shape, initial_state_shape=None, inputs_shape=None):
        """The arguments are shapes of padded sequences, for wrappers of Keras, or of graphs."""
        if isinstance(sequences_shape, dict) or inputs_shape is not None:
            return super().compute_output_shape(sequences_shape, inputs_shape)
        batch, steps, _ = sequences_shape
        state = (batch, self.units)
        output = (batch, steps, self.units) if self.return_sequences else state
        return self._with_states(output, state)

    def _make_states(self, shape) -> None:
        """Makes the states of a `stateful` layer, for sequences of this shape."""
        if self.states is not None:
            self.reset_state()
            return
        has_batch = isinstance(shape, (tuple, list, tf.TensorShape)) and shape[0] is not None
        if not has_batch:
            raise ValueError(
                f"sequences: got shape {shape} but expected a known number of sequences, as the "
                "layer is stateful. Make the input with keras.Input(batch_shape=(B, T, features))."
            )
        self._kept.states = [
            keras.Variable(
                tf.zeros([shape[0], self.units], self.variable_dtype),
                trainable=False,
                dtype=self.variable_dtype,
                name=f"state_{name}",
            )
            for name in self.cell.state_names
        ]

    def _last_states(self, sequences, initial_state):
        """The given initial state of a `stateful` layer, or else its state after the last call."""
        expected, got = self.states[0].shape[0], sequences.shape[0]
        if got not in (None, expected):
            raise ValueError(
                f"sequences: got {got} sequences but expected {expected}, as many as before, since "
                "the layer is stateful. Make a layer for each number of them."
            )
        return [state.value for state in self.states] if initial_state is None else initial_state

    def _call_ragged(self, sequences, initial_state):
        if self.go_backwards:
            sequences = sequences[:, ::-1]
        graphs = GraphBatch.chain(sequences.row_lengths())
        output, states = self._run(graphs, sequences.values, initial_state)
        return sequences.with_values(output) if self.return_sequences else output, states

    def _call_padded(self, sequences, mask, initial_state):
        if mask is None:
            mask = tf.ones(tf.shape(sequences)[:2], tf.bool)
        if not mask.shape.is_compatible_with(sequences.shape[:2]):
            raise ValueError(
                f"mask: got shape {mask.shape} but expected {sequences.shape[:2]}, one value per "
                "step. Pass the mask of the same sequences."
            )
        mask = tf.ensure_shape(mask, sequences.shape[:2])
        if self.go_backwards:
            sequences, mask = sequences[:, ::-1], mask[:, ::-1]
        steps_so_far = tf.cumsum(tf.cast(mask, tf.int32), axis=1)
        graphs = GraphBatch.chain(tf.reduce_sum(tf.cast(mask, tf.int32), axis=1))
        inputs = tf.ensure_shape(tf.boolean_mask(sequences, mask), [None, sequences.shape[2]])
        output, states = self._run(graphs, inputs, initial_state)
        if self.return_sequences:
            return self._padded(output, graphs, mask, steps_so_far), states
        if self.zero_output_for_mask:
            output = tf.where(tf.pad(mask, [[0, 0], [1, 0]])[:, -1:], output, 0)
        return output, states

    def _padded(self, rows, graphs, mask, steps_so_far):
        """The outputs of all steps, [B, T, units], from the outputs of steps without padding."""
        # No step precedes padding at the beginning: its output is row 0, which is zeros.
        is_zero = ~mask if self.zero_output_for_mask else steps_so_far == 0
        index = tf.where(is_zero, 0, graphs.graph_splits[:-1, None] + steps_so_far)
        return tf.gather(tf.pad(rows, [[1, 0], [0, 0]]), index)

    def get_build_config(self):
        config = super().get_build_config()
        return config and config | {"sequences": self.states and self.states[0].shape[0]}

    def build_from_config(self, config):
        self.cell.build_from_config(config)
        self.build((config and config["sequences"], None, None))

    def get_config(self):
        config = super().get_config()
        for name in ("arity", "mode", "return_vertices"):  # These are constant for chains.
            config.pop(name, None)
        return config | {name: getattr(self, name) for name in _OF_LAYER}
