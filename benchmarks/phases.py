"""Where the time of a training step goes: CPU time of all threads, phase by phase.

    python -m benchmarks.phases --workload=tree_lstm --units=256 --batch=64 --sst=<folder>

By TensorFlow's profiler, whose events take time too, so small operators look larger than they are.
Setting up is the time of our ops outside of their programs, from a second profile without the
events of the operators inside.
"""

import argparse
import collections
import itertools
import re
import statistics
import sys
import time

from benchmarks import flags, harness, tables, workloads

OPS = "Cavs(Forward|Backward)$"
# An operator belongs to the first phase whose pattern matches the beginning of "<kind> <name>".
PHASES = {
    "products, forward and of gradients": "cavs MatMul",
    "weight gradients": "cavs weight gradient",
    "elementwise groups": "cavs group of",
    "gather, scatter, pull, push": "cavs (gather|scatter|pull|push)",
    "packing weights": "cavs pack weights",
    "other operators in our ops": r"cavs (?!(prologue|eager|lazy|epilogue|task \d+): )",
    "sharing out tasks, waiting": "cavs ",
    "setting up our ops": f"tensorflow {OPS}",
    "embedding": "tensorflow (CavsLookUp|Resource(Gather|Scatter))",
    "schedules and minibatches": (
        "tensorflow (CavsSchedule|Ragged|Iterator|Gather|BooleanMask|Where)"
    ),
    "loss and optimizer": "tensorflow (?!_?(Arg|Retval|Const|NoOp|Partitioned|Stateful))",
}
WARM = 10


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = _parser().parse_args(argv)
    sizes = {name: getattr(arguments, name) for name in ("units", "batch", "leaves")}
    settings = workloads.Settings(**flags.data(arguments), **sizes)
    try:
        harness.refuse_debug_build()
        milliseconds, rows = run(arguments.workload, settings, arguments.threads, arguments.steps)
    except (RuntimeError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    title = f"{arguments.workload} h={arguments.units} batch {arguments.batch}"
    print(f"{title}: {milliseconds:.2f} ms a step (median, without the profiler)\n")
    tables.Table("phase", ["ms", "share", "events", "rate"], rows).print()
    return 0


def run(name: str, settings, threads: int, steps: int) -> tuple[float, dict[str, dict[str, str]]]:
    """(ms of a step, the rows of `table`) of a workload."""
    workload = workloads.make(name, settings)
    milliseconds, timed = measure(workload, threads, steps)
    return milliseconds, table(timed, steps, workload)


def measure(workload, threads: int, steps: int) -> tuple[float, list]:
    """(ms of a step, the operators in the profile of `steps` steps)."""
    from benchmarks.peers import cavs

    peer, numbers = cavs.Peer(workload, threads), itertools.count()

    def some_steps():
        return [_seconds(peer, number) for number in itertools.islice(numbers, steps)]

    for number in itertools.islice(numbers, WARM):
        peer.train(number)
    seconds = some_steps()
    timed = [own for own in peer.timed_operators(some_steps) if not _is_op(own)]
    timed += filter(_is_op, peer.timed_operators(some_steps, outline=True))
    return 1e3 * statistics.median(seconds), timed


def _seconds(peer, number: int) -> float:
    start = time.perf_counter()
    peer.train(number)
    return time.perf_counter() - start


def _is_op(timed: tuple) -> bool:
    return re.match(OPS, timed[1]) is not None


def table(timed: list, steps: int, workload) -> dict[str, dict[str, str]]:
    """The rows of a `tables.Table`.

    Args:
      timed: (kind, name, seconds) of operators in all steps, without the operators they call.
      steps: The number of steps.
      workload: What the steps trained, on consecutive minibatches.
    """
    seconds, events = collections.Counter(), collections.Counter()
    for kind, name, own in timed:
        found = next((p for p, at in PHASES.items() if re.match(at, f"{kind} {name}")), None)
        if found is not None:
            seconds[found] += own
            events[found] += 1
    total = sum(seconds.values())
    rates = _rates(seconds, steps, workload)
    rows = {
        phase: {
            "ms": f"{1e3 * seconds[phase] / steps:.3f}",
            "share": f"{seconds[phase] / total:.0%}",
            "events": f"{events[phase] / steps:.0f}",
            "rate": rates.get(phase, ""),
        }
        for phase in PHASES
        if events[phase]
    }
    return rows | {"in all": {"ms": f"{1e3 * total / steps:.3f}"}}


def _rates(seconds, steps, workload):
    batches = workload.minibatches
    run = [batches[(WARM + steps + i) % len(batches)] for i in range(steps)]
    flops = sum(workload.flops(batch, "training") for batch in run) / 3
    elements = workload.units * sum(batch.num_vertices for batch in run)
    rates = {}
    for phase, passes in (("products, forward and of gradients", 2), ("weight gradients", 1)):
        if seconds[phase]:
            rates[phase] = f"{passes * flops / seconds[phase] / 1e9:.0f} GFLOP/s a thread"
    groups = seconds["elementwise groups"]
    rates["elementwise groups"] = f"{1e9 * groups / elements:.1f} ns a hidden unit and vertex"
    return rates


def _parser() -> argparse.ArgumentParser:
    parser = flags.parser(__doc__.partition("\n")[0])
    flags.add_cell(parser, "tree_lstm", "of the steps")
    parser.add_argument("--steps", type=flags.integer(1), default=20, help="to profile")
    return parser


if __name__ == "__main__":
    sys.exit(main())
