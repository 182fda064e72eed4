"""Checks and converts the arguments of a GraphSupport's call."""

import typing

import keras
import tensorflow as tf

from cavs_tf._inputs.keras_private import labels_are_missing, model_input_names
from cavs_tf._values.integers import as_int32, length, rejected_unless, tensor_of
from cavs_tf.graphs._graph_batch import LAST_INPUT, PACKED, TENSOR_NAMES, GraphBatch

DEFAULT = "default"  # The name of a pull or push without a name.

# External inputs of our own, with a row per vertex, by names that no user's input has.
INITIAL_STATE = ".initial_state"  # It is added to the state gathered from slot 0.
STATES = ".states"  # The states that are given; also the push of the states of new vertices.
# The graphs give these, if a vertex function reads them.
GRAPH = ".graph"  # The number of the graph that a vertex belongs to.
NUM_CHILDREN = ".num_children"
CHILD_MASK = ".child_mask"  # Which slots of a vertex have a child.
IDS = ".vertex_ids"  # The numbers of vertices where states are given, as new vertices then differ.
OF_CHILDREN = frozenset({NUM_CHILDREN, CHILD_MASK})  # They are zero without children.
GRAPH_INPUTS = OF_CHILDREN | {GRAPH, IDS}
OWN_INPUTS = GRAPH_INPUTS | {INITIAL_STATE, STATES}


class VertexRows(typing.NamedTuple):
    """An external input that only some vertices have: words, which inner nodes of a parse lack.

    Other vertices pull zeros. Where a task has such vertices alone, these zeros are neither stored
    nor multiplied, not by an infinite weight either (see "specialize" in `Options`).
    `cavs_tf.keras.Embedding(..., mask_negative=True)` makes one of tokens.

    Attributes:
      rows: [n, ...], of any dtype. Its gradient has the same shape.
      vertices: Integers [n], distinct: to which vertex of the minibatch each row belongs; in an
        example for `cavs_tf.data.batch`, to which vertex of the example.

    Example:
    >>> import cavs_tf as cavs
    >>> @cavs.vertex_function(state_size=1, arity=2)
    ... def tree_sum(v):
    ...     total = v.pull() + v.gather(0) + v.gather(1)
    ...     v.scatter(total)
    ...     v.push(total)
    >>> trees = cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    >>> leaves = VertexRows(tf.constant([[1.0], [2.0]]), [0, 1])
    >>> tree_sum(trees, leaves).numpy()
    array([[1.],
           [2.],
           [3.]], dtype=float32)
    """

    rows: tf.Tensor
    vertices: tf.Tensor


def graph_spec(name: str, arity: int | None) -> tf.TensorSpec:
    """The spec of a row of one of GRAPH_INPUTS."""
    return {
        GRAPH: tf.TensorSpec([], tf.int32),
        IDS: tf.TensorSpec([], tf.int32),
        NUM_CHILDREN: tf.TensorSpec([], tf.int32),
        CHILD_MASK: tf.TensorSpec([arity], tf.bool),
    }[name]


def graph_rows(name: str, graphs: GraphBatch, arity: int | None) -> tf.Tensor:
    """The rows of one of GRAPH_INPUTS, computed in plain TensorFlow."""
    if name == GRAPH:
        return graphs.vertex_graph
    if name == IDS:
        return tf.range(graphs.num_vertices)
    if name == NUM_CHILDREN:
        return graphs.num_children
    return children_by_slot(graphs, arity) >= 0


def children_by_slot(graphs: GraphBatch, arity: int) -> tf.Tensor:
    """int32 [V, arity]: the child in every slot, or -1."""
    splits = graphs.child_splits
    slots = splits[:-1, None] + tf.range(arity)[None, :]
    present = slots < splits[1:, None]
    ids = tf.concat([graphs.child_ids, [-1]], 0)
    return tf.gather(ids, tf.where(present, slots, tf.size(graphs.child_ids)))


def rows_of(value) -> tf.Tensor:
    """The rows of an external input, of all vertices or of some."""
    return value.rows if isinstance(value, VertexRows) else value


def partial_inputs(names, pulls) -> dict:
    """The inputs that only some vertices have, by their position in `names`."""
    values = {i: pulls.get(name) for i, name in enumerate(names)}
    return {i: value for i, value in values.items() if isinstance(value, VertexRows)}


def chosen_pushes(by_name: dict, pushes) -> dict:
    """The entries of a dict for the pushes of these names; None: all entries.

    Raises:
      ValueError: If there is no push of such a name.
    """
    if pushes is None:
        return by_name
    for name in pushes:
        if name not in by_name:
            raise ValueError(
                f"pushes: got {name!r} but expected some of {sorted(by_name.keys() - OWN_INPUTS)}, "
                "the names that "
                "vertex functions push by. Pass a list of them."
            )
    return {name: value for name, value in by_name.items() if name in pushes}


