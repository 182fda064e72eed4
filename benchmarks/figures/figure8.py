"""Figure 8: the time of an epoch over minibatch and hidden size, in eight panels.

python -m benchmarks.figures.figure8 --json=build/compare/figure8.json
"""

import sys

from benchmarks import paper, plots
from benchmarks.figures import _axes, _base, _program
from benchmarks.figures._findings import Ratio, compare, faster, ratios

WORKLOADS = ("fixed_lstm", "var_lstm", "tree_fc", "tree_lstm")
# The paper has CuDNN's; on a CPU these stand on a library's own LSTM.
_LIBRARIES = ("torch", "keras", "keras_xla")
_STATIC = ("keras", "keras_xla", "tf_while")


class Figure(_base.Figure):
    """All systems on the paper's four workloads, in training."""

    title = "Figure 8: time of an epoch over the minibatch (h fixed) and over h (batch fixed)"

    def plan(self, request):
        grid = request.grid
        sizes = [(grid.at_units, batch) for batch in grid.batches]
        sizes += [(units, grid.at_batch) for units in grid.units]
        contenders = _program.contenders(request.systems)
        return [
            (_program.cell(request, workload, units=units, batch=batch), contenders)
            for workload in WORKLOADS
            for units, batch in dict.fromkeys(sizes)
        ]

    def tables(self, rows):
        return [
            _base.Table(f"s per epoch: {axis.title}", axis.systems, axis.rows(_epoch))
            for axis in _panels(rows)
        ]

    def draw(self, rows, path):
        groups = [
            (axis.title, axis.name, axis.lines(_axes.epoch_seconds)) for axis in _panels(rows)
        ]
        plots.curves(groups, path, "s per epoch", columns=4)

    def findings(self, rows):
        of = {name: [r for r in rows if r.workload == name] for name in WORKLOADS}
        trees = of["tree_fc"] + of["tree_lstm"]
        folds = _against(trees, _folds(trees))
        dynet = _against(trees, ("dynet",))
        return [
            *_against_the_best_library(of["fixed_lstm"]),
            compare(paper.VAR_LSTM, _against(of["var_lstm"], _STATIC)),
            compare(paper.TREES_FOLD, folds),
            compare(paper.TREES_DYNET, dynet),
            compare(paper.ORDER_OF_MAGNITUDE, folds | dynet, least=paper.NEARLY_TEN),
        ]


def _panels(rows) -> list:
    """As in the paper: minibatches in the first row, hidden sizes in the second."""
    panels = [_axes.over_batch(rows, name) for name in WORKLOADS]
    panels += [_axes.over_units(rows, name) for name in WORKLOADS]
    return [panel for panel in panels if panel.records]


def _folds(rows) -> list[str]:
    systems = dict.fromkeys(record.system for record in rows)
    return [name for name in systems if name.partition("_")[0] == "fold"] or ["fold"]


def _against(rows, others) -> dict:
    """Who is not among the rows was not asked for, unless nobody was."""
    found = {name: ratios(rows, "cavs", name, faster) for name in others}
    return {n: r for n, r in found.items() if r} or {name: [] for name in others}


def _against_the_best_library(rows) -> list:
    best: dict = {}
    for found in _against(rows, _LIBRARIES).values():
        for ratio in found:
            best[ratio.cell] = min(best.get(ratio.cell, ratio), ratio, key=lambda r: r.value)
    ours = list(best.values())
    theirs = [Ratio(r.cell, 1 / r.value, r.noise / r.value) for r in ours]
    name = "the fastest of " + ", ".join(_LIBRARIES)
    return [
        compare(paper.FIXED_LSTM, {name: theirs}, "{name} is {span} times as fast as ours"),
        compare(paper.FIXED_LSTM_CLOSE, {name: ours}, least=paper.CLOSE),
    ]


def _epoch(record) -> str:
    return _axes.seconds(_axes.epoch_seconds(record))


if __name__ == "__main__":
    sys.exit(_program.main("figure8"))
