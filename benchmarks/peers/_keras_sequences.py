"""Keras's LSTM over sequences with padding, and masks where lengths differ."""

import keras
import numpy as np
import tensorflow as tf

from benchmarks.peers import _sequences
from benchmarks.peers._tensorflow import Functions
from benchmarks.workloads._lstm import sequences

_NAMES = ("kernel", "recurrent_kernel", "bias")


class Sequences:
    """An LSTM over sequences.

    Args:
      workload: What is trained.
      variables: By name; those of the layers replace some.
      multiple: Of steps: sequences are padded to it.
    """

    def __init__(self, workload, variables, multiple):
        self._workload = workload
        self._variables = variables
        self._multiple = multiple
        self.make_layers(workload.units)

    def make_layers(self, units: int) -> None:
        """Makes layers with the weights of the workload."""
        self._lstm = self._adopt(keras.layers.LSTM(units, return_sequences=True), "")

    def inputs_of(self, minibatch) -> dict:
        """Arrays of shape [B, T]."""
        return self._padded(minibatch)

    def hidden(self, inputs):
        """[B, T, units]: the rows that the output layer reads."""
        return self._lstm(self._embed(inputs), mask=inputs.get("mask"))

    def loss(self, inputs):
        """The loss, without that of padding."""
        logits = self.hidden(inputs) @ self._variables["output"] + self._variables["output_bias"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(inputs["label"], logits)
        return tf.reduce_sum(tf.where(inputs["mask"], losses, 0.0) if "mask" in inputs else losses)

    def _padded(self, minibatch) -> dict:
        token, label, mask = _sequences.padded(minibatch, self._multiple)
        inputs = {"token": token, "label": label}
        lengths = np.diff(self._workload.examples.graph_splits)
        same_length = self._workload.layout == "chains" and (lengths == lengths[0]).all()
        return inputs if same_length and mask.all() else inputs | {"mask": mask}

    def _embed(self, inputs):
        return tf.gather(self._variables["embedding"], inputs["token"])

    def _adopt(self, layer, *prefixes):
        layer.build((None, None, self._workload.units))
        names = [prefix + name for prefix in prefixes for name in _NAMES]
        layer.set_weights([self._workload.weights[name] for name in names])
        for name, weight in zip(names, layer.trainable_weights, strict=True):
            self._variables[name] = weight.value
        return layer


class Tagger(Sequences):
    """An LSTM in each direction."""

    def make_layers(self, units):
        lstm = keras.layers.LSTM(units, return_sequences=True)
        self._lstm = self._adopt(keras.layers.Bidirectional(lstm), "forward_", "backward_")

    def inputs_of(self, minibatch):
        return self._padded(sequences(minibatch, 0))

    def hidden(self, inputs):
        return self._workload.head(Functions, self._variables, [super().hidden(inputs)])


class EncoderDecoder(Sequences):
    """An LSTM that starts from the last state of another."""

    def make_layers(self, units):
        encoder = keras.layers.LSTM(units, return_state=True)
        decoder = keras.layers.LSTM(units, return_sequences=True)
        self._encoder = self._adopt(encoder, "encoder_")
        self._decoder = self._adopt(decoder, "decoder_")

    def inputs_of(self, minibatch):
        source, target = (self._padded(sequences(minibatch, kind)) for kind in range(2))
        return target | {"source": {name: source[name] for name in ("token", "mask")}}

    def hidden(self, inputs):
        source = inputs["source"]
        _, *state = self._encoder(self._embed(source), mask=source["mask"])
        return self._decoder(self._embed(inputs), initial_state=state, mask=inputs["mask"])


MODELS = {"bilstm_tagger": Tagger, "encoder_decoder": EncoderDecoder}
