"""Plain TensorFlow with `tf.while_loop`: over the steps of sequences, the levels of graphs."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import _sequences, _tensorflow, _tf_graphs, _trees


class Peer(_tensorflow.TensorFlowPeer):
    """Any workload. Products with inputs are computed before the loop, all at once."""

    def single_threaded(self):
        return self.is_small()

    def inputs_of(self, minibatch):
        if self.workload.layout == "graphs":
            return _tf_graphs.inputs_of(self.workload, minibatch)
        if self.workload.layout == "trees":
            return _trees.inputs_of(minibatch)
        token, label, mask = _sequences.padded(minibatch)
        # Time comes first; rows of the loss have no padding.
        rows = np.flatnonzero(mask.T).astype(np.int32)
        return {"token": token.T, "labelled": rows, "label": label.T.ravel()[rows]}

    def loss(self, inputs):
        run = {"chains": self._sequences, "trees": self._trees, "graphs": self._graphs}
        return self.cross_entropy(run[self.workload.layout](inputs), inputs["label"])

    def _graphs(self, inputs):
        return _tf_graphs.hidden(self.workload, self.variables, inputs)

    def _trees(self, inputs):
        projected = self._project(self._embed(inputs))
        leaves = self.workload.leaf(_tensorflow.Functions, self.variables, projected)
        return _trees.hidden(inputs, leaves, self._inner, self.workload.arity)

    def _sequences(self, inputs):
        x = self._embed(inputs)
        steps, batch, units = tf.shape(x)[0], tf.shape(x)[1], x.shape[2]
        projected = self._project(tf.reshape(x, [-1, units]))
        projected = tf.reshape(projected, [steps, batch, -1])
        projected = tf.ensure_shape(projected, [None, None, 4 * units])

        def body(step, state, rows):
            state = self._inner([state], projected[step])
            return step + 1, state, rows.write(step, state[-1])

        zeros = tf.zeros([batch, units])
        states = (zeros,) * self.workload.num_states
        rows = tf.TensorArray(x.dtype, steps, element_shape=[None, units])
        _, _, rows = tf.while_loop(lambda step, *_: step < steps, body, (0, states, rows))
        return tf.gather(tf.reshape(rows.stack(), [-1, units]), inputs["labelled"])

    def _embed(self, inputs):
        return tf.gather(self.variables["embedding"], inputs["token"])

    def _project(self, x):
        return self.workload.project(_tensorflow.Functions, self.variables, x)

    def _inner(self, children, projected=None):
        return self.workload.inner(_tensorflow.Functions, self.variables, projected, children)
