"""Measures systems against each other. The rules of fairness are in README.md."""

import dataclasses
import json
import statistics
import time

from benchmarks import workloads
from benchmarks.checks import Checker
from benchmarks.machine import Peak, Watch
from benchmarks.records import Record
from benchmarks.workers import ROOT, Worker, WorkerFailed

MODES = ("training", "inference")
_SETUP_SECONDS = 600
_STEPS_TO_COMPARE = 3
_WARM_UP_SECONDS = 60
# Long enough for the threads of the system before to have come to rest.
_PAUSE_SECONDS = 0.02


@dataclasses.dataclass(frozen=True)
class Contender:
    """A system, perhaps with options, under the name that its record gets."""

    system: str
    peer: str
    options: dict = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Cell:
    """One comparison: a workload, its sizes, and how it is run.

    `profiled`: operators are timed too, after the turns.
    """

    workload: str
    settings: workloads.Settings
    threads: int
    mode: str = "training"
    profiled: bool = False

    @property
    def label(self) -> str:
        """The workload's name, with its leaves if they are not the usual 256."""
        if self.workload == "tree_fc" and self.settings.leaves != 256:
            return f"tree_fc_{self.settings.leaves}"
        return self.workload

    def key(self) -> tuple:
        """As `Record.cell`."""
        return self.label, self.settings.units, self.settings.batch, self.threads, self.mode

    def __str__(self):
        sizes = f"units {self.settings.units}, batch {self.settings.batch}"
        return f"{self.label}, {sizes}, {self.threads} threads, {self.mode}"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to measure: so many turns of so many seconds for every system."""

    repeats: int = 5
    seconds: float = 1.0


def refuse_debug_build() -> None:
    """Raises RuntimeError if this checkout's library was built for debugging."""
    info = ROOT / "cavs_tf/_build_info.json"
    if not info.exists():
        return  # Then cavs is shown as failed, with the command that builds it.
    build = json.loads(info.read_text())["build"]
    if build != "release":
        raise RuntimeError(
            f"cavs_tf: got a {build} build but expected a release build, as its times mean "
            "nothing. Run `make clean build`."
        )


def measure(
    cell: Cell, contenders: list[Contender], effort: Effort, say=print, start=Worker
) -> list[Record]:
    """Compares systems in one cell.

    Args:
      cell: What is run.
      contenders: By whom.
      effort: For how long.
      say: Told of progress, line by line.
      start: Makes a worker, of the number of threads; one for each contender, in their order.

    Returns:
      A record for each contender, of those that failed too.
    """
    say(f"  setting up {', '.join(contender.system for contender in contenders)}")
    workload = workloads.make(cell.workload, cell.settings)
    entries = [_Entry(cell, contender, start(cell.threads)) for contender in contenders]
    try:
        _set_up(entries, workload)
        peaks, watch = _take_turns(entries, Peak(cell.threads), effort, say)
        for entry in entries:
            entry.finish(cell.profiled)
    finally:
        for entry in entries:
            entry.worker.close()
    floor = _floor(workload, cell.mode, peaks)
    for entry in entries:
        entry.compute(floor, watch.busy_share)
        say(f"  {entry.summary(workload.unit)}")
    if peaks:
        say(f"  peak of {cell.threads} threads: {min(peaks):.0f} to {max(peaks):.0f} GFLOP/s")
    if warning := watch.report():
        say(f"  {warning}")
    return [entry.record for entry in entries]


