"""The methods that a system must have to be compared."""

import abc
from collections.abc import Callable

import numpy as np


class Unsupported(Exception):
    """The system does not run a workload; says why."""


class Peer(abc.ABC):
    """One system, set up for one workload with its initial weights.

    Step i trains on, or evaluates, minibatch i modulo their number; steps are numbered
    from 0 in both. A step ends when its loss is known.

    Attributes:
      version: The version of the system, and of the libraries that it uses.
      construct: Turns the graphs of all minibatches into what the system runs. It is timed by
        itself, and is no part of a step unless `construct_in_step`. None: nothing to construct.
      construct_in_step: Whether steps include construction.
      comparable: Whether losses and gradients can be asked for.
      steps_per_call: The number of steps in a call of `timed`.
      slack: The factor by which tolerances are larger than those of float32.
    """

    version: str
    construct: Callable[[], None] | None = None
    construct_in_step = False
    comparable = True
    steps_per_call = 1
    slack = 1.0

    def __init__(self, workload, threads: int):
        self.workload = workload
        self.threads = threads

    def trace(self, mode: str) -> None:
        """Does in advance what the first steps would have to do, while other systems do so too."""
        del mode  # Only systems that compile have something to do.

    @abc.abstractmethod
    def gradients(self) -> dict[str, np.ndarray]:
        """The gradients of the loss of minibatch 0 by every weight; changes nothing."""

    @abc.abstractmethod
    def train(self, index: int) -> float:
        """Trains by one step of SGD; returns the loss of minibatch `index`."""

    @abc.abstractmethod
    def infer(self, index: int) -> float:
        """The loss of minibatch `index`."""

    def rate(self, mode: str, seconds: float) -> float | None:
        """Graphs per second of a system that measures itself; None: its steps are timed."""
        return None

    def memory_share(self, run) -> float | None:
        """The time of operators that only move rows, as a share of that of all in `run()`.

        None: it is not known. `benchmarks.peers._operators` says which those are.
        """
        return None

    def timed(self, mode: str, index: int):
        """Runs what is timed, from step `index` on: one step, several, or a part of one."""
        return self.train(index) if mode == "training" else self.infer(index)
