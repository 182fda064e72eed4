"""Converts graphs from users to the flat child lists of a `GraphBatch`, and checks every value.

Ids in arguments are relative to their graph; ids in results are absolute.
"""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cavs_tf._values.integers import check_all_at_least, check_all_fit, check_at_least, check_total

_LAYOUTS = ("pairs", "rows")


class Ends(NamedTuple):
    """The names of the two ends of an edge in messages, and whether both may be one vertex."""

    source: str
    target: str
    sources: str
    may_be_one: bool

    @property
    def pair(self) -> str:
        return f"({self.source}, {self.target})"

    @property
    def rows(self) -> str:
        return f"of {self.sources} and one of {self.target}s"


OF_TREES = Ends("child", "parent", "children", may_be_one=False)
OF_ROUNDS = Ends("source", "target", "sources", may_be_one=True)


class ChildLists(NamedTuple):
    """The graphs of a minibatch: B graphs, V vertices, E child slots. All int32.

    Attributes:
      child_splits: [V + 1]. Vertex v has the slots [child_splits[v], child_splits[v + 1]).
      child_ids: [E], absolute ids in [0, V), or -1 for a missing child.
      graph_splits: [B + 1]. Graph g owns vertices [graph_splits[g], graph_splits[g + 1]).
    """

    child_splits: np.ndarray
    child_ids: np.ndarray
    graph_splits: np.ndarray


def from_parents(parents: Sequence[Sequence[int]]) -> ChildLists:
    """Converts one parent per vertex, -1 for a root. The children of a vertex ascend."""
    parent, graph_splits = _flatten(parents, "parents")
    graph, position, first, size = _places(graph_splits)
    _reject_first(
        (parent < -1) | (parent >= size),
        lambda i: (
            f"parents[{graph[i]}][{position[i]}]: got {parent[i]} but expected -1 (root) or a "
            f"vertex in [0, {size[i]}). Graph {graph[i]} has {size[i]} vertices."
        ),
    )
    _reject_first(
        parent == position,
        lambda i: (
            f"parents[{graph[i]}][{position[i]}]: got {parent[i]} but expected another vertex, "
            "or -1 (root). A vertex is not its own parent; GraphBatch.from_rounds takes graphs "
            "with cycles."
        ),
    )
    has_parent = parent >= 0
    parent = np.where(has_parent, parent + first, -1)
    # Stable, so that the children of each parent keep their order.
    by_parent = np.argsort(parent, kind="stable")
    child_ids = by_parent[np.count_nonzero(~has_parent) :]
    counts = np.bincount(parent[has_parent], minlength=len(parent))
    return _child_lists(counts, child_ids, graph_splits)


def from_children(children: Sequence[Sequence[Sequence[int]]]) -> ChildLists:
    """Converts one list of child ids per vertex, by slot; -1 is a missing child."""
    _check_is_list(children, "children")
    graph_splits = _splits(_lengths(children, "children", "the children of its vertices"))
    lists = list(itertools.chain.from_iterable(children))

    def place(vertex):
        graph = np.searchsorted(graph_splits, vertex, side="right") - 1
        return graph, vertex - graph_splits[graph]

    counts = np.array(_lengths(lists, "children", "child ids", place), np.int64)
    child = _integers(list(itertools.chain.from_iterable(lists)), "children")
    graph, position, first, size = _places(graph_splits, counts)
    _reject_first(
        (child < -1) | (child >= size),
        lambda i: (
            f"children[{graph[i]}][{position[i]}][{_slot(counts, i)}]: got {child[i]} but expected "
            f"-1 (no child) or a vertex of the same graph, [0, {size[i]}). Graph {graph[i]} has "
            f"{size[i]} vertices."
        ),
    )
    return _child_lists(counts, np.where(child >= 0, child + first, -1), graph_splits)


