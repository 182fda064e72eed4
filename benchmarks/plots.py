"""Results as pictures, if matplotlib is installed."""

import pathlib


def picture_path(arguments) -> pathlib.Path | None:
    """Where the picture goes, or None: nowhere."""
    if arguments.png:
        return pathlib.Path(arguments.png)
    return pathlib.Path(arguments.json).with_suffix(".png") if arguments.json else None


def bars(records, path) -> None:
    """A panel for every cell, a bar for every system: graphs per second, and the floor's share."""
    cells = list(dict.fromkeys(record.cell for record in records))
    figure, panels = _panels(len(cells))
    if figure is None:
        return
    for panel, cell in zip(panels, cells, strict=True):
        measured = [r for r in records if r.cell == cell and r.error is None]
        names = [record.system for record in measured]
        rates = [record.per_second for record in measured]
        errors = [record.per_second * record.spread / 2 for record in measured]
        colors = ["tab:red" if name.startswith("cavs") else "tab:gray" for name in names]
        drawn = panel.barh(names[::-1], rates[::-1], xerr=errors[::-1], color=colors[::-1])
        shares = [r.share_of_floor for r in measured[::-1]]
        panel.bar_label(drawn, ["" if s is None else f" {s:.0%}" for s in shares], fontsize=7)
        workload, units, batch, _, mode = cell
        panel.set_title(f"{workload}, h={units}, batch {batch}, {mode}", fontsize=8)
        panel.set_xlabel("graphs per second (share of the floor)", fontsize=7)
        panel.margins(x=0.2)
        panel.tick_params(labelsize=7)
    _save(figure, path)


def curves(groups, path) -> None:
    """A panel for every (title, axis, {system: [(x, y)]}); both axes logarithmic."""
    figure, panels = _panels(len(groups))
    if figure is None:
        return
    for panel, (title, axis, lines) in zip(panels, groups, strict=True):
        for name, points in lines.items():
            panel.plot(*zip(*sorted(points), strict=True), marker="o", label=name)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.set_title(title, fontsize=9)
        panel.set_xlabel(axis, fontsize=8)
        panel.set_ylabel("ms per minibatch", fontsize=8)
        panel.grid(True, which="major", alpha=0.3)
        if lines:
            panel.legend(fontsize=7)
    _save(figure, path)


def grouped_bars(groups, path, ylabel) -> None:
    """One panel: for every group of {name: {bar: value}} its bars side by side."""
    figure, panels = _panels(1, width=9)
    if figure is None:
        return
    (panel,) = panels
    names = list(dict.fromkeys(name for values in groups.values() for name in values))
    width = 0.8 / max(1, len(names))
    for number, name in enumerate(names):
        at = [i + number * width for i, values in enumerate(groups.values()) if name in values]
        heights = [values[name] for values in groups.values() if name in values]
        drawn = panel.bar(at, heights, width, label=name)
        panel.bar_label(drawn, fmt="%.2f", fontsize=6)
    middle = 0.4 - width / 2
    panel.set_xticks([i + middle for i in range(len(groups))], list(groups), fontsize=7)
    panel.set_ylabel(ylabel, fontsize=8)
    panel.legend(fontsize=7)
    _save(figure, path)


def _panels(count: int, width: float = 4.6):
    try:
        import matplotlib
    except ModuleNotFoundError:
        print("no picture: matplotlib is not installed (pip install matplotlib)")
        return None, []
    matplotlib.use("Agg")
    from matplotlib import pyplot

    columns = min(3, max(1, count))
    rows = -(-max(1, count) // columns)
    figure, grid = pyplot.subplots(
        rows, columns, figsize=(width * columns, 2.9 * rows), squeeze=False
    )
    panels = list(grid.flat)
    for unused in panels[count:]:
        unused.set_visible(False)
    return figure, panels[:count]


def _save(figure, path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")
