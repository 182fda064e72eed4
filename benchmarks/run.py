"""Compares this project with others, in one cell or in a table of them.

python -m benchmarks.run                                       # the table
python -m benchmarks.run --workload=tree_lstm --units=256 --batch=64 --systems=cavs,torch
"""

import pathlib
import sys

from benchmarks import cells, flags, harness, peers, plots, tables, workloads
from benchmarks.results import Results

# Workload, units, batch, mode.
TABLE = [
    *(("tree_lstm", units, 64, "training") for units in (64, 256, 512)),
    *(("tree_fc", units, 64, "training") for units in (256, 512)),
    *(("var_lstm", units, 64, "training") for units in (256, 512)),
    *(("fixed_lstm", units, 64, "training") for units in (256, 512)),
    *(("tree_lstm", units, 1, "training") for units in (64, 256, 512)),
    *(("tree_lstm", 256, batch, "inference") for batch in (1, 64)),
]


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    unasked = () if arguments.ceiling else ("ceiling",)
    systems = arguments.systems or [name for name in peers.names() if name not in unasked]
    try:
        harness.refuse_debug_build()
        results = Results(arguments.json, arguments)
        records = results.measure(
            [(cell, _contenders(arguments, systems)) for cell in _cells(arguments)],
            cells.Effort(arguments.repeats, arguments.seconds),
        )
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print()
    title = "trees or sequences per second (share of the floor)"
    tables.Table(title, systems, tables.by_cell(records)).print()
    tables.print_errors(records)
    if arguments.png or arguments.json:
        beside = pathlib.Path(arguments.json or "").with_suffix(".png")
        plots.bars(records, pathlib.Path(arguments.png or beside))
    return 0


def _parser():
    parser = flags.parser(__doc__.partition("\n")[0])
    flags.add_measuring(parser)
    parser.set_defaults(repeats=cells.Effort.repeats, seconds=cells.Effort.seconds)
    flags.add_cell(parser, None, "one cell; none: the table")
    parser.add_argument("--mode", choices=cells.MODES, default="training", help="of one cell")
    parser.add_argument("--json", help="file for the results; what it holds is not measured again")
    parser.add_argument("--png", help="file for the picture; none: beside --json")
    flags.add_ceiling(parser)
    return parser


def _cells(arguments) -> list[cells.Cell]:
    chosen = TABLE
    if arguments.workload:
        chosen = [(arguments.workload, arguments.units, arguments.batch, arguments.mode)]
    data = flags.data(arguments) | {"leaves": arguments.leaves}
    return [
        cells.Cell(
            workload,
            workloads.Settings(units=units, batch=batch, **data),
            arguments.threads,
            mode,
        )
        for workload, units, batch, mode in chosen
    ]


def _contenders(arguments, systems) -> list[cells.Contender]:
    options = {"ceiling": {"command": arguments.ceiling}}
    return [cells.Contender(name, name, options.get(name, {})) for name in systems]


if __name__ == "__main__":
    sys.exit(main())
