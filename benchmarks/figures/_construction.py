"""What Figure 9 and Table 1 have in common: the systems that construct graphs, and the sizes."""

from benchmarks.cells import Contender, contenders
from benchmarks.figures import _axes, _curves


def with_threads(threads: int) -> str:
    """The name of Fold with that number of scheduling threads."""
    return f"fold: {threads} threads"


class Construction(_curves.Curves):
    """A figure on construction: ours, and Fold with 1 and n threads.

    PyTorch is not in the paper: it shows what finding the levels in Python takes.
    """

    def plan(self, request):
        """Tree-FC over numbers of leaves, and Tree-LSTM over minibatch sizes."""
        cells = request.over_leaves()
        cells += [request.cell("tree_lstm", batch=batch) for batch in request.grid.batches]
        threads = max(2, request.threads)
        several = Contender(with_threads(threads), "fold", {"schedulers": threads})
        systems = [*contenders(["cavs", "fold"]), several, *contenders(["torch"])]
        return [(cell, systems) for cell in cells]

    def axes(self, rows):
        rows = constructing(rows)
        return [_axes.over_leaves(rows), _axes.over_batch(rows, "tree_lstm")]


def threaded(rows) -> list[str]:
    """The names of Fold with several scheduling threads."""
    systems = dict.fromkeys(record.system for record in rows)
    return [name for name in systems if name.startswith("fold: ")]


def constructing(rows) -> list:
    """Records, without those of systems that do not say how long construction takes."""
    return [row for row in rows if row.error is not None or row.construct_seconds is not None]
