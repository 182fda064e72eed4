"""What the programs of the figures share, and `benchmarks.compare` too."""

import json
import os
import pathlib
import sys

from benchmarks import figures, flags, harness, peers, plots, tables
from benchmarks.cells import Cell, Contender, Effort
from benchmarks.figures import _base
from benchmarks.results import Results
from benchmarks.workloads import Settings

# Not compared unless asked for: less precision; only our ops; a program of the user's. In the
# reduced grid neither what takes minutes for a large minibatch of trees, nor more than one mode of
# a system.
_UNASKED = ("cavs_bfloat16", "cavs_loop", "cavs_ops", "ceiling")
_UNREDUCED = ("fold_cached", "fold_per_vertex", "tf_unbatched")


def main(name: str, argv=None) -> int:
    """The program of one figure; returns its exit status."""
    figure = figures.make(name)
    made = parser(figure.title)
    made.add_argument("--json", help="file for the results; what it holds is not measured again")
    made.add_argument("--png", help="file for the picture; none: beside --json")
    arguments = made.parse_args(argv)
    try:
        asked = request(arguments)
        harness.refuse_debug_build()
        plan = figure.plan(asked)
        records = known(measure(arguments, asked, plan, arguments.json), plan) if plan else []
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    rows = figure.rows(records)
    show(figure, rows)
    if arguments.json and not plan:
        write(arguments.json, rows)
    if path := plots.picture_path(arguments):
        figure.draw(rows, path)
    return 0


def parser(description: str):
    """With the flags of all figures."""
    made = flags.measuring_parser(description)
    made.add_argument(
        "--full", action="store_true", help="the paper's sizes, more and longer turns; hours"
    )
    flags.add_systems(made, None)
    made.set_defaults(repeats=None, seconds=None)
    return made


def request(arguments) -> _base.Request:
    """Fills in what depends on the grid."""
    grid = _base.FULL if arguments.full else _base.REDUCED
    if arguments.minibatches is None:
        arguments.minibatches = grid.minibatches
    left_out = _UNASKED if arguments.full else _UNASKED + _UNREDUCED
    systems = arguments.systems or [n for n in peers.names() if n not in left_out]
    data = {name: getattr(arguments, name) for name in ("seed", "sst", "minibatches")}
    return _base.Request(grid, systems, arguments.threads, data)


def measure(arguments, asked: _base.Request, plan: list, path) -> Results:
    """All of a plan, for as long as the grid says unless flags say otherwise."""
    usual = asked.grid.effort
    effort = Effort(arguments.repeats or usual.repeats, arguments.seconds or usual.seconds)
    results = Results(path, arguments)
    results.measure_plan(plan, effort, keep=True)
    return results


def known(results: Results, plan: list) -> list:
    """The records of a plan, in its order."""
    return [record for cell, contenders in plan for record in results.of(cell, contenders)]


def cell(request: _base.Request, workload: str, mode="training", profiled=False, **sizes) -> Cell:
    """One cell of a plan."""
    return Cell(workload, Settings(**request.data, **sizes), request.threads, mode, profiled)


def contenders(systems: list[str]) -> list[Contender]:
    """Systems without options."""
    return [Contender(name, name) for name in systems]


def show(figure: _base.Figure, rows: list) -> None:
    """Prints the tables, why systems failed, and what the numbers say of the paper."""
    print(f"\n{figure.title}")
    for table in figure.tables(rows):
        print()
        tables.print_table(table.title, table.rows, table.columns)
    tables.print_errors([row for row in rows if getattr(row, "error", None)])
    for finding in figure.findings(rows):
        print(f"\n{finding}")


def write(path, rows: list) -> None:
    """Replaces the file: an interrupted run leaves the last complete one."""
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(path.name + ".new")
    temporary.write_text(json.dumps([row.to_json() for row in rows], indent=2) + "\n")
    os.replace(temporary, path)
