"""A picture of the operations that an engine ran, when and on which worker or stream."""

import os

from cavs_tf.engine._trace import Trace
from cavs_tf.inspect._figures import new_figure

_MAX_LEGEND = 20  # The palette has that many colours that can be told apart.


def timeline(trace: Trace, path: str | os.PathLike | None = None):
    """Draws one row per worker or stream, and on it a bar per operation.

    Args:
      trace: From `Engine.stop_trace()`.
      path: The file to which the picture is saved, in the format of its suffix; None: not saved.

    Returns:
      The `matplotlib.figure.Figure`.

    >>> from cavs_tf.engine import Engine
    >>> from cavs_tf.inspect.plot import timeline
    >>> with Engine(policy="naive") as engine:
    ...     engine.start_trace()
    ...     engine.push(lambda: None, name="nothing")
    ...     figure = timeline(engine.stop_trace())
    >>> [label.get_text() for label in figure.axes[0].get_yticklabels()]
    ['the pushing thread']
    """
    rows = dict(sorted((event.worker, event.worker_name) for event in trace.events))
    places = {worker: place for place, worker in enumerate(rows)}
    figure = new_figure(10, 1.2 + 0.6 * max(len(rows), 3))
    colors = _colors([event.name for event in trace.events])
    legend = {}
    axes = figure.add_subplot()
    for event in sorted(trace.events, key=lambda event: event.began):
        bars = axes.barh(
            places[event.worker],
            (event.ended - event.began) * 1e3,
            left=event.began * 1e3,
            height=0.8,
            color=colors[event.name],
            edgecolor="black" if event.outcome == "done" else "red",
            linewidth=0.5 if event.outcome == "done" else 2,
            hatch="//" if event.outcome == "skipped" else None,
        )
        legend.setdefault(event.name, bars)
    axes.set_yticks(range(len(rows)), rows.values())
    axes.invert_yaxis()
    axes.set_xlabel("ms")
    axes.set_xlim(left=0)
    if 0 < len(legend) <= _MAX_LEGEND:
        figure.legend(legend.values(), legend, loc="outside right upper", fontsize="x-small")
    if path is not None:
        figure.savefig(path)
    return figure


def _colors(names: list[str]) -> dict[str, tuple]:
    """A colour for each name, the same in every picture of the same set of names."""
    from matplotlib import colormaps

    palette = colormaps["tab20"].colors
    return {name: palette[i % len(palette)] for i, name in enumerate(sorted(set(names)))}
