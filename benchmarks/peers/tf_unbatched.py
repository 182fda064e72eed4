"""Plain TensorFlow, vertex by vertex: what there is without any batching."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import _tensorflow


class Peer(_tensorflow.TensorFlowPeer):
    """Any workload: a `tf.while_loop` over all vertices, one row each.

    Vertices of different graphs may run at the same time, as the loop does not wait.
    """

    def inputs_of(self, minibatch):
        labelled = np.flatnonzero(minibatch.label >= 0).astype(np.int32)
        return {
            "token": minibatch.token,
            "children": np.asarray(minibatch.children, np.int32),
            "labelled": labelled,
            "label": minibatch.label[labelled],
        }

    def loss(self, inputs):
        workload, units = self.workload, self.workload.units
        token, children = inputs["token"], inputs["children"]
        num_vertices = tf.shape(token)[0]

        def leaf(vertex):
            return tuple(workload.leaf(_tensorflow.Functions, self.variables, project(vertex)))

        def inner(vertex, arrays):
            states = [
                tuple(array.read(children[vertex, slot]) for array in arrays)
                for slot in range(workload.arity)
            ]
            projected = project(vertex) if workload.inner_pulls else None
            return tuple(workload.inner(_tensorflow.Functions, self.variables, projected, states))

        def project(vertex):
            x = tf.gather(self.variables["embedding"], token[vertex : vertex + 1])
            return workload.project(_tensorflow.Functions, self.variables, x)

        def body(vertex, arrays):
            state = tf.cond(
                children[vertex, 0] < 0, lambda: leaf(vertex), lambda: inner(vertex, arrays)
            )
            written = zip(arrays, state, strict=True)
            return vertex + 1, tuple(array.write(vertex, value) for array, value in written)

        arrays = tuple(
            tf.TensorArray(
                tf.float32, num_vertices, clear_after_read=False, element_shape=[1, units]
            )
            for _ in range(workload.num_states)
        )
        _, arrays = tf.while_loop(lambda v, _: v < num_vertices, body, (0, arrays))
        h = tf.reshape(arrays[-1].stack(), [-1, units])
        return self.cross_entropy(tf.gather(h, inputs["labelled"]), inputs["label"])
