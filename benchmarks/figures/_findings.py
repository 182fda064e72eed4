"""Whether the paper's claims hold here, in words made from numbers."""

import dataclasses

from benchmarks import tables
from benchmarks.paper import Claim

AGREES = "agrees"
IN_PART = "agrees in part"
DISAGREES = "does not agree"
UNKNOWN = "cannot be said"
_MOST_NAMED = 4


@dataclasses.dataclass(frozen=True)
class Finding:
    """A claim, whether it holds, and the numbers that say so."""

    claim: Claim
    verdict: str
    evidence: str

    def __str__(self):
        text = self.claim.text
        head = f"The paper says that {text} ({self.claim.source})."
        return f"{head} {_VERDICTS[self.verdict]}: {self.evidence}."


_VERDICTS = {
    AGREES: "That is so here",
    IN_PART: "Here that is so in part",
    DISAGREES: "That is not so here",
    UNKNOWN: "Whether that is so here cannot be said",
}


@dataclasses.dataclass(frozen=True)
class Ratio:
    """How many times as good ours is as another system, in one cell."""

    cell: str
    value: float
    noise: float = 0.0


def ratios(records, ours: str, other: str, better) -> list[Ratio]:
    """The ratios in all cells where both have a figure.

    Args:
      records: Records of any systems.
      ours, other: Two of them.
      better: Takes a record of each; returns how many times as good the first is, or None.
    """
    found = []
    by_cell: dict = {}
    for record in records:
        by_cell.setdefault(record.cell, {})[record.system] = record
    for systems in by_cell.values():
        pair = systems.get(ours), systems.get(other)
        if None in pair or any(record.error is not None for record in pair):
            continue
        if (value := better(*pair)) is not None:
            noise = sum(record.spread or 0.0 for record in pair) / 2
            found.append(Ratio(tables.cell_name(pair[0]), value, noise))
    return found


def faster(ours, other) -> float:
    """The ratio of graphs per second."""
    return ours.per_second / other.per_second


FASTER = "ours is {span} times as fast as {name}"


def compare(claim: Claim, found: dict[str, list[Ratio]], says=FASTER, least=1.0) -> Finding:
    """Finds whether ours is at least `least` times as good as every other system.

    Args:
      claim: A claim of the paper.
      found: The ratios by the other system; empty where nothing could be compared.
      says: What a span of ratios to one of them means.
      least: What is expected of every ratio. One that differs from it by noise only counts
        neither for the claim nor against it.
    """
    missing = [name for name, values in found.items() if not values]
    known = {name: values for name, values in found.items() if values}
    if not known:
        return Finding(claim, UNKNOWN, f"{_list(missing)} gave no figures to compare with")
    below = [
        (name, ratio)
        for name, values in known.items()
        for ratio in values
        if ratio.value < least - ratio.noise
    ]
    above = [r for values in known.values() for r in values if r.value > least + r.noise]
    evidence = "; ".join(_range(values, says, name) for name, values in known.items())
    if below:
        evidence += f". Below {least:g}: {_cells(below, len(known) > 1)}"
    if missing:
        evidence += f". Not compared: {_list(missing)}"
    if not above:
        return Finding(claim, DISAGREES, evidence)
    return Finding(claim, IN_PART if below else AGREES, evidence)


def _range(values: list[Ratio], says: str, name: str) -> str:
    told = says.format(span=span([ratio.value for ratio in values]), name=name)
    return f"{told} ({count(len(values), 'cell')})"


def span(values: list[float]) -> str:
    """The least and the greatest ratio, with two digits."""
    low, high = f"{min(values):.2g}", f"{max(values):.2g}"
    return low if low == high else f"{low} to {high}"


def _cells(below, named: bool) -> str:
    worst = sorted(below, key=lambda pair: pair[1].value)
    words = [
        f"{ratio.cell}{f' against {name}' if named else ''} ({ratio.value:.2g})"
        for name, ratio in worst[:_MOST_NAMED]
    ]
    more = len(worst) - _MOST_NAMED
    return ", ".join(words) + (f" and {more} more" if more > 0 else "")


def _list(names) -> str:
    return " and ".join(names)


def count(number: int, noun: str) -> str:
    """ "1 cell", "2 cells"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