class _Entry:
    """A system during the measurement of a cell."""

    def __init__(self, cell: Cell, contender: Contender, worker: Worker):
        self.contender = contender
        self.worker = worker
        self.rates: list[float] = []
        self.construct = None, False
        self.record = Record(
            contender.system,
            None,
            cell.label,
            cell.settings.units,
            cell.settings.batch,
            cell.threads,
            cell.mode,
        )
        self.send(
            "prepare",
            peer=contender.peer,
            workload=cell.workload,
            settings=cell.settings,
            threads=cell.threads,
            options=contender.options,
            mode=cell.mode,
        )

    @property
    def failed(self) -> bool:
        return self.record.error is not None

    def fail(self, error: str) -> None:
        """From now on it takes no part."""
        self.record.error = error
        self.worker.close()

    def send(self, verb: str, **arguments) -> None:
        """`receive` the answer later."""
        self._try(self.worker.send, verb, **arguments)

    def receive(self, verb: str, timeout: float = _SETUP_SECONDS):
        """The answer to what was sent, or None."""
        return self._try(self.worker.receive, verb, timeout)

    def call(self, verb: str, timeout: float, **arguments):
        """The answer of the worker, or None."""
        return self._try(self.worker.call, verb, timeout, **arguments)

    def check(self, checker: Checker) -> None:
        """Compares the first steps that it was told to do."""
        first = self.receive("first_steps")
        self.worker.stop()
        if first is None:
            return
        losses, gradients, slack = first
        self.record.losses = losses
        if losses is None:
            return
        if complaint := checker.complaint(self.contender.system, losses, gradients, slack):
            self.fail(complaint)

    def turn(self, seconds: float) -> float | None:
        """Runs for a while, alone; returns graphs per second."""
        rate = self.call("run", _SETUP_SECONDS + 10 * seconds, seconds=seconds)
        self.worker.stop()
        return rate

    def finish(self, profiled: bool) -> None:
        """Asks what is known in the end."""
        self.record.peak_bytes = self.call("peak_bytes", 60)
        self.construct = self.call("construct_seconds", 60) or self.construct
        if profiled:
            self.record.memory_share = self.call("memory_share", _SETUP_SECONDS)
        self.worker.stop()

    def compute(self, floor: float | None, busy_share: float) -> None:
        """Fills the record."""
        if self.failed or not self.rates:
            return
        record = self.record
        record.per_second = statistics.median(self.rates)
        record.spread = _interquartile_range(self.rates) / record.per_second
        record.share_of_floor = record.per_second / floor if floor else None
        record.busy_share = round(busy_share, 3)
        construct, in_step = self.construct
        record.construct_seconds = construct
        if construct is not None:
            step = 1 / record.per_second
            record.construct_share = construct / (step if in_step else step + construct)

    def summary(self, unit: str) -> str:
        """One line for the terminal."""
        record = self.record
        if self.failed:
            return f"{record.system:16} failed: {record.error}"
        share = "" if record.share_of_floor is None else f", {record.share_of_floor:.0%} of floor"
        rate = f"{record.per_second:12,.1f} {unit}/s"
        return f"{record.system:16}{rate} (spread {record.spread:.0%}{share})"

    def _try(self, function, *arguments, **keywords):
        if self.failed:
            return None
        try:
            return function(*arguments, **keywords)
        except WorkerFailed as error:
            self.fail(str(error))
            return None


def _set_up(entries: list[_Entry], workload) -> None:
    """Sets all systems up at the same time, and compares their first steps one by one.

    Those have threads, which would only wait for each other if many ran at once.
    """
    for entry in entries:
        entry.record.version = entry.receive("prepare")
        entry.worker.stop()
    checker = Checker(workload, entries[0].record.mode)
    for entry in entries:
        entry.send("first_steps", count=_STEPS_TO_COMPARE)
        entry.check(checker)


def _take_turns(entries: list[_Entry], peak: Peak, effort: Effort, say):
    """Every repetition has a turn of each system, in an order that rotates."""
    if peak.problem:
        say(f"  {peak.problem}")
    peaks, watch = [], Watch()
    running = [entry for entry in entries if not entry.failed]
    for entry in running:
        entry.call("warm_up", _SETUP_SECONDS, seconds=_WARM_UP_SECONDS)
        entry.worker.stop()
    for repetition in range(effort.repeats):
        peaks += [p for p in [peak.measure()] if p is not None]
        shift = repetition % max(1, len(running))
        for entry in running[shift:] + running[:shift]:
            if entry.failed:
                continue
            time.sleep(_PAUSE_SECONDS)
            with watch.over(entry.worker):
                rate = entry.turn(effort.seconds)
            if rate is not None:
                entry.rates.append(rate)
    return peaks, watch


def _floor(workload, mode: str, peaks: list[float]) -> float | None:
    """Graphs per second if matrix products ran at the peak and nothing else took time."""
    if not peaks:
        return None
    flops = sum(workload.flops(minibatch, mode) for minibatch in workload.minibatches)
    return max(peaks) * 1e9 * workload.settings.num_examples / flops


def _interquartile_range(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return high - low
