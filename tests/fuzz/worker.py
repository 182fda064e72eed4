"""Runs cases in a child process, so that its death is the verdict on one case and ends no run."""

import gc
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile

from tests.fuzz.cases import Process
from tests.fuzz.verdict import Verdict
from tests.helpers import processes

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
        self._process = self._connection = None
        self._folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
        self._folder.cleanup()

    def check(self, case):
        """The verdict on a `Case`, or on the case of a seed."""
        connection = self._running()
        try:
            connection.send(case)
            if connection.poll(SECONDS):
                return connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            code, self._process = self._process.exitcode, None
            name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
            return Verdict("died", name, f"the process died of {name}\n{self._last_words()}")
        self.stop()
        return Verdict("hung", text=f"no verdict within {SECONDS} s")

    def _last_words(self) -> str:
        return pathlib.Path(self._folder.name, "error.txt").read_text(errors="replace")[-3000:]

    def stop(self):
        """Ends the child process."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None

    def _running(self):
        if self._process is None:
            self._connection, theirs = multiprocessing.Pipe()
            folder = pathlib.Path(self._folder.name)
            self._process = processes.start(_serve, (theirs, self._kind), folder)
            theirs.close()
        return self._connection


def _serve(connection, kind: Process):
    """Reads cases, or seeds, and writes verdicts."""
    os.dup2(sys.stderr.fileno(), 2)  # What is said in C++ is kept, too.
    os.environ |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CAVS_GUARD_ZONES": str(int(kind.guarded))}
    import tensorflow as tf

    from tests.fuzz.cases import draw_case
    from tests.fuzz.check import check

    gc.freeze()  # Keeps the many objects of modules out of garbage collections.
    tf.get_logger().setLevel("ERROR")
    tf.config.threading.set_intra_op_parallelism_threads(kind.threads)
    while True:
        try:
            case = connection.recv()
        except EOFError:
            return
        connection.send(check(draw_case(case) if isinstance(case, int) else case))
