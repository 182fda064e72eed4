"""A picture of a vertex function and its derivative, like Figure 7 of arXiv:1712.04048."""

from cavs_tf.inspect._stages import COLOURS
from cavs_tf.inspect._vertex_layout import lay_out, operators
from cavs_tf.inspect._vertex_routes import Link, lines_between

_WIDTH, _HEIGHT = 0.72, 0.62  # The box of an operator, whose cell is 1 x 1.
_MARGIN = 0.06  # The margin between the operators of a group and its frame.
_INCHES = (1.3, 0.62)  # The size of one cell of the picture.
_MOST_LETTERS = 17  # The number of letters that fit into a box.
_LEGEND_INCHES = 1.9  # The width of an entry of the legend.
_TITLE, _FOOT = 0.75, 0.8  # The heights of a program's title, and of the legend, in inches.


def picture_size(programs: list[dict]) -> tuple[float, float]:
    """The width and height of the picture in inches."""
    sizes = [_size(lay_out(program["nodes"])) for program in programs]
    width = max(max(columns for columns, _ in sizes) * _INCHES[0], 8.0)
    return width, sum((rows + 0.7) * _INCHES[1] + _TITLE for _, rows in sizes) + _FOOT


def draw_programs(programs: list[dict], figure):
    """Draws one program below the other into an empty figure."""
    layouts = [lay_out(program["nodes"]) for program in programs]
    sizes = [_size(boxes) for boxes in layouts]
    grid = figure.add_gridspec(len(programs), 1, height_ratios=[rows + 1.7 for _, rows in sizes])
    widest = max(columns for columns, _ in sizes)
    for i, (program, boxes) in enumerate(zip(programs, layouts, strict=True)):
        axes = figure.add_subplot(grid[i])
        axes.set_title(program["title"], loc="left", fontsize=10)
        axes.set_xlim(0, widest)
        axes.set_ylim(sizes[i][1] + 0.2, -0.6)
        axes.axis("off")
        _draw_stages(axes, boxes, sizes[i][1])
        _draw_lines(axes, boxes)
        for box in boxes:
            _draw_box(axes, box)
    _legend(figure)
    return figure


def _size(boxes):
    return max(b.x + b.width for b in boxes), max(b.y + b.height for b in boxes)


def _draw_stages(axes, boxes, rows):
    for stage, colour in COLOURS.items():
        here = [box for box in boxes if box.node["stage"] == stage]
        if here:
            begin = min(box.x for box in here)
            width = max(box.x + box.width for box in here) - begin
            axes.add_patch(_rectangle(begin, -0.6, width, rows + 0.8, fc=colour, alpha=0.1, lw=0))
            axes.text(begin + 0.08, -0.35, stage, color=colour, fontsize=8, weight="bold")


def _draw_lines(axes, boxes):
    places = {i: place for box in boxes for i, place in box.places.items()}
    colours = {i: _dark(COLOURS[box.node["stage"]]) for box in boxes for i in box.places}
    links = [
        Link(before, operator["id"], places[before], places[operator["id"]])
        for box in boxes
        for operator in operators(box.node)
        for before in operator["after"]
    ]
    for link, line in zip(links, lines_between(links, _WIDTH, _HEIGHT), strict=True):
        colour = colours[link.source]
        axes.plot(*zip(*line, strict=True), color=colour, lw=0.7, zorder=1.5)
        axes.annotate(
            "",
            line[-1],
            line[-2],
            arrowprops={
                "arrowstyle": "-|>,head_width=0.12,head_length=0.25",
                "lw": 0.7,
                "color": colour,
                "shrinkA": 0,
                "shrinkB": 0,
            },
            zorder=1.5,
        )


def _draw_box(axes, box):
    node, colour = box.node, COLOURS[box.node["stage"]]
    if node["members"]:
        side, top = (1 - _WIDTH) / 2 - _MARGIN, (1 - _HEIGHT) / 2 - _MARGIN
        frame = (box.x + side, box.y + top, box.width - 2 * side, box.height - 2 * top)
        axes.add_patch(_rectangle(*frame, fc="white", ec=colour, lw=1.2, zorder=1))
    for operator in operators(node):
        x, y = box.places[operator["id"]]
        place = (x + (1 - _WIDTH) / 2, y + (1 - _HEIGHT) / 2, _WIDTH, _HEIGHT)
        style = {"ls": "-" if node["native"] else "--", "lw": 2.2 if node["merged"] else 0.6}
        axes.add_patch(_rectangle(*place, fc=_pale(colour), ec="black", zorder=2, **style))
        text = _text(node, operator)
        axes.text(
            x + 0.5,
            y + 0.5,
            text,
            ha="center",
            va="center",
            fontsize=6.5,
            linespacing=1.1,
            zorder=3,
        )


def _text(node, operator):
    """The name of an operator, and below it the layer or line that it comes from."""
    shown = operator["shown"]
    if node["adds"] and not node["members"]:
        shown += " +="
    origins = node["origins"] if node["merged"] else operator["origins"]
    layers = sorted({origin.layer for origin in origins} - {""})
    lines = sorted({origin.line for origin in origins} - {0})
    from_where = ", ".join(layers) if layers else ", ".join(map(str, lines))
    if from_where and not layers:
        from_where = f"line {from_where}"
    return "\n".join(_shortened(text) for text in (shown, from_where) if text)


def _shortened(text):
    """A text that fits into a box: the end of a path of layers, or a beginning."""
    if len(text) <= _MOST_LETTERS:
        return text
    end = text.rpartition("/")[2]
    return end if len(end) <= _MOST_LETTERS else f"{end[: _MOST_LETTERS - 1]}…"


def _pale(colour):
    from matplotlib.colors import to_rgb

    return tuple(0.45 + 0.55 * part for part in to_rgb(colour))


def _dark(colour):
    from matplotlib.colors import to_rgb

    return tuple(0.65 * part for part in to_rgb(colour))


def _rectangle(x, y, width, height, **style):
    from matplotlib.patches import Rectangle

    return Rectangle((x, y), width, height, **style)


def _legend(figure):
    from matplotlib.patches import Patch

    kinds = [("eager", "eager"), ("critical", "critical"), ("lazy", "lazy"), ("epilogue", "once")]
    patches = [Patch(fc=_pale(COLOURS[stage]), ec="black", label=name) for stage, name in kinds]
    patches += [
        Patch(fc="white", ec=COLOURS["critical"], lw=1.2, label="frame: fused group"),
        Patch(fc="white", ec="black", lw=2.2, label="thick: merged products"),
        Patch(fc="white", ec="black", lw=0.6, ls="--", label="dashed: TensorFlow's kernel"),
        Patch(fc="none", lw=0, label="+=: adds in place"),
    ]
    columns = min(int(figure.get_figwidth() / _LEGEND_INCHES), len(patches))
    figure.legend(
        handles=patches, loc="outside lower left", ncols=columns, fontsize=7, frameon=False
    )
