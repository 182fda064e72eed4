"""A picture of a vertex function and its derivative, like Figure 7 of arXiv:1712.04048."""

from cavs_tf._stages import COLOURS
from cavs_tf._vertex_layout import lay_out, operators

_WIDTH, _HEIGHT = 0.8, 0.62  # The box of an operator, whose cell is 1 x 1.
_MARGIN = 0.07  # The margin between the operators of a group and its frame.
_INCHES = (0.92, 0.52)  # The size of one cell of the picture.


def picture_size(programs: list[dict]) -> tuple[float, float]:
    """The width and height of the picture in inches."""
    sizes = [_size(lay_out(program["nodes"])) for program in programs]
    width = max(columns for columns, _ in sizes) * _INCHES[0]
    return max(width, 6.0), sum(rows + 1.5 for _, rows in sizes) * _INCHES[1] + 0.5


def draw_programs(programs: list[dict], figure):
    """Draws one program below the other into an empty figure."""
    layouts = [lay_out(program["nodes"]) for program in programs]
    sizes = [_size(boxes) for boxes in layouts]
    grid = figure.add_gridspec(len(programs), 1, height_ratios=[rows + 1.5 for _, rows in sizes])
    widest = max(columns for columns, _ in sizes)
    for i, (program, boxes) in enumerate(zip(programs, layouts, strict=True)):
        axes = figure.add_subplot(grid[i])
        axes.set_title(program["title"], loc="left", fontsize=10)
        axes.set_xlim(0, widest)
        axes.set_ylim(sizes[i][1], -0.5)
        axes.axis("off")
        _draw_stages(axes, boxes, sizes[i][1])
        _draw_arrows(axes, boxes)
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
            axes.add_patch(_rectangle(begin, -0.5, width, rows + 0.5, fc=colour, alpha=0.1, lw=0))
            axes.text(begin + 0.08, -0.2, stage, color=colour, fontsize=8, weight="bold")


def _draw_arrows(axes, boxes):
    places = {i: place for box in boxes for i, place in box.places.items()}
    for box in boxes:
        for operator in operators(box.node):
            end = places[operator["id"]]
            for before in operator["after"]:
                _draw_arrow(axes, places[before], end)


def _draw_arrow(axes, begin, end):
    axes.annotate(
        "",
        (end[0] + (1 - _WIDTH) / 2, end[1] + 0.5),
        (begin[0] + (1 + _WIDTH) / 2, begin[1] + 0.5),
        arrowprops={"arrowstyle": "-|>", "lw": 0.6, "color": "#555555", "shrinkA": 0, "shrinkB": 0},
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
        axes.text(x + 0.5, y + 0.5, _text(node, operator), ha="center", va="center", fontsize=6.5)


def _text(node, operator):
    if node["members"]:
        return operator["op"]
    if node["merged"]:
        return f"{node['op']} x{len(node['merged']) + 1}" + ("\n+=" if node["adds"] else "")
    text = node["label"].replace("(", "\n(").replace(" ", "\n")
    return f"{text} +=" if node["adds"] else text


def _pale(colour):
    from matplotlib.colors import to_rgb

    return tuple(0.45 + 0.55 * part for part in to_rgb(colour))


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
        Patch(fc="white", ec="black", lw=0.6, ls="--", label="dashed: TensorFlow's own kernel"),
        Patch(fc="none", lw=0, label="+=: adds in place"),
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=8, fontsize=7, frameon=False)
