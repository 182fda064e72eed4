"""The lines of code that a user writes for each workload, in each system."""

import dataclasses

from benchmarks import lines, paper, plots, workloads
from benchmarks.figures import _base
from benchmarks.figures._findings import Ratio, compare
from benchmarks.tables import Table


@dataclasses.dataclass(frozen=True)
class Row:
    """The lines of one workload in one system.

    Attributes:
      system, workload: Their names.
      lines: The number of lines.
      files: The files that they stand in.
    """

    system: str
    workload: str
    lines: int
    files: list[str]

    def to_json(self) -> dict:
        return dataclasses.asdict(self)


class Figure(_base.Figure):
    """The counts of `benchmarks.lines`."""

    title = "Lines of code"
    row_type = Row

    def rows(self, records):
        return [
            Row(system, workload, lines.count(parts), list(dict.fromkeys(p.path for p in parts)))
            for workload in workloads.names()
            for system in lines.systems()
            if (parts := lines.source(system, workload))
        ]

    def tables(self, rows):
        cells = {workload: _text(own) for workload, own in _by_workload(rows).items()}
        systems = list(dict.fromkeys(row.system for row in rows))
        return [Table("lines of the model and its batching", systems, cells)]

    def draw(self, rows, path):
        plots.grouped_bars(_by_workload(rows), path, "lines", "%d")

    def findings(self, rows):
        others = [s for s in dict.fromkeys(row.system for row in rows) if s != "cavs"]
        found = {name: _ratios(rows, name) for name in others}
        return [compare(paper.LITTLE_CODE, found, "{name} takes {span} times as many as ours")]


def _ratios(rows, other) -> list[Ratio]:
    return [
        Ratio(workload, own[other] / own["cavs"])
        for workload, own in _by_workload(rows).items()
        if {"cavs", other} <= set(own)
    ]


def _by_workload(rows) -> dict:
    found: dict = {}
    for row in rows:
        found.setdefault(row.workload, {})[row.system] = row.lines
    return found


def _text(own) -> dict:
    return {system: str(count) for system, count in own.items()}
