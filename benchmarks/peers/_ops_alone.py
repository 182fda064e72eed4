"""Times this project's two ops alone: forward and backward, with everything else given."""

import tensorflow as tf


class OpsAlone:
    """Runs the model of a `cavs.Peer` on given schedules, inputs and output gradients.

    No embedding, no loss, no optimizer.
    """

    def __init__(self, peer):
        self._peer = peer
        self._given = []
        for inputs in peer.dataset.take(peer.workload.settings.num_minibatches):
            x = peer.embed(inputs)
            outputs = peer.model(inputs["graphs"], x)
            gradient = tf.random.stateless_normal(outputs.shape, [0, 1], dtype=outputs.dtype)
            self._given.append((inputs["graphs"], x, gradient))
        signature = [peer.dataset.element_spec["graphs"]]
        signature += [tf.TensorSpec([None, rows.shape[1]], rows.dtype) for rows in (x, gradient)]
        self._functions = {
            mode: tf.function(run, input_signature=signature)
            for mode, run in (("training", self._both), ("inference", self._forward))
        }

    def run(self, mode: str, index: int):
        """Runs what is timed; returns an element of each result."""
        return [value.numpy() for value in self._functions[mode](*self.given(index))]

    def given(self, index):
        """(graphs with their schedule, inputs, gradients of the outputs) of a minibatch."""
        return self._given[index % len(self._given)]

    def cell_weights(self):
        """The weights that the vertex function reads."""
        outside = {"embedding"}
        if not self._peer.pushes_logits:
            outside |= {"output", "output_bias"}
        return [v for n, v in self._peer.variables.items() if n not in outside]

    def _forward(self, graphs, x, gradient):
        # A single element, so that nothing waits for a copy of all rows.
        return [self._peer.model(graphs, x)[0, 0]]

    def _both(self, graphs, x, gradient):
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = self._peer.model(graphs, x)
        gradients = tape.gradient(h, [x, *self.cell_weights()], gradient)
        # An element of each gradient, since TensorFlow leaves out what no result needs.
        return [tf.reshape(value, [-1])[0] for value in (h, *gradients)]
