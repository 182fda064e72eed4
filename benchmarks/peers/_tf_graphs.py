"""Any graphs in plain TensorFlow, batched by hand: a `tf.while_loop` over levels."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import _graphs
from benchmarks.peers._tensorflow import Functions

_PER_BATCH = ("splits", "slots", "edge_child", "edge_parent", "edge_splits")


def inputs_of(workload, minibatch) -> dict:
    """A plan, as arrays."""
    levels = _graphs.plan(minibatch, workload.vertex_types)
    batches = [
        {name: getattr(batch, name) for name in _PER_BATCH}
        | {"token": minibatch.token[batch.vertex]}
        for batch in levels.batches
    ]
    return {
        "num_zeros": np.int32(levels.num_zeros),
        "batches": batches,
        "keep": levels.keep,
        "keep_splits": levels.keep_splits,
        "outputs": _graphs.output_rows(levels, minibatch),
        "label": minibatch.label[minibatch.label >= 0],
    }


def hidden(workload, w, inputs) -> tf.Tensor:
    """The rows that the output layer reads, for all labels."""
    units, batches = workload.units, inputs["batches"]
    given = [
        workload.given(Functions, w, kind, tf.gather(w["embedding"], batch["token"]))
        if vertex_type.pulls
        else None
        for kind, (vertex_type, batch) in enumerate(
            zip(workload.vertex_types, batches, strict=True)
        )
    ]

    def states_of(kind, level, live):
        batch = batches[kind]
        rows = slice(batch["splits"][level], batch["splits"][level + 1])
        own = None
        if workload.vertex_types[kind].pulls:
            own = tf.nest.map_structure(lambda values: values[rows], given[kind])
        slots = [
            tuple(tf.gather(state, batch["slots"][rows, slot]) for state in live)
            for slot in range(workload.vertex_types[kind].slots)
        ]
        return workload.vertex(Functions, w, kind, own, slots, _Edges(batch, level, live))

    def body(level, live, rows):
        kinds = [states_of(kind, level, live) for kind in range(len(batches))]
        own = [tf.concat(parts, 0) for parts in zip(*kinds, strict=True)]
        first, last = inputs["keep_splits"][level], inputs["keep_splits"][level + 1]
        kept = [tf.gather(state, inputs["keep"][first:last]) for state in live]
        live = tuple(tf.concat([zeros, *pair], 0) for pair in zip(own, kept, strict=True))
        return level + 1, live, rows.write(level, own[-1])

    zeros = tf.zeros([inputs["num_zeros"], units])
    num_levels = tf.shape(inputs["keep_splits"])[0] - 1
    rows = tf.TensorArray(tf.float32, num_levels, infer_shape=False, element_shape=[None, units])
    live = (zeros,) * workload.num_states
    shapes = (tf.TensorShape([None, units]),) * workload.num_states
    _, _, rows = tf.while_loop(
        lambda level, *_: level < num_levels,
        body,
        (0, live, rows),
        shape_invariants=(tf.TensorShape([]), shapes, tf.TensorShape(None)),
    )
    joined = rows.concat()
    outputs = inputs["outputs"]
    return workload.head(
        Functions, w, [tf.gather(joined, outputs[:, i]) for i in range(outputs.shape[1])]
    )


class _Edges:
    """The children of a level and type that are summed over."""

    def __init__(self, batch, level, live):
        edges = slice(batch["edge_splits"][level], batch["edge_splits"][level + 1])
        self._parent = batch["edge_parent"][edges]
        self._num_parents = batch["splits"][level + 1] - batch["splits"][level]
        self._child = batch["edge_child"][edges]
        self._live = live

    def sum(self, function, *values):
        states = tuple(tf.gather(state, self._child) for state in self._live)
        terms = function(states, *(tf.gather(value, self._parent) for value in values))
        return tf.math.unsorted_segment_sum(terms, self._parent, self._num_parents)
