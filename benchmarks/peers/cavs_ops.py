"""This project's two ops alone: forward and backward, everything else given."""

import tensorflow as tf

from benchmarks.peers import _base, cavs
from cavs_tf import GraphSupport


class Peer(cavs.Peer):
    """As `cavs`, but only the ops are timed: schedules, inputs and output gradients are given.

    No embedding, no loss, no optimizer.
    """

    def __init__(self, workload, threads, **options):
        super().__init__(workload, threads, **options)
        if not isinstance(self.model, GraphSupport):
            raise _base.Unsupported("more than one GraphSupport")
        count = workload.settings.num_minibatches
        self._given = []
        for inputs in self.dataset.take(count):
            x = self.embed(inputs)
            outputs = self.model(inputs["graphs"], x)
            gradient = tf.random.stateless_normal(outputs.shape, [0, 1])
            self._given.append((inputs["graphs"], x, gradient))
        given = [self.dataset.element_spec["graphs"]]
        given += [tf.TensorSpec([None, rows.shape[1]]) for rows in (x, gradient)]
        self._timed_train = tf.function(self._both, input_signature=given)
        self._timed_infer = tf.function(self._forward, input_signature=given)

    def given(self, index):
        """(graphs with their schedule, inputs, gradients of the outputs) of a minibatch."""
        return self._given[index % len(self._given)]

    def cell_weights(self):
        """What the vertex function reads."""
        outside = {"embedding"} if self.pushes_logits else {"embedding", "output", "output_bias"}
        return [v for n, v in self.variables.items() if n not in outside]

    def timed_train(self, index):
        return [value.numpy() for value in self._timed_train(*self.given(index))]

    def timed_infer(self, index):
        return self._timed_infer(*self.given(index)).numpy()

    def _forward(self, graphs, x, gradient):
        # One element: a copy of all rows is nothing that anyone waits for.
        return self.model(graphs, x)[0, 0]

    def _both(self, graphs, x, gradient):
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = self.model(graphs, x)
        gradients = tape.gradient(h, [x, *self.cell_weights()], gradient)
        # An element of each: TensorFlow leaves out what no result needs.
        return [tf.reshape(value, [-1])[0] for value in (h, *gradients)]
