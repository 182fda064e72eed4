"""Beyond the paper: time of a minibatch over its size, the size of graphs, and the hidden state.

Graphs grow on Tree-FC; minibatches and the hidden state on Tree-LSTM, or on what is asked for.
"""

from benchmarks import tables
from benchmarks.cells import contenders
from benchmarks.figures import _axes, _curves


def _milliseconds(record) -> float:
    return 1e3 * record.batch / record.per_second


class Figure(_curves.Curves):
    """The systems that were asked for."""

    title = "Scaling: time of a minibatch over its size, that of graphs, and h"
    quantities = (
        _curves.Quantity("time of a minibatch (share of the floor)", _milliseconds, tables.time),
    )
    unit = "ms per minibatch"

    def plan(self, request):
        names, mode = request.workloads or ["tree_lstm"], request.mode
        cells = [cell for name in names for cell in request.over_sizes(name, mode)]
        cells = dict.fromkeys([*cells, *request.over_leaves(mode)])
        return [(cell, contenders(request.systems)) for cell in cells]

    def axes(self, rows):
        names = [name for name in dict.fromkeys(r.workload for r in rows) if "tree_fc_" not in name]
        mode = rows[0].mode
        axes = [over(rows, n, mode) for n in names for over in (_axes.over_batch, _axes.over_units)]
        axes.append(_axes.over_leaves(rows, mode))
        # Tree-FC may be measured for its leaves only.
        return [axis for axis in axes if len(set(axis.size.values())) > 1] or axes
