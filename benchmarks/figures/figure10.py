"""Figure 10: the gain of each optimisation, those of the paper and others.

Each is switched on alone, over a baseline without any of them; then all of them; and what the
default is, which has one stream and no micro-batches. Gates are written one by one, as in the
paper's Figure 4, so that there is something to merge.
"""

from benchmarks import paper, plots, tables
from benchmarks.cells import Contender
from benchmarks.figures import _base
from benchmarks.figures._findings import (
    AGREES,
    DISAGREES,
    IN_PART,
    UNKNOWN,
    Finding,
    Ratio,
    compare,
    faster,
    ratios,
    span,
)

# The options that switch on what a title names: a pass, or the value of a field.
OPTIMISATIONS = {
    "fusion": "fuse",
    "lazy batching": "lazy",
    "streaming": {"streams": 2},
    "eager batching": "eager",
    "merging": "merge",
    "micro-batches": {"micro_batch": 16},
}
_OFF = {"streams": 1, "micro_batch": None}
BASELINE = "none"
# The last one is the default.
NAMES = (BASELINE, *OPTIMISATIONS, "all", "default")
WORKLOADS = ("fixed_lstm", "tree_lstm")
# These workloads run as `cavs_gates`; others have the one form that `cavs` runs.
WRITTEN_BY_GATE = ("fixed_lstm", "tree_lstm", "var_lstm")
_OF_THE_PAPER = ("fusion", "lazy batching", "streaming")
_TITLE = "times as fast as without any"


class Figure(_base.Figure):
    """Ours with each optimisation alone, and with all of them."""

    title = "Figure 10: training with each optimisation, against none of them"

    def plan(self, request):
        return [
            (request.cell(workload, units=units), contenders(workload))
            for workload in request.workloads or WORKLOADS
            for units in request.grid.ablated
        ]

    def tables(self, rows):
        texts = {
            cell: {n: "not available" if v is None else f"{v:.2f}" for n, v in own.items()}
            for cell, own in _speedups(rows).items()
        }
        return [tables.Table(_TITLE, list(NAMES), texts)]

    def draw(self, rows, path):
        bars = {
            cell: {name: value for name, value in own.items() if value is not None}
            for cell, own in _speedups(rows).items()
        }
        plots.grouped_bars(bars, path, _TITLE)

    def findings(self, rows):
        gains = {name: _gains(rows, name) for name in _OF_THE_PAPER}
        says = "with {name} it is {span} times as fast as without"
        return [compare(paper.EACH_OPTIMISATION, gains, says), _streaming(rows)]


def contenders(workload: str) -> list[Contender]:
    """The baseline, every optimisation alone, all of them, and the default."""
    peer = "cavs_gates" if workload in WRITTEN_BY_GATE else "cavs"
    chosen = [(), *((name,) for name in OPTIMISATIONS), tuple(OPTIMISATIONS)]
    options = [*map(_options, chosen), {}]
    return [Contender(f"cavs: {name}", peer, own) for name, own in zip(NAMES, options, strict=True)]


def _options(on) -> dict:
    """The fields of `cavs_tf.Options` with these optimisations alone."""
    options = _OFF | {"disable": []}
    for name, switch in OPTIMISATIONS.items():
        if isinstance(switch, str) and name not in on:
            options["disable"].append(switch)
        elif isinstance(switch, dict) and name in on:
            options |= switch
    return options


def _speedups(rows) -> dict:
    """{cell: {optimisation: speedup over the baseline, or None}}."""
    found: dict = {}
    for record in rows:
        name = record.system.partition(": ")[2]
        found.setdefault(tables.cell_name(record), {})[name] = record.per_second
    for rates in found.values():
        baseline = rates.get(BASELINE)
        for name, rate in rates.items():
            rates[name] = rate / baseline if rate and baseline else None
    return found


def _gains(rows, name: str) -> list[Ratio]:
    return ratios(rows, f"cavs: {name}", f"cavs: {BASELINE}", faster)


def _streaming(rows) -> Finding:
    on = {
        name: [r.value for r in _gains([r for r in rows if r.workload == name], "streaming")]
        for name in WORKLOADS
    }
    claim = paper.STREAMING
    if not all(on.values()):
        return Finding(claim, UNKNOWN, "it was not measured on both")
    evidence = " and ".join(
        f"with it {name} is {span(values)} times as fast" for name, values in on.items()
    )
    fixed, tree = on.values()
    if min(fixed) > max(tree):
        return Finding(claim, AGREES, evidence)
    return Finding(claim, IN_PART if max(fixed) > min(tree) else DISAGREES, evidence)
