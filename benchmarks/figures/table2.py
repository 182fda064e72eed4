"""Table 2: the time of memory operations against that of the computation, over the minibatch.

python -m benchmarks.figures.table2 --json=build/compare/table2.json

Shares are those of a profile, by the names of the operators (`benchmarks.peers._operators`);
times are these shares of what a step takes when nothing is profiled.
"""

import dataclasses
import sys

from benchmarks import paper, plots
from benchmarks.cells import MODES, Contender
from benchmarks.figures import _axes, _base, _program
from benchmarks.figures._findings import compare, ratios

SYSTEMS = ("cavs", "dynet", "fold", "keras", "torch", "torch_by_hand")


class Figure(_base.Figure):
    """The Tree-LSTM, in training and in inference."""

    title = "Table 2: memory operations and computation of the Tree-LSTM"

    def plan(self, request):
        grid = request.grid
        contenders = [Contender(name, name) for name in SYSTEMS]
        return [
            (
                _program.cell(request, "tree_lstm", mode, True, units=grid.at_units, batch=batch),
                contenders,
            )
            for mode in MODES
            for batch in grid.batches
        ]

    def tables(self, rows):
        return [
            _base.Table(
                f"s per epoch, memory + computation: {title}", axis.systems, axis.rows(_both)
            )
            for title, axis in _axes_of(rows)
        ]

    def draw(self, rows, path):
        groups = [
            (f"{part}: {title}", axis.name, axis.lines(value))
            for title, axis in _axes_of(rows)
            for part, value in (("memory", _memory), ("computation", _compute))
        ]
        plots.curves(groups, path, "s per epoch", columns=2)

    def findings(self, rows):
        says = "that of {name} takes {span} times as long as ours"
        found = compare(paper.MEMORY, {"dynet": _ratios(rows, "dynet")}, says)
        others = {name: _ratios(rows, name) for name in ("fold", "torch")}
        # They batch by level: what that costs is known without DyNet too.
        beside = compare(paper.MEMORY, others, says).evidence
        return [dataclasses.replace(found, evidence=f"{found.evidence}. Beside: {beside}")]


def _axes_of(rows) -> list:
    found = [(mode, _axes.over_batch(rows, "tree_lstm", mode)) for mode in MODES]
    return [(f"{axis.title}, {mode}", axis) for mode, axis in found if axis.records]


def _ratios(rows, other) -> list:
    return ratios(rows, "cavs", other, _longer)


def _longer(ours, other) -> float | None:
    times = _memory(ours), _memory(other)
    return times[1] / times[0] if all(times) else None


def _memory(record) -> float | None:
    share = record.memory_share
    return None if share is None else share * _axes.epoch_seconds(record)


def _compute(record) -> float | None:
    share = record.memory_share
    return None if share is None else (1 - share) * _axes.epoch_seconds(record)


def _both(record) -> str:
    if record.memory_share is None:
        return "-"
    return f"{_axes.seconds(_memory(record))} + {_axes.seconds(_compute(record))}"


if __name__ == "__main__":
    sys.exit(_program.main("table2"))
