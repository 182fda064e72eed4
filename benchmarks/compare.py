"""Regenerates the paper's results, or some of them, and writes a report.

    python -m benchmarks.compare --folder=build/compare/mine          # the reduced grid
    python -m benchmarks.compare --folder=build/compare/all --full    # the paper's sizes; hours
    python -m benchmarks.compare --figures=figure8,table1 --systems=cavs,fold
    python -m benchmarks.compare --figures=figure10 --workloads=var_lstm --units=64,256 --batch=16

A cell that several figures show is measured once. What the folder holds is not measured again.
"""

import dataclasses
import pathlib
import sys

from benchmarks import figures, flags, harness, peers, records, report, tables, workloads
from benchmarks.figures import _base
from benchmarks.results import Results

# Compared only if they are asked for: systems with less precision, with our ops alone, or that are
# a program of the user's. In the reduced grid, also one that takes minutes for a large minibatch
# of trees.
_UNASKED = ("cavs_bfloat16", "cavs_loop", "cavs_ops", "ceiling")
_UNREDUCED = ("tf_unbatched",)


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    folder = pathlib.Path(arguments.folder)
    request = _request(arguments)
    plans = {}
    try:
        harness.refuse_debug_build()
        for figure in map(figures.make, arguments.figures):
            plans[figure] = figure.plan(request)
        results = Results(str(folder / "records.json"), arguments)
        plan = merged([entry for own in plans.values() for entry in own])
        results.measure(plan, request.grid.effort, keep=not arguments.fresh)
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for figure, own in plans.items():
        rows = results.of_plan(own)
        _show(figure, rows)
        records.write(folder / f"{figure.name}.json", rows)
        figure.draw(rows, folder / f"{figure.name}.png")
    print(f"wrote {report.write(folder, folder / 'report.html')}")
    return 0


def merged(plan: list) -> list:
    """A plan in which every cell occurs once with each system.

    Cells of the same sizes become one with the contenders of all, unless they have none in
    common: those of an ablation are compared among each other only.
    """
    groups: list = []  # [cell, {system: contender}]
    for cell, contenders in plan:
        own = {contender.system: contender for contender in contenders}
        for group in groups:
            if group[0].key() == cell.key() and group[1].keys() & own.keys():
                group[0] = cell if cell.profiled else group[0]
                group[1] |= own
                break
        else:
            groups.append([cell, own])
    return [(cell, list(contenders.values())) for cell, contenders in groups]


def _request(arguments) -> _base.Request:
    """The grid, with the values of flags in place of its own."""
    grid = _base.FULL if arguments.full else _base.REDUCED
    sizes = {name: getattr(arguments, name) for name in ("batches", "units", "leaves")}
    sizes |= {"ablated": arguments.units, "minibatches": arguments.minibatches}
    sizes |= {"at_batch": arguments.batch, "at_units": arguments.at_units}
    lengths = {name: getattr(arguments, name) for name in ("repeats", "seconds")}
    effort = dataclasses.replace(grid.effort, **_given(lengths))
    grid = dataclasses.replace(grid, **_given(sizes), effort=effort)
    arguments.minibatches = grid.minibatches
    left_out = _UNASKED if arguments.full else _UNASKED + _UNREDUCED
    systems = arguments.systems or [n for n in peers.names() if n not in left_out]
    return _base.Request(
        grid,
        systems,
        arguments.threads,
        flags.data(arguments),
        arguments.workloads,
    )


def _given(values: dict) -> dict:
    return {name: value for name, value in values.items() if value is not None}


def _show(figure: _base.Figure, rows: list) -> None:
    """Prints the tables, why systems failed, and whether the paper's claims hold."""
    print(f"\n{figure.title}")
    for table in figure.tables(rows):
        print()
        table.print()
    tables.print_errors(rows)
    for finding in figure.findings(rows):
        print(f"\n{finding}")


def _parser():
    made = flags.parser(__doc__.partition("\n")[0])
    flags.add_measuring(made)
    made.add_argument("--folder", default="build/compare", help="for all that is written")
    made.add_argument(
        "--figures",
        type=flags.choices(figures.NAMES),
        default=",".join(figures.NAMES),
        help=f"of {', '.join(figures.NAMES)}",
    )
    made.add_argument(
        "--full", action="store_true", help="the paper's sizes, more and longer turns; hours"
    )
    made.add_argument(
        "--fresh", action="store_true", help="new processes for every cell: shows their memory"
    )
    made.add_argument(
        "--workloads",
        type=flags.choices(workloads.names()),
        help="of figure10; none: its own",
    )
    made.add_argument("--batches", type=flags.integers(1), help="sizes of minibatches to try")
    made.add_argument("--leaves", type=flags.integers(2), help="sizes of trees to try")
    made.add_argument("--units", type=flags.integers(1), help="values of h to try")
    made.add_argument("--batch", type=flags.integer(1), help="graphs, where no sizes are tried")
    made.add_argument("--at-units", type=flags.integer(1), help="h, where none are tried")
    return made


if __name__ == "__main__":
    sys.exit(main())