def from_edges(
    num_vertices: Sequence[int],
    edges: Sequence[Sequence],
    layout: str | None = None,
    ends: Ends = OF_TREES,
) -> ChildLists:
    """Converts edges per graph. The children of a vertex keep their order."""
    if layout not in (None, *_LAYOUTS):
        raise ValueError(
            f"layout: got {layout!r} but expected 'pairs', 'rows' or None. 'pairs' are "
            f"{ends.pair}, 'rows' one {ends.rows}."
        )
    sizes = _integers(num_vertices, "num_vertices")
    _check_is_list(edges, "edges")
    check_all_at_least(0, num_vertices=sizes)
    check_total("num_vertices", sizes.sum())
    if len(edges) != len(sizes):
        raise ValueError(
            f"edges: got edges of {len(edges)} graphs but expected {len(sizes)}, one array per "
            "value in num_vertices. Pass an empty one for a graph without edges."
        )
    pairs = [_pairs(graph, f"edges[{g}]", layout, ends) for g, graph in enumerate(edges)]
    edge_splits = _splits([len(graph) for graph in pairs])
    pair = np.concatenate([np.zeros((0, 2), np.int64), *pairs])
    graph, position, _, _ = _places(edge_splits)
    size = sizes[graph]
    _reject_first(
        (pair[:, 0] == pair[:, 1]) & (not ends.may_be_one),
        lambda i: (
            f"edges[{graph[i]}][{position[i]}]: got {pair[i, 0]} as child and as parent but "
            "expected two vertices. A vertex is not its own parent; GraphBatch.from_rounds takes "
            "graphs with cycles."
        ),
    )
    _reject_first(
        ((pair < 0) | (pair >= size[:, None])).any(axis=1),
        lambda i: (
            f"edges[{graph[i]}][{position[i]}]: got {ends.source} {pair[i, 0]}, {ends.target} "
            f"{pair[i, 1]} but expected two vertices in [0, {size[i]}). Graph {graph[i]} has "
            f"{size[i]} vertices."
        ),
    )
    graph_splits = _splits(sizes)
    child, parent = (pair + graph_splits[graph][:, None]).T
    counts = np.bincount(parent, minlength=graph_splits[-1])
    return _child_lists(counts, child[np.argsort(parent, kind="stable")], graph_splits)


def features_of_edges(edges, layout, features, ends: Ends = OF_TREES) -> np.ndarray:
    """[E, ...]: features of edges, in the order of a `GraphBatch`.

    Args:
      edges, layout, ends: Valid, as for `from_edges`.
      features: One array [n, ...] per graph, a row for each of its edges.
    """
    pairs = [_pairs(graph, f"edges[{g}]", layout, ends) for g, graph in enumerate(edges)]
    rows = _rows_per_graph(features, [len(graph) for graph in pairs], "edge")
    parents = [graph[:, 1] for graph in pairs]
    moved = [own[np.argsort(p, kind="stable")] for own, p in zip(rows, parents, strict=True)]
    return np.concatenate(moved) if moved else np.zeros([0])


def features_of_parents(parents, features) -> np.ndarray:
    """[E, ...]: features of the edge from each vertex to its parent. Rows of roots are left out.

    Args:
      parents: Valid, as for `from_parents`.
      features: One array [vertices, ...] per graph.
    """
    parents = [np.asarray(graph, np.int64) for graph in parents]
    rows = _rows_per_graph(features, list(map(len, parents)), "vertex")
    moved = []
    for own, graph in zip(rows, parents, strict=True):
        children = np.flatnonzero(graph >= 0)
        moved.append(own[children[np.argsort(graph[children], kind="stable")]])
    return np.concatenate(moved) if moved else np.zeros([0])


def _rows_per_graph(features, counts, what) -> list[np.ndarray]:
    _check_is_list(features, "edge_features")
    if len(features) != len(counts):
        raise ValueError(
            f"edge_features: got those of {len(features)} graphs but expected {len(counts)}, one "
            "array per graph."
        )
    rows = [np.asarray(own) for own in features]
    for g, (own, count) in enumerate(zip(rows, counts, strict=True)):
        if np.ndim(own) == 0 or len(own) != count:
            raise ValueError(
                f"edge_features[{g}]: got shape {list(np.shape(own))} but expected [{count}, ...], "
                f"one row per {what} of graph {g}."
            )
    return rows


