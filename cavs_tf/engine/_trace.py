"""The trace of an engine: the operations that it ran, when and on which worker or stream."""

import os

from cavs_tf._native.engine_library import library


class Trace:
    """The operations that ended while an engine was tracing.

    Attributes:
      events: One per operation, in the order in which they ended, with the attributes
        `name`, `worker`, `worker_name`, `pushed`, `began` and `ended` (seconds since the
        trace was started), `outcome` ("done", "failed" or "skipped"), `sequence` (in push
        order), and `file` and `line` (where it was pushed).

    >>> from cavs_tf.engine import Engine
    >>> with Engine(policy="naive") as engine:
    ...     engine.start_trace()
    ...     engine.push(lambda: None, name="nothing")
    ...     trace = engine.stop_trace()
    >>> [(event.name, event.outcome) for event in trace.events]
    [('nothing', 'done')]
    """

    def __init__(self, events):
        self.events = tuple(events)

    def chrome_json(self) -> str:
        """The trace in Chrome's trace event format, for ui.perfetto.dev and chrome://tracing."""
        return library.chrome_trace(list(self.events))

    def save(self, path: str | os.PathLike) -> None:
        """Writes `chrome_json` to `path`."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.chrome_json())

    def overlap(self, first, second) -> float:
        """The time during which operations of `first` and of `second` ran at once.

        Args:
          first: A name of operations, or a function that takes an event and says whether it
            belongs to the first kind.
          second: The same for the second kind.

        Returns:
          Seconds, summed over all pairs of one operation of each kind.
        """
        chosen = [
            [event for event in self.events if _matches(event, which)] for which in (first, second)
        ]
        return sum(
            max(0.0, min(a.ended, b.ended) - max(a.began, b.began))
            for a in chosen[0]
            for b in chosen[1]
        )


def _matches(event, which) -> bool:
    return which(event) if callable(which) else event.name == which
