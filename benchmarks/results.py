"""A file of results that grows cell by cell, and from which a measurement can resume."""

import json
import pathlib
import sys
import time

from benchmarks import harness, machine, records
from benchmarks.crew import Crew
from benchmarks.workers import ROOT, Worker


class Results:
    """Measures cells, unless the file already has them.

    Args:
      path: JSON file, or None: nothing is kept. Beside it lies `<name>.machine.json` with the
        machine, the command and the data.
      arguments: The parsed flags.

    Raises:
      ValueError: If the file was measured on other data.
    """

    def __init__(self, path: str | None, arguments):
        self.records = records.read(path)
        self._path = path
        self._data = {"sst": arguments.sst is not None, "seed": arguments.seed}
        self._data["minibatches"] = arguments.minibatches
        if path is not None:
            self._remember_machine(pathlib.Path(path).with_suffix(".machine.json"))

    def measure(self, plan, effort, say=print, keep=False) -> list[records.Record]:
        """The records of all cells, in their order.

        Args:
          plan: A list of (cell, its contenders).
          effort: A `cells.Effort`.
          say: Takes lines on progress.
          keep: Whether workers stay from cell to cell. That takes less time, but then
            `peak_bytes` is known of the first cell only.
        """
        missing = [cell for cell, contenders in plan if not self._has(cell, contenders)]
        clock = _Clock(len(missing))
        with Crew() as crew:
            for number, (cell, contenders) in enumerate(plan, start=1):
                position = f"[{number}/{len(plan)}] {cell}"
                if self._has(cell, contenders):
                    say(f"{position}: in {self._path} already")
                    continue
                say(f"{position}{clock.remaining()}")
                peers = [contender.peer for contender in contenders]
                start = crew.starter(peers) if keep else Worker
                self._add(harness.measure(cell, contenders, effort, say, start))
                clock.tick()
        return self.of_plan(plan)

    def of_plan(self, plan) -> list[records.Record]:
        """The known records of all cells of a plan, in their order."""
        return [record for cell, contenders in plan for record in self.of(cell, contenders)]

    def of(self, cell, contenders) -> list[records.Record]:
        """The known records of a cell, in the order of the contenders."""
        names = [contender.system for contender in contenders]
        known = (r for r in self.records if r.cell == cell.key() and r.system in names)
        return sorted(known, key=lambda record: names.index(record.system))

    def _has(self, cell, contenders) -> bool:
        # Systems are measured together, so records of some of them are not enough.
        known = self.of(cell, contenders)
        profiled = any(record.memory_share is not None for record in known)
        return len(known) == len(contenders) and (profiled or not cell.profiled)

    def _add(self, new: list[records.Record]) -> None:
        measured = {(record.cell, record.system) for record in new}
        self.records = [r for r in self.records if (r.cell, r.system) not in measured] + new
        if self._path is not None:
            records.write(self._path, self.records)

    def _remember_machine(self, path: pathlib.Path) -> None:
        if self.records and path.exists():
            data = json.loads(path.read_text())["data"]
            if data != self._data:
                raise ValueError(
                    f"{self._path}: got results measured with {data}, but expected a file "
                    f"measured with {self._data}. Name another file."
                )
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["python", "-m", _module_name(), *sys.argv[1:]]
        about = {"machine": machine.describe(), "commit": machine.commit()}
        about |= {"command": command, "data": self._data}
        path.write_text(json.dumps(about, indent=2) + "\n")


class _Clock:
    """Says how long the remaining cells will take, by the mean of those before."""

    def __init__(self, cells: int):
        self._left = cells
        self._done = 0
        self._start = time.monotonic()

    def tick(self) -> None:
        self._left -= 1
        self._done += 1

    def remaining(self) -> str:
        if not self._done:
            return ""
        minutes = (time.monotonic() - self._start) / self._done * self._left / 60
        return f" (about {minutes:.0f} more minutes)" if minutes >= 1 else ""


def _module_name() -> str:
    program = pathlib.Path(sys.argv[0]).resolve().with_suffix("")
    parts = program.relative_to(ROOT).parts if program.is_relative_to(ROOT) else [program.name]
    return ".".join(parts)
