"""The Tree-LSTM. Rows are in order of level from the roots; siblings are adjacent."""

import itertools
import types

import torch

from benchmarks.peers import _levels
from benchmarks.peers._torch import indices


def plan(minibatch):
    """Plans where rows are, and which of them have children."""
    levels = _levels.plan(minibatch)
    inner, leaf = indices(levels.inner), indices(levels.leaf)
    return types.SimpleNamespace(
        num_rows=len(levels.vertex),
        num_levels=levels.num_levels,
        # Of each level: its rows, its rows with children, and the latter among all rows with
        # children.
        rows=_slices(levels.splits),
        inner_rows=[inner[part] for part in _slices(levels.inner_splits)],
        inner=_slices(levels.inner_splits),
        all_inner=inner,
        leaf=leaf,
        first_child=int(levels.splits[1]),
        token=indices(minibatch.token[levels.vertex[levels.leaf]]),
        label=indices(minibatch.label[levels.vertex]),
    )


def forward(w, p):
    """Returns h of all rows, and what the backward pass reads."""
    units = w["forget_kernel"].shape[0]
    h, c, tanh_c = (torch.empty(p.num_rows, units) for _ in range(3))
    forget = torch.empty(p.num_rows, units)
    gates = torch.empty(len(p.all_inner), 3 * units)
    sums = torch.empty(len(p.all_inner), units)

    x = w["embedding"].index_select(0, p.token)
    leaf_gates = torch.addmm(w["bias"], x, w["leaf_kernel"])
    i, o, u = _activate(leaf_gates)
    _store(p.leaf, i * u, o, c, tanh_c, h)

    for level in range(p.num_levels - 2, -1, -1):
        below, own = p.rows[level + 1], p.inner[level]
        torch.sum(h[below].view(-1, 2, units), dim=1, out=sums[own])
        torch.addmm(w["bias"], sums[own], w["kernel"], out=gates[own])
        i, o, u = _activate(gates[own])
        f = torch.addmm(w["forget_bias"], h[below], w["forget_kernel"], out=forget[below])
        f.sigmoid_()
        new = (f * c[below]).view(-1, 2, units).sum(dim=1).addcmul_(i, u)
        _store(p.inner_rows[level], new, o, c, tanh_c, h)
    return h, (x, leaf_gates, gates, forget, sums, h, c, tanh_c)


def backward(w, p, kept, dh):
    """Overwrites `dh` and what the forward pass kept."""
    x, leaf_gates, gates, forget, sums, h, c, tanh_c = kept
    units = h.shape[1]
    dc = torch.zeros_like(c)
    d_gates = torch.empty_like(gates)
    kernel_t, forget_kernel_t = w["kernel"].t(), w["forget_kernel"].t()
    for level in range(p.num_levels - 1):
        rows, below, own = p.inner_rows[level], p.rows[level + 1], p.inner[level]
        dc_rows = _gate_gradients(rows, gates[own], dh, dc, tanh_c, out=d_gates[own])
        f, c_below = forget[below].view(-1, 2, units), c[below].view(-1, 2, units)
        d_below = dc[below].view(-1, 2, units)
        torch.mul(f, dc_rows[:, None], out=d_below)
        # From here on, the memory of the forget gate holds the gradient by its argument.
        f.neg_().add_(1).mul_(d_below).mul_(c_below)
        dh_below = dh[below]
        dh_below.addmm_(forget[below], forget_kernel_t)
        dh_below.view(-1, 2, units).add_((d_gates[own] @ kernel_t)[:, None])

    d_leaf = torch.empty_like(leaf_gates)
    _gate_gradients(p.leaf, leaf_gates, dh, dc, tanh_c, out=d_leaf)
    children = slice(p.first_child, None)
    return {
        "embedding": d_leaf @ w["leaf_kernel"].t(),
        "leaf_kernel": x.t() @ d_leaf,
        "kernel": sums.t() @ d_gates,
        "bias": d_gates.sum(dim=0) + d_leaf.sum(dim=0),
        "forget_kernel": h[children].t() @ forget[children],
        "forget_bias": forget[children].sum(dim=0),
    }


def _slices(splits):
    return [slice(int(a), int(b)) for a, b in itertools.pairwise(splits)]


def _activate(gates):
    """Computes the gates i, o and u in place."""
    units = gates.shape[1] // 3
    gates[:, : 2 * units].sigmoid_()
    gates[:, 2 * units :].tanh_()
    return gates.split(units, dim=1)


def _store(rows, new_c, o, c, tanh_c, h):
    t = torch.tanh(new_c)
    c.index_copy_(0, rows, new_c)
    tanh_c.index_copy_(0, rows, t)
    h.index_copy_(0, rows, t.mul_(o))


def _gate_gradients(rows, gates, dh, dc, tanh_c, out):
    """Writes the gradients by the arguments of the gates to `out`; returns those by c."""
    i, o, u = gates.split(gates.shape[1] // 3, dim=1)
    d_i, d_o, d_u = out.split(gates.shape[1] // 3, dim=1)
    t, d_h = tanh_c.index_select(0, rows), dh.index_select(0, rows)
    torch.mul(d_h, o, out=d_o)
    d_c = torch.addcmul(d_o, t * t, d_o, value=-1)
    d_c += dc.index_select(0, rows)
    d_o.mul_(t).mul_(1 - o)
    w = d_c * i
    torch.mul(w, 1 - i, out=d_i).mul_(u)
    torch.addcmul(w, w * u, u, value=-1, out=d_u)
    return d_c
