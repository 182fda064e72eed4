"""Rounds of message passing: a graph without cycles, with a copy of the vertices for each round.

Within a graph of n vertices, row r * n + v is vertex v after round r. Its children are itself and
its neighbours, all of the round before.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from cavs_tf._values.arguments import checked_size
from cavs_tf._values.integers import (
    INT32,
    as_int32,
    check_total,
    eager_values,
    int32_tensor,
    length,
    list_of_each,
    number_of_lists,
    rejected_unless,
    splits_of,
)
from cavs_tf.graphs import _child_lists
from cavs_tf.graphs._algebra import Fields


class Unrolled(NamedTuple):
    """The graphs of all rounds.

    Attributes:
      graphs: Graphs without cycles, whose roots are the last round. They have the vertices' types.
      origin: int32 [rows], the vertex that each row stands for.
      edge_origin: int32 [edges], for each edge of `graphs` the edge that it stands for, numbered
        without missing ones; -1 for that from a vertex to itself.
    """

    graphs: Fields
    origin: tf.Tensor
    edge_origin: tf.Tensor


def from_edges(
    num_vertices, edges, rounds, vertex_type, layout, edge_features, own_feature
) -> tuple:
    """The graphs of `GraphBatch.from_rounds` as `Unrolled`, and the features of their edges."""
    checks = _check_rounds(rounds)
    make = _of_lists
    if isinstance(edges, tf.RaggedTensor) and edges.ragged_rank == 1:
        make = _of_tensors
    graphs, features_by = make(num_vertices, edges, layout, vertex_type)
    with tf.control_dependencies(checks):
        unrolled = unroll(graphs, rounds)
    if edge_features is None:
        return unrolled, None
    return unrolled, features_by(edge_features, unrolled.edge_origin, own_feature)


def _of_lists(num_vertices, edges, layout, vertex_type) -> tuple:
    """The graphs of edges in lists, and a function of features, edge origins and own feature."""
    num_vertices = eager_values("num_vertices", num_vertices)
    edges, ends = eager_values("edges", edges), _child_lists.OF_ROUNDS
    lists = _child_lists.from_edges(num_vertices, edges, layout, ends)
    types = _child_lists.vertex_types(eager_values("vertex_type", vertex_type), lists.graph_splits)

    def features_by(features, edge_origin, own):
        features = eager_values("edge_features", features)
        rows = _child_lists.features_of_edges(edges, layout, features, ends)
        return _array_with_own_feature(rows, edge_origin, own)

    return Fields(*map(tf.constant, (*lists, types))), features_by


def _of_tensors(num_vertices, edges: tf.RaggedTensor, layout, vertex_type) -> tuple:
    """Does `_of_lists` for edges [B, (edges), 2] whose values need not be known."""
    if layout not in (None, "pairs"):
        raise ValueError(
            f"layout: got {layout!r} but expected 'pairs' or None for a RaggedTensor of edges. "
            "Transpose the edges of each graph."
        )
    graphs, order = _from_ragged_edges(num_vertices, edges)
    graphs = graphs._replace(vertex_type=_types(vertex_type, graphs))

    def features_by(features, edge_origin, own):
        rows = tf.gather(_checked_features(features, edges), order)
        return with_own_feature(rows, edge_origin, own)

    return graphs, features_by


def _types(vertex_type, graphs: Fields) -> tf.Tensor:
    """int32 [V], or [0] if no types are given."""
    if vertex_type is None:
        return tf.zeros([0], tf.int32)
    if isinstance(vertex_type, tf.RaggedTensor):
        vertex_type = vertex_type.values
    types = int32_tensor("vertex_type", vertex_type, rank=1)
    expected = number_of_lists(graphs.child_splits)
    checks = rejected_unless(
        tf.size(types) == expected,
        "vertex_type: got {} values but expected {}, one per vertex. Pass None if all vertices are "
        "of type 0.",
        *(tf.size(types), expected),
    )
    with tf.control_dependencies(checks):
        return tf.identity(types)


def _checked_features(features, edges: tf.RaggedTensor) -> tf.Tensor:
    """[E, ...]: features of ragged edges, once it is known that each edge has one."""
    if not isinstance(features, tf.RaggedTensor):
        raise ValueError(
            f"edge_features: got a {type(features).__name__} but expected a RaggedTensor "
            "[graphs, (edges), ...], as the edges are one. Convert it."
        )
    got, expected = features.row_lengths(), edges.row_lengths()
    same = tf.size(got) == tf.size(expected)
    same = tf.cond(same, lambda: tf.reduce_all(got == expected), lambda: same)
    checks = rejected_unless(
        same,
        "edge_features: got {} rows in {} graphs but expected {} in {}, one row for each edge of "
        "each graph. Pass as many features as edges.",
        *(tf.shape(features.values)[0], tf.size(got), tf.reduce_sum(expected), tf.size(expected)),
    )
    with tf.control_dependencies(checks):
        return tf.identity(features.values)


def _check_rounds(rounds) -> list:
    """Rejects a wrong number of rounds; returns operators that check a number not known yet."""
    if not tf.is_symbolic_tensor(rounds):
        checked_size("rounds", rounds.numpy() if tf.is_tensor(rounds) else rounds, least=0)
        return []
    if not rounds.dtype.is_integer or rounds.shape.rank != 0:
        raise ValueError(
            f"rounds: got {rounds.dtype.name} of shape {rounds.shape} but expected an integer of "
            "at least 0. Pass a scalar."
        )
    return rejected_unless(
        rounds >= 0, "rounds: got {} but expected an int of at least 0. Pass one.", rounds
    )


def unroll(graphs: Fields, rounds) -> Unrolled:
    """Makes rows of every round, and the edges between rounds. Missing children are left out.

    Args:
      graphs: Graphs with valid child ids; see `checked_children`.
      rounds: At least 0, an int or a scalar tensor.

    Raises:
      ValueError, tf.errors.InvalidArgumentError: If there are too many rows or edges.
    """
    is_edge = graphs.child_ids >= 0
    slot_splits = splits_of(tf.cast(is_edge, tf.int32))
    first_edge = tf.gather(slot_splits, graphs.child_splits)
    edge_child = tf.boolean_mask(graphs.child_ids, is_edge)
    rounds = tf.cast(rounds, tf.int64)
    num_vertices = tf.cast(number_of_lists(graphs.child_splits), tf.int64)
    num_slots = rounds * (num_vertices + tf.size(edge_child, tf.int64))
    checks = check_total("rounds", num_vertices * (rounds + 1))
    checks += rejected_unless(
        num_slots < INT32.max,
        "rounds: got {} edges in all but expected fewer than 2**31 - 1. Make smaller minibatches.",
        num_slots,
    )
    with tf.control_dependencies(checks):
        rounds = tf.cast(rounds, tf.int32)
    graph_splits = graphs.graph_splits * (rounds + 1)
    origin, later, size = _rows(graphs.graph_splits, graph_splits, num_vertices, rounds)
    num_neighbours = first_edge[1:] - first_edge[:-1]
    child_splits = splits_of(tf.where(later, tf.gather(num_neighbours, origin) + 1, 0))
    row = list_of_each(child_splits, tf.cast(num_slots, tf.int32))
    slot = tf.range(tf.size(row)) - tf.gather(child_splits, row)
    vertex = tf.gather(origin, row)
    edge = tf.where(slot == 0, -1, tf.gather(first_edge, vertex) + slot - 1)
    # Ids of neighbours move as far as the vertex's own does.
    child = tf.gather(tf.concat([[0], edge_child], 0), edge + 1)
    child = tf.where(slot == 0, vertex, child)
    ids = child + row - tf.gather(size, row) - vertex
    typed = tf.cast(tf.size(graphs.vertex_type) > 0, tf.int32)
    types = tf.gather(graphs.vertex_type, origin[: typed * tf.size(origin)])
    return Unrolled(Fields(child_splits, ids, graph_splits, types), origin, edge)


def _rows(vertex_splits, row_splits, num_vertices, rounds):
    """For each row: its vertex, whether its round is later than 0, and the size of its graph."""
    graph = list_of_each(row_splits, tf.cast(num_vertices, tf.int32) * (rounds + 1))
    first = tf.gather(vertex_splits, graph)
    size = tf.gather(vertex_splits, graph + 1) - first
    place = tf.range(tf.size(graph)) - tf.gather(row_splits, graph)
    return first + place % size, place >= size, size


def with_own_feature(
    features: tf.Tensor, edge_origin: tf.Tensor, own, name="own_feature"
) -> tf.Tensor:
    """[edges, ...]: the features of the edges of all rounds. Works inside `tf.function`.

    Args:
      features: [E, ...], the features of the edges of the graphs.
      edge_origin: See `Unrolled`.
      own: The feature of the edge from a vertex to itself; None: zeros, or empty strings.
      name: The name of `own` in messages.

    Raises:
      ValueError: If `own` does not have the type of the features, or not their shape.
    """
    if own is None:
        own = "" if features.dtype == tf.string else tf.zeros([], features.dtype)
    shape = tf.shape(features)[1:]
    try:
        row = tf.broadcast_to(tf.convert_to_tensor(own, features.dtype), shape)
    except (TypeError, ValueError, OverflowError, tf.errors.InvalidArgumentError):
        raise _wrong_own(name, own, features.dtype.name, features.shape[1:]) from None
    return tf.gather(tf.concat([row[None], features], 0), edge_origin + 1)


def _array_with_own_feature(features: np.ndarray, edge_origin, own) -> np.ndarray:
    """Does `with_own_feature` for arrays; a string may be longer than the features are."""
    dtype = features.dtype
    own_row = np.zeros((), dtype) if own is None else np.asarray(own)
    is_text = dtype.kind in "US"
    try:
        row = own_row if is_text else own_row.astype(dtype)
        row = np.broadcast_to(row, features.shape[1:])
    except (TypeError, ValueError):
        row = None
    if row is None or is_text != (own_row.dtype.kind in "US") or np.any(row != own_row):
        shown = "strings" if is_text else dtype.name
        raise _wrong_own("own_feature", own, shown, features.shape[1:])
    return np.concatenate([row[None], features])[np.asarray(edge_origin) + 1]


def _wrong_own(name: str, own, dtype: str, shape) -> ValueError:
    return ValueError(
        f"{name}: got {own!r} but expected {dtype} of shape {list(shape)}, as the features of "
        "edges are. Pass such a value, or None for zeros."
    )


def checked_children(graphs: Fields) -> Fields:
    """The same graphs once their child ids are known to be valid; the message counts by graph."""
    ids = graphs.child_ids
    vertex = list_of_each(graphs.child_splits, length(ids))
    graph = list_of_each(graphs.graph_splits, number_of_lists(graphs.child_splits))
    graph = tf.gather(graph, vertex)
    first, end = (tf.gather(graphs.graph_splits, graph + last) for last in (0, 1))
    wrong = tf.where((ids != -1) & ((ids < first) | (ids >= end)))[:1, 0]
    of = [tf.gather(values, wrong) for values in (graph, vertex, ids, first, end)]
    graph, vertex, child, first, end = of
    slot = tf.cast(wrong, tf.int32) - tf.gather(graphs.child_splits, vertex)
    checks = rejected_unless(
        tf.size(wrong) == 0,
        "children[{}][{}][{}]: got {} but expected -1 (no child) or a vertex of the same graph, "
        "[0, {}). Graph {} has {} vertices.",
        *(graph, vertex - first, slot, child - first, end - first, graph, end - first),
    )
    with tf.control_dependencies(checks):
        return graphs._replace(child_ids=tf.identity(ids))


def _from_ragged_edges(num_vertices, edges: tf.RaggedTensor) -> tuple[Fields, tf.Tensor]:
    """Graphs of edges whose values need not be known.

    Args:
      num_vertices: [B] integers.
      edges: Integers [B, (edges), 2] of (source, target), relative to the graph.

    Returns:
      The graphs, and int32 [E]: the number of each of their edges among those that are given.

    Raises:
      ValueError: If the arguments have other types or shapes.
      tf.errors.InvalidArgumentError: If a number or an id is out of range.
    """
    sizes = int32_tensor("num_vertices", num_vertices, rank=1)
    pair = edges.values
    if isinstance(pair, tf.RaggedTensor) or pair.shape[1:] != [2] or not pair.dtype.is_integer:
        raise ValueError(
            f"edges: got {edges!r} but expected a RaggedTensor of integers [graphs, (edges), 2]. "
            "Use tf.ragged.constant(..., ragged_rank=1, inner_shape=(2,))."
        )
    pair = as_int32("edges", pair)
    edge_splits = tf.cast(edges.row_splits, tf.int32)
    with tf.control_dependencies(_check_sizes(sizes, edges)):
        graph_splits = splits_of(tf.cast(sizes, tf.int64))
    with tf.control_dependencies(check_total("num_vertices", graph_splits[-1])):
        graph_splits = tf.cast(graph_splits, tf.int32)
    graph = list_of_each(edge_splits, length(pair))
    size = tf.gather(sizes, graph)
    with tf.control_dependencies(_check_ids(pair, edge_splits, graph, size)):
        source, target = tf.unstack(pair + tf.gather(graph_splits, graph)[:, None], axis=1)
    order = tf.argsort(target, stable=True)
    counts = tf.math.unsorted_segment_sum(tf.ones_like(target), target, graph_splits[-1])
    nothing = tf.zeros([0], tf.int32)
    fields = Fields(splits_of(counts), tf.gather(source, order), graph_splits, nothing)
    return fields, order


def _check_sizes(sizes, edges) -> list:
    wrong = tf.where(sizes < 0)[:1, 0]
    return [
        *rejected_unless(
            tf.cast(edges.nrows(), tf.int32) == tf.size(sizes),
            "edges: got edges of {} graphs but expected {}, one list per value in num_vertices. "
            "Pass an empty one for a graph without edges.",
            *(edges.nrows(), tf.size(sizes)),
        ),
        *rejected_unless(
            tf.size(wrong) == 0,
            "num_vertices[{}]: got {} but expected at least 0. Correct it.",
            *(wrong, tf.gather(sizes, wrong)),
        ),
    ]


def _check_ids(pair, edge_splits, graph, size) -> list:
    is_wrong = tf.reduce_any((pair < 0) | (pair >= size[:, None]), axis=1)
    wrong = tf.where(is_wrong)[:1, 0]
    of_wrong = tf.gather(graph, wrong)
    return rejected_unless(
        tf.size(wrong) == 0,
        "edges[{}][{}]: got source {}, target {} but expected two vertices in [0, {}). Graph {} "
        "has as many vertices as num_vertices says.",
        *(of_wrong, tf.cast(wrong, tf.int32) - tf.gather(edge_splits, of_wrong)),
        *(tf.gather(pair[:, column], wrong) for column in (0, 1)),
        *(tf.gather(size, wrong), of_wrong),
    )
