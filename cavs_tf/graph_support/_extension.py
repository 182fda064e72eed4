"""A graph that grows: new vertices over states that were computed before.

The new vertices, and the vertices whose states they gather, are a graph by themselves. The latter
have one vertex type more, whose function scatters the state that is given. So calls that grow a
graph are calls like any other, with derivatives and for all tools.
"""

import itertools

import tensorflow as tf

from cavs_tf._inputs.inputs import (
    GRAPH,
    IDS,
    OWN_INPUTS,
    STATES,
    VertexRows,
    as_pair,
    name_inputs,
    rows_of,
    unnamed,
)
from cavs_tf._native.library import ops
from cavs_tf._tracing.trace import current_vertex
from cavs_tf._values.integers import (
    as_int32,
    int32_tensor,
    length,
    number_of_lists,
    on_cpu,
    rejected_unless,
    tensor_of,
)
from cavs_tf.graphs._graph_batch import GraphBatch


def with_given_states(functions: list, pulls) -> list:
    """The vertex functions of a call with such inputs by name, as pairs (name, function).

    If there are states among the inputs, each of `functions` also pushes its state, and one more
    function scatters the given states.
    """
    if STATES not in pulls:
        return functions

    def pushing(function):
        def evaluate():
            function()
            vertex = current_vertex("push")
            if vertex.scattered is not None:
                vertex.pushes[STATES] = vertex.scattered

        return evaluate

    return [*((name, pushing(function)) for name, function in functions), ("given", _given)]


def _given():
    """The vertex function of vertices whose states are given."""
    vertex = current_vertex("scatter")
    vertex.pulled.add(STATES)
    vertex.pulled_by_vertex.add(STATES)
    vertex.scattered = vertex.pulls[STATES]


def _checked_states(states, shape: tuple, dtype) -> tf.Tensor:
    """States that exist, [n, *shape] of `dtype`; none if they are None.

    Raises:
      ValueError: If they have another shape, or are not floating-point.
    """
    if states is None:
        return tf.zeros([0, *shape], dtype)
    states = tf.convert_to_tensor(states)
    if not states.dtype.is_floating or not states.shape.is_compatible_with([None, *shape]):
        raise ValueError(
            f"states: got {states.dtype.name} of shape {states.shape} but expected floating-point "
            f"[n, {', '.join(map(str, shape))}], a state for each vertex that exists. Pass states "
            "that extend returned, or None if there are none."
        )
    return tf.cast(tf.ensure_shape(states, [None, *shape]), dtype)


@on_cpu
def _child_lists(children) -> tuple[tf.Tensor, tf.Tensor]:
    """The lists of children of m new vertices as int32 (splits [m + 1], ids [E]).

    Args:
      children: A list of lists, which may hold scalar tensors; a RaggedTensor [m, (slots)]; or
        a tensor [m, slots].

    Raises:
      ValueError: If it is something else.
    """
    if isinstance(children, tf.RaggedTensor) and children.ragged_rank == 1:
        splits, ids = children.row_splits, children.values
    elif isinstance(children, (list, tuple)) and all(_is_list(own) for own in children):
        splits = list(itertools.accumulate(map(len, children), initial=0))
        ids = tensor_of(list(itertools.chain.from_iterable(children)))
    else:
        table = None if isinstance(children, tf.RaggedTensor) else tensor_of(children)
        if table is None or table.shape.rank != 2:
            raise ValueError(
                f"children: got {children!r} but expected a list of the children of every new "
                "vertex: lists, a RaggedTensor [m, (slots)] or a tensor [m, slots]. Pass ids of "
                "states, n + i for new vertex i, or -1 for no child."
            )
        rows, slots = tf.unstack(tf.shape(table))
        splits, ids = tf.range(rows + 1) * slots, tf.reshape(table, [-1])
    return int32_tensor("child_splits", splits, rank=1), int32_tensor("children", ids, rank=1)


def _is_list(value) -> bool:
    return isinstance(value, (list, tuple))


