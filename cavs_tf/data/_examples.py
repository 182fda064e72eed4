"""Examples that are held in memory, as flat arrays."""

import numpy as np
import tensorflow as tf


def from_arrays(
    graph_splits, vertex_features, graph_features, edge_features=None
) -> tf.data.Dataset:
    """Makes a dataset of examples from the features of all of them.

    Args:
      graph_splits: [B + 1] ints, ascending from 0. Example g owns the rows
        [graph_splits[g], graph_splits[g + 1]).
      vertex_features: Dict of [V, ...] arrays or RaggedTensors. "children", int [V, K] or ragged
        [V, (slots)], holds child ids relative to the example, -1 for no child.
      graph_features: Dict of [B, ...] arrays.
      edge_features: Dict of [E, ...] arrays, a row for each edge: for every vertex one for each of
        its children, without missing ones. Name them in `batch(..., per_edge=...)`.

    Returns:
      A dataset of B dicts of all features. Slicing costs a few microseconds an example.

    Raises:
      ValueError: If a feature has another number of rows.

    >>> dataset = from_arrays([0, 1, 3], {"children": [[-1], [-1], [0]]}, {"label": [7, 8]})
    >>> [element["children"].tolist() for element in dataset.as_numpy_iterator()]
    [[[-1]], [[-1], [0]]]
    """
    splits = np.asarray(graph_splits, np.int64)
    features = {}
    advice = "one per vertex. The last value of graph_splits is the number of vertices."
    for name, values in vertex_features.items():
        features[name] = _by_example(f"vertex_features[{name!r}]", values, splits, advice)
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
    """Rows of all examples, divided among them."""
    if not isinstance(values, tf.RaggedTensor):
        values = tf.constant(np.asarray(values))
    if values.shape[0] != splits[-1]:
        raise ValueError(f"{name}: got {values.shape[0]} rows but expected {splits[-1]}, {advice}")
    return tf.RaggedTensor.from_row_splits(values, splits)


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
