"""The LSTM. Rows are in order of step, the longest sequences first, so that steps are views."""

import itertools
import types

import torch

from benchmarks.peers import _levels
from benchmarks.peers._torch import indices, indices_or_none, select


def plan(minibatch):
    """Plans where steps are."""
    steps = _levels.steps(minibatch)
    splits = steps.splits.tolist()
    # The previous row of each row from the second step on: a view if all lengths are equal.
    before = [
        list(range(first, first + after - row))
        for first, row, after in zip(splits, splits[1:], splits[2:], strict=False)
    ]
    return types.SimpleNamespace(
        splits=splits,
        num_rows=splits[-1],
        before=indices_or_none(list(itertools.chain.from_iterable(before))),
        token=indices(minibatch.token[steps.vertex]),
        label=indices(minibatch.label[steps.vertex]),
    )


def forward(w, p):
    """Returns h of all rows, and what the backward pass reads."""
    x = w["embedding"].index_select(0, p.token)
    gates = torch.addmm(w["bias"], x, w["kernel"])
    units = x.shape[1]
    h, c, tanh_c = (torch.empty(p.num_rows, units) for _ in range(3))
    previous = None
    for first, last in itertools.pairwise(p.splits):
        rows = slice(first, last)
        own = gates[rows]
        if previous is not None:
            own.addmm_(h[previous : previous + last - first], w["recurrent_kernel"])
        own[:, : 2 * units].sigmoid_()
        own[:, 2 * units : 3 * units].tanh_()
        own[:, 3 * units :].sigmoid_()
        i, f, g, o = own.split(units, dim=1)
        torch.mul(i, g, out=c[rows])
        if previous is not None:
            c[rows].addcmul_(f, c[previous : previous + last - first])
        torch.tanh(c[rows], out=tanh_c[rows])
        torch.mul(o, tanh_c[rows], out=h[rows])
        previous = first
    return h, (x, gates, h, c, tanh_c)


def backward(w, p, kept, dh):
    """Overwrites `dh` and what the forward pass kept: gates become their gradients."""
    x, gates, h, c, tanh_c = kept
    units = h.shape[1]
    recurrent_t = w["recurrent_kernel"].t()
    dc_after = None
    for step in range(len(p.splits) - 2, -1, -1):
        first, last = p.splits[step : step + 2]
        rows = slice(first, last)
        i, f, g, o = gates[rows].split(units, dim=1)
        t = tanh_c[rows]
        d_o = dh[rows] * o
        dc = torch.addcmul(d_o, d_o * t, t, value=-1)
        if dc_after is not None:
            dc[: len(dc_after)] += dc_after
        dc_after = dc * f if step else None
        d_o.mul_(t)
        o.neg_().add_(1).mul_(d_o)
        by_g = dc * i
        if step:
            before = slice(p.splits[step - 1], p.splits[step - 1] + last - first)
            f.neg_().add_(1).mul_(dc_after).mul_(c[before])
        else:
            f.zero_()
        i.neg_().add_(1).mul_(by_g).mul_(g)
        torch.addcmul(by_g, by_g * g, g, value=-1, out=g)
        if step:
            dh[before].addmm_(gates[rows], recurrent_t)
    after_first = gates[p.splits[1] :]
    h_before = select(h, p.before)[: len(after_first)]
    return {
        "embedding": gates @ w["kernel"].t(),
        "kernel": x.t() @ gates,
        "recurrent_kernel": h_before.t() @ after_first,
        "bias": gates.sum(dim=0),
    }
