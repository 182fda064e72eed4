"""Draws results, if matplotlib is installed."""

from benchmarks import tables


def bars(records, path) -> None:
    """A panel for every cell, a bar for every system: graphs per second, share of the floor."""
    names = {record.cell: tables.cell_name(record) for record in records}
    figure, panels = _panels(len(names))
    if figure is None:
        return
    for panel, (cell, title) in zip(panels, names.items(), strict=True):
        measured = [r for r in records if r.cell == cell and r.error is None]
        systems = [record.system for record in measured]
        rates = [record.per_second for record in measured]
        errors = [record.per_second * record.spread / 2 for record in measured]
        colors = ["tab:red" if name.startswith("cavs") else "tab:gray" for name in systems]
        drawn = panel.barh(systems[::-1], rates[::-1], xerr=errors[::-1], color=colors[::-1])
        shares = [r.share_of_floor for r in measured[::-1]]
        panel.bar_label(drawn, ["" if s is None else f" {s:.0%}" for s in shares], fontsize=7)
        panel.set_title(title, fontsize=8)
        panel.set_xlabel("graphs per second (share of the floor)", fontsize=7)
        panel.margins(x=0.2)
        panel.tick_params(labelsize=7)
    _save(figure, path)


def curves(groups, path, ylabel="ms per minibatch", columns=3, log_y=True) -> None:
    """A panel for every (title, axis, {system: [(x, y)]}), with logarithmic axes for sizes."""
    figure, panels = _panels(len(groups), columns=columns)
    if figure is None:
        return
    names = list(dict.fromkeys(name for _, _, lines in groups for name in lines))
    drawn = {}
    for panel, (title, axis, lines) in zip(panels, groups, strict=True):
        for name, points in lines.items():
            style = _style(name, names.index(name))
            (drawn[name],) = panel.plot(*zip(*sorted(points), strict=True), label=name, **style)
        sizes = sorted({x for points in lines.values() for x, _ in points})
        panel.set_xscale("log", base=2)
        panel.set_xticks(sizes, [str(size) for size in sizes])
        if log_y:
            panel.set_yscale("log")
            _plain_ticks(panel.yaxis)
        else:
            panel.set_ylim(bottom=0)
        panel.minorticks_off()
        panel.set_title(title, fontsize=9)
        panel.set_xlabel(axis, fontsize=8)
        panel.set_ylabel(ylabel, fontsize=8)
        panel.tick_params(labelsize=7)
        panel.grid(True, alpha=0.3)
    _save(figure, path, drawn)


def _plain_ticks(axis) -> None:
    """Ticks at 1, 2, 5, 10, 20, because a panel may have no power of ten."""
    from matplotlib import ticker

    axis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))


def _style(name: str, number: int) -> dict:
    """A style in which ours stands out."""
    if name == "cavs":
        return {"color": "tab:red", "linewidth": 2.5, "marker": "o", "zorder": 3}
    color = f"C{number % 10}" if number % 10 != 3 else "black"  # C3 is the colour of ours.
    return {"color": color, "linewidth": 1.2, "marker": "sv^DPX<>*p"[number % 10], "markersize": 4}


def grouped_bars(groups, path, ylabel, digits="%.2f") -> None:
    """A panel with the bars of each group of {name: {bar: value}} side by side."""
    figure, panels = _panels(1, width=9)
    if figure is None:
        return
    (panel,) = panels
    names = list(dict.fromkeys(name for values in groups.values() for name in values))
    width = 0.8 / max(1, len(names))
    legend = {}
    for number, name in enumerate(names):
        at = [i + number * width for i, values in enumerate(groups.values()) if name in values]
        heights = [values[name] for values in groups.values() if name in values]
        legend[name] = panel.bar(at, heights, width)
        panel.bar_label(legend[name], fmt=digits, fontsize=6)
    middle = 0.4 - width / 2
    panel.set_xticks([i + middle for i in range(len(groups))], list(groups), fontsize=7)
    panel.set_ylabel(ylabel, fontsize=8)
    panel.tick_params(labelsize=8)
    _save(figure, path, legend)


def _panels(count: int, width: float = 4.6, columns: int = 3):
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed (pip install matplotlib)")
        return None, []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(columns, max(1, count))
    rows = -(-max(1, count) // columns)
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(width * columns, 2.9 * rows), squeeze=False
    )
    panels = list(grid.flat)
    for unused in panels[count:]:
        unused.set_visible(False)
    return figure, panels[:count]


def _save(figure, path, legend=None) -> None:
    """Writes the picture, with one legend for all panels if they have labels."""
    from matplotlib import pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    if legend:
        place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0), "ncols": 6}
        figure.legend(legend.values(), legend, fontsize=8, frameon=False, **place)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    pyplot.close(figure)
    print(f"wrote {path}")