def as_graph_batch(graphs) -> GraphBatch:
    """Converts graphs to a `GraphBatch`; they may be a dict of tensors."""
    if isinstance(graphs, dict):
        if labels_are_missing():
            raise ValueError(
                "labels: got minibatches of features alone but expected pairs (inputs, labels), as "
                "fit and evaluate take them. Pass cavs_tf.keras.for_fit(batches, model.input, "
                "labels) with the name of the feature that holds the labels."
            )
        return GraphBatch.from_dict(_without_other_features(graphs))
    if not isinstance(graphs, GraphBatch):
        raise ValueError(
            f"graphs: got {type(graphs).__name__} but expected a GraphBatch or its dict of "
            "tensors. Make one with GraphBatch.from_children or cavs_tf.data."
        )
    return graphs


def _without_other_features(tensors: dict) -> dict:
    """Rejects tensors that Keras took from features with other names.

    The error is raised now where the number of elements is known, else when the tensors are read.
    """
    count = length(tensors[LAST_INPUT]) if LAST_INPUT in tensors else 0
    if isinstance(count, int) and count == 0:
        return tensors
    names = [name for name in model_input_names() if name.split("/")[-1] not in TENSOR_NAMES]
    message = (
        "inputs: got a minibatch with other features than the model has inputs, which Keras then "
        f"pairs by position, but expected {', '.join(map(repr, names)) or 'nothing'} besides the "
        "graphs. Pass cavs_tf.keras.for_fit(batches, model, labels), without labels to predict."
    )
    if isinstance(count, int):
        raise ValueError(message)
    with tf.control_dependencies(rejected_unless(count == 0, message)):
        first = PACKED if PACKED in tensors else "child_ids"
        return tensors | {first: tf.identity(tensors[first])}


def with_tensors(inputs):
    """The inputs of a layer, with tensors in place of lists of numbers.

    Keras takes no lists, and no structure that has tensors and lists.
    """
    if isinstance(inputs, dict):
        return {name: with_tensors(value) for name, value in inputs.items()}
    if isinstance(inputs, VertexRows):
        return VertexRows(*(v if hasattr(v, "shape") else tensor_of(v) for v in inputs))
    is_list = isinstance(inputs, (list, tuple))
    if not is_list or any(hasattr(value, "shape") for value in tf.nest.flatten(inputs)):
        return inputs
    return tensor_of(inputs)


def name_inputs(inputs) -> dict:
    """External inputs as a dict of tensors by name."""
    if inputs is None:
        return {}
    named = inputs if isinstance(inputs, dict) else {DEFAULT: inputs}
    named = {name: _as_tensors(name, value) for name, value in named.items()}
    for name, value in named.items():
        value = rows_of(value)
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


def with_floats_as(dtype, pulls: dict) -> dict:
    """External inputs by name; floating-point numbers are cast to `dtype`."""

    def cast(value):
        if isinstance(value, VertexRows):
            return value._replace(rows=cast(value.rows))
        return tf.cast(value, dtype) if value.dtype.is_floating else value

    return {name: cast(value) for name, value in pulls.items()}


def as_pair(value) -> tuple:
    """The rows and vertices of a `VertexRows`; for any other input, itself and None."""
    # A saved functional model has a list in place of the tuple.
    is_list = isinstance(value, list) and len(value) == 2 and all(map(_is_tensor, value))
    return tuple(value) if is_list or isinstance(value, VertexRows) else (value, None)


def _is_tensor(value) -> bool:
    return tf.is_tensor(value) or isinstance(value, keras.KerasTensor)


def _as_tensors(name, value):
    rows, vertices = as_pair(value)
    if vertices is None:
        return tf.convert_to_tensor(rows)
    rows, vertices = map(tf.convert_to_tensor, (rows, vertices))
    if not vertices.dtype.is_integer or vertices.shape.rank not in (None, 1):
        raise ValueError(
            f"inputs[{name!r}].vertices: got {vertices.dtype.name} of shape {vertices.shape} but "
            "expected integers of shape [n], one for each row. Pass the vertices to which the "
            "rows belong."
        )
    if not rows.shape[:1].is_compatible_with(vertices.shape):
        raise ValueError(
            f"inputs[{name!r}]: got {rows.shape[0]} rows for {vertices.shape[0]} vertices but "
            "expected one row for each of them. Pass the vertices to which the rows belong."
        )
    return VertexRows(rows, as_int32(f"inputs[{name!r}].vertices", vertices))


