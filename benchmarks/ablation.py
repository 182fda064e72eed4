"""What each optimisation gains: the paper's Figure 10, and optimisations beyond the paper.

    python -m benchmarks.ablation --units=256,512 --json=ablation.json

Each optimisation is switched on alone, over a baseline without any of them; then all of them; and
what the default is, which has one stream and no micro-batches. Gates are written one by one, as
in the paper's Figure 4, so that there is something to merge.

Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 5.3.
"""

import ast
import sys

from benchmarks import flags, harness, plots, tables, workloads
from benchmarks.cells import Cell, Contender
from benchmarks.results import Results
from benchmarks.workers import ROOT

# Name: (fields of cavs_tf.Options that switch it off, and on).
OPTIMISATIONS = {
    "fusion": ({"fuse": False}, {"fuse": True}),
    "lazy batching": ({"lazy": False}, {"lazy": True}),
    "streaming": ({"streams": 1}, {"streams": 2}),
    "eager batching": ({"eager": False}, {"eager": True}),
    "merging": ({"merge": False}, {"merge": True}),
    "micro-batches": ({"micro_batch": None}, {"micro_batch": 16}),
}
BASELINE = "none"
ALL = "all"
# What a user gets who chooses nothing.
DEFAULT = "default"
# What the peer `cavs_gates` runs; of others there is the form that `cavs` does.
WRITTEN_BY_GATE = ("fixed_lstm", "tree_lstm", "var_lstm")
NAMES = (BASELINE, *OPTIMISATIONS, ALL, DEFAULT)


def main(argv=None) -> int:
    """The program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    try:
        harness.refuse_debug_build()
        fields = option_fields()
        results = Results(arguments.json, arguments)
        records = results.measure(
            _cells(arguments),
            lambda cell: contenders(fields, cell.workload),
            flags.effort(arguments),
        )
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print()
    title = "times as fast as without any"
    tables.print_table(title, speedups(records), list(NAMES))
    tables.print_errors(records)
    if path := plots.picture_path(arguments):
        plots.grouped_bars(speedup_bars(records), path, title)
    return 0


def option_fields() -> set[str]:
    """The switches that this version of the engine has."""
    # Read, not imported: the package would bring TensorFlow into this process.
    source = ast.parse((ROOT / "cavs_tf/options.py").read_text())
    (options,) = (n for n in source.body if isinstance(n, ast.ClassDef) and n.name == "Options")
    return {n.target.id for n in options.body if isinstance(n, ast.AnnAssign)}


def contenders(fields: set[str], workload: str) -> list[Contender]:
    """The baseline, every optimisation alone, all of them, and the default.

    One that the engine does not have is asked for all the same, so that it is reported.
    """
    peer = "cavs_gates" if workload in WRITTEN_BY_GATE else "cavs"
    off = _merged(switch for switch, _ in OPTIMISATIONS.values())
    baseline = {name: value for name, value in off.items() if name in fields}
    alone = [
        Contender(f"cavs: {name}", peer, baseline | on) for name, (_, on) in OPTIMISATIONS.items()
    ]
    every = _merged(on for _, on in OPTIMISATIONS.values())
    every = {name: value for name, value in every.items() if name in fields}
    return [
        Contender(f"cavs: {BASELINE}", peer, baseline),
        *alone,
        Contender(f"cavs: {ALL}", peer, every),
        Contender(f"cavs: {DEFAULT}", peer, {}),
    ]


def speedups(records) -> dict:
    """Rows for `tables.print_table`."""
    return {
        cell: {
            name: "not available" if ratio is None else f"{ratio:.2f}"
            for name, ratio in ratios.items()
        }
        for cell, ratios in _ratios(records).items()
    }


def speedup_bars(records) -> dict:
    """{cell: {optimisation: times as fast}} of what is available."""
    return {
        cell: {name: ratio for name, ratio in ratios.items() if ratio is not None}
        for cell, ratios in _ratios(records).items()
    }


def _ratios(records) -> dict:
    rows: dict = {}
    for record in records:
        name = record.system.partition(": ")[2]
        rows.setdefault(tables.cell_name(record), {})[name] = record.per_second
    for rates in rows.values():
        baseline = rates.get(BASELINE)
        for name, rate in rates.items():
            rates[name] = rate / baseline if rate and baseline else None
    return rows


def _merged(switches) -> dict:
    return {name: value for switch in switches for name, value in switch.items()}


def _parser():
    parser = flags.parser(__doc__.partition("\n")[0])
    parser.add_argument(
        "--workloads",
        type=lambda text: flags.choices(text, workloads.names()),
        default="fixed_lstm,tree_lstm",
        help="the paper's two, or others",
    )
    parser.add_argument("--units", type=flags.integers, default="256,512", help="values of h")
    parser.add_argument("--batch", type=flags.positive, default=64, help="graphs in a minibatch")
    return parser


def _cells(arguments) -> list[Cell]:
    return [
        Cell(
            workload,
            flags.settings(arguments, units=units, batch=arguments.batch),
            arguments.threads,
        )
        for workload in arguments.workloads
        for units in arguments.units
    ]


if __name__ == "__main__":
    sys.exit(main())
