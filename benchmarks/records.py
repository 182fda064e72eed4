"""The results, as they are written to JSON."""

import dataclasses
import json
import os
import pathlib


@dataclasses.dataclass
class Record:
    """One system in one cell. What was not measured is None.

    Attributes:
      system: Its name.
      version: Of it and of what it stands on.
      workload: Its name.
      units, batch, threads: Sizes.
      mode: "training" or "inference".
      per_second: Graphs per second, the median of the repetitions.
      spread: Interquartile range of the repetitions, as a share of the median.
      share_of_floor: per_second over what the CPU's peak allows (see README.md).
      construct_share: Time to turn graphs into what runs, as a share of that and the step.
      peak_bytes: Memory above what libraries and data took.
      losses: Of the first steps.
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
    error: str | None = None

    @property
    def cell(self) -> tuple:
        """What systems are compared within."""
        return self.workload, self.units, self.batch, self.threads, self.mode

    def to_json(self) -> dict:
        """Without `error`, if there is none."""
        fields = dataclasses.asdict(self)
        if self.error is None:
            del fields["error"]
        return fields


def read(path) -> list[Record]:
    """The records of a file, or none if it does not exist."""
    if path is None or not os.path.exists(path):
        return []
    with open(path) as file:
        return [Record(**fields) for fields in json.load(file)]


def write(path, records: list[Record]) -> None:
    """Replaces the file: an interrupted run leaves the last complete one."""
    if path is None:
        return
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps([record.to_json() for record in records], indent=2) + "\n")
    os.replace(temporary, path)


def replace_cell(records: list[Record], new: list[Record]) -> list[Record]:
    """`records` with new ones in the place of those of the same cell and system."""
    measured = {(record.cell, record.system) for record in new}
    kept = [record for record in records if (record.cell, record.system) not in measured]
    return kept + new
