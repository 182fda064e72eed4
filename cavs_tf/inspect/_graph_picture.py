"""A picture of one tree or DAG, with texts at its vertices and values at its edges."""

import dataclasses

import numpy as np

from cavs_tf.inspect._figures import new_figure
from cavs_tf.inspect._graph_layout import lay_out_graph

_RIGHT, _WRONG, _PLAIN = "#cfe8d5", "#f6cfc8", "#e8eef5"
_LETTER, _LINE = 0.075, 0.165  # The width of a letter and the height of a line in inches.
_BETWEEN = (0.22, 0.42)  # The distances of vertices beside and above each other, in inches.
_MOST_LETTERS = 18
_LARGEST = 60.0  # The largest width and height in inches.


@dataclasses.dataclass
class VertexTexts:
    """The texts at the vertices of a graph: by vertex, a text or None.

    Attributes:
      words, labels, predictions: Texts by vertex; None if no vertex has any.
    """

    words: list | None
    labels: list | None
    predictions: list | None

    def lines(self, vertex: int) -> list[str]:
        """The lines at a vertex; its number if there are no others."""
        word, label, predicted = (
            None if texts is None else texts[vertex]
            for texts in (self.words, self.labels, self.predictions)
        )
        lines = [] if word is None else [word]
        name = "label " if self.predictions is not None else ""
        lines += [] if label is None else [f"{name}{label}"]
        lines += [] if predicted is None else [f"predicted {predicted}"]
        return [_shortened(line) for line in lines] or [f"#{vertex}"]

    def colour(self, vertex: int) -> str:
        if not self.can_compare(vertex):
            return _PLAIN
        return _RIGHT if self.is_right(vertex) else _WRONG

    def can_compare(self, vertex: int) -> bool:
        both = (self.labels, self.predictions)
        return all(texts is not None and texts[vertex] is not None for texts in both)

    def is_right(self, vertex: int) -> bool:
        return self.labels[vertex] == self.predictions[vertex]


def texts_of(num_vertices: int, words, predictions, labels) -> VertexTexts:
    """The texts at vertices, from the arguments of a user.

    Raises:
      ValueError: If their number is not the number of vertices.
    """
    return VertexTexts(
        _texts("words", words, num_vertices),
        _texts("labels", labels, num_vertices),
        _texts("predictions", predictions, num_vertices),
    )


def values_of(num_edges: int, values) -> list[float]:
    """A number for each edge; ValueError if their number differs."""
    values = np.asarray(values, np.float64)
    if values.shape in ((num_edges, 1), (num_edges,)):
        return values.reshape(-1).tolist()
    raise ValueError(
        f"edge_values: got shape {values.shape} but expected ({num_edges},), one for each edge of "
        "the graph. Pass a number for each, in the order of graphs.edges."
    )


def _texts(name, values, num_vertices) -> list | None:
    if values is None:
        return None
    texts = [_text(name, value) for value in _rows(values)]
    if len(texts) == num_vertices:
        return texts
    raise ValueError(
        f"{name}: got {len(texts)} of them but expected {num_vertices}, one for each vertex "
        "of the graph. Pass None where a vertex has none."
    )


def _rows(values):
    return values.numpy() if hasattr(values, "numpy") else values


def _text(name, value) -> str | None:
    """The text for a value: a string or a number; None for nothing."""
    value = _rows(value)
    if isinstance(value, np.ndarray):
        if value.size != 1:
            raise ValueError(
                f"{name}: got rows of shape {value.shape} but expected one word or number for each "
                "vertex. Take the class of each vertex by tf.argmax(scores, axis=1)."
            )
        value = value.item()
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if value is None or (isinstance(value, str) and not value):
        return None
    return f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)


