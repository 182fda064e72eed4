"""A system while a cell is measured: calls of its worker, and the record made from the answers."""

import statistics

from benchmarks.cells import Cell, Contender
from benchmarks.checks import Checker
from benchmarks.records import Record
from benchmarks.workers import Worker, WorkerFailed

SETUP_SECONDS = 600


class Entry:
    """A system while a cell is measured."""

    def __init__(self, cell: Cell, contender: Contender, worker: Worker):
        self.contender = contender
        self.worker = worker
        self.rates: list[float] = []
        self.peaks: list[list[float | None]] = []  # GFLOP/s before and after each turn.
        self.construct = None, False
        self.record = Record(contender.system, None, *cell.key())
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
        """Takes the system out of the measurement."""
        self.record.error = error
        self.worker.close()

    def send(self, verb: str, **arguments) -> None:
        """Sends a call; `receive` returns its answer later."""
        self._try(self.worker.send, verb, **arguments)

    def receive(self, verb: str, timeout: float = SETUP_SECONDS):
        """The answer to the last `send`, or None."""
        return self._try(self.worker.receive, verb, timeout)

    def call(self, verb: str, timeout: float, **arguments):
        """The answer of the worker to a call, or None."""
        return self._try(self.worker.call, verb, timeout, **arguments)

    def check(self, checker: Checker) -> None:
        """Compares the results of the first steps."""
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
        """Runs steps for a while, with no other system; returns graphs per second."""
        rate = self.call("run", SETUP_SECONDS + 10 * seconds, seconds=seconds)
        self.worker.stop()
        return rate

    def finish(self, profiled: bool) -> None:
        """Asks for what is known only at the end."""
        self.record.peak_bytes = self.call("peak_bytes", 60)
        self.construct = self.call("construct_seconds", 60) or self.construct
        if profiled:
            self.record.memory_share = self.call("memory_share", SETUP_SECONDS)
        self.worker.stop()

    def compute(self, flops: float, busy_share: float) -> None:
        """Completes the record; `flops` are those of the matrix products of a graph."""
        if self.failed or not self.rates:
            return
        record = self.record
        record.per_second = statistics.median(self.rates)
        record.spread = _interquartile_range(self.rates) / record.per_second
        record.share_of_floor = self._share_of_floor(flops)
        record.busy_share = round(busy_share, 3)
        construct, in_step = self.construct
        record.construct_seconds = construct
        if construct is not None:
            step = 1 / record.per_second
            record.construct_share = construct / (step if in_step else step + construct)

    def _share_of_floor(self, flops: float) -> float | None:
        """The median, over turns, of the rate as a share of the peak at that time."""
        turns = zip(self.rates, self.peaks, strict=True)
        if any(None in peaks for peaks in self.peaks):
            return None
        return statistics.median(
            rate * flops / (1e9 * statistics.mean(peaks)) for rate, peaks in turns
        )

    def summary(self, unit: str) -> str:
        """A line for the terminal."""
        record = self.record
        if self.failed:
            kind, _, text = record.error.partition(": ")
            if kind == "ModuleNotFoundError":
                return f"{record.system:16} not installed: {text}"
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


def _interquartile_range(values: list[float]) -> float:
    if len(values) < 2:
        return 0.0
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return high - low
