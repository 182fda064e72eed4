"""Runs random cases: `python -m tests.fuzz.run --minutes=10`.

Every failure is printed with its seed, and the smallest program that was found to fail in the
same way. `--seed=17 --cases=1` runs the case of one seed again.
"""

import argparse
import collections
import sys
import time

from tests.fuzz.cases import SEEDS_OF_A_BLOCK, draw_case, process_of
from tests.fuzz.shrink import shrink
from tests.fuzz.verdict import GOOD
from tests.fuzz.worker import Worker


def show(case) -> str:
    """A case as text: the program, and what is done with it."""
    lines = [
        case.program.source(),
        f"D, P = tf.{case.program.dtype}, {case.program.dtype!r}",
        f"inputs = {case.program.inputs}",
        f"as_function={case.as_function}, scheduled={case.scheduled}, training={case.training}",
    ]
    return "\n".join([*lines, *map(str, case.steps)])


class Run:
    """Runs the cases of a range of seeds and collects their verdicts."""

    def __init__(self, seed, cases, minutes, shrink_seconds):
        self._seeds = range(seed, seed + cases)
        self._end = time.monotonic() + 60 * minutes
        self._shrink_seconds = shrink_seconds
        self._known = set()
        self.kinds = collections.Counter()
        self.tensors = self.vague = 0

    def run(self) -> bool:
        """Runs the cases; returns whether none failed."""
        first = self._seeds.start
        while first < self._seeds.stop and time.monotonic() < self._end:
            end = min(first - first % SEEDS_OF_A_BLOCK + SEEDS_OF_A_BLOCK, self._seeds.stop)
            with Worker(process_of(first)) as worker:
                for seed in range(first, end):
                    if time.monotonic() < self._end:
                        self._check(worker, seed)
            print(f"seeds below {end}: {self.summary()}", flush=True)
            first = end
        return all(kind in GOOD for kind in self.kinds)

    def _check(self, worker, seed):
        verdict = worker.check(seed)
        self.kinds[verdict.kind] += 1
        self.tensors += verdict.compared
        self.vague += verdict.vague
        if verdict.ok:
            return
        print(f"seed {seed}: {verdict.kind}: {verdict.where}", flush=True)
        if (verdict.kind, verdict.where) not in self._known:
            self._known.add((verdict.kind, verdict.where))
            print(f"{verdict.text}\n{self._smallest(worker, seed, verdict)}\n", flush=True)

    def _smallest(self, worker, seed, verdict):
        case = draw_case(seed)
        if not worker.check(case).same_failure(verdict):
            return "(not in a process of its own, or not every time)\n" + show(case)
        return show(shrink(case, verdict, worker.check, self._shrink_seconds))

    def summary(self) -> str:
        counts = ", ".join(f"{count} {kind}" for kind, count in sorted(self.kinds.items()))
        return (
            f"{self.kinds.total()} programs: {counts}; {self.tensors} tensors, {self.vague} vague"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0, help="of the first case")
    parser.add_argument("--cases", type=int, default=10**9)
    parser.add_argument("--minutes", type=float, default=1e6)
    parser.add_argument("--shrink", type=float, default=120.0, help="seconds for one failure")
    flags = parser.parse_args()
    sys.exit(not Run(flags.seed, flags.cases, flags.minutes, flags.shrink).run())


if __name__ == "__main__":
    main()
