"""Calls the C++ ops with what no model passes them: `python -m tests.fuzz.raw_ops --calls=10000`.

Calls run in child processes, so that the death of one is seen, and named by its seed:

    python -m tests.fuzz.raw_ops --calls=1 --seed=1234

runs that one again. A death may be due to an earlier call of the same child, which the report
names too: its seeds are all from `first` on.
"""

import argparse
import collections
import dataclasses
import mmap
import os
import pathlib
import resource
import signal
import struct
import sys
import tempfile
import time

from tests.helpers import processes

BATCH = 20_000  # The number of calls that one child makes.
SECONDS = 120  # The time for one call, after which a child is said to hang.
SECONDS_OF_START = 900  # The time in which a child starts on a busy machine.
# The bytes of a child. They end the writing of huge tensors, which would take minutes.
ADDRESS_SPACE = 5 << 30
_UNSET = -1


@dataclasses.dataclass
class Report:
    """The outcomes of some calls.

    Attributes:
      counts: The number of calls by "kind: outcome".
      faults: A line for each child that ended early and each error that no op may raise.
    """

    counts: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    faults: list = dataclasses.field(default_factory=list)

    @property
    def calls(self) -> int:
        return sum(self.counts.values())


def run(calls, seed, kind="", batch=BATCH, on_progress=lambda report: None) -> Report:
    """Runs `calls` calls with the seeds from `seed` on, of one kind only if it is given."""
    report = Report()
    first, end = seed, seed + calls
    while first < end:
        first = _run_child(first, min(first + batch, end), kind, report)
        on_progress(report)
    return report


def _run_child(first: int, end: int, kind: str, report: Report) -> int:
    """Runs calls in one child until all are done or it ends; returns the seed to continue with."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        place = folder / "place"
        place.write_bytes(struct.pack("q", _UNSET))
        code = _wait(processes.start(_child, (first, end - first, kind, place), folder), place)
        last = _seed_in(place.read_bytes())
        text = (folder / "error.txt").read_text(errors="replace")
        printed = (folder / "printed.txt").read_text()
    for line in printed.splitlines():
        what, _, rest = line.partition("\t")
        if what == "fault":
            report.faults.append(rest)
        elif what == "count":
            label, _, number = rest.rpartition("\t")
            report.counts[label] += int(number)
    if code == 0:
        return end
    how = signal.Signals(-code).name if code < 0 else f"exit status {code}"
    tail = " | ".join(text.strip().splitlines()[-3:])
    report.faults.append(f"seed {last}: the process died of {how}; first {first}; {tail}")
    if last == _UNSET:  # The child ended before its first call.
        return end
    report.counts["in a child that died"] += last + 1 - first
    return last + 1


def _seed_in(data: bytes) -> int:
    return struct.unpack("q", data)[0]


def _wait(child, place) -> int:
    """Waits for the child and returns its exit status; kills it if one call takes too long."""
    seen, since = None, time.monotonic()
    while child.exitcode is None:
        child.join(timeout=1)
        now = place.read_bytes()
        if now != seen:
            seen, since = now, time.monotonic()
        elif time.monotonic() - since > (SECONDS_OF_START if _seed_in(now) == _UNSET else SECONDS):
            child.kill()
            child.join()
    return child.exitcode


def _child(first: int, calls: int, kind: str, place: pathlib.Path) -> None:
    os.dup2(sys.stderr.fileno(), 2)  # What is said in C++ is kept, too.
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
    limit = resource.getrlimit(resource.RLIMIT_AS)[1]
    # AddressSanitizer reserves far more memory than it uses.
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, limit))
    from tensorflow.python.eager import context

    from tests.fuzz.raw_calls import Calls

    drawn, counts = Calls(), collections.Counter()
    with open(place, "r+b") as file, mmap.mmap(file.fileno(), 8) as progress:
        for seed in range(first, first + calls):
            progress[:] = struct.pack("q", seed)
            try:
                counts[drawn.run(seed, kind)] += 1
            except Exception as error:
                counts["fault"] += 1
                text = " ".join(f"{type(error).__name__}: {error}".split())[:500]
                print(f"fault\tseed {seed}: {text}", flush=True)
            if seed % 2000 == 0:
                context.context().clear_kernel_cache()
    for label, number in counts.items():
        print(f"count\t{label}\t{number}")


def main(argv=None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", default="", help="of all calls: file, forward, function, ...")
    parser.add_argument("--batch", type=int, default=BATCH)
    arguments = parser.parse_args(argv)
    started, shown = time.monotonic(), 0

    def show(report):
        nonlocal shown
        for fault in report.faults[shown:]:
            print(fault, flush=True)
        shown = len(report.faults)
        rate = report.calls / (time.monotonic() - started)
        print(f"{report.calls} calls, {shown} faults, {rate:.0f} calls/s", flush=True)

    report = run(arguments.calls, arguments.seed, arguments.kind, arguments.batch, show)
    for label, number in sorted(report.counts.items()):
        print(f"{number:9} {label}")
    return 1 if report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
