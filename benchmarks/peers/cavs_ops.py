"""This project's two ops alone: forward and backward, everything else given."""

import tensorflow as tf

from benchmarks.peers import cavs


class Peer(cavs.Peer):
    """As `cavs`, but only the ops are timed: schedules, inputs and output gradients are given.

    No embedding, no loss, no optimizer.
    """

    def __init__(self, workload, threads, **options):
        super().__init__(workload, threads, **options)
        count = workload.settings.num_minibatches
        self._given = []
        for inputs in self.dataset.take(count):
            x = self.embed(inputs)
            self._given.append((inputs["graphs"], x, tf.random.stateless_normal(x.shape, [0, 1])))
        rows = tf.TensorSpec([None, workload.units])
        graphs = self.dataset.element_spec["graphs"]
        self._timed_train = tf.function(self._both, input_signature=[graphs, rows, rows])
        self._timed_infer = tf.function(self._forward, input_signature=[graphs, rows, rows])

    def timed_train(self, index):
        self._timed_train(*self._given[index % len(self._given)])

    def timed_infer(self, index):
        self._timed_infer(*self._given[index % len(self._given)])

    def _forward(self, graphs, x, gradient):
        # A scalar: a copy of all rows is nothing that anyone waits for.
        return self.model(graphs, x)[0, 0]

    def _both(self, graphs, x, gradient):
        with tf.GradientTape() as tape:
            tape.watch(x)
            h = self.model(graphs, x)
        cell = [v for n, v in self.variables.items() if n not in _OUTSIDE]
        by_x, *by_weights = tape.gradient(h, [x, *cell], gradient)
        with tf.control_dependencies([by_x, *by_weights]):
            return tf.identity(h[0, 0])


_OUTSIDE = ("embedding", "output", "output_bias")
