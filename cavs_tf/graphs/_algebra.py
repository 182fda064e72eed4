"""Parts of a minibatch of graphs, and its reverse.

Child ids that are not valid are rejected here, and not only when graphs are scheduled, since
these functions change ids.
"""

import itertools
import numbers
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from cavs_tf._values.integers import (
    as_int32,
    length,
    list_of_each,
    number_of_lists,
    rejected_unless,
    splits_of,
)


class Fields(NamedTuple):
    """The tensors of a `GraphBatch`."""

    child_splits: tf.Tensor
    child_ids: tf.Tensor
    graph_splits: tf.Tensor
    vertex_type: tf.Tensor


def reverse(graphs: Fields) -> Fields:
    """Makes the parents of each vertex its children, in ascending order."""
    graphs, parent = _checked(graphs)
    is_child = graphs.child_ids >= 0
    child = tf.boolean_mask(graphs.child_ids, is_child)
    parent = tf.boolean_mask(parent, is_child)
    num_vertices = number_of_lists(graphs.child_splits)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(child), child, num_vertices)
    by_child = tf.argsort(child, stable=True)
    return graphs._replace(child_splits=splits_of(counts), child_ids=tf.gather(parent, by_child))


def choose_graphs(graphs: Fields, index) -> Fields:
    """The graphs that `index` chooses; see `GraphBatch.__getitem__`."""
    graphs, _ = _checked(graphs)
    chosen = _graph_ids(index, number_of_lists(graphs.graph_splits))
    vertices, graph_splits = _ranges(graphs.graph_splits, chosen)
    slots, child_splits = _ranges(graphs.child_splits, vertices)
    ids = tf.gather(graphs.child_ids, slots)
    # Child ids of a graph move as far as its vertices do.
    moved = tf.range(tf.size(vertices)) - vertices
    moved = tf.gather(moved, list_of_each(child_splits, length(slots)))
    ids = tf.where(ids < 0, ids, ids + moved)
    return Fields(child_splits, ids, graph_splits, _types(graphs, vertices))


def each_graph(graphs: Fields) -> Iterator[Fields]:
    """Yields every graph by itself. Eager only."""
    graphs, _ = _checked(graphs)
    child_splits, child_ids, graph_splits, types = (tensor.numpy() for tensor in graphs)
    for first, end in itertools.pairwise(graph_splits):
        splits = child_splits[first : end + 1]
        ids = child_ids[splits[0] : splits[-1]]
        yield Fields(
            splits - splits[0],
            np.where(ids < 0, ids, ids - first),
            np.array([0, end - first], np.int32),
            types[first:end],
        )


def lists(graphs: Fields) -> list[list[int]]:
    """The child ids of each vertex, of arrays."""
    ids = graphs.child_ids.tolist()
    return [ids[begin:end] for begin, end in itertools.pairwise(graphs.child_splits.tolist())]


def subgraph(graphs: Fields, vertices) -> Fields:
    """These vertices alone, with the edges between them; see `GraphBatch.subgraph`."""
    graphs, _ = _checked(graphs)
    num_vertices = number_of_lists(graphs.child_splits)
    chosen = _chosen("vertices", vertices, 0, num_vertices)
    uses = tf.math.unsorted_segment_sum(tf.ones_like(chosen), chosen, num_vertices)
    is_kept = tf.cast(uses > 0, tf.int32)
    kept = tf.cast(tf.where(is_kept)[:, 0], tf.int32)
    kept_before = splits_of(is_kept)
    slots, child_splits = _ranges(graphs.child_splits, kept)
    # The last element is what -1, a missing child, becomes.
    new_id = tf.concat([tf.where(is_kept > 0, kept_before[:-1], -1), [-1]], 0)
    ids = tf.gather(graphs.child_ids, slots)
    ids = tf.gather(new_id, tf.where(ids < 0, num_vertices, ids))
    graph_splits = tf.gather(kept_before, graphs.graph_splits)
    return Fields(child_splits, ids, graph_splits, _types(graphs, kept))


