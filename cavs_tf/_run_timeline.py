"""A picture of what ran in the ops, on which thread and when."""

import collections

from cavs_tf._profile import CALLER, STREAMS, Span
from cavs_tf._stages import COLOURS

_BAND, _BAR = 0.8, 0.5  # Heights: of a stage, or one task of it; of an operator.
_CHARACTER = 0.0042  # Its width, as a share of that of all panels.


def draw_run(panels: dict[str, list[Span]], figure):
    """Draws the panels side by side to one scale, in each a row per thread.

    Operators are bars, and behind them is what they are a part of.
    """
    lengths = {title: _length(spans) for title, spans in panels.items()}
    total = sum(lengths.values())
    rows = _rows(panels)
    figure.set_size_inches(14, 1.7 + len(rows))
    all_axes = figure.subplots(
        1, len(panels), sharey=True, squeeze=False, width_ratios=list(lengths.values())
    )[0]
    for axes, (title, spans) in zip(all_axes, panels.items(), strict=True):
        _draw_panel(axes, spans, rows, total)
        axes.set_title(title, loc="left", fontsize=10)
        axes.set_xlabel("ms")
        axes.set_xlim(0, lengths[title] * 1e3)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0].set_yticks(range(len(rows)), rows)
    all_axes[0].set_ylim(len(rows) - 0.4, -0.7)
    used = {span.stage for spans in panels.values() for span in spans}
    _legend(figure, [stage for stage in COLOURS if stage in used])
    return figure


def _rows(panels) -> list[str]:
    """The threads of all panels: whoever called, streams, workers."""
    used = {span.thread for spans in panels.values() for span in spans} or {CALLER}
    first = [name for name in (CALLER, *STREAMS) if name in used]
    return first + sorted(used.difference(first), key=lambda name: (len(name), name))


def _length(spans):
    return max((span.ended for span in spans), default=1e-6)


def _draw_panel(axes, spans, rows, total):
    threads = collections.defaultdict(list)
    for span in spans:
        threads[span.thread].append(span)
    for thread, own in threads.items():
        row = rows.index(thread)
        bands, bars = _nesting(own)
        _draw(axes, row, bands, _BAND, [0.35, 0.25])
        _draw(axes, row, bars, _BAR, [1.0, 0.7])
        _name(axes, row - _BAND / 2, bands, "bottom", total)
        _name(axes, row, bars, "center", total)


def _nesting(spans):
    """What contains others, a stage or a task, and what does not; `spans` by their begin."""
    bands, bars = [], []
    for span, after in zip(spans, [*spans[1:], None], strict=True):
        contains = after is not None and after.began < span.ended
        (bands if contains else bars).append(span)
    return bands, bars


def _draw(axes, row, spans, height, strengths):
    """In alternating strengths, so that neighbours can be told apart."""
    if spans:
        axes.broken_barh(
            [(span.began * 1e3, (span.ended - span.began) * 1e3) for span in spans],
            (row - height / 2, height),
            facecolors=[(COLOURS[s.stage], strengths[i % 2]) for i, s in enumerate(spans)],
        )


def _name(axes, y, spans, alignment, total):
    for span in spans:
        text = span.name.partition(" of ")[0] if alignment == "bottom" else span.name
        if span.ended - span.began > _CHARACTER * len(text) * total:
            middle = (span.began + span.ended) / 2 * 1e3
            axes.text(middle, y, text, ha="center", va=alignment, fontsize=6)


def _legend(figure, stages):
    from matplotlib.patches import Patch

    patches = [Patch(color=COLOURS[stage], label=stage) for stage in stages]
    if patches:
        figure.legend(handles=patches, loc="outside upper right", ncols=len(patches), frameon=False)