def complete_trees(
    depth: int | None, num_leaves: int | None, arity: int, num_graphs: int
) -> ChildLists:
    """Makes equal trees of a given depth or number of leaves; leaves come first, the root last."""
    if (depth is None) == (num_leaves is None):
        raise ValueError(
            f"depth: got {depth} and num_leaves {num_leaves} but expected one of them. "
            "Leave out the other."
        )
    check_at_least(1 if num_leaves is None else 2, arity=arity)
    check_at_least(0, num_graphs=num_graphs)
    if num_leaves is None:
        check_at_least(0, depth=depth)
        num_leaves = arity**depth
    check_at_least(1, num_leaves=num_leaves)
    check_total("num_graphs", max(num_graphs, 1) * max(num_leaves, depth or 0))
    if arity == 1:
        counts, child_ids = np.arange(depth + 1) > 0, np.arange(depth)
    else:
        counts, child_ids = _grouped(num_leaves, arity)
    num_vertices = len(counts)
    check_total("num_graphs", num_graphs * num_vertices)
    first = num_vertices * np.arange(num_graphs + 1)
    all_child_ids = (child_ids + first[:-1, None]).ravel()
    return _child_lists(np.tile(counts, num_graphs), all_child_ids, first)


def _grouped(num_leaves: int, arity: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of children and child ids of a tree made by grouping each level from the left."""
    counts, child_ids = [np.zeros(num_leaves, np.int64)], [np.zeros(0, np.int64)]
    level, num_vertices = np.arange(num_leaves), num_leaves
    while len(level) > 1:
        # A last vertex without siblings moves up a level as it is.
        num_alone = int(len(level) % arity == 1)
        grouped, alone = np.split(level, [len(level) - num_alone])
        num_parents = -(-len(grouped) // arity)
        sizes = np.full(num_parents, arity)
        sizes[-1] = len(grouped) - arity * (num_parents - 1)
        counts.append(sizes)
        child_ids.append(grouped)
        level = np.concatenate([num_vertices + np.arange(num_parents), alone])
        num_vertices += num_parents
    return np.concatenate(counts), np.concatenate(child_ids)


def vertex_types(vertex_type, graph_splits: np.ndarray) -> np.ndarray:
    """[V] types from one list per graph or from one flat list; [0] from None."""
    if vertex_type is None:
        return np.zeros(0, np.int32)
    _check_is_list(vertex_type, "vertex_type")
    nested = len(vertex_type) > 0 and np.ndim(vertex_type[0]) > 0
    if nested:
        types, splits = _flatten(vertex_type, "vertex_type")
        if len(splits) != len(graph_splits):
            raise ValueError(
                f"vertex_type: got types of {len(splits) - 1} graphs but expected "
                f"{len(graph_splits) - 1}. Pass one list per graph."
            )
        got, expected = np.diff(splits), np.diff(graph_splits)
        _reject_first(
            got != expected,
            lambda g: (
                f"vertex_type[{g}]: got {got[g]} values but expected {expected[g]}, one per "
                f"vertex. Graph {g} has {expected[g]} vertices."
            ),
        )
    else:
        types = _integers(vertex_type, "vertex_type")
        if len(types) != graph_splits[-1]:
            raise ValueError(
                f"vertex_type: got {len(types)} values but expected {graph_splits[-1]}, one per "
                "vertex. Pass None if all vertices are of type 0."
            )
    graph, position, _, _ = _places(graph_splits)
    _reject_first(
        types < 0,
        lambda i: (
            f"vertex_type[{graph[i]}][{position[i]}]: got {types[i]} but expected at least 0. "
            "Types number the vertex functions."
        ),
    )
    return types.astype(np.int32)


def _child_lists(counts, child_ids, graph_splits) -> ChildLists:
    check_total("graphs", graph_splits[-1])
    return ChildLists(*(a.astype(np.int32) for a in (_splits(counts), child_ids, graph_splits)))


def _splits(sizes) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def _flatten(lists, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The values of all lists, and the splits between lists."""
    _check_is_list(lists, name)
    splits = _splits(_lengths(lists, name, "one value per vertex"))
    return _integers(list(itertools.chain.from_iterable(lists)), name), splits


def _check_is_list(value, name: str) -> None:
    if not hasattr(value, "__len__"):
        raise ValueError(
            f"{name}: got {value} but expected a list with one entry per graph. Pass a list of one "
            "for one graph."
        )


def _lengths(lists, name: str, contents: str, place=lambda i: (i,)) -> list[int]:
    """The length of each list. `place` maps the number of a list to its indices in `name`."""
    try:
        return [len(one) for one in lists]
    except TypeError:
        i, wrong = next((i, one) for i, one in enumerate(lists) if not hasattr(one, "__len__"))
    where = "".join(f"[{index}]" for index in place(i))
    raise ValueError(
        f"{name}{where}: got {wrong} but expected a list of {contents}. The argument is a list of "
        f"graphs: pass [{name}] if that is one graph."
    )


def _integers(values, name: str) -> np.ndarray:
    _check_is_list(values, name)
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.zeros([0, 0])  # Lists of several lengths.
    if array.ndim != 1:
        wrong = next(v for v in values if np.size(v) != 1 or np.ndim(v) > 0)
        raise ValueError(f"{name}: got {wrong} but expected only integers. Flatten it.")
    if array.size and array.dtype.kind not in "iu" and not _are_large(array):
        wrong = next(v for v in values if not isinstance(v, (int, np.integer)) or v is True)
        raise ValueError(f"{name}: got {wrong!r} but expected only integers. Convert it.")
    check_all_fit(name, array)
    return array.astype(np.int64)


def _are_large(array: np.ndarray) -> bool:
    """Whether the values are integers too large for every integer type of NumPy."""
    return all(isinstance(v, int) and not isinstance(v, bool) for v in array.flat)


def _pairs(edges, name: str, layout: str | None, ends: Ends) -> np.ndarray:
    """int64 [n, 2]: the (source, target) pairs of a graph, in either layout."""
    array = np.asarray(edges)
    if array.size == 0:
        return np.zeros((0, 2), np.int64)
    are_rows = layout == "rows"
    if array.ndim != 2 or array.shape[0 if are_rows else 1] != 2 or array.dtype.kind not in "iu":
        raise ValueError(
            f"{name}: got {array.dtype} of shape {array.shape} but expected integers of shape "
            f"{'[2, n]' if are_rows else '[n, 2]'}. {ends.pair} pairs have layout='pairs', a row "
            f"{ends.rows} layout='rows'."
        )
    if layout is None and not isinstance(edges[0], tuple):
        _reject_two_rows(array, name, ends)
    check_all_fit(name, array)
    return (array.T if are_rows else array).astype(np.int64)


def _reject_two_rows(array, name: str, ends: Ends) -> None:
    """Rejects two edges that may be two pairs, or a row of sources and a row of targets."""
    if len(array) != 2:
        return
    pairs, columns = array.tolist(), array.T.tolist()
    could_be_rows = ends.may_be_one or all(child != parent for child, parent in columns)
    if could_be_rows and sorted(pairs) != sorted(columns):
        raise ValueError(
            f"{name}: got {pairs}, which may be two pairs or a row {ends.rows}, but expected "
            "to be told which. Pass layout='pairs' or layout='rows'."
        )


def _places(graph_splits, repeats=None):
    """Graph, position in it, first vertex and size of that graph, for each vertex.

    With `repeats` vertex v stands repeats[v] times, for each of its child slots.
    """
    sizes = np.diff(graph_splits)
    graph = np.repeat(np.arange(len(sizes)), sizes)
    position = np.arange(graph_splits[-1]) - graph_splits[graph]
    if repeats is not None:
        graph, position = np.repeat(graph, repeats), np.repeat(position, repeats)
    return graph, position, graph_splits[graph], sizes[graph]


def _slot(counts, edge: int) -> int:
    splits = _splits(counts)
    return edge - splits[np.searchsorted(splits, edge, side="right") - 1]


def _reject_first(wrong: np.ndarray, message) -> None:
    if wrong.any():
        raise ValueError(message(int(np.argmax(wrong))))
