"""Measures the tables of README.md and docs/performance.md, and writes them there.

    python -m benchmarks.pages --sst=<folder> --json=build/pages.json

Ours are cells as the README and the Keras layers write them (`cavs`). A table begins and
ends with a comment in the page; `pages.json` keeps what is measured, so that an interrupted run
goes on.
"""

import dataclasses
import pathlib
import sys

from benchmarks import cells, flags, harness, machine, tables, workloads
from benchmarks.results import Results
from benchmarks.workers import ROOT

OTHERS = {"fold": "Fold", "torch": "PyTorch", "torch_by_hand": "by hand"}


@dataclasses.dataclass(frozen=True)
class Row:
    """A row of a table: the name and the sizes of a cell."""

    name: str
    workload: str
    units: int
    batch: int = 64
    mode: str = "training"

    def cell(self, threads: int, data: dict) -> cells.Cell:
        """What is measured."""
        settings = workloads.Settings(units=self.units, batch=self.batch, **data)
        return cells.Cell(self.workload, settings, threads, self.mode)


def _sizes(name: str, workload: str, sizes: tuple[int, ...], **kwargs) -> list[Row]:
    return [Row(f"{name}, {h} units", workload, h, **kwargs) for h in sizes]


ROWS = [
    *_sizes("Tree-LSTM (SST)", "tree_lstm", (64, 256, 512)),
    *_sizes("Tree-LSTM, one tree", "tree_lstm", (64, 256), batch=1),
    *_sizes("Tree-LSTM, inference", "tree_lstm", (256,), mode="inference"),
    *_sizes("Tree-FC (256 leaves)", "tree_fc", (256,)),
    *_sizes("LSTM, SST's lengths", "var_lstm", (256, 512)),
    *_sizes("LSTM of 64 steps", "fixed_lstm", (64, 256)),
    *_sizes("word lattice", "lattice_lstm", (256,)),
    *_sizes("dependency trees", "dependency_lstm", (256,)),
    *_sizes("calculator", "calculator", (256,)),
    *_sizes("BiLSTM tagger", "bilstm_tagger", (256,)),
    *_sizes("encoder-decoder", "encoder_decoder", (256,)),
]
IN_README = [row for row in ROWS if row.units == 256 and row.batch == 64]
COLUMNS = ["ours", "8 in a call", "best other"]
PAGES = {"README.md": IN_README, "docs/performance.md": ROWS}
_BEGIN, _END = "<!-- measured by benchmarks.pages -->", "<!-- end of what was measured -->"


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = flags.parser(__doc__.partition("\n")[0])
    flags.add_measuring(parser)
    parser.set_defaults(repeats=5, seconds=0.4)
    parser.add_argument("--json", help="file for the results; what it holds is not measured again")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="where the pages are")
    arguments = parser.parse_args(argv)
    plan = {
        row: (row.cell(arguments.threads, flags.data(arguments)), _contenders()) for row in ROWS
    }
    effort = cells.Effort(arguments.repeats, arguments.seconds)
    try:
        harness.refuse_debug_build()
        results = Results(arguments.json, arguments)
        results.measure(list(plan.values()), effort, keep=True)
        measured = {row: results.of(*plan[row]) for row in ROWS}
        for page, rows in PAGES.items():
            table = _table({row.name: measured[row] for row in rows})
            _write(arguments.root / page, f"{table.markdown()}\n\n{_about(arguments)}")
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    tables.print_errors([record for records in measured.values() for record in records])
    return 0


def _contenders() -> list[cells.Contender]:
    several = cells.Contender("8 in a call", "cavs", {"steps_per_call": 8})
    return [cells.Contender("ours", "cavs", {}), several, *cells.contenders(list(OTHERS))]


def _table(measured: dict) -> tables.Table:
    rows = {}
    for name, records in measured.items():
        rows[name] = {r.system: tables.shown(r, tables.rate) for r in records}
        others = [r for r in records if r.system in OTHERS and r.per_second is not None]
        if others:
            best = max(others, key=lambda record: record.per_second)
            rows[name]["best other"] = f"{tables.rate(best)}, {OTHERS[best.system]}"
    return tables.Table("", COLUMNS, rows)


def _about(arguments) -> str:
    """A sentence on the machine and the command."""
    data = "" if arguments.sst is None else " --sst=<folder>"
    threads = f"{arguments.threads} thread{'s' if arguments.threads > 1 else ''}"
    return (
        f"`python -m benchmarks.pages --threads={arguments.threads}{data}` on an "
        f"{machine.describe()['cpu']}, {threads}; medians of {arguments.repeats} turns."
    )


def _write(page: pathlib.Path, table: str) -> None:
    """Replaces what is between the comments of a page."""
    before, begin, rest = page.read_text().partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(
            f"{page}: found no {_BEGIN if not begin else _END!r} but expected the comments around "
            "the table. Write both where it belongs."
        )
    page.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}")


if __name__ == "__main__":
    sys.exit(main())
