"""Whole programs: two of `python/examples`, and the same models in PyTorch.

    python -m benchmarks.programs --sst=<folder> --threads=2

PyTorch's programs (`torch_programs.py`) are ones that its users would write. `sentiment.py` is also
compared with the benchmark's steps of its size, which have neither dropout nor metrics nor Adam.
All take turns, in processes of their own; every turn has another seed. Of `sentiment.py` the
first epoch, which also compiles, does not count; `listops.py` tells the time of all.
"""

import collections
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

from benchmarks import cells, contest, flags, harness, tables, workloads
from benchmarks.crew import Crew
from benchmarks.workers import ROOT

UNITS, BATCH = 128, 25  # Those of sentiment.py.
TREES = {"sentiment": 8544, "listops": 40_000}  # For training.
STEPS = [cells.Contender("steps", "cavs"), cells.Contender("8 in a call", "cavs_loop")]
# The program whose epochs they are, and the title.
ROWS = {
    "sentiment": ("sentiment", "`sentiment.py`"),
    "sentiment in torch": ("sentiment", "`sentiment.py` in PyTorch"),
    "steps": ("sentiment", "the benchmark's steps"),
    "8 in a call": ("sentiment", "the same, 8 in a call"),
    "listops": ("listops", "`listops.py`"),
    "listops in torch": ("listops", "`listops.py` in PyTorch"),
}
COLUMNS = ["s an epoch", "trees/s", "accuracy", "our time"]


@dataclasses.dataclass(frozen=True)
class Turn:
    """What a program did in a turn: seconds of an epoch, and the accuracy after the last one."""

    seconds: float
    accuracy: float | None = None


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = flags.parser(__doc__.partition("\n")[0])
    add_flags(parser)
    arguments = parser.parse_args(argv)
    if not arguments.sst:
        print("--sst: expected the folder of the Stanford Sentiment Treebank", file=sys.stderr)
        return 2
    if not contest.installed("programs in PyTorch", "torch"):
        return 2
    try:
        harness.refuse_debug_build()
        measure(arguments).print()
    except (OSError, RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    return 0


def add_flags(parser) -> None:
    """Adds the flags on how long to measure."""
    parser.add_argument("--epochs", type=flags.integer(2), default=4, help="of each program's turn")
    parser.add_argument("--turns", type=flags.integer(1), default=3, help="of each program")


def measure(arguments, say=print) -> tables.Table:
    """Runs all programs in turns: medians of the times, means of the accuracies."""
    turns = collections.defaultdict(list)
    with Crew() as crew, tempfile.TemporaryDirectory() as folder:
        for number in range(arguments.turns):
            seed = arguments.seed + number
            for name, rate in _steps(arguments, crew).items():
                turns[name].append(Turn(TREES["sentiment"] / rate))
            for program in TREES:
                for name, run in ((program, _example), (f"{program} in torch", _in_torch)):
                    summary = pathlib.Path(folder, "summary.json")
                    run(program, arguments, [f"--seed={seed}", f"--json={summary}"])
                    turns[name].append(_turn(program, json.loads(summary.read_text())))
                    say(f"[{number + 1}/{arguments.turns}] {name}: {turns[name][-1]}")
    return table(turns)


def table(turns: dict[str, list[Turn]]) -> tables.Table:
    """What is written of the turns, by the keys of `ROWS`.

    "our time" is that of an epoch of the example as a multiple of the row's in the same turn.
    """
    rows = {}
    for name, (program, title) in ROWS.items():
        seconds = statistics.median(turn.seconds for turn in turns[name])
        rows[title] = {
            "s an epoch": f"{seconds:.2f}",
            "trees/s": f"{TREES[program] / seconds:,.0f}",
        }
        accuracies = [turn.accuracy for turn in turns[name] if turn.accuracy is not None]
        if accuracies:
            rows[title]["accuracy"] = f"{statistics.mean(accuracies):.1%}"
        if name != program:
            pairs = zip(turns[program], turns[name], strict=True)
            ratio = statistics.median(ours.seconds / other.seconds for ours, other in pairs)
            rows[title]["our time"] = f"{ratio:.2f} times"
    return tables.Table("program", COLUMNS, rows)


def _steps(arguments, crew) -> dict[str, float]:
    """Trees per second of the benchmark's steps."""
    settings = workloads.Settings(units=UNITS, batch=BATCH, **flags.data(arguments))
    cell = cells.Cell("tree_lstm", settings, arguments.threads)
    start = crew.starter([contender.peer for contender in STEPS])
    records = harness.measure(cell, STEPS, cells.Effort(), start=start)
    for record in records:
        if record.per_second is None:
            raise RuntimeError(f"{record.system}: {record.error}")
    return {record.system: record.per_second for record in records}


def _turn(program: str, summary: dict) -> Turn:
    """Of what a program wrote."""
    if program == "listops":
        return Turn(TREES[program] / summary["trees_per_second"], summary["accuracy"])
    seconds = statistics.median(summary["seconds_per_epoch"][1:])
    return Turn(seconds, summary["accuracy_per_epoch"][-1])


def _example(program: str, arguments, more: list[str]) -> None:
    path = ROOT / f"python/examples/{program}.py"
    own = {"sentiment": f"--data={arguments.sst}", "listops": "--picture="}[program]
    threads = str(arguments.threads)
    limits = {"TF_NUM_INTRAOP_THREADS": threads, "TF_NUM_INTEROP_THREADS": threads}
    command = [sys.executable, path, own, f"--epochs={arguments.epochs}", *more]
    _run(command, os.environ | limits)


def _in_torch(program: str, arguments, more: list[str]) -> None:
    passed = [f"--{name}={getattr(arguments, name)}" for name in ("sst", "threads", "epochs")]
    command = [sys.executable, "-m", "benchmarks.torch_programs", program, *passed, *more]
    _run(command, os.environ)


def _run(command: list, environment) -> None:
    done = subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=3600,
        check=False,
    )
    if done.returncode:
        named = " ".join(map(str, command))
        raise RuntimeError(f"{named}: got exit status {done.returncode}: {done.stderr[-300:]}")


if __name__ == "__main__":
    sys.exit(main())
