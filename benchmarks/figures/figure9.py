"""Figure 9: the share of construction in the time, over the graphs' size and the minibatch.

python -m benchmarks.figures.figure9 --json=build/compare/figure9.json
"""

import sys

from benchmarks import paper, plots
from benchmarks.figures import _base, _construction, _program
from benchmarks.figures._findings import (
    AGREES,
    DISAGREES,
    IN_PART,
    UNKNOWN,
    Finding,
    compare,
    ratios,
)


class Figure(_base.Figure):
    """Who constructs graphs: ours, Fold with 1 and n threads, DyNet."""

    title = "Figure 9: construction of graphs, as a share of that and the computation"

    def plan(self, request):
        return _construction.plan(request)

    def tables(self, rows):
        rows = _construction.constructing(rows)
        return [
            _base.Table(f"construction's share: {axis.title}", axis.systems, axis.rows(_share))
            for axis in _construction.panels(rows)
        ]

    def draw(self, rows, path):
        groups = [
            (axis.title, axis.name, axis.lines(_percent)) for axis in _construction.panels(rows)
        ]
        plots.curves(groups, path, "construction, % of the time", log_y=False)

    def findings(self, rows):
        larger = "the share of {name} is {span} times ours"
        return [
            _small(rows),
            compare(paper.LARGE_CONSTRUCTION, _shares(rows, "fold"), larger),
            compare(paper.LARGE_CONSTRUCTION_DYNET, _shares(rows, "dynet"), larger),
        ]


def _small(rows) -> Finding:
    shares = [r.construct_share for r in rows if r.system == "cavs" and r.construct_share]
    claim = paper.SMALL_CONSTRUCTION
    if not shares:
        return Finding(claim, UNKNOWN, "ours was not measured")
    small = sum(share <= paper.SMALL_SHARE for share in shares)
    evidence = (
        f"it is {min(shares):.1%} to {max(shares):.1%}, and at most {paper.SMALL_SHARE:.0%} in "
        f"{small} of {len(shares)} cells"
    )
    if not small:
        return Finding(claim, DISAGREES, evidence)
    return Finding(claim, AGREES if small == len(shares) else IN_PART, evidence)


def _shares(rows, other) -> dict:
    return {other: ratios(_construction.constructing(rows), "cavs", other, _larger_share)}


def _larger_share(ours, other) -> float | None:
    if not ours.construct_share or other.construct_share is None:
        return None
    return other.construct_share / ours.construct_share


def _share(record) -> str:
    return f"{record.construct_share:.1%}"


def _percent(record) -> float | None:
    return None if record.construct_share is None else 100 * record.construct_share


if __name__ == "__main__":
    sys.exit(_program.main("figure9"))
