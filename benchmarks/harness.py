"""Measures systems against each other by the rules of fairness in README.md."""

import json
import time

from benchmarks import workloads
from benchmarks.cells import Cell, Contender, Effort
from benchmarks.checks import Checker
from benchmarks.entries import SETUP_SECONDS, Entry
from benchmarks.machine import Peak, Watch
from benchmarks.records import Record
from benchmarks.workers import ROOT, Worker

_STEPS_TO_COMPARE = 3
_WARM_UP_SECONDS = 60
# Long enough for the threads of the previous system to stop spinning.
_PAUSE_SECONDS = 0.02


def refuse_debug_build() -> None:
    """Raises RuntimeError if this checkout's library was built for debugging."""
    info = ROOT / "cavs_tf/_build_info.json"
    if not info.exists():
        return  # cavs will be shown as failed, with the command that builds it.
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
      cell: The cell to measure.
      contenders: The systems to compare.
      effort: How long to measure.
      say: Takes lines on progress.
      start: Makes a worker with that number of threads; called for each contender in order.

    Returns:
      A record for each contender, also for those that failed.
    """
    say(f"  setting up {', '.join(contender.system for contender in contenders)}")
    workload = workloads.make(cell.workload, cell.settings)
    entries = [Entry(cell, contender, start(cell.threads)) for contender in contenders]
    try:
        _set_up(entries, workload)
        peaks, watch = _take_turns(entries, Peak(cell.threads), effort, say)
        for entry in entries:
            entry.finish(cell.profiled)
    finally:
        for entry in entries:
            entry.worker.close()
    flops = _flops_per_graph(workload, cell.mode)
    for entry in entries:
        entry.compute(flops, watch.busy_share)
        say(f"  {entry.summary(workload.unit)}")
    if peaks:
        say(f"  peak of {cell.threads} threads: {min(peaks):.0f} to {max(peaks):.0f} GFLOP/s")
    if warning := watch.report():
        say(f"  {warning}")
    return [entry.record for entry in entries]


def _set_up(entries: list[Entry], workload) -> None:
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


def _take_turns(entries: list[Entry], peak: Peak, effort: Effort, say):
    """In every repetition each system has a turn, in an order that rotates.

    The peak is measured before and after each: where others use the processor too, it changes
    from one second to the next as much as the systems do.
    """
    if peak.problem:
        say(f"  {peak.problem}")
    peaks, watch = [], Watch()
    running = [entry for entry in entries if not entry.failed]
    for entry in running:
        entry.call("warm_up", SETUP_SECONDS, seconds=_WARM_UP_SECONDS)
        entry.worker.stop()
    for repetition in range(effort.repeats):
        peaks.append(peak.measure())
        shift = repetition % max(1, len(running))
        for entry in running[shift:] + running[:shift]:
            if entry.failed:
                continue
            time.sleep(_PAUSE_SECONDS)
            with watch.over(entry.worker):
                rate = entry.turn(effort.seconds)
            peaks.append(peak.measure())
            if rate is not None:
                entry.rates.append(rate)
                entry.peaks.append(peaks[-2:])
    return [p for p in peaks if p is not None], watch


def _flops_per_graph(workload, mode: str) -> float:
    """The FLOPs of the matrix products, from which follows the least time that a graph can take."""
    flops = sum(workload.flops(minibatch, mode) for minibatch in workload.minibatches)
    return flops / workload.settings.num_examples