def unnamed(outputs: dict):
    """The tensor, if there is only one and it has no name; else the dict."""
    return outputs[DEFAULT] if list(outputs) == [DEFAULT] else outputs


def check_shapes(others: dict, **needed) -> None:
    """Raises NotImplementedError if the shapes are not the shapes of the arguments of a call.

    `model.summary()` asks with the arguments of `build`, and shows "?" then.
    """
    missing = [name for name, shape in needed.items() if shape is None]
    if others or missing:
        raise NotImplementedError(
            f"compute_output_shape: got {', '.join(others) or 'too little'} but expected the "
            "shapes of the arguments of a call. Pass graphs_shape=..., and so on."
        )


def size_before(splits_name: str, graphs_shape) -> int | None:
    """The number of vertices or graphs by the shapes of a `GraphBatch.to_dict()`; None: unknown."""
    shape = graphs_shape.get(splits_name) if isinstance(graphs_shape, dict) else None
    return None if shape is None or shape[0] is None else shape[0] - 1


def symbolic_graphs(graphs_shape) -> dict:
    """Keras tensors in place of graphs, where Keras asks for shapes."""
    names = ("child_splits", "graph_splits")
    shapes = graphs_shape if isinstance(graphs_shape, dict) else {}
    return {name: keras.KerasTensor(shapes.get(name, (None,)), "int32") for name in names}


def symbolic_rows(shapes, dtypes: dict, default: str):
    """Keras tensors in place of external inputs of these shapes, where Keras asks for shapes.

    Args:
      shapes: The shape of a tensor, or shapes by name; a pair of shapes stands for a `VertexRows`.
      dtypes: The dtypes by name; inputs without one have the dtype `default`.
    """

    def rows(name, shape):
        dtype = dtypes.get(name, default)
        if isinstance(shape[0], (int, type(None))):
            return keras.KerasTensor(shape, dtype)
        return VertexRows(keras.KerasTensor(shape[0], dtype), keras.KerasTensor(shape[1], "int32"))

    if shapes is None or isinstance(shapes, dict):
        return shapes and {name: rows(name, shape) for name, shape in shapes.items()}
    return rows(DEFAULT, shapes)


def key_of(specs) -> tuple:
    """A hashable key for specs by name, which is equal for equal specs."""
    return tuple(sorted((name, spec.dtype, tuple(spec.shape)) for name, spec in specs.items()))


def row_specs(pulls) -> dict:
    """The spec of one row of every external input."""
    rows = {name: rows_of(value) for name, value in pulls.items()}
    return {name: tf.TensorSpec(t.shape[1:], t.dtype) for name, t in rows.items()}


def first_rows(pulls, count) -> dict:
    """The first rows of the inputs that have as many rows, and values that are known."""
    rows = {name: rows_of(value) for name, value in pulls.items()}
    return {
        name: value[:count]
        for name, value in rows.items()
        if not tf.is_symbolic_tensor(value) and value.shape[0] >= count
    }


def vertices_to_return(at) -> tf.Tensor | None:
    """Vertices whose outputs are wanted, checked; None for all."""
    if at is None:
        return None
    at = tensor_of(at)
    if not at.dtype.is_integer or at.shape.rank not in (None, 1):
        raise ValueError(
            f"at: got {at.dtype.name} of shape {at.shape} but expected integers of shape [n], the "
            "vertices whose outputs are wanted. Use graphs.roots, for example."
        )
    return as_int32("at", at)


def check_rows(graphs, pulls, num_types: int, edge_pulls) -> None:
    """Checks the numbers of rows where they are known; the op checks again.

    With several vertex types, an input may lack rows of vertices whose types do not pull it.
    """
    for name, value in pulls.items():
        if name in edge_pulls:
            _check_edge_rows(name, value, graphs)
        elif num_types == 1 and not isinstance(value, VertexRows):
            _check_count(name, value, graphs.num_vertices, "vertex")


def _check_edge_rows(name, value, graphs):
    if isinstance(value, VertexRows):
        raise ValueError(
            f"inputs[{name!r}]: got VertexRows but expected a tensor [edges, ...], as the vertex "
            "function calls pull_edge. Pass a row for each edge."
        )
    _check_count(name, value, graphs.num_edges, "edge")


def _check_count(name, value, expected, what):
    rows = value.shape[0]
    if isinstance(expected, int) and rows is not None and rows != expected:
        raise ValueError(
            f"inputs[{name!r}]: got {rows} rows but expected {expected}, one per "
            f"{what} of the graphs. Check that both belong to the same minibatch."
        )
