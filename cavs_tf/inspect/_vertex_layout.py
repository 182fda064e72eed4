"""Lays out the operators of a vertex function in a picture."""

import dataclasses

from cavs_tf.inspect._stages import STAGES

_MAX_ROWS = 8  # The largest number of operators in one column.


@dataclasses.dataclass
class Box:
    """A node: one operator, or the frame around a fused group of them.

    Attributes:
      node: The node, as `CavsDescribe` describes it.
      x, y, width, height: Measured in operators, from the left and from the top.
      places: (x, y) of every operator in it, by id.
    """

    node: dict
    x: int
    y: int
    width: int
    height: int
    places: dict


def lay_out(nodes: list[dict]) -> list[Box]:
    """Places nodes from left to right by dependency, stage after stage."""
    boxes, grid, places = [], _Grid(), {}
    begin = 0
    for stage in STAGES:
        here = []
        for node in nodes:
            if node["stage"] == stage:
                here.append(_place(node, begin, grid, places, {p for b in here for p in b.places}))
        boxes += here
        begin = max((box.x + box.width for box in here), default=begin)
    return boxes


def operators(node: dict) -> list[dict]:
    """The operators of a node: itself, or the members of a group."""
    return node["members"] or [node]


def _place(node, begin, grid, places, same_stage) -> Box:
    inside, width, height = _inside(node)
    before = {i for operator in operators(node) for i in operator["after"]} - inside.keys()
    x = max((places[i][0] + 1 for i in before & same_stage), default=begin)
    wanted = _mean([places[i][1] for i in before]) - (height - 1) / 2
    while (y := grid.find(x, width, height, wanted)) + height > max(_MAX_ROWS, height):
        x += 1
    grid.take(x, y, width, height)
    own = {i: (x + dx, y + dy) for i, (dx, dy) in inside.items()}
    places.update(own)
    return Box(node, x, y, width, height, own)


def _inside(node):
    """Places of the operators of one node relative to it, and its width and height."""
    grid, places = _Grid(), {}
    for operator in operators(node):
        before = [places[i] for i in operator["after"] if i in places]
        x = max((place[0] + 1 for place in before), default=0)
        y = grid.find(x, 1, 1, _mean([place[1] for place in before]))
        grid.take(x, y, 1, 1)
        places[operator["id"]] = (x, y)
    width = 1 + max(x for x, _ in places.values())
    height = 1 + max(y for _, y in places.values())
    return places, width, height


def _mean(values):
    return sum(values) / len(values) if values else 0.0


class _Grid:
    """A grid of cells, some of which are taken."""

    def __init__(self):
        self._taken = set()

    def take(self, x, y, width, height):
        self._taken |= self._cells(x, y, width, height)

    def find(self, x, width, height, wanted) -> int:
        """The first of the free rows nearest to `wanted`."""
        rows = sorted(range(len(self._taken) + 1), key=lambda y: (abs(y - wanted), y))
        return next(y for y in rows if not self._cells(x, y, width, height) & self._taken)

    @staticmethod
    def _cells(x, y, width, height):
        return {(x + i, y + j) for i in range(width) for j in range(height)}
