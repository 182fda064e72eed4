"""Cycles, which no graph may have, found while files are read."""


def check_acyclic(children: list[list[int]], first: int = 0) -> None:
    """Raises ValueError if a vertex is a descendant of itself.

    Args:
      children: The ids of the children of each vertex, from 0 on.
      first: The number that the format gives to vertex 0.
    """
    cycle = [str(vertex + first) for vertex in _cycle(children)]
    if cycle:
        shown = cycle if len(cycle) < 10 else [*cycle[:8], "...", cycle[-1]]
        raise ValueError(
            f"got the cycle {' <- '.join(shown)} of a vertex, its child, and so on, but expected "
            "none. Correct the graph that begins in this line; of a graph that is meant to have "
            "cycles, make rounds: GraphBatch.from_rounds, or json_graphs(..., cycles=True)."
        )


def _cycle(children: list[list[int]]) -> list[int]:
    """The vertices of a cycle, each a child of the one before, the first one also last."""
    is_done = [False] * len(children)
    for root in range(len(children)):
        if is_done[root]:
            continue
        place = {root: 0}  # Of each vertex on the path from the root.
        path = [(root, iter(children[root]))]
        while path:
            vertex, rest = path[-1]
            for child in rest:
                if child in place:
                    return [v for v, _ in path[place[child] :]] + [child]
                if not is_done[child]:
                    place[child] = len(path)
                    path.append((child, iter(children[child])))
                    break
            else:
                is_done[vertex] = True
                del place[vertex]
                path.pop()
    return []
