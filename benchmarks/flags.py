"""The flags that the programs of this package share."""

import argparse
import math
import os

from benchmarks import peers, workloads
from benchmarks.cells import Effort


def parser(description: str) -> argparse.ArgumentParser:
    """A parser with the flags that say with what, how long and whereto to measure."""
    made = measuring_parser(description)
    made.add_argument("--json", help="file for the results; what it holds is not measured again")
    made.add_argument("--png", help="file for the picture; none: beside --json")
    return made


def measuring_parser(description: str) -> argparse.ArgumentParser:
    """A parser with the flags that say with what and how long to measure."""
    made = data_parser(description)
    made.add_argument("--repeats", type=positive, default=5, help="turns of every system")
    made.add_argument("--seconds", type=positive_seconds, default=1.0, help="of a turn, at least")
    made.add_argument("--optimizer", choices=["sgd"], default="sgd", help="the only one")
    return made


def data_parser(description: str) -> argparse.ArgumentParser:
    """A parser with the flags that say with what to measure."""
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    made.add_argument("--threads", type=threads, default=_cpus(), help="of every system")
    made.add_argument("--sst", type=treebank, help="folder of the Stanford Sentiment Treebank")
    made.add_argument("--seed", type=natural, default=0, help="of weights and generated data")
    made.add_argument("--minibatches", type=positive, help="how many different ones")
    return made


def add_systems(made: argparse.ArgumentParser, default: str | None) -> None:
    """Adds --systems."""
    names = ", ".join(peers.names())
    made.add_argument("--systems", type=systems, default=default, help=f"of {names}; none: all")


def effort(arguments) -> Effort:
    """How long to measure."""
    return Effort(arguments.repeats, arguments.seconds)


def settings(arguments, **sizes) -> workloads.Settings:
    """Of a cell with such sizes."""
    data = {name: getattr(arguments, name) for name in ("seed", "sst", "minibatches")}
    return workloads.Settings(**data, **sizes)


def positive(text: str) -> int:
    """An int of at least 1."""
    return _integer(text, 1)


def several(text: str) -> int:
    """An int of at least 2."""
    return _integer(text, 2)


def threads(text: str) -> int:
    """As many as there are CPUs for this process, or fewer."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if not 1 <= value <= _cpus():
        raise argparse.ArgumentTypeError(f"got {text!r} but expected an int in [1, {_cpus()}]")
    return value


def natural(text: str) -> int:
    """An int of at least 0."""
    return _integer(text, 0)


def positive_seconds(text: str) -> float:
    """A finite number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"got {text!r} but expected a number above 0")
    return value


def treebank(text: str) -> str:
    """A folder with train.txt in it."""
    if not os.path.isfile(os.path.join(text, "train.txt")):
        raise argparse.ArgumentTypeError(f"got {text!r} but expected a folder with train.txt in it")
    return os.path.abspath(text)


def systems(text: str) -> list[str]:
    """Names of peers, separated by commas."""
    return choices(text, peers.names())


def choices(text: str, allowed: list[str]) -> list[str]:
    """Some of the names, separated by commas."""
    names = text.split(",")
    for name in names:
        if name not in allowed or names.count(name) > 1:
            raise argparse.ArgumentTypeError(
                f"got {name!r} in {text!r} but expected each at most once of {', '.join(allowed)}"
            )
    return names


def integers(text: str) -> list[int]:
    """Positive ints, separated by commas."""
    return [positive(part) for part in text.split(",")]


def numbers_of_leaves(text: str) -> list[int]:
    """Ints of at least 2, separated by commas."""
    return [several(part) for part in text.split(",")]


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
