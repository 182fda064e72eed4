"""Checks and converts the arguments of a GraphSupport's call."""

import tensorflow as tf

from cavs_tf._integers import as_int32
from cavs_tf.graphs import GraphBatch

DEFAULT = "default"  # The name of a pull or push without a name.

# External inputs of our own, with a row per vertex, by names that no user's input has.
INITIAL_STATE = ".initial_state"  # What is added to the state gathered from slot 0.
GRAPH = ".graph"  # The number of the vertex's graph. Passed only if a vertex function reads it.
OWN_INPUTS = frozenset({INITIAL_STATE, GRAPH})


def as_graph_batch(graphs) -> GraphBatch:
    """Converts graphs to a `GraphBatch`; they may be a dict of tensors."""
    if isinstance(graphs, dict):
        return GraphBatch.from_dict(graphs)
    if not isinstance(graphs, GraphBatch):
        raise ValueError(
            f"graphs: got {type(graphs).__name__} but expected a GraphBatch or its dict of "
            "tensors. Make one with GraphBatch.from_children or cavs_tf.data."
        )
    return graphs


def name_inputs(inputs) -> dict:
    """External inputs as a dict of tensors by name."""
    if inputs is None:
        return {}
    named = inputs if isinstance(inputs, dict) else {DEFAULT: inputs}
    named = {name: tf.convert_to_tensor(value) for name, value in named.items()}
    for name, value in named.items():
        if value.shape.rank is None or not value.shape[1:].is_fully_defined():
            raise ValueError(
                f"inputs[{name!r}]: got shape {value.shape} but expected [V, ...] with known "
                "sizes after the first. Use tf.ensure_shape."
            )
        if value.shape.rank == 0:
            raise ValueError(
                f"inputs[{name!r}]: got a scalar but expected [V, ...], one row per vertex."
            )
    return named


def key_of(specs) -> tuple:
    """A hashable key for specs by name, which is equal for equal specs."""
    return tuple(sorted((name, spec.dtype, tuple(spec.shape)) for name, spec in specs.items()))


def row_specs(pulls) -> dict:
    """The spec of one row of every external input."""
    return {name: tf.TensorSpec(t.shape[1:], t.dtype) for name, t in pulls.items()}


def first_rows(pulls, count) -> dict:
    """The first rows of those external inputs that have as many and whose values are known."""
    return {
        name: value[:count]
        for name, value in pulls.items()
        if not tf.is_symbolic_tensor(value) and value.shape[0] >= count
    }


def vertices_to_return(at) -> tf.Tensor | None:
    """Vertices whose outputs are wanted, checked; None for all."""
    if at is None:
        return None
    at = tf.convert_to_tensor(at)
    if not at.dtype.is_integer or at.shape.rank not in (None, 1):
        raise ValueError(
            f"at: got {at.dtype.name} of shape {at.shape} but expected integers of shape [n], the "
            "vertices whose outputs are wanted. Use graphs.roots, for example."
        )
    return as_int32("at", at)


def check_rows(graphs, pulls):
    """Checks the numbers of rows for one vertex type where they are known; the op checks again."""
    num_vertices = graphs.num_vertices
    for name, value in pulls.items():
        rows = value.shape[0]
        known = isinstance(num_vertices, int) and rows is not None
        if known and rows != num_vertices:
            raise ValueError(
                f"inputs[{name!r}]: got {rows} rows but expected {num_vertices}, one per "
                "vertex of the graphs. Check that both belong to the same minibatch."
            )
