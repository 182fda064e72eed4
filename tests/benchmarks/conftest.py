"""Keeps workers from test to test, since most of their time goes into imports."""

import multiprocessing
import os
import pathlib
import subprocess
import tempfile

import pytest
import tensorflow as tf

from benchmarks import worker
from benchmarks.crew import Crew
from benchmarks.workers import Worker
from tests.helpers import processes


@pytest.fixture(scope="module")
def in_this_process():
    """Lets peers on TensorFlow run here, where numbers of threads can no longer change."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("set_intra_op_parallelism_threads", "set_inter_op_parallelism_threads"):
            patch.setattr(tf.config.threading, name, lambda threads: None)
        yield


@pytest.fixture(scope="session")
def kept_workers():
    """Takes names of peers and returns a function that starts workers in this order."""
    with Crew(Forked) as crew:
        yield crew.starter


def _serve(connection):
    # Compiling without optimisation is faster for code that runs for a millisecond.
    os.environ["XLA_FLAGS"] = "--xla_backend_optimization_level=0"
    worker.serve(connection)


class Forked(Worker):
    """A worker whose process is forked from one that has imported TensorFlow."""

    def __init__(self, threads):
        del threads  # The libraries that read it are loaded.
        self._folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self._folder.name)
        self._connection, theirs = multiprocessing.Pipe()
        self._process = _Popen(processes.start(_serve, (theirs,), folder))
        self._output = (folder / "error.txt").open("rb")
        theirs.close()


class _Popen:
    """The methods of `subprocess.Popen` that a worker calls, of a forked process."""

    def __init__(self, process):
        self._process, self.pid = process, process.pid
        self.kill = process.kill

    @property
    def returncode(self):
        return self._process.exitcode

    poll = returncode.fget

    def send_signal(self, number):
        os.kill(self.pid, number)

    def wait(self, timeout=None):
        self._process.join(timeout)
        if self.returncode is None:
            raise subprocess.TimeoutExpired("fork", timeout)
        return self.returncode
