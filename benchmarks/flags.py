"""Flags that several programs of this package have."""

import argparse
import functools
import math
import os

from benchmarks import peers, workloads


def plain_parser(description: str) -> argparse.ArgumentParser:
    """A parser with the flags of all programs."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    made.add_argument("--threads", type=threads, default=_cpus(), help="of every system")
    made.add_argument("--seed", type=integer(0), default=0, help="of weights and generated data")
    return made


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with the flags of programs that run workloads."""
    made = plain_parser(description)
    made.add_argument("--sst", type=treebank, help="folder of the Stanford Sentiment Treebank")
    made.add_argument("--minibatches", type=integer(1), help="how many different ones")
    return made


def add_measuring(made: argparse.ArgumentParser) -> None:
    """Adds the flags on which systems to measure, and for how long."""
    names = ", ".join(peers.names())
    made.add_argument(
        "--systems", type=choices(peers.names()), help=f"of {names}; none: most of them"
    )
    add_effort(made)
    made.add_argument("--optimizer", choices=["sgd"], default="sgd", help="the only one")


def add_effort(made: argparse.ArgumentParser) -> None:
    """Adds the flags on how long to measure."""
    made.add_argument("--repeats", type=integer(1), help="turns of every system")
    made.add_argument("--seconds", type=positive_seconds, help="of a turn, at least")


def add_ceiling(made: argparse.ArgumentParser) -> None:
    """Adds the flag that names a program to compare with."""
    made.add_argument(
        "--ceiling",
        metavar="COMMAND",
        type=command_of_sizes,
        help="a program that prints '<number> trees/s', for tree_lstm; {units}, {batch}, "
        "{threads} and, if it is there, {inference} are filled in",
    )


def add_cell(made: argparse.ArgumentParser, workload: str | None, help: str) -> None:
    """Adds the flags that name one cell."""
    made.add_argument("--workload", choices=workloads.names(), default=workload, help=help)
    made.add_argument("--units", type=integer(1), default=256, help="h, of one cell")
    made.add_argument("--batch", type=integer(1), default=64, help="graphs, of one cell")
    made.add_argument("--leaves", type=integer(2), default=256, help="of tree_fc")


def data(arguments) -> dict:
    """The fields of `workloads.Settings` that are not sizes."""
    return {name: getattr(arguments, name) for name in ("seed", "sst", "minibatches")}


def integer(least: int):
    """A parser of integers that are at least `least`."""
    return functools.partial(_integer, least=least)


def integers(least: int):
    """A parser of such integers, separated by commas, to a tuple."""
    return lambda text: tuple(_integer(part, least) for part in text.split(","))


def threads(text: str) -> int:
    """A parser of numbers of threads, up to the number of CPUs for this process."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= _cpus():
        raise argparse.ArgumentTypeError(f"got {text!r} but expected an int in [1, {_cpus()}]")
    return value


def positive_seconds(text: str) -> float:
    """Parses a finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"got {text!r} but expected a number above 0")
    return value


def treebank(text: str) -> str:
    """Parses the path of a folder with train.txt in it."""
    if not os.path.isfile(os.path.join(text, "train.txt")):
        raise argparse.ArgumentTypeError(f"got {text!r} but expected a folder with train.txt in it")
    return os.path.abspath(text)


def command_of_sizes(text: str) -> str:
    """A command with the sizes of a cell to fill in; without them it would run another cell."""
    missing = [name for name in ("{units}", "{batch}", "{threads}") if name not in text]
    if missing:
        raise argparse.ArgumentTypeError(
            f"got {text!r} but expected a command with {', '.join(missing)} to fill in. Add each "
            "where the program takes it, as in '--h {units} --bs {batch} --threads {threads}'."
        )
    return text


def choices(allowed: list[str]):
    """A parser of some of the names, separated by commas."""

    def chosen(text):
        names = text.split(",")
        for name in names:
            if name not in allowed or names.count(name) > 1:
                raise argparse.ArgumentTypeError(
                    f"got {name!r} in {text!r} but expected each at most once of "
                    f"{', '.join(allowed)}"
                )
        return names

    return chosen


def _cpus() -> int:
    return len(os.sched_getaffinity(0))


def _integer(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"got {text!r} but expected an int of at least {least}")
    return value
