"""The tables of the pages: what each of them needs, measures and shows.

A table has the pages that it is in, the names of what it needs (`NEEDS` in `pages.py`), a note
on how often it measures, and `measure`, which returns a `tables.Table` for each page.
"""

import dataclasses
import pathlib

from benchmarks import apart, cells, flags, phases, programs, tables, workloads
from benchmarks.results import Results

README, PERFORMANCE, PROGRAMS = "README.md", "docs/how/performance.md", "docs/how/programs.md"
OURS = cells.Contender("ours", "cavs")
LOOP = cells.Contender("8 in a call", "cavs_loop")
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


class OfCells:
    """A table of cells: whole steps of several systems in turns.

    What is measured is kept in a file of the folder, from which the next run goes on.
    """

    note = "medians of {repeats} turns"
    pages = (PERFORMANCE,)
    rows: tuple[Row, ...]

    def measure(self, arguments) -> dict[str, tables.Table]:
        data, contenders = flags.data(arguments), self.contenders(arguments)
        plan = {row: (row.cell(arguments.threads, data), contenders) for row in self.rows}
        folder = arguments.folder
        kept = None if folder is None else str(pathlib.Path(folder, f"{self.name}.json"))
        results = Results(kept, arguments)
        effort = cells.Effort(arguments.repeats, arguments.seconds)
        tables.print_errors(results.measure(list(plan.values()), effort, keep=True))
        measured = {row: results.of(*plan[row]) for row in self.rows}
        return {page: self.table(measured, page) for page in self.pages}

    def table(self, measured: dict, page: str) -> tables.Table:
        rows = {row.name: self.texts(records) for row, records in measured.items()}
        return tables.Table("workload", list(self.columns), rows)


class Systems(OfCells):
    """Ours and the best of the others, for all workloads; a few in README.md."""

    name = "systems"
    needs = ("sst", "torch")
    pages = (README, PERFORMANCE)
    rows = (
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
    )
    columns = ("ours", "8 in a call", "best other")
    # What README.md shows, with 256 units: ours leads least in the second.
    short = ("Tree-LSTM (SST)", "LSTM of 64 steps", "word lattice", "dependency trees")

    def contenders(self, arguments):
        return [OURS, LOOP, *cells.contenders(list(OTHERS))]

    def table(self, measured, page):
        names = [f"{name}, 256 units" for name in self.short]
        chosen = [row for row in measured if page != README or row.name in names]
        return super().table({row: measured[row] for row in chosen}, page)

    def texts(self, records):
        texts = {record.system: tables.shown(record, tables.rate) for record in records}
        others = [r for r in records if r.system in OTHERS and r.per_second is not None]
        if others:
            best = max(others, key=lambda record: record.per_second)
            texts["best other"] = f"{tables.rate(best)}, {OTHERS[best.system]}"
        return texts


class Ceiling(OfCells):
    """The Tree-LSTM beside a program that was written for it by hand: shares of its rate."""

    name = "ceiling"
    needs = ("sst", "ceiling")
    rows = (
        *_sizes("Tree-LSTM (SST)", "tree_lstm", (64, 256, 512)),
        *_sizes("one tree", "tree_lstm", (64, 256), batch=1),
    )
    columns = ("ours", "8 in a call", "two ops", "ceiling")

    def contenders(self, arguments):
        program = cells.Contender("ceiling", "ceiling", {"command": arguments.ceiling})
        return [OURS, LOOP, cells.Contender("two ops", "cavs_ops"), program]

    def texts(self, records):
        ceiling = records[-1]

        def text(record):
            rate = f"{record.per_second:,.0f}"
            if record is ceiling or ceiling.per_second is None:
                return rate
            return f"{rate} ({record.per_second / ceiling.per_second:.2f})"

        return {record.system: tables.shown(record, text) for record in records}


class Sequences(OfCells):
    """Sequences of one length, for which PyTorch has a library's LSTM."""

    name = "sequences"
    needs = ("torch",)
    rows = tuple(
        Row(f"{h} units, {batch} at a time", "fixed_lstm", h, batch)
        for h in (64, 256)
        for batch in (1, 16, 64)
    )
    columns = ("ours", "8 in a call", "PyTorch")

    def contenders(self, arguments):
        return [OURS, LOOP, cells.Contender("PyTorch", "torch")]

    def texts(self, records):
        return {record.system: tables.shown(record, tables.rate) for record in records}


class Programs:
    """Whole programs, ours and PyTorch's; see `programs.py`."""

    name = "programs"
    needs = ("sst", "torch")
    pages = (PERFORMANCE,)
    note = "{turns} turns of {epochs} epochs"

    def measure(self, arguments):
        return {PERFORMANCE: programs.measure(arguments)}


class Phases:
    """Where the time of a step of the Tree-LSTM goes; see `phases.py`."""

    name = "phases"
    needs = ("sst",)
    pages = (PERFORMANCE,)
    steps = 20
    note = f"a profile of {steps} steps"
    clock = "a step, by the clock (without the profiler)"

    def measure(self, arguments):
        rows = {name: {} for name in [*phases.PHASES, "in all", self.clock]}
        for units in (64, 256):
            settings = workloads.Settings(units=units, **flags.data(arguments))
            threads, steps = arguments.threads, self.steps
            milliseconds, found = apart.call(
                threads, phases.run, "tree_lstm", settings, threads, steps
            )
            for name, texts in (found | {self.clock: {"ms": f"{milliseconds:.3f}"}}).items():
                rate = f" ({texts['rate']})" if texts.get("rate") else ""
                rows[name][f"{units} units"] = texts["ms"] + rate
        kept = {name: texts for name, texts in rows.items() if texts}
        return {PERFORMANCE: tables.Table("part", ["64 units", "256 units"], kept)}


class Attention:
    """What operators on vectors gain in cells that attend to their children; see `attention.py`."""

    name = "attention"
    needs = ()
    pages = (PROGRAMS,)
    turns = 30
    note = f"medians of {turns}, in turns"

    def measure(self, arguments):
        rows: dict = {}
        for units in (64, 256):
            medians = apart.call(arguments.threads, _attention, units, self.turns)
            for title, (before, after) in medians.items():
                text = f"{before:.1f} → {after:.1f} ms"
                rows[title] = rows.get(title, {}) | {f"{units} units": text}
        return {PROGRAMS: tables.Table("cell", ["64 units", "256 units"], rows)}


def _attention(units: int, turns: int) -> dict:
    from benchmarks import attention  # Imports TensorFlow.

    return attention.medians(units, turns)


TABLES = {
    table.name: table
    for table in (Systems(), Ceiling(), Sequences(), Programs(), Phases(), Attention())
}
