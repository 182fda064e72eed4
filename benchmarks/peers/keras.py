"""Keras: its LSTM for sequences, with a mask where lengths differ; a layer for trees."""

import keras
import numpy as np
import tensorflow as tf

from benchmarks.peers import _sequences, _tensorflow, _trees


class Peer(_tensorflow.TensorFlowPeer):
    """Any workload. The LSTM is the layer; trees are batched by hand, level by level."""

    padding_multiple = 1

    def prepare(self):
        workload = self.workload
        if workload.arity == 1:
            self.layer = keras.layers.LSTM(workload.units, return_sequences=True)
            self.layer.build((None, None, workload.units))
            kernels = ("kernel", "recurrent_kernel", "bias")
            self.layer.set_weights([workload.weights[name] for name in kernels])
            trained = dict(zip(kernels, self.layer.trainable_weights, strict=True))
            self.variables |= {name: weight.value for name, weight in trained.items()}
            lengths = [np.diff(batch.graph_splits) for batch in workload.minibatches]
            self.same_length = len(set(np.concatenate(lengths).tolist())) == 1
        else:
            self.layer = TreeLayer(workload, self.variables)
        super().prepare()

    def inputs_of(self, minibatch):
        if self.workload.arity > 1:
            return _trees.inputs_of(minibatch)
        token, label, mask = _sequences.padded(minibatch, self.padding_multiple)
        return {"token": token, "label": label, "mask": mask}

    def loss(self, inputs):
        x = tf.gather(self.variables["embedding"], inputs["token"])
        if self.workload.arity > 1:
            return self.cross_entropy(self.layer(x, inputs), inputs["label"])
        h = self.layer(x, mask=None if self.same_length else inputs["mask"])
        logits = h @ self.variables["output"] + self.variables["output_bias"]
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(inputs["label"], logits)
        return tf.reduce_sum(tf.where(inputs["mask"], losses, 0.0))


class TreeLayer(keras.layers.Layer):
    """h of the labelled vertices of trees, of the inputs of their leaves."""

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
