"""Regenerates all results of the paper, and writes a report.

    python -m benchmarks.compare --folder=build/compare/mine          # the reduced grid
    python -m benchmarks.compare --folder=build/compare/all --full    # the paper's sizes; hours
    python -m benchmarks.compare --figures=figure8,table1 --systems=cavs,fold

A cell that several figures show is measured once. What the folder holds is not measured again.
"""

import pathlib
import sys

from benchmarks import figures, flags, harness, report
from benchmarks.figures import _program


def main(argv=None) -> int:
    """The program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    folder = pathlib.Path(arguments.folder)
    chosen = [figures.make(name) for name in arguments.figures]
    try:
        request = _program.request(arguments)
        harness.refuse_debug_build()
        plans = {figure: figure.plan(request) for figure in chosen}
        plan = merged([entry for plan in plans.values() for entry in plan])
        results = _program.measure(arguments, request, plan, str(folder / "records.json"))
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    for figure, own in plans.items():
        rows = figure.rows(_program.known(results, own))
        _program.show(figure, rows)
        _program.write(folder / f"{figure.name}.json", rows)
        figure.draw(rows, folder / f"{figure.name}.png")
    print(f"wrote {report.write(folder, folder / 'report.html')}")
    return 0


def merged(plan: list) -> list:
    """A plan in which every cell with a system occurs once.

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


def _parser():
    parser = _program.parser(__doc__.partition("\n")[0])
    parser.add_argument("--folder", default="build/compare", help="for all that is written")
    parser.add_argument(
        "--figures",
        type=lambda text: flags.choices(text, figures.names()),
        default=",".join(figures.names()),
        help="which",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
