"""Runs cases in a child process, so that its death is the verdict on one case and ends no run.

`python -m tests.fuzz.worker THREADS` reads pickled cases, or seeds, and writes pickled verdicts.
"""

import gc
import os
import pickle
import select
import signal
import subprocess
import sys
import tempfile

from tests.fuzz.cases import Process
from tests.fuzz.verdict import Verdict
from tests.helpers.processes import environment

SECONDS = 240  # The time for one case, after which it is said to hang.


class Worker:
    """A child process that checks cases one after the other, and is restarted after it has died.

    Example:
    >>> with Worker(Process(threads=2, guarded=True)) as worker:  # doctest: +SKIP
    ...     worker.check(17).ok
    True
    """

    def __init__(self, kind: Process):
        self._kind = kind
        self._process = None
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._errors.close()

    def check(self, case):
        """The verdict on a `Case`, or on the case of a seed."""
        process = self._running()
        pickle.dump(case, process.stdin)
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], SECONDS)
        if not ready:
            self.stop()
            return Verdict("hung", text=f"no verdict within {SECONDS} s")
        try:
            return pickle.load(process.stdout)
        except EOFError:
            code = process.wait()
            self._process = None
            name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return Verdict("died", name, f"the process died of {name}\n{self._last_words()}")

    def _last_words(self) -> str:
        self._errors.seek(0)
        return self._errors.read().decode(errors="replace")[-3000:]

    def stop(self):
        """Ends the child process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _running(self):
        if self._process is None:
            self._errors.truncate(0)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", str(self._kind.threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=environment()
                | {"TF_CPP_MIN_LOG_LEVEL": "3", "CAVS_GUARD_ZONES": str(int(self._kind.guarded))},
            )
        return self._process


def main(threads: int):
    verdicts = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # Output of programs must not get between the verdicts.
    import tensorflow as tf

    from tests.fuzz.cases import draw_case
    from tests.fuzz.check import check

    gc.freeze()  # Keeps the many objects of modules out of garbage collections.
    tf.get_logger().setLevel("ERROR")
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    while True:
        try:
            case = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        pickle.dump(check(draw_case(case) if isinstance(case, int) else case), verdicts)
        verdicts.flush()


if __name__ == "__main__":
    main(int(sys.argv[1]))