def _ranges(splits, chosen) -> tuple[tf.Tensor, tf.Tensor]:
    """The members of the chosen lists one after another, and the splits between these lists."""
    ranges = tf.ragged.range(
        tf.gather(splits, chosen), tf.gather(splits, chosen + 1), row_splits_dtype=tf.int32
    )
    return ranges.values, ranges.row_splits


def _types(graphs: Fields, vertices) -> tf.Tensor:
    """The types of vertices; empty if no vertex has one."""
    is_typed = tf.cast(tf.size(graphs.vertex_type) > 0, tf.int32)
    return tf.gather(graphs.vertex_type, vertices[: is_typed * tf.size(vertices)])


def _checked(graphs: Fields) -> tuple[Fields, tf.Tensor]:
    """The same graphs once their child ids are known to be valid, and the vertex of each slot."""
    ids = graphs.child_ids
    vertex = list_of_each(graphs.child_splits, length(ids))
    graph = list_of_each(graphs.graph_splits, number_of_lists(graphs.child_splits))
    graph = tf.gather(graph, vertex)
    first, end = (tf.gather(graphs.graph_splits, graph + last) for last in (0, 1))
    wrong = tf.where((ids != -1) & ((ids < first) | (ids >= end)))[:1, 0]
    checks = rejected_unless(
        tf.size(wrong) == 0,
        "child_ids: got {} but expected -1 or a vertex of the same graph. The slot is of vertex "
        "{}.",
        tf.gather(ids, wrong),
        tf.gather(vertex, wrong),
    )
    with tf.control_dependencies(checks):
        return graphs._replace(child_ids=tf.identity(ids)), vertex


def _graph_ids(index, num_graphs) -> tf.Tensor:
    """int32 [n], in [0, num_graphs): the graphs that an index chooses."""
    if isinstance(index, slice):
        return tf.range(num_graphs)[index]
    known = isinstance(index, (int, np.integer)) and isinstance(num_graphs, int)
    if known and not -num_graphs <= index < num_graphs:
        raise IndexError(
            f"graphs[{index}]: got {index} but expected an index in [{-num_graphs}, {num_graphs}). "
            f"There are {num_graphs} graphs."
        )
    ids = _chosen(f"graphs[{index!r}]", index, -num_graphs, num_graphs)
    return tf.where(ids < 0, ids + num_graphs, ids)


def _chosen(name: str, index, least, limit) -> tf.Tensor:
    """int32 [n], in [least, limit): the integers in `index`, or the places where it is true."""
    expected = "but expected an integer, a slice, or a list or tensor of integers or booleans"
    if not isinstance(index, (numbers.Number, np.generic, list, range, np.ndarray, tf.Tensor)):
        raise ValueError(f"{name}: got a {type(index).__name__} {expected}. Convert it.")
    is_empty = isinstance(index, (list, range, np.ndarray)) and len(index) == 0
    chosen = tf.zeros([0], tf.int32) if is_empty else tf.convert_to_tensor(index)
    rank = chosen.shape.rank
    if chosen.dtype == tf.bool and rank == 1:
        checks = rejected_unless(
            tf.size(chosen) == limit,
            "{}: got {} values but expected {}, one per index. Make the mask as long.",
            *(name, tf.size(chosen), limit),
        )
        with tf.control_dependencies(checks):
            return tf.cast(tf.where(chosen)[:, 0], tf.int32)
    if not chosen.dtype.is_integer or rank not in (0, 1):
        raise ValueError(
            f"{name}: got {chosen.dtype.name} of shape {chosen.shape} {expected}. Convert it."
        )
    chosen = as_int32(name, tf.reshape(chosen, [-1]))
    wrong = tf.boolean_mask(chosen, (chosen < least) | (chosen >= limit))[:1]
    checks = rejected_unless(
        tf.size(wrong) == 0,
        "{}: got {} but expected an index in [{}, {}). Correct the index.",
        *(name, wrong, least, limit),
    )
    with tf.control_dependencies(checks):
        return tf.identity(chosen)
