"""The description of the machine."""

import subprocess
import sys

import pytest

from benchmarks import machine, workers


class Idle:
    """A worker that took no processor time."""

    @staticmethod
    def cpu_ticks():
        return 0


def watch_over(monkeypatch, before, after, worker=Idle):
    ticks = iter([before, after])
    monkeypatch.setattr(machine, "_cpu_ticks", lambda: next(ticks))
    watch = machine.Watch()
    with watch.over(worker):
        pass
    return watch


def test_a_quiet_machine_is_not_mentioned(monkeypatch):
    assert watch_over(monkeypatch, (0, 0, 0), (1000, 10, 0)).report() is None


def test_other_work_is_reported(monkeypatch):
    report = watch_over(monkeypatch, (0, 0, 0), (1000, 400, 50)).report()
    assert "other work had 40% of the CPU time" in report and "the hypervisor 5%" in report


def test_the_time_of_programs_that_a_worker_ran_is_its_own():
    burn = "import time; end = time.process_time() + 0.3\nwhile time.process_time() < end: pass"
    run = "import subprocess, sys; subprocess.run([sys.executable, '-c', {!r}]); print(1); input()"
    worker = object.__new__(workers.Worker)
    with subprocess.Popen(
        [sys.executable, "-S", "-c", run.format(burn)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as worker._process:
        worker._process.stdout.readline()
        ticks = worker.cpu_ticks()
        worker._process.stdin.close()
    assert ticks >= 30  # Hundredths of a second.


def test_the_time_of_the_worker_is_no_disturbance(monkeypatch):
    class Busy:
        ticks = iter([100, 500])

        @classmethod
        def cpu_ticks(cls):
            return next(cls.ticks)

    assert watch_over(monkeypatch, (0, 0, 0), (1000, 400, 0), Busy).report() is None


def test_the_peak_is_that_of_a_cpu():
    peak = machine.Peak(threads=1)
    if peak.problem:
        pytest.skip(peak.problem)
    assert 1 < peak.measure(seconds=0.05) < 1000


def test_without_a_compiler_there_is_no_peak(monkeypatch):
    monkeypatch.setenv("CXX", "/nowhere/compiler")
    peak = machine.Peak(threads=1)
    assert peak.problem == "no C++ compiler (/nowhere/compiler): the floor is not known"
    assert peak.measure() is None
