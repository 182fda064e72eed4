"""A picture of the operators that ran inside of our ops, on which thread and when."""

import collections

from cavs_tf.inspect._profile import CALLER, STREAMS, Interval
from cavs_tf.inspect._stages import COLOURS

# Heights of the bands, which are stages and tasks, and of the bars, which are operators.
_BAND, _BAR = 0.8, 0.5
_WIDTH = 14.0  # The width of the picture in inches.
_ROW, _PANEL = 1.3, 0.9  # The heights of a row, and of the rest of a panel, in inches.
_LETTER = 0.0048  # The width of a letter, relative to that of a panel.
_UPRIGHT = 13  # The number of letters that fit into a bar upright.


def size_of_run(panels: dict[str, list[Interval]]) -> tuple[float, float]:
    """The width and height of the picture in inches."""
    return _WIDTH, 0.5 + len(panels) * (_PANEL + _ROW * len(_rows(panels)))


def draw_run(panels: dict[str, list[Interval]], figure):
    """Draws the panels one below the other, each to its own scale, with a row for each thread.

    Operators are bars; behind them are paler bands, the stages and tasks that they belong to.
    """
    rows = _rows(panels)
    all_axes = figure.subplots(len(panels), 1, squeeze=False)[:, 0]
    for axes, (title, intervals) in zip(all_axes, panels.items(), strict=True):
        length = _length(intervals)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_title(f"{length * 1e3:.3g} ms in all", loc="right", fontsize=8)
        axes.set_xlabel("ms")
        axes.set_xlim(0, length * 1e3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_yticks(range(len(rows)), rows)
        axes.set_ylim(len(rows) - 0.4, -0.7)
        _draw_panel(axes, intervals, rows, length)
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


def _draw_panel(axes, intervals, rows, length):
    threads = collections.defaultdict(list)
    for interval in intervals:
        threads[interval.thread].append(interval)
    for thread, own in threads.items():
        row = rows.index(thread)
        bands, bars = _nesting(own)
        _draw(axes, row, bands, _BAND, [0.35, 0.25])
        _draw(axes, row, bars, _BAR, [1.0, 0.7])
        for band in bands:
            _write(axes, band, row - _BAND / 2, band.name.partition(" of ")[0], length)
        for bar in bars:
            _write_inside(axes, bar, row, length)


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


def _write(axes, interval, y, text, length):
    """Writes a text above an interval: as much of it as fits."""
    text = _as_much_as_fits(text, (interval.ended - interval.began) / length / _LETTER)
    axes.text(_middle(interval), y, text, ha="center", va="bottom", fontsize=6)


def _write_inside(axes, interval, row, length):
    """Writes a name into a bar: upright where more of it fits so."""
    share = (interval.ended - interval.began) / length
    letters, style = share / _LETTER, {"fontsize": 6}
    if letters < min(len(interval.name), _UPRIGHT):
        letters = _UPRIGHT if share > 1.5 * _LETTER else 0
        style = {"fontsize": 5, "rotation": 90}
    text = _as_much_as_fits(interval.name, letters)
    axes.text(_middle(interval), row, text, ha="center", va="center", **style)


def _as_much_as_fits(text, letters):
    if len(text) <= letters:
        return text
    return f"{text[: int(letters) - 1]}…" if letters >= 4 else ""


def _middle(interval):
    return (interval.began + interval.ended) / 2 * 1e3


def _legend(figure, stages):
    from matplotlib.patches import Patch

    patches = [Patch(color=COLOURS[stage], label=stage) for stage in stages]
    if patches:
        figure.legend(handles=patches, loc="outside upper right", ncols=len(patches), frameon=False)
