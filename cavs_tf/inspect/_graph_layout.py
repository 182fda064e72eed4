"""Places the vertices of one graph in a picture: children below their parents."""

import collections
import dataclasses
import itertools

_SWEEPS = 8  # How often the layers of a DAG are put in order again.


@dataclasses.dataclass
class GraphLayout:
    """Where vertices and edges are drawn; a unit is the distance of two neighbours.

    Attributes:
      x: By vertex, from the left.
      level: By vertex, from below: 0 without children, else one more than the highest child.
      bends: By edge, the (x, level) that its line passes between its child and its parent. A line
        that passes a level is vertical there.
    """

    x: list[float]
    level: list[int]
    bends: list[list[tuple[float, float]]]

    def sides(self) -> tuple[float, float]:
        """The smallest and the largest x of vertices and edges."""
        x = [*self.x, *(x for bends in self.bends for x, _ in bends)]
        return min(x, default=0.0), max(x, default=0.0)


def lay_out_graph(edges: list[tuple[int, int]], level: list[int], in_order: bool) -> GraphLayout:
    """Lays out a graph.

    Args:
      edges: The (child, parent) of each edge.
      level: The level of each vertex.
      in_order: Whether vertices stand from left to right in the order of their numbers, as the
        words of a sentence do.
    """
    parents = collections.Counter(child for child, _ in edges)
    if in_order or max(parents.values(), default=0) <= 1:
        x = list(range(len(level))) if in_order else _tree_places(edges, len(level))
        # Nothing else stands above a vertex, up to its parent.
        bends = [[(x[child], level[parent] - 0.5)] for child, parent in edges]
        return GraphLayout([float(value) for value in x], level, bends)
    return _layers_layout(edges, level)


def _tree_places(edges, num_vertices) -> list[float]:
    """Leaves stand side by side in the order of the tree, parents above the middle of children."""
    children, has_parent = collections.defaultdict(list), set()
    for child, parent in edges:
        children[parent].append(child)
        has_parent.add(child)
    x, leaves = [0.0] * num_vertices, 0
    stack = [(v, False) for v in reversed(range(num_vertices)) if v not in has_parent]
    while stack:
        vertex, below_is_done = stack.pop()
        own = children[vertex]
        if below_is_done:
            x[vertex] = (x[own[0]] + x[own[-1]]) / 2
        elif own:
            stack += [(vertex, True), *((child, False) for child in reversed(own))]
        else:
            x[vertex], leaves = float(leaves), leaves + 1
    return x


def _layers_layout(edges, level) -> GraphLayout:
    """A layout by layers, in which an edge has a place on each level that it passes."""
    layers = _Layers(level)
    paths = [layers.connect(child, parent) for child, parent in edges]
    places = layers.places()
    x = [places[v] for v in range(len(level))]
    bends = []
    for path in paths:
        own = [(places[node], layers.level[node]) for node in path]
        bends.append([(at, height + up) for at, height in own for up in (-0.25, 0.25)])
    return GraphLayout(x, level, bends)


class _Layers:
    """The vertices of each level, and the edges that pass it."""

    def __init__(self, level):
        self.level = dict(enumerate(level))
        self._below = collections.defaultdict(list)
        self._above = collections.defaultdict(list)

    def connect(self, child, parent) -> list:
        """Connects two vertices; returns the nodes that the edge has between them."""
        passed = range(self.level[child] + 1, self.level[parent])
        path = [child]
        for height in passed:
            node = len(self.level)
            self.level[node] = height
            path.append(node)
        path.append(parent)
        for low, high in itertools.pairwise(path):
            self._above[low].append(high)
            self._below[high].append(low)
        return path[1:-1]

    def places(self) -> dict:
        """The place of every node from the left, chosen so that few edges cross."""
        layers = collections.defaultdict(list)
        for node, height in self.level.items():
            layers[height].append(node)
        heights = sorted(layers)
        place = {node: float(i) for own in layers.values() for i, node in enumerate(own)}
        for sweep in range(2 * _SWEEPS):
            upwards = sweep % 2 == 0
            neighbours = self._below if upwards else self._above
            for height in heights if upwards else reversed(heights):
                self._arrange(layers[height], neighbours, place)
        return place

    @staticmethod
    def _arrange(nodes, neighbours, place):
        """Moves the nodes of a layer towards the middle of their neighbours, one unit apart."""
        wanted = {
            node: sum(place[n] for n in neighbours[node]) / len(neighbours[node])
            if neighbours[node]
            else place[node]
            for node in nodes
        }
        nodes.sort(key=lambda node: wanted[node])
        at, shift = [], 0.0
        for node in nodes:
            at.append(max(wanted[node], at[-1] + 1) if at else wanted[node])
            shift += wanted[node] - at[-1]
        for node, own in zip(nodes, at, strict=True):
            place[node] = own + shift / len(nodes)
