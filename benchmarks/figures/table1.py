"""Table 1: the time of construction and of computation, over the graphs' size and the minibatch.

python -m benchmarks.figures.table1 --json=build/compare/table1.json
"""

import sys

from benchmarks import paper, plots
from benchmarks.figures import _axes, _base, _construction, _program
from benchmarks.figures._findings import compare, ratios

_PARTS = {"construction": _axes.construct_seconds, "computation": _axes.compute_seconds}
_SLOWER = "{name} takes {span} times as long as ours"
_WITH_ONE = "with one thread it takes {span} times as long as {name}"


class Figure(_base.Figure):
    """Who constructs graphs: ours, Fold with 1 and n threads, DyNet."""

    title = "Table 1: construction of graphs, and computation"

    def plan(self, request):
        return _construction.plan(request)

    def tables(self, rows):
        rows = _construction.constructing(rows)
        return [
            _base.Table(f"s per epoch, {part}: {axis.title}", axis.systems, axis.rows(_text(value)))
            for axis in _construction.panels(rows)
            for part, value in _PARTS.items()
        ]

    def draw(self, rows, path):
        groups = [
            (f"{part}: {axis.title}", axis.name, axis.lines(value))
            for axis in _construction.panels(rows)
            for part, value in _PARTS.items()
        ]
        plots.curves(groups, path, "s per epoch", columns=2)

    def findings(self, rows):
        others = [_construction.FOLD, *_construction.threaded(rows), "dynet"]
        construct, compute = _PARTS.values()
        return [
            compare(paper.CONSTRUCTION, _ratios(rows, "cavs", others, construct), _SLOWER),
            compare(paper.COMPUTATION, _ratios(rows, "cavs", others, compute), _SLOWER),
            compare(paper.FOLD_THREADS, _by_threads(rows, construct), _WITH_ONE),
        ]


def _ratios(rows, ours, others, seconds) -> dict:
    """How many times as long others take."""

    def longer(one, other):
        times = seconds(one), seconds(other)
        return times[1] / times[0] if all(times) else None

    return {name: ratios(rows, ours, name, longer) for name in others}


def _by_threads(rows, seconds) -> dict:
    names = _construction.threaded(rows) or ["fold with several threads"]
    return {name: _ratios(rows, name, ["fold"], seconds)["fold"] for name in names}


def _text(value):
    return lambda record: _axes.seconds(value(record))


if __name__ == "__main__":
    sys.exit(_program.main("table1"))
