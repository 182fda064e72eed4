"""Records along an axis, which differ in one size only."""

import collections
import dataclasses
import operator

from benchmarks import tables

USUAL_LEAVES = 256
# Graphs of an epoch: the training set of the treebank, and as many generated ones.
EPOCH = 8544
_SIZES = {"batch": operator.attrgetter("batch"), "h": operator.attrgetter("units")}
_TITLES = {"batch": "batch ", "h": "h="}


@dataclasses.dataclass(frozen=True)
class Axis:
    """Records of one workload and mode.

    Attributes:
      name: "batch", "h" or "leaves".
      title: What all records have in common.
      size: A function from a cell to its place on the axis.
      records: The records whose cells have a place.
    """

    name: str
    title: str
    size: dict
    records: list

    @property
    def systems(self) -> list[str]:
        """The systems that have records."""
        return list(dict.fromkeys(record.system for record in self.records))

    def rows(self, text) -> dict:
        """The rows of a table: {place: {system: text(record)}}, or a word on why not."""
        rows: dict = {}
        for record in sorted(self.records, key=lambda r: self.size[r.cell]):
            name = f"{self.name} {self.size[record.cell]}"
            rows.setdefault(name, {})[record.system] = tables.shown(record, text)
        return rows

    def lines(self, value) -> dict:
        """The lines of a picture: {system: [(place, value(record))]}, without None."""
        lines: dict = collections.defaultdict(list)
        for record in self.records:
            if record.error is None and (y := value(record)) is not None:
                lines[record.system].append((self.size[record.cell], y))
        return dict(lines)


def over_batch(records, workload: str, mode: str = "training") -> Axis:
    """Axes of growing minibatches, at the h that has most of them."""
    return _over("batch", "h", records, workload, mode)


def over_units(records, workload: str) -> Axis:
    """Axes of growing hidden states, at the minibatch size that has most of them."""
    return _over("h", "batch", records, workload, "training")


def _over(name: str, other: str, records, workload: str, mode: str) -> Axis:
    size, fixed = _SIZES[name], _SIZES[other]
    own = [r for r in records if r.workload == workload and r.mode == mode]
    most = _most_varied(own, fixed, size)
    own = [record for record in own if fixed(record) == most]
    title = f"{workload}, {_TITLES[other]}{most}{'' if mode == 'training' else f', {mode}'}"
    return Axis(name, title, {record.cell: size(record) for record in own}, own)


def over_leaves(records) -> Axis:
    """Axes of growing complete trees, at the h and minibatch size that have most of them."""
    own = [r for r in records if _leaves(r) and r.mode == "training"]
    sizes = _most_varied(own, lambda r: (r.units, r.batch), _leaves)
    own = [record for record in own if (record.units, record.batch) == sizes]
    title = f"tree_fc, h={sizes[0]}, batch {sizes[1]}" if sizes else ""
    return Axis("leaves", title, {record.cell: _leaves(record) for record in own}, own)


def _leaves(record) -> int | None:
    name, _, leaves = record.workload.rpartition("_")
    if record.workload == "tree_fc":
        return USUAL_LEAVES
    return int(leaves) if name == "tree_fc" else None


def _most_varied(records, fixed, varied):
    """The value of `fixed` for which `varied` has most values; of several, the largest."""
    values: dict = collections.defaultdict(set)
    for record in records:
        values[fixed(record)].add(varied(record))
    return max(values, key=lambda value: (len(values[value]), value), default=None)


def epoch_seconds(record) -> float:
    """The time of an epoch."""
    return EPOCH / record.per_second


def construct_seconds(record) -> float | None:
    """The time to construct the graphs of an epoch."""
    return None if record.construct_seconds is None else EPOCH * record.construct_seconds


def compute_seconds(record) -> float | None:
    """The time of an epoch without construction."""
    if not record.construct_seconds:
        return None
    # The share is one of the total time, whether steps include construction or not.
    whole = record.construct_seconds / record.construct_share
    return EPOCH * (whole - record.construct_seconds)


def seconds(value: float | None) -> str:
    """Seconds as text with three digits."""
    if value is None:
        return "-"
    return f"{value:,.0f} s" if value >= 100 else f"{value:.3g} s"
