"""Datasets of graphs that are held in memory, their values, and their division in two."""

import numpy as np
import tensorflow as tf

from cavs_tf._inputs.inputs import VertexRows
from cavs_tf._values.integers import check_at_least, eager_values
from cavs_tf.data._examples import from_arrays
from cavs_tf.graphs import _formats as _graph_formats
from cavs_tf.graphs._graph_batch import GraphBatch


def from_graphs(
    graphs: GraphBatch, vertex_features=None, graph_features=None, edge_features=None
) -> tf.data.Dataset:
    """Makes a dataset of examples from graphs and their features.

    Args:
      graphs: All graphs, from any constructor of `GraphBatch`. B graphs with V vertices.
      vertex_features: Dict of features of vertices: lists of one list per graph, one value per
        vertex; or arrays [V, ...], tensors or flat lists, in the order of the vertices; or
        `VertexRows`, with vertices in [0, V).
      graph_features: Dict of [B, ...] arrays.
      edge_features: Dict of [E, ...] arrays in the order of the edges, as the constructors of
        `GraphBatch` return them.

    Returns:
      A dataset of B dicts of these features, for `batch`, with "children", a RaggedTensor, and
      "vertex_type" if the graphs have types. `batch` needs the arity then.

    Raises:
      ValueError: If a feature has another number of rows, or the name of a tensor of the graphs.

    >>> graphs = GraphBatch.from_nested([("the", ("cat", "sat")), "yes"])
    >>> dataset = from_graphs(graphs, {"rank": [[0, 1, 2, 3, 4], [5]]}, {"label": [1, 0]})
    >>> next(iter(dataset))["rank"].numpy()
    array([0, 1, 2, 3, 4])
    """
    if not isinstance(graphs, GraphBatch):
        raise ValueError(
            f"graphs: got a {type(graphs).__name__} but expected a GraphBatch. Make one with "
            "GraphBatch.from_children, from_parents, from_edges, from_nested or from_networkx."
        )
    graphs = graphs[:]  # Checks that ids are valid.
    splits = graphs.graph_splits.numpy()
    first = tf.gather(graphs.graph_splits, graphs.vertex_graph)
    children = tf.RaggedTensor.from_row_splits(graphs.child_ids, graphs.child_splits)
    relative = graphs.child_ids - tf.gather(first, children.value_rowids())
    of_graphs = {"children": children.with_values(tf.maximum(relative, -1))}
    if len(graphs.vertex_type):
        of_graphs["vertex_type"] = graphs.vertex_type
    features = {
        name: _flat(f"vertex_features[{name!r}]", values, splits)
        for name, values in (vertex_features or {}).items()
    }
    for name in of_graphs:
        if any(name in given for given in (features, graph_features or {}, edge_features or {})):
            raise ValueError(
                f"{name}: got a feature of this name but expected another one, as it is that of "
                "the graphs. Rename the feature."
            )
    return from_arrays(splits, of_graphs | features, graph_features or {}, edge_features)


def nested_values(trees, inner="") -> list:
    """The values at the vertices of nested sequences, in the order of `GraphBatch.from_nested`.

    Args:
      trees: As for `GraphBatch.from_nested`.
      inner: The value of a vertex with children that has no label; vertices of `nltk.Tree` do.

    Returns:
      A list of V values: leaves as they are.

    >>> nested_values([("the", ("cat", "sat"))])
    ['the', 'cat', 'sat', '', '']
    """
    return _graph_formats.values_of_nested(trees, inner)


def split(dataset: tf.data.Dataset, share: float, seed: int = 0) -> tuple:
    """Divides a dataset at random into one for training and one for validation.

    Both read the whole dataset and hold none of it. Shuffle them afterwards, not before.

    Args:
      dataset: Examples. If their number is not known, each is for validation with the probability
        `share`.
      share: The share of the examples that is for validation, in (0, 1).
      seed: The seed of the division.

    Returns:
      Two datasets, in the order of the examples. Each example is in one of them.

    Raises:
      ValueError: If `share` or `seed` is out of range.

    >>> train, validation = split(tf.data.Dataset.range(10), 0.2)
    >>> len(train), len(validation)
    (8, 2)
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise ValueError(
            f"dataset: got a {type(dataset).__name__} but expected a tf.data.Dataset of examples. "
            "Make one with cavs_tf.data.from_graphs or a reader."
        )
    if not isinstance(share, (int, float)) or not 0 < share < 1:
        raise ValueError(f"share: got {share!r} but expected a number in (0, 1). Correct it.")
    check_at_least(0, seed=seed)
    count = int(dataset.cardinality())
    if count < 0:

        def is_chosen(number):
            return tf.random.stateless_uniform([], [seed, number]) < share

        return tuple(
            _where(dataset, lambda number, part=part: is_chosen(number) == part)
            for part in (False, True)
        )
    chosen = np.random.default_rng(seed).permutation(count) < round(share * count)
    return tuple(
        _where(dataset, tf.constant(part).__getitem__).apply(
            tf.data.experimental.assert_cardinality(int(np.count_nonzero(part)))
        )
        for part in (~chosen, chosen)
    )


def _where(dataset: tf.data.Dataset, is_chosen) -> tf.data.Dataset:
    """The examples for whose number `is_chosen` is true."""
    plain = tf.autograph.experimental.do_not_convert
    numbered = dataset.enumerate().filter(plain(lambda number, _: is_chosen(number)))
    return numbered.map(plain(lambda _, example: example))


def _flat(name: str, values, splits):
    """The rows of all vertices, from a list for each graph; other values as they are."""
    if isinstance(values, VertexRows):
        return values
    values = eager_values(name, values)
    if not isinstance(values, (list, tuple)) or not values or np.ndim(values[0]) == 0:
        return values
    if len(values) != len(splits) - 1:
        raise ValueError(
            f"{name}: got {len(values)} lists but expected {len(splits) - 1}, one per graph. Pass "
            "rows of all vertices as an array."
        )
    for g, (of_graph, size) in enumerate(zip(values, np.diff(splits), strict=True)):
        if len(of_graph) != size:
            raise ValueError(
                f"{name}[{g}]: got {len(of_graph)} rows but expected {size}, one per vertex. Graph "
                f"{g} has {size} vertices."
            )
    return np.concatenate([np.asarray(rows) for rows in values if len(rows)] or [[]])
