"""Plain TensorFlow, vertex by vertex: without any batching."""

import functools

import numpy as np
import tensorflow as tf

from benchmarks.peers import _tensorflow


class Peer(_tensorflow.TensorFlowPeer):
    """Any workload: a `tf.while_loop` over all vertices, one row each.

    Vertices of different graphs may run at the same time, as the loop does not wait.
    """

    def inputs_of(self, minibatch):
        labelled = minibatch.label >= 0
        return {
            "token": minibatch.token,
            "kind": minibatch.kind,
            "children": np.asarray(minibatch.children, np.int32),
            "outputs": minibatch.outputs[labelled].astype(np.int32),
            "label": minibatch.label[labelled],
        }

    def loss(self, inputs):
        workload, w = self.workload, self.variables
        kinds = range(len(workload.vertex_types))
        num_vertices = tf.shape(inputs["token"])[0]

        def body(vertex, arrays):
            branches = [
                functools.partial(self._vertex, kind, vertex, inputs, arrays) for kind in kinds
            ]
            kind = inputs["kind"][vertex]
            state = branches[0]() if len(branches) == 1 else tf.switch_case(kind, branches)
            written = zip(arrays, state, strict=True)
            return vertex + 1, tuple(array.write(vertex + 1, value) for array, value in written)

        arrays = tuple(self._states(1 + num_vertices) for _ in range(workload.num_states))
        _, arrays = tf.while_loop(lambda v, _: v < num_vertices, body, (0, arrays))
        h = tf.reshape(arrays[-1].stack(), [-1, workload.units])
        outputs = [tf.gather(h, 1 + column) for column in tf.unstack(inputs["outputs"], axis=1)]
        return self.cross_entropy(workload.head(_tensorflow.Functions, w, outputs), inputs["label"])

    def _states(self, size):
        """One tensor for the state of each vertex, from 1 on; 0 is the state of a missing child."""
        array = tf.TensorArray(
            tf.float32, size, clear_after_read=False, element_shape=[1, self.workload.units]
        )
        return array.write(0, tf.zeros([1, self.workload.units]))

    def _vertex(self, kind, vertex, inputs, arrays):
        workload, vertex_type = self.workload, self.workload.vertex_types[kind]
        given = None
        if vertex_type.pulls:
            x = tf.gather(self.variables["embedding"], inputs["token"][vertex : vertex + 1])
            given = workload.given(_tensorflow.Functions, self.variables, kind, x)
        children = 1 + inputs["children"][vertex]
        slots = [
            tuple(array.read(children[slot]) for array in arrays)
            for slot in range(vertex_type.slots)
        ]
        edges = _Edges(children[vertex_type.slots :], arrays)
        state = workload.vertex(_tensorflow.Functions, self.variables, kind, given, slots, edges)
        return tuple(state)


class _Edges:
    """The children of one vertex that are summed over."""

    def __init__(self, children, arrays):
        self._children, self._arrays = children, arrays

    def sum(self, function, *values):
        present = tf.boolean_mask(self._children, self._children > 0)
        states = tuple(tf.squeeze(array.gather(present), axis=1) for array in self._arrays)
        return tf.reduce_sum(function(states, *values), axis=0, keepdims=True)
