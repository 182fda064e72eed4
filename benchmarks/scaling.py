"""Time against the size of minibatches, of graphs, and of the hidden state.

    python -m benchmarks.scaling --systems=cavs,torch_by_hand --json=scaling.json

Graphs grow on Tree-FC; minibatches and the hidden state on the workload of --workload.
"""

import sys

from benchmarks import flags, harness, plots, tables, workloads
from benchmarks.cells import MODES, Cell, Contender
from benchmarks.results import Results

BATCHES = "1,4,16,64,256"
LEAVES = "32,64,128,256,512,1024"
UNITS = "64,128,256,512,1024"


def main(argv=None) -> int:
    """The program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    axes = _axes(arguments)
    cells = list(dict.fromkeys(cell for axis in axes.values() for cell in axis.values()))
    contenders = [Contender(name, name) for name in arguments.systems]
    try:
        harness.refuse_debug_build()
        results = Results(arguments.json, arguments)
        records = results.measure(cells, lambda cell: contenders, flags.effort(arguments))
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    groups = []
    for (title, axis), by_size in axes.items():
        print(f"\n{title}")
        tables.print_table(axis, _rows(records, by_size), arguments.systems)
        groups.append((title, axis, _lines(records, by_size, arguments.systems)))
    tables.print_errors(records)
    if path := plots.picture_path(arguments):
        plots.curves(groups, path)
    return 0


def _axes(arguments) -> dict:
    """{(title, axis): {size: cell}}."""
    name, units, batch = arguments.workload, arguments.at_units, arguments.at_batch

    def cell(workload, **sizes):
        sizes = {"units": units, "batch": batch} | sizes
        settings = flags.settings(arguments, **sizes)
        return Cell(workload, settings, arguments.threads, arguments.mode)

    return {
        (f"{name}, h={units}: time of a minibatch (share of the floor)", "batch"): {
            size: cell(name, batch=size) for size in arguments.batches
        },
        (
            f"tree_fc, h={units}, batch {batch}: time of a minibatch (share of the floor)",
            "leaves",
        ): {size: cell("tree_fc", leaves=size) for size in arguments.leaves},
        (f"{name}, batch {batch}: time of a minibatch (share of the floor)", "units"): {
            size: cell(name, units=size) for size in arguments.units
        },
    }


def _rows(records, by_size) -> dict:
    return {
        str(size): {r.system: tables.time(r) for r in records if r.cell == cell.key()}
        for size, cell in by_size.items()
    }


def _lines(records, by_size, systems) -> dict:
    sizes = {cell.key(): size for size, cell in by_size.items()}
    lines: dict = {name: [] for name in systems}
    for record in records:
        if record.cell in sizes and record.per_second is not None:
            lines[record.system].append(
                (sizes[record.cell], 1e3 * record.batch / record.per_second)
            )
    return {name: points for name, points in lines.items() if points}


def _parser():
    parser = flags.parser(__doc__.partition("\n")[0])
    flags.add_systems(parser, "cavs,torch,torch_by_hand")
    parser.add_argument("--workload", choices=workloads.names(), default="tree_lstm", help="see -h")
    parser.add_argument("--mode", choices=MODES, default="training", help="of all cells")
    parser.add_argument("--batches", type=flags.integers, default=BATCHES, help="sizes to try")
    parser.add_argument(
        "--leaves", type=flags.numbers_of_leaves, default=LEAVES, help="sizes to try"
    )
    parser.add_argument("--units", type=flags.integers, default=UNITS, help="sizes to try")
    parser.add_argument("--at-batch", type=flags.positive, default=64, help="on the other axes")
    parser.add_argument("--at-units", type=flags.positive, default=256, help="on the other axes")
    return parser


if __name__ == "__main__":
    sys.exit(main())
