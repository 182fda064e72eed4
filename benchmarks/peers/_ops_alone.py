"""Times this project's two ops alone: forward and backward, with everything else given."""

import tensorflow as tf

import cavs_tf as cavs


class OpsAlone:
    """Runs the model of a `cavs.Peer` on given schedules, inputs and output gradients.

    No embedding, no loss, no optimizer. As handing a minibatch from Python to TensorFlow takes
    longer than a small step, TensorFlow takes those given from an iterator, several in a call.

    Args:
      peer: The `cavs.Peer`.
      calls: A function of (function of a minibatch that returns scalars, number of results) that
        makes a function of an iterator, which returns the results of the last step of a call.
    """

    def __init__(self, peer, calls):
        self._peer = peer
        count = peer.workload.settings.num_minibatches
        self.given = peer.dataset.take(count).map(self._give).cache()
        self._repeated = self.given.repeat()
        self._steps = None
        self._functions = {
            "training": calls(self.both, 2),
            "inference": calls(self._forward, 1),
        }

    def run(self, mode: str, index: int):
        """Runs what is timed; returns an element of each result of the last step."""
        if index == 0 or self._steps is None:
            self._steps = iter(self._repeated)
        return [value.numpy() for value in self._functions[mode](self._steps)]

    def cell_weights(self):
        """The weights that the vertex function reads."""
        outside = {"embedding"}
        if not self._peer.pushes_logits:
            outside |= {"output", "output_bias"}
        return [v for n, v in self._peer.variables.items() if n not in outside]

    def _give(self, inputs):
        """(graphs with their schedule, inputs, gradients of the outputs) of a minibatch."""
        x = self._peer.embed(inputs)
        outputs = self._peer.model(inputs["graphs"], x)
        gradient = tf.random.stateless_normal(tf.shape(outputs), [0, 1], dtype=outputs.dtype)
        return inputs["graphs"], x, gradient

    def _forward(self, given):
        graphs, x, _ = given
        # A single element, so that nothing waits for a copy of all rows.
        return [self._peer.model(graphs, x)[0, 0]]

    def both(self, given):
        """An element of the outputs and one of the inputs' gradient; the step computes all."""
        graphs, x, gradient = given
        rows = x.rows if isinstance(x, cavs.VertexRows) else x
        with tf.GradientTape() as tape:
            tape.watch(rows)
            h = self._peer.model(graphs, x)
        gradients = tape.gradient(h, [rows, *self.cell_weights()], gradient)
        # One op computes all gradients. An element of each would be two operators of TensorFlow
        # for each, 6% of the time of one tree of 64 units.
        return [tf.reshape(value, [-1])[0] for value in (h, gradients[0])]
