"""Processes that run one system each; all but one are stopped at any time."""

import multiprocessing.connection
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).parent.parent
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class WorkerFailed(Exception):
    """The system has died, or raised this."""


class Worker:
    """A process that runs one system. Close it when done.

    Args:
      threads: The number of threads that it may use.
    """

    def __init__(self, threads: int):
        ours, theirs = socket.socketpair()
        self._connection = multiprocessing.connection.Connection(ours.detach())
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  (lives as long as the worker)
        environment = os.environ | dict.fromkeys(_THREADS, str(threads))
        environment.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.worker", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdout=self._output,
                stderr=self._output,
                cwd=ROOT,
                env=environment,
            )

    def call(self, verb: str, timeout: float, **arguments):
        """Calls a method of the process, and waits for the answer.

        Raises:
          WorkerFailed: If it raised, died, or took too long.
        """
        self.send(verb, **arguments)
        return self.receive(verb, timeout)

    def send(self, verb: str, **arguments) -> None:
        """Like `call`, without waiting; call `receive` before the next."""
        self.resume()
        try:
            self._connection.send((verb, arguments))
        except OSError:
            raise WorkerFailed(self._cause_of_death()) from None

    def receive(self, verb: str, timeout: float):
        """The answer to the last `send`."""
        if not self._connection.poll(timeout):
            self.close()
            raise WorkerFailed(f"{verb} took more than {timeout:.0f} s")
        try:
            succeeded, answer = self._connection.recv()
        except (EOFError, OSError):
            raise WorkerFailed(self._cause_of_death()) from None
        if not succeeded:
            raise WorkerFailed(answer)
        return answer

    def stop(self) -> None:
        """Stops the process: a thread pool that waits actively would disturb other systems."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Lets the process continue after `stop`."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGCONT)

    @property
    def alive(self) -> bool:
        """Whether the process exists, running or stopped."""
        return self._process.poll() is None

    def close(self) -> None:
        """Ends the process."""
        self._connection.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()

    def cpu_ticks(self) -> int:
        """User and system time of the process, and of programs that it ran, in clock ticks."""
        try:
            text = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text()
        except OSError:
            return 0
        return sum(map(int, text.rpartition(")")[2].split()[11:15]))

    def _cause_of_death(self) -> str:
        try:
            code = self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.close()
            code = self._process.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        self._output.seek(0)
        lines = self._output.read().decode(errors="replace").strip().splitlines()
        return f"the process ended with {how}: {lines[-1] if lines else 'no output'}"
