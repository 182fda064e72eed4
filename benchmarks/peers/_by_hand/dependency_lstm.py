"""The child-sum Tree-LSTM of any arity. Rows are in order of level from the roots.

In each level the vertices with children come first, so that they are a slice; the children
of a level are all of the next one.
"""

import itertools
import types

import numpy as np
import torch

from benchmarks.peers._torch import indices


def plan(minibatch):
    """Plans where rows are, and whose children they are."""
    level = minibatch.graph_splits[1:] - 1  # The roots.
    levels, parents, inner_counts = [], [], []
    while len(level):
        level = level[np.argsort(minibatch.is_leaf[level], kind="stable")]
        parent, slot = np.nonzero(minibatch.children[level] >= 0)
        below = minibatch.children[level][parent, slot]
        order = np.argsort(minibatch.is_leaf[below], kind="stable")
        levels.append(level)
        parents.append(indices(parent[order]))
        inner_counts.append(int((~minibatch.is_leaf[level]).sum()))
        level = below[order]
    vertex = np.concatenate(levels)
    starts = np.cumsum([0, *map(len, levels)]).tolist()
    inner_starts = np.cumsum([0, *inner_counts]).tolist()
    inner = [np.arange(start, start + n) for start, n in zip(starts, inner_counts, strict=False)]
    return types.SimpleNamespace(
        rows=[slice(*pair) for pair in itertools.pairwise(starts)],
        # The vertices with children of each level, as indices of all rows and of all such vertices.
        inner_rows=[slice(a, a + n) for a, n in zip(starts, inner_counts, strict=False)],
        inner=[slice(*pair) for pair in itertools.pairwise(inner_starts)],
        all_inner=indices(np.concatenate(inner)),
        parents=parents,
        num_rows=len(vertex),
        num_roots=minibatch.num_graphs,
        token=indices(minibatch.token[vertex]),
        label=indices(minibatch.label[levels[0]]),
    )


def forward(w, p):
    """Returns h of the roots, and what the backward pass reads."""
    units = w["forget_kernel"].shape[0]
    x = w["embedding"].index_select(0, p.token)
    gates = torch.addmm(w["bias"], x, w["kernel"])
    x_inner = x.index_select(0, p.all_inner)
    own_forget = torch.addmm(w["forget_bias"], x_inner, w["forget_kernel"])
    h, c, tanh_c, forget = (torch.empty(p.num_rows, units) for _ in range(4))
    sums = torch.zeros(len(x_inner), units)
    for level in range(len(p.rows) - 1, -1, -1):
        rows, inner, parent = p.rows[level], p.inner[level], p.parents[level]
        if len(parent):
            below = p.rows[level + 1]
            sums[inner].index_add_(0, parent, h[below])
            gates[p.inner_rows[level]].addmm_(sums[inner], w["recurrent_kernel"])
            f = torch.index_select(own_forget[inner], 0, parent, out=forget[below])
            f.addmm_(h[below], w["recurrent_forget_kernel"]).sigmoid_()
        i, o, u = _activate(gates[rows])
        torch.mul(i, u, out=c[rows])
        if len(parent):
            c[p.inner_rows[level]].index_add_(0, parent, f * c[below])
        torch.tanh(c[rows], out=tanh_c[rows])
        torch.mul(o, tanh_c[rows], out=h[rows])
    return h[: p.num_roots], (x, x_inner, gates, forget, sums, h, c, tanh_c)


def backward(w, p, kept, d_roots):
    """Overwrites what the forward pass kept: gates become the gradients by their arguments."""
    x, x_inner, gates, forget, sums, h, c, tanh_c = kept
    dh, dc = torch.empty_like(h), torch.zeros_like(c)
    dh[: p.num_roots] = d_roots
    d_own_forget = torch.zeros_like(sums)
    kernel_t, forget_t = w["recurrent_kernel"].t(), w["recurrent_forget_kernel"].t()
    for level, parent in enumerate(p.parents):
        rows = p.rows[level]
        _gate_gradients(gates[rows], dh[rows], dc[rows], tanh_c[rows])
        if not len(parent):
            continue
        below = p.rows[level + 1]
        f = forget[below]
        dc_below = torch.index_select(dc[p.inner_rows[level]], 0, parent, out=dc[below]).mul_(f)
        # From here on, the memory of the forget gate holds the gradient by its argument.
        f.neg_().add_(1).mul_(dc_below).mul_(c[below])
        d_own_forget[p.inner[level]].index_add_(0, parent, f)
        d_sums = gates[p.inner_rows[level]] @ kernel_t
        torch.index_select(d_sums, 0, parent, out=dh[below]).addmm_(f, forget_t)
    children = slice(p.num_roots, None)
    d_inner = gates.index_select(0, p.all_inner)
    dx = gates @ w["kernel"].t()
    dx.index_add_(0, p.all_inner, d_own_forget @ w["forget_kernel"].t())
    return {
        "embedding": dx,
        "kernel": x.t() @ gates,
        "recurrent_kernel": sums.t() @ d_inner,
        "bias": gates.sum(dim=0),
        "forget_kernel": x_inner.t() @ d_own_forget,
        "recurrent_forget_kernel": h[children].t() @ forget[children],
        "forget_bias": d_own_forget.sum(dim=0),
    }


def _activate(gates):
    """Computes the gates i, o and u in place."""
    units = gates.shape[1] // 3
    gates[:, : 2 * units].sigmoid_()
    gates[:, 2 * units :].tanh_()
    return gates.split(units, dim=1)


def _gate_gradients(gates, dh, dc, tanh_c):
    """Overwrites gates by the gradients by their arguments; completes `dc`."""
    i, o, u = gates.split(gates.shape[1] // 3, dim=1)
    d_o = dh * o
    dc.add_(d_o).addcmul_(d_o * tanh_c, tanh_c, value=-1)
    d_o.mul_(tanh_c)
    o.neg_().add_(1).mul_(d_o)
    by_u = dc * i
    i.neg_().add_(1).mul_(by_u).mul_(u)
    torch.addcmul(by_u, by_u * u, u, value=-1, out=u)
