"""The calculator. Rows are in order of level from the roots, and of operator within a level."""

import types

import numpy as np
import torch

from benchmarks.peers import _levels
from benchmarks.peers._torch import indices
from benchmarks.workloads.calculator import OPERATORS


def plan(minibatch):
    """Plans where the operands of every operator are."""
    levels = _levels.plan(minibatch)
    kind = minibatch.kind[levels.vertex]
    row = np.empty(len(levels.vertex), np.int64)
    row[levels.vertex] = np.arange(len(row))
    operands = row[minibatch.children[levels.vertex]]
    tasks = []
    for first, last in zip(levels.splits[:-1], levels.splits[1:], strict=True):
        for number in range(1, len(OPERATORS) + 1):
            rows = first + np.flatnonzero(kind[first:last] == number)
            if len(rows):
                tasks.append((number - 1, indices(rows), indices(operands[rows].ravel())))
    return types.SimpleNamespace(
        tasks=tasks,
        num_rows=len(kind),
        num_roots=minibatch.num_graphs,
        leaf=indices(levels.leaf),
        token=indices(minibatch.token[levels.vertex[levels.leaf]]),
        label=indices(minibatch.label[levels.vertex[: minibatch.num_graphs]]),
    )


def forward(w, p):
    """Returns h of the roots, and what the backward pass reads."""
    units = w["embedding"].shape[1]
    h = torch.empty(p.num_rows, units)
    h.index_copy_(0, p.leaf, w["embedding"].index_select(0, p.token))
    pairs = []
    for operator, rows, operands in reversed(p.tasks):
        name = OPERATORS[operator]
        pair = h.index_select(0, operands).view(-1, 2 * units)
        h.index_copy_(0, rows, torch.addmm(w[f"{name}_bias"], pair, w[f"{name}_kernel"]).tanh_())
        pairs.append(pair)
    return h[: p.num_roots], (h, pairs[::-1])


def backward(w, p, kept, d_roots):
    """Returns the gradients, from d_roots, the gradient by h of the roots."""
    h, pairs = kept
    units = h.shape[1]
    dh = torch.empty_like(h)
    dh[: p.num_roots] = d_roots
    by_operator = [[] for _ in OPERATORS]
    for (operator, rows, operands), pair in zip(p.tasks, pairs, strict=True):
        own, t = dh.index_select(0, rows), h.index_select(0, rows)
        d = torch.addcmul(own, own * t, t, value=-1)
        d_pair = d @ w[f"{OPERATORS[operator]}_kernel"].t()
        dh.index_copy_(0, operands, d_pair.view(-1, units))
        by_operator[operator].append((pair, d))
    gradients = {"embedding": dh.index_select(0, p.leaf)}
    for name, parts in zip(OPERATORS, by_operator, strict=True):
        if not parts:
            gradients[f"{name}_kernel"] = torch.zeros_like(w[f"{name}_kernel"])
            gradients[f"{name}_bias"] = torch.zeros_like(w[f"{name}_bias"])
            continue
        pair, d = (torch.cat(values) for values in zip(*parts, strict=True))
        gradients[f"{name}_kernel"] = pair.t() @ d
        gradients[f"{name}_bias"] = d.sum(dim=0)
    return gradients
