"""Table 1: the time of construction and of computation, over the graphs' size and the minibatch."""

from benchmarks import paper
from benchmarks.figures import _axes, _construction, _curves
from benchmarks.figures._findings import compare, ratios

_SLOWER = "{name} takes {span} times as long as ours"
_WITH_ONE = "with one thread it takes {span} times as long as {name}"


class Figure(_construction.Construction):
    """The times of construction and of computation."""

    title = "Table 1: construction of graphs, and computation"
    quantities = (
        _curves.Quantity("s per epoch, construction", _axes.construct_seconds),
        _curves.Quantity("s per epoch, computation", _axes.compute_seconds),
    )

    def findings(self, rows):
        others = ["fold", *_construction.threaded(rows)]
        construct, compute = (quantity.value for quantity in self.quantities)
        return [
            compare(paper.CONSTRUCTION, _ratios(rows, "cavs", others, construct), _SLOWER),
            compare(paper.COMPUTATION, _ratios(rows, "cavs", others, compute), _SLOWER),
            compare(paper.FOLD_THREADS, _by_threads(rows, construct), _WITH_ONE),
        ]


def _ratios(rows, ours, others, seconds) -> dict:
    """The times of others, divided by ours."""

    def longer(one, other):
        times = seconds(one), seconds(other)
        return times[1] / times[0] if all(times) else None

    return {name: ratios(rows, ours, name, longer) for name in others}


def _by_threads(rows, seconds) -> dict:
    names = _construction.threaded(rows) or ["fold with several threads"]
    return {name: _ratios(rows, name, ["fold"], seconds)["fold"] for name in names}
