"""Compares this project with others, in one cell or in a table of them.

python -m benchmarks.run                                       # the table
python -m benchmarks.run --workload=tree_lstm --units=256 --batch=64 --systems=cavs,torch
"""

import sys

from benchmarks import flags, harness, peers, plots, tables, workloads
from benchmarks.cells import MODES, Cell, Contender
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
    """The program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    if arguments.systems is None:
        unasked = set() if arguments.ceiling else {"ceiling"}
        arguments.systems = [name for name in peers.names() if name not in unasked]
    try:
        harness.refuse_debug_build()
        results = Results(arguments.json, arguments)
        records = results.measure(
            _cells(arguments), lambda cell: _contenders(arguments), flags.effort(arguments)
        )
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print()
    unit = "trees or sequences per second (share of the floor)"
    tables.print_table(unit, tables.by_cell(records), arguments.systems)
    tables.print_errors(records)
    if path := plots.picture_path(arguments):
        plots.bars(records, path)
    return 0


def _parser():
    parser = flags.parser(__doc__.partition("\n")[0])
    flags.add_systems(parser, None)
    parser.add_argument("--workload", choices=workloads.names(), help="one cell; none: the table")
    parser.add_argument("--units", type=flags.positive, default=256, help="h, of one cell")
    parser.add_argument("--batch", type=flags.positive, default=64, help="of one cell")
    parser.add_argument("--mode", choices=MODES, default="training", help="of one cell")
    parser.add_argument("--leaves", type=flags.several, default=256, help="of tree_fc")
    parser.add_argument(
        "--ceiling",
        metavar="COMMAND",
        help="a program that prints '<number> trees/s', for tree_lstm; {units}, {batch}, "
        "{threads} and {inference} are filled in",
    )
    return parser


def _cells(arguments) -> list[Cell]:
    if arguments.workload:
        chosen = [(arguments.workload, arguments.units, arguments.batch, arguments.mode)]
    else:
        chosen = TABLE
    return [
        Cell(
            workload,
            flags.settings(arguments, units=units, batch=batch, leaves=arguments.leaves),
            arguments.threads,
            mode,
        )
        for workload, units, batch, mode in chosen
    ]


def _contenders(arguments) -> list[Contender]:
    options = {"ceiling": {"command": arguments.ceiling}}
    return [Contender(name, name, options.get(name, {})) for name in arguments.systems]


if __name__ == "__main__":
    sys.exit(main())
