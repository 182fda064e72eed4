"""Figure 8: the time of an epoch over minibatch and hidden size, in eight panels."""

from benchmarks import paper
from benchmarks.cells import contenders
from benchmarks.figures import _axes, _curves
from benchmarks.figures._findings import Ratio, compare, faster, ratios

WORKLOADS = ("fixed_lstm", "var_lstm", "tree_fc", "tree_lstm")
# The paper has CuDNN here; on a CPU these systems stand on a library's own LSTM.
_LIBRARIES = ("torch", "keras", "keras_xla")
_STATIC = ("keras", "keras_xla", "tf_while")


class Figure(_curves.Curves):
    """All systems on the paper's four workloads, in training."""

    title = "Figure 8: time of an epoch over the minibatch (h fixed) and over h (batch fixed)"
    quantities = (_curves.Quantity("s per epoch", _axes.epoch_seconds),)
    columns = 4

    def plan(self, request):
        return [
            (cell, contenders(request.systems))
            for workload in WORKLOADS
            for cell in request.over_sizes(workload)
        ]

    def axes(self, rows):
        """The axes, as in the paper: minibatches in the first row, hidden sizes in the second."""
        return [
            over(rows, name) for over in (_axes.over_batch, _axes.over_units) for name in WORKLOADS
        ]

    def findings(self, rows):
        of = {name: [r for r in rows if r.workload == name] for name in WORKLOADS}
        trees = of["tree_fc"] + of["tree_lstm"]
        folds = _against(trees, ("fold",))
        return [
            *_against_the_best_library(of["fixed_lstm"]),
            compare(paper.VAR_LSTM, _against(of["var_lstm"], _STATIC)),
            compare(paper.TREES_FOLD, folds),
            compare(paper.ORDER_OF_MAGNITUDE, folds, least=paper.NEARLY_TEN),
        ]


def _against(rows, others) -> dict:
    """The systems that have rows, as only these were asked for; all, if none has."""
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
