"""Trees in plain TensorFlow, batched by hand: a `tf.while_loop` over levels."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import _levels


def inputs_of(minibatch) -> dict:
    """A plan, as arrays."""
    levels = _levels.plan(minibatch)
    label = minibatch.label[levels.vertex]
    labelled = np.flatnonzero(label >= 0)
    return {
        "token": minibatch.token[levels.vertex[levels.leaf]],
        "splits": levels.splits.astype(np.int32),
        "leaf_splits": levels.leaf_splits.astype(np.int32),
        "place": levels.place.astype(np.int32),
        "labelled": labelled.astype(np.int32),
        "label": label[labelled],
    }


def hidden(inputs, leaves, inner, arity: int) -> tf.Tensor:
    """h of the labelled vertices.

    Args:
      inputs: What `inputs_of` made.
      leaves: The state of all leaves: a tuple of tensors, the last of which is h.
      inner: Computes the state of vertices from a list of the states of their children.
      arity: The number of children.
    """
    splits, leaf_splits = inputs["splits"], inputs["leaf_splits"]
    num_levels = tf.shape(splits)[0] - 1
    units = leaves[-1].shape[1]

    def assemble(level, above):
        own = [state[leaf_splits[level] : leaf_splits[level + 1]] for state in leaves]
        place = inputs["place"][splits[level] : splits[level + 1]]
        joined = [tf.concat(pair, 0) for pair in zip(above, own, strict=True)]
        return tuple(tf.gather(state, place) for state in joined)

    def body(level, below, rows):
        slots = [tf.unstack(tf.reshape(s, [-1, arity, units]), axis=1) for s in below]
        states = assemble(level, inner(list(zip(*slots, strict=True))))
        return level - 1, states, rows.write(level, states[-1])

    deepest = num_levels - 1
    states = assemble(deepest, tuple(state[:0] for state in leaves))
    rows = tf.TensorArray(
        leaves[-1].dtype, num_levels, infer_shape=False, element_shape=[None, units]
    )
    rows = rows.write(deepest, states[-1])
    shapes = tuple(tf.TensorShape([None, units]) for _ in states)
    _, _, rows = tf.while_loop(
        lambda level, *_: level >= 0,
        body,
        (deepest - 1, states, rows),
        shape_invariants=(tf.TensorShape([]), shapes, tf.TensorShape(None)),
    )
    return tf.gather(rows.concat(), inputs["labelled"])
