"""Graphs of any kind in the layout of batching by hand: level by level.

A level holds the vertices with the same longest way up to a root, so that most children
are one level below. After a level is computed, what is *live* is its own states and those of
deeper levels that are still to be read; children are numbered within what is live.
"""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Batch:
    """The vertices of one type, level by level. Integers are int32.

    Attributes:
      vertex: [n].
      splits: [L + 1]. Level l has the rows [splits[l], splits[l + 1]).
      slots: [n, slots]: rows of what is live.
      edge_child: [E]: likewise, of the children that are summed over.
      edge_parent: [E]: rows of the level and type; ascending in a level.
      edge_splits: [L + 1]. Level l has the edges [edge_splits[l], edge_splits[l + 1]).
    """

    vertex: np.ndarray
    splits: np.ndarray
    slots: np.ndarray
    edge_child: np.ndarray
    edge_parent: np.ndarray
    edge_splits: np.ndarray


@dataclasses.dataclass(frozen=True)
class Levels:
    """A plan for a minibatch, of L levels, the deepest first.

    What is live after a level: a row of zeros, if children are missing from slots; the states
    of the level, type by type; the rows `keep` of what was live before.

    Attributes:
      num_zeros: 1 if there is a row of zeros, else 0.
      batches: For each vertex type.
      keep: [...]: of level l, keep[keep_splits[l]:keep_splits[l + 1]].
      keep_splits: [L + 1].
      row: [V]: where the state of a vertex is when those of all levels are joined.
    """

    num_zeros: int
    batches: tuple[Batch, ...]
    keep: np.ndarray
    keep_splits: np.ndarray
    row: np.ndarray


def plan(minibatch, vertex_types) -> Levels:
    """Plans the levels of any graphs."""
    level = _levels(minibatch)
    read_until = np.full(minibatch.num_vertices, -1)
    for slot in minibatch.children.T:
        np.maximum.at(read_until, slot[slot >= 0], level[slot >= 0])
    order = np.lexsort((minibatch.kind, level))
    bounds = np.searchsorted(level[order], np.arange(level.max() + 2))
    num_zeros = int(_misses_children(minibatch, vertex_types))
    # The last one stands for a missing child: always row 0.
    place = np.zeros(minibatch.num_vertices + 1, np.int64)
    parts = [[] for _ in vertex_types]
    live, keep = np.empty(0, np.int64), []
    for number in range(len(bounds) - 1):
        own = order[bounds[number] : bounds[number + 1]]
        for kind, vertex_type in enumerate(vertex_types):
            rows = own[minibatch.kind[own] == kind]
            parts[kind].append((rows, *_children(minibatch.children[rows], vertex_type, place)))
        kept = live[read_until[live] > number]
        keep.append(place[kept])
        live = np.concatenate([own, kept])
        place[live] = num_zeros + np.arange(len(live))
    row = np.empty(len(order), np.int32)
    row[order] = np.arange(len(order))
    return Levels(num_zeros, tuple(map(_batch, parts)), *_joined(keep), row)


def output_rows(levels: Levels, minibatch) -> np.ndarray:
    """int32 [labels, n]: the rows of the joined states that belong to the labels."""
    return levels.row[minibatch.outputs[minibatch.label >= 0]]


def _levels(minibatch) -> np.ndarray:
    """int [V]: the level of each vertex; level 0 is computed first."""
    above = [0] * minibatch.num_vertices
    for vertex in range(minibatch.num_vertices - 1, -1, -1):
        for child in minibatch.children[vertex].tolist():
            if child >= 0:
                above[child] = max(above[child], above[vertex] + 1)
    return max(above) - np.array(above)


def _misses_children(minibatch, vertex_types) -> bool:
    return any(
        (minibatch.children[minibatch.kind == kind, : vertex_type.slots] < 0).any()
        for kind, vertex_type in enumerate(vertex_types)
    )


def _children(children, vertex_type, place):
    slots = place[children[:, : vertex_type.slots]]
    others = children[:, vertex_type.slots :] if vertex_type.sums else children[:, :0]
    parent, column = np.nonzero(others >= 0)
    return slots, place[others[parent, column]], parent


def _batch(levels) -> Batch:
    vertex, slots, edge_child, edge_parent = zip(*levels, strict=True)
    child, edge_splits = _joined(edge_child)
    return Batch(*_joined(vertex), _joined(slots)[0], child, _joined(edge_parent)[0], edge_splits)


def _joined(parts) -> tuple[np.ndarray, np.ndarray]:
    """(the concatenated arrays, their splits)."""
    splits = np.concatenate([[0], np.cumsum([len(part) for part in parts])])
    return np.concatenate(parts).astype(np.int32), splits.astype(np.int32)
