"""Shapes of states, and of the outputs of calls."""

import operator
from collections.abc import Iterable

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import symbolic_graphs, symbolic_rows
from cavs_tf._inputs.keras_private import forgotten_on_failure


def state_shape_of(state_size) -> tuple[int, ...]:
    """The shape of a state; ValueError if `state_size` is not valid."""
    try:
        sizes = state_size if isinstance(state_size, Iterable) else (state_size,)
        shape = tuple(operator.index(size) for size in sizes)
    except TypeError:
        shape = ()
    if not shape or min(shape) < 1:
        raise ValueError(
            f"state_size: got {state_size!r} but expected a positive integer, or a shape of them. "
            "It is the number of elements that one vertex scatters."
        )
    return shape


def zero_outputs(pushed: dict, edge_pushes, graphs, at=None) -> dict:
    """Zeros of the shapes that a call returns, by name.

    Args:
      pushed: The specs of a row of the outputs.
      edge_pushes: The names of the outputs that have a row for each edge.
      graphs: The graphs of the call, or a dict of their tensors, which Keras may pass in any dtype.
      at: The vertices whose outputs are wanted; None for all.
    """
    splits = graphs["child_splits"] if isinstance(graphs, dict) else graphs.child_splits
    rows = tf.shape(splits)[0] - 1 if at is None else tf.shape(at)[0]

    def zeros(name, spec):
        count = _count_edges(graphs) if name in edge_pushes else rows
        return tf.zeros(tf.concat([[count], spec.shape], 0), spec.dtype)

    return {name: zeros(name, spec) for name, spec in pushed.items()}


def _count_edges(graphs):
    """The number of edges, or any number where only the shape of graphs is known."""
    ids = graphs.get("child_ids") if isinstance(graphs, dict) else graphs.child_ids
    if ids is None:
        return tf.shape(graphs["child_splits"])[0]
    return tf.math.count_nonzero(tf.cast(ids, tf.int32) >= 0, dtype=tf.int32)


def shapes_by_call(
    layer, cell, graphs_shape, inputs_shape, at_shape=None, initial_state_shape=None
):
    """The shapes of the outputs of `layer`, which calls `cell`: see `compute_output_shape`."""
    dtypes = {name: spec.dtype.name for name, spec in (cell._cache.built_for or {}).items()}
    arguments = {
        "graphs": symbolic_graphs(graphs_shape),
        "inputs": symbolic_rows(inputs_shape, dtypes, cell.compute_dtype),
    }
    if at_shape is not None:
        arguments["at"] = keras.KerasTensor(at_shape, "int32")
    if initial_state_shape is not None:
        arguments["initial_state"] = keras.KerasTensor(initial_state_shape, cell.compute_dtype)
    with forgotten_on_failure():
        outputs = layer.compute_output_spec(**arguments)
    return tf.nest.map_structure(lambda output: tuple(output.shape), outputs)
