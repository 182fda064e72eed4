"""Examples that are held in memory, as flat arrays."""

import numpy as np
import tensorflow as tf

from cavs_tf._inputs.inputs import VertexRows


def from_arrays(
    graph_splits, vertex_features, graph_features, edge_features=None
) -> tf.data.Dataset:
    """Makes a dataset of examples from the features of all of them.

    Args:
      graph_splits: [B + 1] ints, ascending from 0. Example g owns the rows
        [graph_splits[g], graph_splits[g + 1]).
      vertex_features: Dict of [V, ...] arrays or RaggedTensors. "children", int [V, K] or ragged
        [V, (slots)], holds child ids relative to the example, -1 for no child. A feature of some
        vertices is a `VertexRows`, with vertices in [0, V).
      graph_features: Dict of [B, ...] arrays.
      edge_features: Dict of [E, ...] arrays, a row for each edge, vertex by vertex: a vertex has
        a row for each of its children. Name them in `batch(..., per_edge=...)`.

    Returns:
      A dataset of B dicts of all features.

    Raises:
      ValueError: If a feature has another number of rows, or a row of a vertex that does not exist.

    >>> dataset = from_arrays([0, 1, 3], {"children": [[-1], [-1], [0]]}, {"label": [7, 8]})
    >>> [element["children"].tolist() for element in dataset.as_numpy_iterator()]
    [[[-1]], [[-1], [0]]]
    """
    splits = np.asarray(graph_splits, np.int64)
    features = {}
    advice = "one per vertex. The last value of graph_splits is the number of vertices."
    for name, values in vertex_features.items():
        divide = _some_by_example if isinstance(values, VertexRows) else _by_example
        features[name] = divide(f"vertex_features[{name!r}]", values, splits, advice)
    advice = "one per edge. Edges are counted vertex by vertex, without missing children."
    edge_splits = _edge_splits(features, splits) if edge_features else None
    for name, values in (edge_features or {}).items():
        features[name] = _by_example(f"edge_features[{name!r}]", values, edge_splits, advice)
    for name, values in graph_features.items():
        values = np.asarray(values)
        if len(values) != len(splits) - 1:
            raise ValueError(
                f"graph_features[{name!r}]: got {len(values)} rows but expected "
                f"{len(splits) - 1}, one per graph. graph_splits has one value more."
            )
        features[name] = tf.constant(values)
    return tf.data.Dataset.from_tensor_slices(features)


def _by_example(name, values, splits, advice) -> tf.RaggedTensor:
    """The rows of all examples, divided among them."""
    if not isinstance(values, tf.RaggedTensor):
        values = tf.constant(np.asarray(values))
    if values.shape[0] != splits[-1]:
        raise ValueError(f"{name}: got {values.shape[0]} rows but expected {splits[-1]}, {advice}")
    return tf.RaggedTensor.from_row_splits(values, splits)


def _some_by_example(name, values, splits, advice) -> VertexRows:
    """The `VertexRows` of each example, whose vertices are relative to it."""
    rows, vertices = tf.convert_to_tensor(values.rows), np.asarray(values.vertices)
    if vertices.ndim != 1 or not (np.issubdtype(vertices.dtype, np.integer) or not vertices.size):
        raise ValueError(
            f"{name}.vertices: got {vertices.dtype} of shape {vertices.shape} but expected "
            "integers of shape [n], one for each row. Pass the vertices to which the rows belong."
        )
    vertices = vertices.astype(np.int64)
    if len(rows) != len(vertices):
        raise ValueError(
            f"{name}: got {len(rows)} rows for {len(vertices)} vertices but expected one row for "
            "each of them. Pass the vertices to which the rows belong."
        )
    wrong = np.flatnonzero((vertices < 0) | (vertices >= splits[-1]))
    if wrong.size:
        raise ValueError(
            f"{name}.vertices[{wrong[0]}]: got {vertices[wrong[0]]} but expected a vertex in [0, "
            f"{splits[-1]}). Number the vertices of all examples one after the other."
        )
    order = np.argsort(vertices, kind="stable")
    rows, vertices = tf.gather(rows, order), vertices[order]
    example = np.searchsorted(splits, vertices, side="right") - 1
    own_splits = np.searchsorted(vertices, splits)
    return VertexRows(
        tf.RaggedTensor.from_row_splits(rows, own_splits),
        tf.RaggedTensor.from_row_splits(vertices - splits[example], own_splits),
    )


def _edge_splits(features, splits) -> np.ndarray:
    """The number of edges before each example."""
    if "children" not in features:
        raise ValueError(
            "edge_features: got some but expected 'children' among vertex_features, by which edges "
            "are counted. Add it."
        )
    children = features["children"].values
    if not isinstance(children, tf.RaggedTensor):
        children = tf.RaggedTensor.from_tensor(children)
    is_edge = children.with_values(tf.cast(children.values >= 0, tf.int64))
    counts = np.cumsum(tf.reduce_sum(is_edge, axis=1).numpy())
    return np.concatenate([[0], counts])[splits]
