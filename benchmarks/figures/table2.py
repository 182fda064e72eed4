"""Table 2: the times of memory operations and of computation, over the minibatch.

Shares are those of a profile, by the names of the operators (`benchmarks.peers._operators`);
times are these shares of what a step takes when nothing is profiled.
"""

from benchmarks import paper
from benchmarks.cells import MODES, contenders
from benchmarks.figures import _axes, _curves
from benchmarks.figures._findings import UNKNOWN, Finding, compare, ratios

SYSTEMS = ("cavs", "fold", "keras", "torch", "torch_by_hand")


def _memory(record) -> float | None:
    share = record.memory_share
    return None if share is None else share * _axes.epoch_seconds(record)


def _compute(record) -> float | None:
    share = record.memory_share
    return None if share is None else (1 - share) * _axes.epoch_seconds(record)


class Figure(_curves.Curves):
    """The Tree-LSTM, in training and in inference."""

    title = "Table 2: memory operations and computation of the Tree-LSTM"
    quantities = (
        _curves.Quantity("s per epoch, memory", _memory),
        _curves.Quantity("s per epoch, computation", _compute),
    )

    def plan(self, request):
        return [
            (request.cell("tree_lstm", mode, True, batch=batch), contenders(SYSTEMS))
            for mode in MODES
            for batch in request.grid.batches
        ]

    def axes(self, rows):
        return [_axes.over_batch(rows, "tree_lstm", mode) for mode in MODES]

    def findings(self, rows):
        says = "that of {name} takes {span} times as long as ours"
        others = {name: _ratios(rows, name) for name in ("fold", "torch")}
        # They batch by level, as DyNet does, but are not DyNet.
        evidence = compare(paper.MEMORY, others, says).evidence
        return [Finding(paper.MEMORY, UNKNOWN, f"DyNet was not measured; {evidence}")]


def _ratios(rows, other) -> list:
    return ratios(rows, "cavs", other, _longer)


def _longer(ours, other) -> float | None:
    times = _memory(ours), _memory(other)
    return times[1] / times[0] if all(times) else None
