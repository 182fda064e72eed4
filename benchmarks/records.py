"""Results, as they are written to JSON."""

import dataclasses
import json
import os
import pathlib

_OPTIONAL = ("construct_seconds", "memory_share", "busy_share", "error")


@dataclasses.dataclass
class Record:
    """The results of one system in one cell. What was not measured is None.

    Attributes:
      system: The name of the system.
      version: The version of the system, and of the libraries that it uses.
      workload: The name of the workload.
      units, batch, threads: Sizes.
      mode: "training" or "inference".
      per_second: Graphs per second, the median of the repetitions.
      spread: Interquartile range of the repetitions, as a share of the median.
      share_of_floor: per_second over what the CPU's peak allows (see README.md).
      construct_share: Time to turn graphs into what runs, as a share of that and the step.
      peak_bytes: Memory above what libraries and data took.
      losses: The losses of the first steps.
      construct_seconds: Time to turn one graph into what runs.
      memory_share: Time of operators that only move rows, as a share of that of all operators.
      busy_share: CPU time of other programs and the hypervisor, as a share of that of the cell.
      error: Why there is no result, or None.
    """

    system: str
    version: str | None
    workload: str
    units: int
    batch: int
    threads: int
    mode: str
    per_second: float | None = None
    spread: float | None = None
    share_of_floor: float | None = None
    construct_share: float | None = None
    peak_bytes: int | None = None
    losses: list[float] | None = None
    construct_seconds: float | None = None
    memory_share: float | None = None
    busy_share: float | None = None
    error: str | None = None

    @property
    def cell(self) -> tuple:
        """What names the cell, in which systems are compared."""
        return self.workload, self.units, self.batch, self.threads, self.mode

    def to_json(self) -> dict:
        """The fields, without optional ones that this record does not have."""
        fields = dataclasses.asdict(self)
        return {n: value for n, value in fields.items() if n not in _OPTIONAL or value is not None}


def read(path) -> list[Record]:
    """The records of a file; none if it does not exist."""
    if path is None or not os.path.exists(path):
        return []
    with open(path) as file:
        return [Record(**fields) for fields in json.load(file)]


def write(path, rows: list) -> None:
    """Replaces a file of rows with `to_json()`, so that an interruption leaves a complete file."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps([row.to_json() for row in rows], indent=2) + "\n")
    os.replace(temporary, path)
