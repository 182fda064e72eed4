"""Minibatches in the layout of batching by hand.

Trees go level by level. Level 0 holds the roots, level d + 1 the children of level d,
siblings side by side. Every child is then exactly one level below its parent, and the
children of a level are all of the next one: a view, not a gather.
"""

import dataclasses
import itertools

import numpy as np


@dataclasses.dataclass(frozen=True)
class Levels:
    """A plan for a minibatch. Rows number the vertices, level by level.

    Attributes:
      vertex: int64 [V]: the vertex of each row.
      splits: Level d has the rows [splits[d], splits[d + 1]).
      inner, leaf: int64: rows of vertices with and without children, ascending.
      inner_splits, leaf_splits: Level d has inner[inner_splits[d]:inner_splits[d + 1]].
      place: int64 [V]: where each row is found when in every level the inner vertices
        come before the leaves; relative to the level.
    """

    vertex: np.ndarray
    splits: np.ndarray
    inner: np.ndarray
    leaf: np.ndarray
    inner_splits: np.ndarray
    leaf_splits: np.ndarray
    place: np.ndarray

    @property
    def num_levels(self) -> int:
        return len(self.splits) - 1


def plan(minibatch) -> Levels:
    """Plans the levels of trees whose inner vertices have all their children."""
    level = np.sort(minibatch.graph_splits[1:] - 1)  # The roots.
    levels = []
    while len(level):
        levels.append(level)
        level = minibatch.children[level[~minibatch.is_leaf[level]]].ravel()
    vertex = np.concatenate(levels)
    splits = np.concatenate([[0], np.cumsum([len(level) for level in levels])])
    is_leaf = minibatch.is_leaf[vertex]
    inner, leaf = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    place = np.empty(len(vertex), np.int64)
    for first, last in itertools.pairwise(splits):
        rows = np.argsort(is_leaf[first:last], kind="stable")
        place[first + rows] = np.arange(last - first)
    return Levels(
        vertex,
        splits,
        inner,
        leaf,
        np.searchsorted(inner, splits),
        np.searchsorted(leaf, splits),
        place,
    )


@dataclasses.dataclass(frozen=True)
class Steps:
    """A plan for sequences. Rows number the vertices, step by step; the longest come first.

    Attributes:
      vertex: int64 [V]: the vertex of each row.
      splits: Step t has the rows [splits[t], splits[t + 1]); never more than the step before,
        and of the same sequences in the same order.
    """

    vertex: np.ndarray
    splits: np.ndarray


def steps(minibatch) -> Steps:
    """Plans the steps of chains whose vertices are in order."""
    splits = minibatch.graph_splits
    lengths = np.diff(splits)
    starts = splits[:-1][np.argsort(-lengths, kind="stable")]
    lengths = -np.sort(-lengths)
    sizes = [int((lengths > t).sum()) for t in range(lengths[0])]
    vertex = [starts[:size] + t for t, size in enumerate(sizes)]
    return Steps(np.concatenate(vertex), np.concatenate([[0], np.cumsum(sizes)]))
