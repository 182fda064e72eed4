"""Examples that are held in memory, as flat arrays."""

import numpy as np
import tensorflow as tf


def from_arrays(graph_splits, vertex_features, graph_features) -> tf.data.Dataset:
    """Makes a dataset of examples from the features of all of them.

    Args:
      graph_splits: [B + 1] ints, ascending from 0. Example g owns the rows
        [graph_splits[g], graph_splits[g + 1]).
      vertex_features: Dict of [V, ...] arrays or RaggedTensors. "children", int [V, K] or ragged
        [V, (slots)], holds child ids relative to the example, -1 for no child.
      graph_features: Dict of [B, ...] arrays.

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
    for name, values in vertex_features.items():
        if not isinstance(values, tf.RaggedTensor):
            values = tf.constant(np.asarray(values))
        if values.shape[0] != splits[-1]:
            raise ValueError(
                f"vertex_features[{name!r}]: got {values.shape[0]} rows but expected {splits[-1]}, "
                "one per vertex. The last value of graph_splits is the number of vertices."
            )
        features[name] = tf.RaggedTensor.from_row_splits(values, splits)
    for name, values in graph_features.items():
        values = np.asarray(values)
        if len(values) != len(splits) - 1:
            raise ValueError(
                f"graph_features[{name!r}]: got {len(values)} rows but expected "
                f"{len(splits) - 1}, one per graph. graph_splits has one value more."
            )
        features[name] = tf.constant(values)
    return tf.data.Dataset.from_tensor_slices(features)
