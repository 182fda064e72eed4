"""The state that vertices without children gather, where it is not zero."""

import tensorflow as tf

from cavs_tf._values.integers import length
from cavs_tf._values.wide_sums import gather


def check_initial_state(initial_state, arity: int, state_shape: tuple, dtype) -> tf.Tensor:
    """The initial state as a tensor of `dtype`, [B, *state_shape].

    Raises:
      ValueError: If it has another shape, or nothing can be gathered.
    """
    if not arity:
        raise ValueError(
            f"initial_state: got one but expected None, as the arity is {arity} and vertices "
            "without children gather it from their first slot. Set `arity` to the largest number "
            "of children of a vertex."
        )
    initial_state = tf.convert_to_tensor(initial_state)
    if not initial_state.shape.is_compatible_with([None, *state_shape]):
        raise ValueError(
            f"initial_state: got shape {initial_state.shape} but expected "
            f"[B, {', '.join(map(str, state_shape))}], a state for each graph. Make it of the "
            "declared state_size."
        )
    initial_state = tf.ensure_shape(initial_state, [None, *state_shape])
    return tf.cast(initial_state, dtype)


def initial_rows(graphs, initial_state) -> tf.Tensor:
    """The states that are added to the states that vertices gather from their first slot.

    Args:
      graphs: A `GraphBatch` of B graphs and V vertices.
      initial_state: [B, ...].

    Returns:
      [V, ...]: the row of its graph for a vertex without children, zeros for others.

    Raises:
      ValueError, tf.errors.InvalidArgumentError: If there is not a row for each graph.
    """
    with tf.control_dependencies(_check_length(length(initial_state), graphs.num_graphs)):
        first = tf.where(_is_without_children(graphs))
    states = gather(initial_state, tf.gather(graphs.vertex_graph, first[:, 0]))
    shape = tf.concat([[graphs.num_vertices], initial_state.shape[1:]], 0)
    rows = tf.scatter_nd(first, states, tf.cast(shape, first.dtype))
    return tf.ensure_shape(rows, [None, *initial_state.shape[1:]])


def _is_without_children(graphs) -> tf.Tensor:
    """Booleans [V]. A slot with -1 has no child."""
    children = tf.cumsum(tf.cast(graphs.child_ids >= 0, tf.int32))
    so_far = tf.gather(tf.pad(children, [[1, 0]]), graphs.child_splits)
    return so_far[1:] == so_far[:-1]


def _check_length(got, expected) -> list:
    """Checks the number of rows now where it is known; returns operators that check it later."""
    advice = "one for each graph. Check that both belong to the same minibatch."
    if isinstance(got, int) and isinstance(expected, int):
        if got != expected:
            raise ValueError(f"initial_state: got {got} rows but expected {expected}, {advice}")
        return []
    message = f"initial_state: got another number of rows than of graphs but expected {advice}"
    check = tf.debugging.assert_equal(got, expected, message)
    return [] if check is None else [check]
