"""Trees as the number of the parent of each vertex, from 1 on, and 0 for a root."""

from cavs_tf.data._cycles import check_acyclic

ROOTS = ("all", "first", "artificial")


def check_roots(roots: str) -> None:
    """Raises ValueError unless `roots` is one of ROOTS."""
    if roots not in ROOTS:
        raise ValueError(
            f"roots: got {roots!r} but expected one of {', '.join(map(repr, ROOTS))}. Choose what "
            "becomes of a sentence with several roots."
        )


def children_of_heads(heads: list[int], roots: str) -> list[list[int]]:
    """The children of each vertex, ascending.

    Args:
      heads: The parent of each vertex, in [0, len(heads)].
      roots: How several roots are treated, one of ROOTS. An artificial root comes last.

    Raises:
      ValueError: If there is a cycle.
    """
    top = [vertex for vertex, head in enumerate(heads) if not head]
    children = [[] for _ in heads]
    for vertex, head in enumerate(heads):
        if head:
            children[head - 1].append(vertex)
    check_acyclic(children, first=1)
    if roots == "artificial":
        return [*children, top]
    if roots == "first" and len(top) > 1:
        first, *others = top
        children[first] = sorted([*children[first], *others])
    return children