@on_cpu
def _graph_of_new(
    states: tf.Tensor, children: tuple, vertex_type, arity: int | None, num_types: int
) -> tuple[GraphBatch, tf.Tensor]:
    """The graph of new vertices and of the children that exist, and the states of the latter.

    Args:
      states: [n, *state_shape].
      children: The result of `_child_lists`.
      vertex_type: Integers [m] in [0, num_types), or None.
      arity: The largest number of children; None: any.

    Returns:
      A `GraphBatch` of one graph: m new vertices, then those that exist; and [k, *state_shape].

    Raises:
      ValueError, tf.errors.InvalidArgumentError: If a child, or a type, is not as described.
    """
    splits, ids = children
    types = int32_tensor("vertex_type", [] if vertex_type is None else vertex_type, rank=1)
    read, splits, ids, types = ops.cavs_extend(
        splits,
        ids,
        types,
        tf.shape(states)[0],
        arity=-1 if arity is None else arity,
        num_types=num_types,
    )
    graphs = GraphBatch(splits, ids, tf.stack([0, tf.size(types)]), types)
    return graphs, tf.gather(states, read)


def extension_of(cell, states, children, inputs, vertex_type, vertex_ids, vertex_graph) -> tuple:
    """The graph of an extension, and its inputs, of which the user's have rows of new vertices.

    Args:
      cell: The GraphSupport.
      states, children, inputs, vertex_type, vertex_ids, vertex_graph: As for `extend`.
    """
    states = _checked_states(states, cell.state_shape, cell.compute_dtype)
    children = _child_lists(children)
    num_new = number_of_lists(children[0])
    graphs, given = _graph_of_new(states, children, vertex_type, cell.arity, len(cell.vertex_types))
    pulls = name_inputs(inputs)
    cell._build_for(unnamed({n: rows_of(v).shape for n, v in pulls.items()}) or None)
    own = _own_inputs(given, length(states), num_new, vertex_ids, vertex_graph)
    return graphs, name_inputs(pulls | own)


def rows_of_new(pulls: dict, known, vertex_type) -> dict:
    """The inputs of an extension, as inputs of some of its vertices.

    Args:
      pulls: The inputs by name, with rows of the new vertices alone.
      known: A `Known`, which says what each vertex type pulls, and which inputs have rows of edges.
      vertex_type: int32 [m + k].
    """
    num_new, by_type = length(pulls[IDS].vertices), known.pulled[:-1]
    new = tf.range(num_new)

    def spread(name, value):
        if name in known.edge_pulls or name in OWN_INPUTS:
            return value
        rows, vertices = as_pair(value)
        if vertices is None:
            _check_count(name, rows.shape[0], num_new, len(by_type))
            own = [name in names for names in by_type]
            vertices = new if all(own) else _vertices_of(rows, own, vertex_type[:num_new], new)
        else:
            message = (
                f"inputs[{name!r}].vertices: got {{}} but expected new vertices in [0, {{}}). Pass "
                "rows of new vertices only."
            )
            checks = rejected_unless(
                tf.reduce_all(vertices < num_new), message, tf.reduce_max(vertices), num_new
            )
            with tf.control_dependencies(checks):
                vertices = tf.identity(vertices)
        return VertexRows(rows, vertices)

    return {name: spread(name, value) for name, value in pulls.items()}


def _check_count(name, got, expected, num_types) -> None:
    """Raises ValueError if the number of rows is known, and is not one for each new vertex."""
    known = got is not None and isinstance(expected, int)
    if num_types == 1 and known and got != expected:
        raise ValueError(
            f"inputs[{name!r}]: got {got} rows but expected {expected}, one per new vertex. Pass "
            "the rows of the vertices whose children are listed."
        )


def _vertices_of(rows, pulled, types, new) -> tf.Tensor:
    """The new vertices that rows belong to: all, or the vertices of types that pull them."""
    of_types = as_int32("vertices", tf.where(tf.gather(pulled, types))[:, 0])
    return tf.cond(tf.equal(tf.shape(rows)[0], tf.size(new)), lambda: new, lambda: of_types)


def _own_inputs(states, num_states, num_new, vertex_ids, vertex_graph) -> dict:
    """Given states, and the numbers of new vertices and of their graphs, as inputs."""
    new = tf.range(num_new)
    ids = num_states + new if vertex_ids is None else vertex_ids
    graph = tf.zeros([num_new], tf.int32) if vertex_graph is None else vertex_graph
    return {
        STATES: states,
        IDS: VertexRows(int32_tensor("vertex_ids", ids, rank=1), new),
        GRAPH: VertexRows(int32_tensor("vertex_graph", graph, rank=1), new),
    }
