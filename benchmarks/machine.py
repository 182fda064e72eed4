"""The machine that runs the benchmarks: its peak, its name, and whether others use it too."""

import os
import pathlib
import platform
import shlex
import shutil
import subprocess

from benchmarks.workers import ROOT

# A machine is busy if other programs have this share of the CPU time.
BUSY = 0.03
_SOURCE = ROOT / "benchmarks/cc/peak.cc"
_PROGRAM = ROOT / "build/benchmarks/peak"


class Peak:
    """Measures GFLOP/s in float32 by a loop that stays in registers.

    Attributes:
      problem: Why the peak cannot be measured, or None.
    """

    def __init__(self, threads: int):
        self._threads = threads
        self.problem = _compile()

    def measure(self, seconds: float = 0.2) -> float | None:
        """GFLOP/s on all threads, or None."""
        if self.problem:
            return None
        program = [str(_PROGRAM), str(self._threads), str(seconds)]
        done = subprocess.run(program, capture_output=True, text=True, check=True)
        return float(done.stdout)


def _compile() -> str | None:
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    if not shutil.which(compiler[0]):
        return f"no C++ compiler ({compiler[0]}): the floor is not known"
    if _PROGRAM.exists() and _PROGRAM.stat().st_mtime > _SOURCE.stat().st_mtime:
        return None
    _PROGRAM.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-O3", "-march=native", "-std=c++17", "-pthread"]
    command = [*compiler, *flags, str(_SOURCE), "-o", str(_PROGRAM)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return f"{_SOURCE.name} does not compile: {done.stderr[-300:]}" if done.returncode else None


class Watch:
    """Finds out whether other programs used the CPUs while a worker ran.

    Use as a context manager around a worker's turn; ask `report` in the end.
    """

    def __init__(self):
        self._elapsed = self._others = self._stolen = 0
        self._worker = None

    def over(self, worker) -> "Watch":
        """Leaves out the time of this worker."""
        self._worker = worker
        return self

    def __enter__(self):
        self._before = (*_cpu_ticks(), self._worker.cpu_ticks())
        return self

    def __exit__(self, *error):
        after = (*_cpu_ticks(), self._worker.cpu_ticks())
        total, busy, stolen, own = (a - b for a, b in zip(after, self._before, strict=True))
        self._elapsed += total
        self._stolen += stolen
        self._others += max(0, busy - own)

    @property
    def busy_share(self) -> float:
        """The share of all CPU time that others had, or that the hypervisor took."""
        return (self._others + self._stolen) / max(1, self._elapsed)

    def report(self) -> str | None:
        """A line if the machine was busy."""
        if self.busy_share < BUSY:
            return None
        stolen = self._stolen / max(1, self._elapsed)
        return (
            f"the machine was busy: other work had {self.busy_share - stolen:.0%} of the CPU "
            f"time during the measurements, the hypervisor {stolen:.0%}; these figures are rough"
        )


def _cpu_ticks() -> tuple[int, int, int]:
    """(all, busy, stolen) time of all CPUs until now, in clock ticks."""
    line = pathlib.Path("/proc/stat").read_text().split("\n", 1)[0]
    user, nice, system, idle, wait, irq, soft_irq, steal = map(int, line.split()[1:9])
    busy = user + nice + system + irq + soft_irq
    return busy + idle + wait + steal, busy, steal


def describe() -> dict:
    """The description in the file beside the results."""
    return {
        "cpu": _cpu_name(),
        "cpus": os.cpu_count(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "load_average": os.getloadavg()[0],
    }


def commit() -> str | None:
    """The commit of this checkout, with "-dirty" after changes; None if there is none."""
    command = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _cpu_name() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()
