"""The base class of systems on PyTorch."""

import ctypes

import numpy as np
import torch

from benchmarks.peers import _base, _operators


class Functions:
    """The functions that the cell of a workload is written in."""

    sigmoid = staticmethod(torch.sigmoid)
    tanh = staticmethod(torch.tanh)

    @staticmethod
    def split(x, parts):
        return torch.chunk(x, parts, dim=-1)

    @staticmethod
    def concat(parts):
        return torch.cat(parts, dim=-1)


class TorchPeer(_base.Peer):
    """Holds weights as tensors, and a plan for every minibatch.

    A subclass says what it plans, and how it differentiates.
    """

    def __init__(self, workload, threads):
        super().__init__(workload, threads)
        torch.set_num_threads(threads)
        _keep_memory()
        self.version = f"torch {torch.__version__}"
        self.weights = {n: torch.from_numpy(w.copy()) for n, w in workload.weights.items()}
        self.construct()

    def construct(self):
        """Plans for all minibatches."""
        self.plans = [self.plan(minibatch) for minibatch in self.workload.minibatches]

    def plan(self, minibatch):
        """Plans a step on this minibatch, before anything is timed."""
        raise NotImplementedError

    def loss(self, plan) -> torch.Tensor:
        """The loss, without derivatives."""
        raise NotImplementedError

    def differentiate(self, plan) -> tuple:
        """(loss, gradients by name of the weight; of "embedding", for its rows `plan.token`)."""
        raise NotImplementedError

    def train(self, index):
        plan = self.plans[index % len(self.plans)]
        loss, gradients = self.differentiate(plan)
        rate = self.workload.learning_rate
        with torch.no_grad():
            rows = gradients.pop("embedding")
            self.weights["embedding"].index_add_(0, plan.token, rows, alpha=-rate)
            weights = [self.weights[name] for name in gradients]
            torch._foreach_add_(weights, list(gradients.values()), alpha=-rate)
        return float(loss)

    def infer(self, index):
        with torch.inference_mode():
            return float(self.loss(self.plans[index % len(self.plans)]))

    def gradients(self):
        plan = self.plans[0]
        _, gradients = self.differentiate(plan)
        dense = torch.zeros_like(self.weights["embedding"])
        gradients["embedding"] = dense.index_add_(0, plan.token, gradients["embedding"])
        common = self.in_common_layout(gradients)
        return {name: gradient.numpy(force=True) for name, gradient in common.items()}

    def memory_share(self, run):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
            run()
        return _operators.memory_share(
            ("torch", event.key, event.self_cpu_time_total) for event in profile.key_averages()
        )

    def in_common_layout(self, gradients) -> dict:
        """Converts gradients to the shapes of the workload's weights, if the system has others."""
        return gradients


def _keep_memory() -> None:
    """Makes malloc keep freed memory: fresh pages from the system in every step cost time.

    PyTorch's tuning guide recommends other allocators for the same reason.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return
    trim_threshold, mmap_max = -1, -4
    mallopt(trim_threshold, 2**31 - 1)
    mallopt(mmap_max, 0)


class Model:
    """Trains the weights as they are; has what `torch.Peer` asks of a model except plan and run."""

    def take(self, weights):
        """Takes weights; returns those to train, by name."""
        self._weights = trainable(weights)
        return self._weights

    def in_common_layout(self, gradients):
        """Returns the gradients unchanged."""
        return gradients


def trainable(weights) -> dict:
    """The weights without the embedding, for autograd."""
    return {n: w.requires_grad_() for n, w in weights.items() if n != "embedding"}


def indices(values) -> torch.Tensor:
    """An index tensor."""
    return torch.from_numpy(np.ascontiguousarray(values, np.int64))


def indices_or_none(values) -> torch.Tensor | None:
    """An index tensor, or None for 0, 1, 2, ..., where nothing needs to move."""
    return None if np.array_equal(values, np.arange(len(values))) else indices(values)


def select(rows, index) -> torch.Tensor:
    """rows[index]; all rows if the index is None."""
    return rows if index is None else rows.index_select(0, index)
