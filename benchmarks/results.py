"""A file of results that grows cell by cell, and can be gone on with."""

import json
import pathlib
import sys

from benchmarks import harness, machine, records


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

    def measure(self, cells, contenders_of, effort, say=print) -> list[records.Record]:
        """The records of all cells, in their order.

        Args:
          cells: A list of `harness.Cell`.
          contenders_of: The contenders of a cell.
          effort: A `harness.Effort`.
          say: Told of progress.
        """
        shown = []
        for number, cell in enumerate(cells, start=1):
            contenders = contenders_of(cell)
            position = f"[{number}/{len(cells)}] "
            if self._has(cell, contenders):
                say(f"{position}{cell}: in {self._path} already")
            else:
                say(f"{position}{cell}")
                self._add(harness.measure(cell, contenders, effort, say))
            names = [contender.system for contender in contenders]
            shown += sorted(
                (r for r in self.records if r.cell == cell.key() and r.system in names),
                key=lambda record: names.index(record.system),
            )
        return shown

    def _has(self, cell, contenders) -> bool:
        # Systems are measured together, so all of them or none.
        known = {record.system for record in self.records if record.cell == cell.key()}
        return known.issuperset(contender.system for contender in contenders)

    def _add(self, new: list[records.Record]) -> None:
        self.records = records.replace_cell(self.records, new)
        records.write(self._path, self.records)

    def _remember_machine(self, path: pathlib.Path) -> None:
        if self.records and path.exists():
            data = json.loads(path.read_text())["data"]
            if data != self._data:
                raise ValueError(
                    f"--json: got {self._path}, measured with {data}, but expected a file "
                    f"measured with {self._data}. Name another file."
                )
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["python", "-m", _module_name(), *sys.argv[1:]]
        about = {"machine": machine.describe(), "commit": machine.commit()}
        about |= {"command": command, "data": self._data}
        path.write_text(json.dumps(about, indent=2) + "\n")


def _module_name() -> str:
    return f"benchmarks.{pathlib.Path(sys.argv[0]).stem}"
