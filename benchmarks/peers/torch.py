"""PyTorch with autograd: graphs batched by hand level by level, sequences by `nn.LSTM`."""

import itertools
import types

import numpy as np
import torch
from torch.nn import functional

from benchmarks.peers import _levels, _torch, _torch_graphs, _torch_sequences


class Peer(_torch.TorchPeer):
    """Any workload."""

    def __init__(self, workload, threads):
        self._model = self.make_model(workload)
        super().__init__(workload, threads)
        self._trained = self._model.take(self.weights)

    def make_model(self, workload):
        """Chooses the model that plans and computes hidden states."""
        by_layout = {
            "chains": _torch_sequences.Sequences,
            "trees": Trees,
            "graphs": _torch_graphs.Graphs,
        }
        model = _torch_sequences.MODELS.get(workload.name) or by_layout[workload.layout]
        return model(workload)

    def plan(self, minibatch):
        return self._model.plan(minibatch)

    def loss(self, plan):
        return self._loss(plan, functional.embedding(plan.token, self.weights["embedding"]))

    def differentiate(self, plan):
        # Only for the rows that were read: a gradient of the whole embedding would take too long.
        x = functional.embedding(plan.token, self.weights["embedding"]).requires_grad_()
        loss = self._loss(plan, x)
        of_x, *others = torch.autograd.grad(loss, [x, *self._trained.values()])
        return loss.detach(), {"embedding": of_x, **dict(zip(self._trained, others, strict=True))}

    def in_common_layout(self, gradients):
        return self._model.in_common_layout(gradients)

    def _loss(self, plan, x):
        h = _torch.select(self._model.run(plan, x), plan.labelled)
        logits = torch.addmm(self.weights["output_bias"], h, self.weights["output"])
        return functional.cross_entropy(logits, plan.label, reduction="sum")


class Trees(_torch.Model):
    """Trees of any cell, level by level, the deepest first."""

    def __init__(self, workload):
        self._cell = workload

    def plan(self, minibatch):
        levels = _levels.plan(minibatch)
        label = minibatch.label[levels.vertex]
        labelled = np.flatnonzero(label >= 0)
        bounds = list(itertools.pairwise(levels.splits))
        return types.SimpleNamespace(
            token=_torch.indices(minibatch.token[levels.vertex[levels.leaf]]),
            leaf_counts=np.diff(levels.leaf_splits).tolist(),
            inner_counts=np.diff(levels.inner_splits).tolist(),
            places=[_torch.indices_or_none(levels.place[a:b]) for a, b in bounds],
            label=_torch.indices(label[labelled]),
            labelled=_torch.indices(labelled) if len(labelled) < len(label) else None,
        )

    def run(self, plan, x):
        leaves = self._cell.leaf(_torch.Functions, self._weights, self._project(x))
        leaves = [state.split(plan.leaf_counts) for state in leaves]
        below, hidden = None, []
        for level in reversed(range(len(plan.leaf_counts))):
            states = [state[level] for state in leaves]
            if plan.inner_counts[level]:
                inner = self._inner(below)
                states = [torch.cat(pair) for pair in zip(inner, states, strict=True)]
            below = [_torch.select(state, plan.places[level]) for state in states]
            hidden.append(below[-1])
        return torch.cat(hidden[::-1])

    def _project(self, x):
        return self._cell.project(_torch.Functions, self._weights, x)

    def _inner(self, below):
        arity = self._cell.arity
        slots = [state.view(-1, arity, state.shape[1]).unbind(1) for state in below]
        children = list(zip(*slots, strict=True))
        return self._cell.inner(_torch.Functions, self._weights, None, children)
