"""The Tree-FC. In complete trees the children of a level are a view of the level below."""

import itertools
import types

import torch

from benchmarks.peers import _base, _levels
from benchmarks.peers._torch import indices


def plan(minibatch):
    """Plans where levels are."""
    levels = _levels.plan(minibatch)
    if len(levels.leaf) != levels.splits[-1] - levels.splits[-2]:
        raise _base.Unsupported("leaves on several levels: use a power of two of them")
    label = minibatch.label[levels.vertex]
    return types.SimpleNamespace(
        rows=[slice(int(a), int(b)) for a, b in itertools.pairwise(levels.splits)],
        num_rows=len(levels.vertex),
        num_inner=len(levels.inner),
        num_roots=minibatch.num_graphs,
        token=indices(minibatch.token[levels.vertex[levels.leaf]]),
        label=indices(label[: minibatch.num_graphs]),
    )


def forward(w, p):
    """Returns h of the roots, and what the backward pass reads."""
    units = w["bias"].shape[0]
    h = torch.empty(p.num_rows, units)
    torch.index_select(w["embedding"], 0, p.token, out=h[p.rows[-1]])
    for level in range(len(p.rows) - 2, -1, -1):
        pairs = h[p.rows[level + 1]].view(-1, 2 * units)
        torch.addmm(w["bias"], pairs, w["kernel"], out=h[p.rows[level]]).tanh_()
    return h[: p.num_roots], h


def backward(w, p, h, d_roots):
    """Returns the gradients, from d_roots, the gradient by h of the roots."""
    units = h.shape[1]
    dh = torch.empty_like(h)
    dh[: p.num_roots] = d_roots
    kernel_t = w["kernel"].t()
    for level, rows in enumerate(p.rows[:-1]):
        own = dh[rows]
        torch.addcmul(own, own * h[rows], h[rows], value=-1, out=own)
        torch.mm(own, kernel_t, out=dh[p.rows[level + 1]].view(-1, 2 * units))
    d_inner = dh[: p.num_inner]
    pairs = h[p.num_roots :].view(-1, 2 * units)
    return {
        "embedding": dh[p.rows[-1]],
        "kernel": pairs.t() @ d_inner,
        "bias": d_inner.sum(dim=0),
    }
