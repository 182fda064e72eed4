"""Draws what ran in the ops, on which thread and when."""

import collections

from cavs_tf._profile import CALLER, STREAMS, Interval
from cavs_tf._stages import COLOURS

# Heights of the bands, which are stages and tasks, and of the bars, which are operators.
_BAND, _BAR = 0.8, 0.5
_CHARACTER = 0.0042  # Width of a character, relative to the width of all panels together.


def draw_run(panels: dict[str, list[Interval]], figure):
    """Draws the panels side by side to one scale, with a row for each thread.

    Operators are bars; behind them are paler bands, the stages and tasks that they belong to.
    """
    lengths = {title: _length(intervals) for title, intervals in panels.items()}
    total = sum(lengths.values())
    rows = _rows(panels)
    figure.set_size_inches(14, 1.7 + len(rows))
    all_axes = figure.subplots(
        1, len(panels), sharey=True, squeeze=False, width_ratios=list(lengths.values())
    )[0]
    for axes, (title, intervals) in zip(all_axes, panels.items(), strict=True):
        _draw_panel(axes, intervals, rows, total)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("ms")
        axes.set_xlim(0, lengths[title] * 1e3)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0].set_yticks(range(len(rows)), rows)
    all_axes[0].set_ylim(len(rows) - 0.4, -0.7)
    used = {interval.stage for intervals in panels.values() for interval in intervals}
    _legend(figure, [stage for stage in COLOURS if stage in used])
    return figure


def _rows(panels) -> list[str]:
    """Names of the threads of all panels: the caller first, then streams, then workers."""
    used = {interval.thread for intervals in panels.values() for interval in intervals} or {CALLER}
    first = [name for name in (CALLER, *STREAMS) if name in used]
    return first + sorted(used.difference(first), key=lambda name: (len(name), name))


def _length(intervals):
    return max((interval.ended for interval in intervals), default=1e-6)


def _draw_panel(axes, intervals, rows, total):
    threads = collections.defaultdict(list)
    for interval in intervals:
        threads[interval.thread].append(interval)
    for thread, own in threads.items():
        row = rows.index(thread)
        bands, bars = _nesting(own)
        _draw(axes, row, bands, _BAND, [0.35, 0.25])
        _draw(axes, row, bars, _BAR, [1.0, 0.7])
        _name(axes, row - _BAND / 2, bands, "bottom", total)
        _name(axes, row, bars, "center", total)


def _nesting(intervals):
    """Splits intervals into those that contain others, stages and tasks, and the others.

    `intervals` are sorted by when they began.
    """
    bands, bars = [], []
    for interval, after in zip(intervals, [*intervals[1:], None], strict=True):
        contains = after is not None and after.began < interval.ended
        (bands if contains else bars).append(interval)
    return bands, bars


def _draw(axes, row, intervals, height, opacities):
    """Draws intervals in alternating opacities, so that neighbours can be told apart."""
    if intervals:
        axes.broken_barh(
            [
                (interval.began * 1e3, (interval.ended - interval.began) * 1e3)
                for interval in intervals
            ],
            (row - height / 2, height),
            facecolors=[(COLOURS[s.stage], opacities[i % 2]) for i, s in enumerate(intervals)],
        )


def _name(axes, y, intervals, alignment, total):
    for interval in intervals:
        text = interval.name.partition(" of ")[0] if alignment == "bottom" else interval.name
        if interval.ended - interval.began > _CHARACTER * len(text) * total:
            middle = (interval.began + interval.ended) / 2 * 1e3
            axes.text(middle, y, text, ha="center", va=alignment, fontsize=6)


def _legend(figure, stages):
    from matplotlib.patches import Patch

    patches = [Patch(color=COLOURS[stage], label=stage) for stage in stages]
    if patches:
        figure.legend(handles=patches, loc="outside upper right", ncols=len(patches), frameon=False)
