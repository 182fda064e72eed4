"""Figure 9: construction as a share of the time, over the size of graphs and of the minibatch."""

from benchmarks import paper
from benchmarks.figures import _construction, _curves
from benchmarks.figures._findings import (
    AGREES,
    DISAGREES,
    IN_PART,
    UNKNOWN,
    Finding,
    compare,
    ratios,
)


def _percent(record) -> float | None:
    return None if record.construct_share is None else 100 * record.construct_share


class Figure(_construction.Construction):
    """The share of construction in the time."""

    title = "Figure 9: construction of graphs, as a share of that and the computation"
    quantities = (
        _curves.Quantity("construction's share", _percent, lambda r: f"{r.construct_share:.1%}"),
    )
    unit = "construction, % of the time"
    log_y = False

    def findings(self, rows):
        larger = "the share of {name} is {span} times ours"
        return [
            _small(rows),
            compare(paper.LARGE_CONSTRUCTION, _shares(rows, "fold"), larger),
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
