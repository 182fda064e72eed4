"""The process that runs one system, told what to do over a socket by `workers.Worker`.

Every system has a process of its own: settings of threads hold for a whole process, and a
crash ends only one of them.
"""

import ctypes
import gc
import multiprocessing.connection
import os
import signal
import statistics
import sys
import time
import traceback

from benchmarks import peers, workloads

_PROFILED_STEPS = 8
_CONSTRUCTIONS = 3


class Server:
    """Answers the calls of the parent process: each is a public method."""

    def __init__(self):
        self._cells = 0

    def prepare(self, peer, workload, settings, threads, options, mode) -> str:
        """Sets the system up; returns its version."""
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        make = peers.load(peer)
        self._workload = workloads.make(workload, settings)
        _ = self._workload.minibatches, self._workload.weights
        self._mode = mode
        # Counted here, as counting them takes 30 us a minibatch, which is no part of a step.
        self._flops = [self._workload.flops(batch, mode) for batch in self._workload.minibatches]
        self._next = 0
        self._cells += 1
        self._peer = None
        gc.collect()  # Frees what another cell took.
        _forget_peak_memory()
        self._bytes_before = _memory("VmRSS")
        self._peer = make(self._workload, threads, **options)
        self._peer.trace(mode)
        return self._peer.version

    def first_steps(self, count) -> tuple:
        """(losses of the first steps, gradients of the first, their slack); {} in inference."""
        if not self._peer.comparable:
            return None, {}, 1.0
        training = self._mode == "training"
        gradients = self._peer.gradients() if training else {}
        step = self._peer.train if training else self._peer.infer
        losses = [step(index) for index in range(count)]
        self._next = count
        return losses, gradients, self._peer.slack

    def warm_up(self, seconds) -> None:
        """Runs over all minibatches once, unless that takes too long.

        Systems that compile for every shape have compiled for all of them then.
        """
        if not self._peer.comparable:
            return
        start = time.perf_counter()
        for _ in self._calls(len(self._workload.minibatches)):
            self._step()
            if time.perf_counter() - start > seconds:
                break
        # Frees what the comparison of gradients took, which is no part of training.
        _forget_peak_memory()

    def run(self, seconds) -> float:
        """Runs steps for about `seconds`; returns graphs per second.

        A pass over all minibatches is completed if that takes at most three times as long. If
        it is not, the graphs per second are those of a mean minibatch: by their FLOPs.
        """
        if (rate := self._peer.rate(self._mode, seconds)) is not None:
            return rate
        one_pass = len(self._workload.minibatches)
        self._step()  # Fills the caches, which another process may have used.
        flops, first, start = 0, self._next, time.perf_counter()
        elapsed = 0.0
        while elapsed < seconds or ((self._next - first) % one_pass and elapsed < 3 * seconds):
            flops += self._step()
            elapsed = time.perf_counter() - start
        return flops / elapsed / self._mean_flops_per_graph()

    def construct_seconds(self) -> tuple:
        """(seconds per graph to construct what runs, or None; whether steps include that).

        The median of several times, after one that may have to load or to compile something.
        """
        peer = self._peer
        if peer.construct is None:
            return None, False
        seconds = []
        for _ in range(1 + _CONSTRUCTIONS):
            start = time.perf_counter()
            peer.construct()
            seconds.append(time.perf_counter() - start)
        graphs = self._workload.settings.num_examples
        return statistics.median(seconds[1:]) / graphs, peer.construct_in_step

    def memory_share(self) -> float | None:
        """The time of operators that only move rows, as a share of that of all, in a pass."""

        def some_steps():
            for _ in self._calls(min(_PROFILED_STEPS, len(self._workload.minibatches))):
                self._step()

        return self._peer.memory_share(some_steps)

    def peak_bytes(self) -> int | None:
        """The peak of memory in bytes, above what libraries and data took.

        None after another cell, which left memory that this one used again.
        """
        if self._cells > 1:
            return None
        return max(0, _memory("VmHWM") - self._bytes_before)

    def _calls(self, steps):
        """The number of calls that run `steps` steps."""
        return range(0, steps, self._peer.steps_per_call)

    def _step(self) -> int:
        """Runs one call, of one or more steps; returns the FLOPs of their minibatches."""
        first, self._next = self._next, self._next + self._peer.steps_per_call
        self._peer.timed(self._mode, first)
        return sum(self._flops[i % len(self._flops)] for i in range(first, self._next))

    def _mean_flops_per_graph(self) -> float:
        return sum(self._flops) / self._workload.settings.num_examples


def _memory(kind: str) -> int:
    with open("/proc/self/status") as status:
        (line,) = (line for line in status if line.startswith(kind))
    return 1024 * int(line.split()[1])


def _forget_peak_memory() -> None:
    """Resets VmHWM; where that is not allowed, the peak includes imports."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def _die_with_parent() -> None:
    """Ends this process with its parent; otherwise, if it is stopped, it would stay for ever."""
    set_signal_of_parents_death = 1
    ctypes.CDLL(None).prctl(set_signal_of_parents_death, int(signal.SIGKILL))


def main() -> None:
    _die_with_parent()
    serve(multiprocessing.connection.Connection(int(sys.argv[1])))


def serve(connection: multiprocessing.connection.Connection) -> None:
    """Serves until the parent closes the socket."""
    server = Server()
    while True:
        try:
            verb, arguments = connection.recv()
        except EOFError:
            return
        try:
            answer = True, getattr(server, verb)(**arguments)
        except Exception as error:
            traceback.print_exc()
            answer = False, f"{type(error).__name__}: {error}"
        connection.send(answer)


if __name__ == "__main__":
    main()
