"""Measures the tables of README.md and docs, and writes them there.

    python -m benchmarks.pages --sst=<folder> --ceiling=<program> --folder=build/pages
    python -m benchmarks.pages --sst=<folder> --only=programs,phases

Ours are cells as the README and the Keras layers write them. A table begins and ends with a comment
in its pages, and is written there as soon as it is measured. One that lacks what it needs is
left alone. The folder keeps what is measured of cells, so that an interrupted run goes on.
"""

import importlib.util
import pathlib
import sys
import types
from importlib.metadata import version

from benchmarks import flags, harness, machine, programs
from benchmarks.page_tables import TABLES
from benchmarks.workers import ROOT

# The beginning of the comment before a table, and the comment after it.
BEGIN, END = "<!-- measured by benchmarks.pages: ", "<!-- end of what was measured -->"
_NO_TORCH = "torch: not installed. pip install torch"
# What a table may need, with a function that says what is missing, or nothing.
NEEDS = types.MappingProxyType(
    {
        "sst": lambda arguments: "" if arguments.sst else "no --sst=<folder>",
        "ceiling": lambda arguments: "" if arguments.ceiling else "no --ceiling=<program>",
        "torch": lambda _: "" if importlib.util.find_spec("torch") else _NO_TORCH,
    }
)


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    chosen = [TABLES[name] for name in arguments.only]
    try:
        harness.refuse_debug_build()
        for table in chosen:
            for page in table.pages:
                _parts(arguments.root / page, table.name)
        for table in chosen:
            if missing := [text for need in table.needs if (text := NEEDS[need](arguments))]:
                print(f"{table.name}: left as it is: {', '.join(missing)}")
                continue
            print(f"{table.name}:")
            for page, found in table.measure(arguments).items():
                _write(arguments.root / page, table.name, found, _about(table, arguments))
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def _parser():
    parser = flags.parser(__doc__.partition("\n")[0])
    flags.add_effort(parser)
    parser.set_defaults(repeats=5, seconds=0.4)
    programs.add_flags(parser)
    flags.add_ceiling(parser)
    parser.add_argument(
        "--only", type=flags.choices(list(TABLES)), default=",".join(TABLES), help="which tables"
    )
    parser.add_argument("--folder", help="for results; what it holds is not measured again")
    parser.add_argument("--root", type=pathlib.Path, default=ROOT, help="where the pages are")
    return parser


def _about(table, arguments) -> str:
    """A sentence on the command, the machine and the versions."""
    given = {"sst": " --sst=<folder>", "ceiling": " --ceiling=<program>"}
    needed = "".join(given.get(need, "") for need in table.needs)
    threads = f"{arguments.threads} thread{'s' if arguments.threads > 1 else ''}"
    libraries = ("tensorflow", "torch") if "torch" in table.needs else ("tensorflow",)
    versions = ", ".join(f"{name} {version(name)}" for name in libraries)
    command = (
        f"python -m benchmarks.pages --only={table.name} --threads={arguments.threads}{needed}"
    )
    return (
        f"`{command}` on an {machine.describe()['cpu']}, {threads}; {versions}; "
        f"{table.note.format(**vars(arguments))}."
    )


def _write(page: pathlib.Path, name: str, table, about: str) -> None:
    """Replaces what is between the comments of a page."""
    before, after = _parts(page, name)
    page.write_text(f"{before}\n\n{table.markdown()}\n\n{about}\n\n{after}")


def _parts(page: pathlib.Path, name: str) -> tuple[str, str]:
    """What stands around a table in a page, with the comments."""
    begin = f"{BEGIN}{name} -->"
    before, found, rest = page.read_text().partition(begin)
    old, end, after = rest.partition(END)
    if not found or not end or BEGIN in old:
        raise ValueError(
            f"{page}: found no {END if found else begin} but expected the comments around "
            f"the table {name!r}. Write both where it belongs."
        )
    return before + begin, END + after


if __name__ == "__main__":
    sys.exit(main())
