"""Cases in a child process: what kills it is the verdict on one case, not the end of the run.

`python -m tests.fuzz.worker THREADS` reads pickled cases, or seeds, and writes pickled verdicts.
"""

import os
import pickle
import select
import signal
import subprocess
import sys

from tests.fuzz.verdict import Verdict
from tests.processes import environment

SECONDS = 240  # For one case; then it hangs.


class Worker:
    """A child process that checks cases one after the other, restarted when it has died.

    Example:
    >>> with Worker(threads=2) as worker:  # doctest: +SKIP
    ...     worker.check(17).ok
    True
    """

    def __init__(self, threads: int):
        self._threads = threads
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

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
            return Verdict("died", name, f"the process died of {name}")

    def stop(self):
        """Ends the child process."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def _running(self):
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker", str(self._threads)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment() | {"TF_CPP_MIN_LOG_LEVEL": "3"},
            )
        return self._process


def main(threads: int):
    verdicts = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # What programs print is no verdict.
    import tensorflow as tf

    from tests.fuzz.cases import draw_case
    from tests.fuzz.check import check

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
