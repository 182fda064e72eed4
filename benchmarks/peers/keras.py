"""Keras: its LSTM for sequences, with a mask where lengths differ; a layer for trees.

Compiled by XLA, sequences only: XLA wants to know sizes, which differ with every tree.
"""

import keras
import tensorflow as tf

from benchmarks.peers import _base, _keras_sequences, _tensorflow, _trees


class Peer(_tensorflow.TensorFlowPeer):
    """Sequences by Keras's layers; trees are batched by hand, level by level.

    Args:
      jit_compile: Whether XLA compiles steps.
    """

    def __init__(self, workload, threads, jit_compile=False):
        self.jit_compile = jit_compile
        if jit_compile and workload.layout == "trees":
            raise _base.Unsupported("XLA compiles anew for every minibatch of trees")
        if workload.layout == "graphs" and workload.name not in _keras_sequences.MODELS:
            raise _base.Unsupported("Keras has no layer for such graphs")
        super().__init__(workload, threads)

    def prepare(self):
        workload = self.workload
        if workload.layout == "trees":
            self._model = Trees(workload, self.variables)
        else:
            model = _keras_sequences.MODELS.get(workload.name, _keras_sequences.Sequences)
            # XLA compiles for every length.
            self._model = model(workload, self.variables, 8 if self.jit_compile else 1)
        super().prepare()

    def inputs_of(self, minibatch):
        return self._model.inputs_of(minibatch)

    def single_threaded(self):
        return self.is_small() and not self.jit_compile

    def loss(self, inputs):
        if self.workload.layout == "trees":
            return self.cross_entropy(self._model.hidden(inputs), inputs["label"])
        return self._model.loss(inputs)


class Trees:
    """A layer over trees, and its inputs."""

    def __init__(self, workload, variables):
        self._embedding = variables["embedding"]
        self._layer = TreeLayer(workload, variables)

    def inputs_of(self, minibatch):
        """A plan, as arrays."""
        return _trees.inputs_of(minibatch)

    def hidden(self, inputs):
        """h of the labelled vertices."""
        return self._layer(tf.gather(self._embedding, inputs["token"]), inputs)


class TreeLayer(keras.layers.Layer):
    """Computes h of the labelled vertices of trees from the inputs of their leaves."""

    def __init__(self, workload, variables):
        super().__init__()
        self._workload = workload
        self._variables = variables

    def call(self, x, inputs):
        functions, w = _tensorflow.Functions, self._variables
        leaves = self._workload.leaf(functions, w, self._workload.project(functions, w, x))

        def inner(children):
            return self._workload.inner(functions, w, None, children)

        return _trees.hidden(inputs, leaves, inner, self._workload.arity)
