"""What a system must offer to be compared."""

import abc
from collections.abc import Callable

import numpy as np


class Unsupported(Exception):
    """Says that a system does not run a workload, and why."""


class Peer(abc.ABC):
    """One system, set up for one workload with its initial weights.

    Step i trains on, or evaluates, minibatch i modulo their number; steps are numbered
    from 0 in both. A step ends when its loss is known.

    Attributes:
      version: Of the system, and of what it stands on.
      construct: Turns the graphs of all minibatches into what the system runs; timed alone,
        and not part of a step, unless `construct_in_step`. None: no such thing.
      construct_in_step: Whether steps pay for that.
      comparable: Whether losses and gradients can be asked for.
      steps_per_call: How many steps a call of `timed` takes.
      slack: How many times the tolerances of float32 they may differ from what is right.
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
        """Does ahead what the first steps would have to; other systems do so at the same time."""
        del mode  # Nothing, unless a system compiles.

    @abc.abstractmethod
    def gradients(self) -> dict[str, np.ndarray]:
        """Of the loss of minibatch 0 by every weight; changes nothing."""

    @abc.abstractmethod
    def train(self, index: int) -> float:
        """Loss of minibatch `index` and one step of SGD."""

    @abc.abstractmethod
    def infer(self, index: int) -> float:
        """Loss of minibatch `index`."""

    def rate(self, mode: str, seconds: float) -> float | None:
        """Graphs per second, by a system that measures itself; None: its steps are timed."""
        return None

    def memory_share(self, run) -> float | None:
        """Of the time of all operators in `run()`, that of those which only move rows.

        None: it is not known. `benchmarks.peers._operators` says which those are.
        """
        return None

    def timed(self, mode: str, index: int):
        """What is timed, from step `index` on: a step, unless calls take several or only a part."""
        return self.train(index) if mode == "training" else self.infer(index)