def draw_graph(edges, level, texts: VertexTexts, edge_values=None, axes=None):
    """Draws a graph.

    Args:
      edges: The (child, parent) of each edge.
      level: By vertex.
      texts: The texts at vertices.
      edge_values: A number for each edge, or None.
      axes: The axes to draw into; None: those of a new figure.

    Returns:
      The axes.
    """
    num_vertices = len(level)
    has_word = [texts.words is not None and texts.words[v] is not None for v in range(num_vertices)]
    layout = lay_out_graph(edges, level, in_order=num_vertices > 0 and all(has_word))
    lines = [texts.lines(v) for v in range(num_vertices)]
    box = _box_of(lines)
    if axes is None:
        axes = new_figure(*_size(layout, box)).add_subplot()
    axes.axis("off")
    for number, edge in enumerate(edges):
        value = None if edge_values is None else edge_values[number]
        _draw_edge(axes, layout, edge, number, box.half_height, value)
    for vertex in range(num_vertices):
        _draw_vertex(axes, layout, vertex, lines[vertex], texts.colour(vertex), box)
    _set_limits(axes, layout)
    _set_title(axes, texts, num_vertices)
    return axes


@dataclasses.dataclass(frozen=True)
class _Box:
    """The box that the texts of any vertex fit into, in inches, and half its height in levels."""

    width: float
    height: float

    @property
    def half_height(self) -> float:
        return self.height / (self.height + _BETWEEN[1]) / 2


def _box_of(lines) -> _Box:
    letters = max((len(line) for own in lines for line in own), default=1)
    count = max((len(own) for own in lines), default=1)
    return _Box(_LETTER * letters + 0.16, _LINE * count + 0.1)


def _size(layout, box):
    left, right = layout.sides()
    width = (right - left + 1) * (box.width + _BETWEEN[0])
    height = (max(layout.level, default=0) + 1) * (box.height + _BETWEEN[1])
    return min(max(width, 3.0) + 0.3, _LARGEST), min(height + 0.5, _LARGEST)


def _draw_edge(axes, layout, edge, number, half_height, value):
    child, parent = edge
    # Up to the edge of a box a line is vertical, so that it crosses no neighbouring box.
    begin = [(layout.x[child], layout.level[child] + up) for up in (0, half_height)]
    end = [(layout.x[parent], layout.level[parent] - down) for down in (half_height, 0)]
    bends = layout.bends[number]
    points = [*begin, *bends, *end]
    width = 0.9 if value is None else 0.4 + 3.6 * min(max(value, 0.0), 1.0)
    axes.plot(*zip(*points, strict=True), color="#7a828c", lw=width, zorder=1)
    if value is not None:
        x, y = bends[0] if bends else np.mean(points, axis=0)
        style = {"ha": "center", "va": "center", "fontsize": 7, "color": "#333333"}
        frame = {"boxstyle": "round,pad=0.1", "fc": "white", "ec": "none"}
        axes.text(x, y, f"{value:.2g}", bbox=frame, zorder=1.5, **style)


def _draw_vertex(axes, layout, vertex, lines, colour, box):
    axes.text(
        layout.x[vertex],
        layout.level[vertex],
        "\n".join(lines),
        ha="center",
        va="center",
        fontsize=8,
        linespacing=1.25,
        bbox={"boxstyle": "round,pad=0.25", "fc": colour, "ec": "#9aa0a6", "lw": 0.6},
        zorder=2,
    )


def _set_limits(axes, layout):
    left, right = layout.sides()
    axes.set_xlim(left - 0.5, right + 0.5)
    axes.set_ylim(-0.5, max(layout.level, default=0) + 0.5)


def _set_title(axes, texts, num_vertices):
    compared = [v for v in range(num_vertices) if texts.can_compare(v)]
    if compared:
        right = sum(map(texts.is_right, compared))
        axes.set_title(f"{right} of {len(compared)} predicted right", loc="left", fontsize=9)


def _shortened(text):
    return text if len(text) <= _MOST_LETTERS else f"{text[: _MOST_LETTERS - 1]}…"
