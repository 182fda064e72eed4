"""What Figure 9 and Table 1 share: who constructs graphs, and how long that takes."""

from benchmarks.cells import Contender
from benchmarks.figures import _axes, _program

OURS = "cavs"
FOLD = "fold"
OTHERS = ("fold", "dynet")


def fold_with(threads: int) -> str:
    """The name of Fold with so many scheduling threads."""
    return f"fold: {threads} threads"


def plan(request) -> list:
    """Tree-FC over its leaves, Tree-LSTM over the minibatch.

    PyTorch is not in the paper: it shows what finding the levels in Python takes.
    """
    grid = request.grid
    sizes = {"units": grid.at_units}
    cells = [
        _program.cell(request, "tree_fc", batch=grid.at_batch, leaves=leaves, **sizes)
        for leaves in grid.leaves
    ]
    cells += [_program.cell(request, "tree_lstm", batch=batch, **sizes) for batch in grid.batches]
    threads = max(2, request.threads)
    contenders = [
        Contender(OURS, OURS),
        Contender(FOLD, FOLD),
        Contender(fold_with(threads), FOLD, {"schedulers": threads}),
        Contender("dynet", "dynet"),
        Contender("torch", "torch"),
    ]
    return [(cell, contenders) for cell in cells]


def panels(rows) -> list:
    """The axes that have records."""
    axes = [_axes.over_leaves(rows), _axes.over_batch(rows, "tree_lstm")]
    return [axis for axis in axes if axis.records]


def threaded(rows) -> list[str]:
    """The names of Fold with several scheduling threads."""
    systems = dict.fromkeys(record.system for record in rows)
    return [name for name in systems if name.startswith(f"{FOLD}: ")]


def constructing(rows) -> list:
    """Without what is about systems that do not say how long that takes."""
    return [row for row in rows if row.error is not None or row.construct_seconds is not None]
