"""Graphs of networkx, and nested sequences. No library is imported to read them.

Ids in child lists are relative to the graph.
"""

from collections.abc import Iterable

from cavs_tf._values.packages import imported

_NEIGHBOURS = {"predecessors": "pred", "successors": "succ"}


def children_of_networkx(graphs, children: str) -> list[list[list[int]]]:
    """The child lists of directed networkx graphs; see `GraphBatch.from_networkx`."""
    if children not in _NEIGHBOURS:
        raise ValueError(
            f"children: got {children!r} but expected 'predecessors', whose edges lead from child "
            "to parent, or 'successors', from parent to child. Say how the edges are meant."
        )
    if hasattr(graphs, "is_directed"):
        raise ValueError(
            f"graphs: got a {type(graphs).__name__} but expected a list of them. Pass [graph]."
        )
    for g, graph in enumerate(graphs):
        if not hasattr(graph, "is_directed") or not graph.is_directed():
            raise ValueError(
                f"graphs[{g}]: got a {type(graph).__name__} but expected a networkx.DiGraph or "
                "MultiDiGraph. Make a directed graph, in which edges tell children from parents."
            )
    return [
        _of_one(f"graphs[{g}]", graph, getattr(graph, _NEIGHBOURS[children]))
        for g, graph in enumerate(graphs)
    ]


def attributes_of_networkx(graphs, name: str) -> list[list]:
    """An attribute of all nodes of each graph."""
    for g, graph in enumerate(graphs):
        for node, attributes in graph.nodes.items():
            if name not in attributes:
                raise ValueError(
                    f"graphs[{g}].nodes[{node!r}]: got no attribute {name!r} but expected one at "
                    "every node. Set it, or pass the types themselves."
                )
    return [[attributes[name] for attributes in graph.nodes.values()] for graph in graphs]


def to_networkx(lists, types) -> list:
    """One `MultiDiGraph` per graph, of child lists and of types, or None."""
    networkx = imported("networkx", "to_networkx")

    graphs = []
    for g, children in enumerate(lists):
        graph = networkx.MultiDiGraph()
        graph.add_nodes_from(range(len(children)))
        for vertex, slots in enumerate(children):
            edges = ((child, vertex, {"slot": k}) for k, child in enumerate(slots) if child >= 0)
            graph.add_edges_from(edges)
        if types is not None:
            networkx.set_node_attributes(graph, dict(enumerate(types[g])), "vertex_type")
        graphs.append(graph)
    return graphs


def children_of_nested(trees) -> list[list[list[int]]]:
    """The child lists of nested sequences, in post-order; see `GraphBatch.from_nested`."""
    return [post_order(tree, _elements)[1] for tree in _list_of_trees(trees)]


def values_of_nested(trees, inner) -> list:
    """The value at each vertex of nested sequences; see `cavs_tf.data.nested_values`."""
    values = []
    for tree in _list_of_trees(trees):
        for vertex in post_order(tree, _elements)[0]:
            if not _is_inner(vertex):
                values.append(vertex)
            else:
                values.append(vertex.label() if hasattr(vertex, "label") else inner)
    return values


def post_order(tree, children_of) -> tuple[list, list[list[int]]]:
    """The vertices of a tree, children before their parent, and the child ids of each.

    `children_of(vertex)` is a sequence of the children of a vertex. Deep trees need no deep stack.
    """
    vertices, ids = [], []
    open_vertices = [(tree, iter(children_of(tree)), [])]
    while open_vertices:
        vertex, rest, of_vertex = open_vertices[-1]
        for child in rest:
            open_vertices.append((child, iter(children_of(child)), []))
            break
        else:
            open_vertices.pop()
            if open_vertices:
                open_vertices[-1][2].append(len(vertices))
            vertices.append(vertex)
            ids.append(of_vertex)
    return vertices, ids


def _list_of_trees(trees) -> Iterable:
    if not isinstance(trees, (list, tuple)) or hasattr(trees, "label"):
        raise ValueError(
            f"trees: got {trees!r} but expected a list with one nested sequence per graph. Pass "
            "[tree] for one tree."
        )
    return trees


def _of_one(name: str, graph, neighbours) -> list[list[int]]:
    number = {node: vertex for vertex, node in enumerate(graph)}
    children = []
    for node in graph:
        edges = [
            (number[other], data.get("slot"))
            for other, datas in neighbours[node].items()
            for data in (datas.values() if graph.is_multigraph() else [datas])
        ]
        children.append(_in_slots(f"{name}.nodes[{node!r}]", edges))
    return children


def _in_slots(name: str, edges: list[tuple]) -> list[int]:
    """The children by slot: the slots that edges have, or else their order."""
    slots = [slot for _, slot in edges]
    if not any(slot is not None for slot in slots):
        return [child for child, _ in edges]
    if not all(isinstance(slot, int) and slot >= 0 for slot in slots) or len({*slots}) < len(slots):
        raise ValueError(
            f"{name}: got the slots {slots} of its children but expected different integers from 0 "
            "on, or none. Set the attribute 'slot' of all these edges, or of none."
        )
    children = [-1] * (max(slots) + 1)
    for child, slot in edges:
        children[slot] = child
    return children


def _is_inner(tree) -> bool:
    return isinstance(tree, (list, tuple))


def _elements(tree) -> Iterable:
    return tree if _is_inner(tree) else ()
