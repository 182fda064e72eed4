"""Figure 10: what each optimisation gains, with eager batching and merging.

python -m benchmarks.figures.figure10 --json=build/compare/figure10.json
"""

import sys

from benchmarks import ablation, paper, plots
from benchmarks.figures import _base, _program
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

WORKLOADS = ("fixed_lstm", "tree_lstm")
_OF_THE_PAPER = ("fusion", "lazy batching", "streaming")
_TITLE = "times as fast as without any"


class Figure(_base.Figure):
    """Ours, with each optimisation alone and with all of them."""

    title = "Figure 10: training with each optimisation, against none of them"

    def plan(self, request):
        grid, fields = request.grid, ablation.option_fields()
        units = sorted({grid.at_units, max(grid.units)} if grid is _base.FULL else {grid.at_units})
        return [
            (
                _program.cell(request, workload, units=h, batch=grid.at_batch),
                ablation.contenders(fields, workload),
            )
            for workload in WORKLOADS
            for h in units
        ]

    def tables(self, rows):
        return [_base.Table(_TITLE, list(ablation.NAMES), ablation.speedups(rows))]

    def draw(self, rows, path):
        plots.grouped_bars(ablation.speedup_bars(rows), path, _TITLE)

    def findings(self, rows):
        gains = {name: _gains(rows, name) for name in _OF_THE_PAPER}
        return [
            compare(
                paper.EACH_OPTIMISATION, gains, "with {name} it is {span} times as fast as without"
            ),
            _streaming(rows),
        ]


def _gains(rows, name: str) -> list[Ratio]:
    return ratios(rows, f"cavs: {name}", f"cavs: {ablation.BASELINE}", faster)


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


if __name__ == "__main__":
    sys.exit(_program.main("figure10"))
