"""The tagger: two LSTMs, the second over the words from the last to the first."""

import types

import numpy as np
import torch

from benchmarks.peers import _levels
from benchmarks.peers._by_hand import lstm
from benchmarks.peers._torch import indices
from benchmarks.workloads import _lstm

_DIRECTIONS = ("forward", "backward")
_WEIGHTS = ("kernel", "recurrent_kernel", "bias")


def plan(minibatch):
    """Plans where steps are, and which rows are about the same word."""
    words, turned = (_lstm.sequences(minibatch, kind) for kind in range(2))
    vertex = _levels.steps(words).vertex  # The same for both LSTMs, since only lengths count.
    row = np.empty_like(vertex)
    row[vertex] = np.arange(len(vertex))
    lengths = np.diff(words.graph_splits)
    ends = np.repeat(words.graph_splits[:-1] + words.graph_splits[1:] - 1, lengths)
    same_word = indices(row[ends[vertex] - vertex])
    plans = [lstm.plan(words), lstm.plan(turned)]
    return types.SimpleNamespace(
        plans=plans,
        same_word=same_word,
        back=torch.argsort(same_word),
        token=torch.cat([p.token for p in plans]),
        label=plans[0].label,
    )


def forward(w, p):
    """Returns the rows for the output layer, for all words, and what the backward pass reads."""
    (h, kept), (h_turned, kept_turned) = (
        lstm.forward(_weights(w, name), own) for name, own in zip(_DIRECTIONS, p.plans, strict=True)
    )
    both = torch.cat([h, h_turned.index_select(0, p.same_word)], dim=1)
    tags = torch.addmm(w["tag_bias"], both, w["tag_kernel"]).tanh_()
    return tags, (both, tags, (kept, kept_turned))


def backward(w, p, kept, d_tags):
    """Overwrites what the forward pass kept."""
    both, tags, kept = kept
    d = torch.addcmul(d_tags, d_tags * tags, tags, value=-1)
    gradients = {"tag_kernel": both.t() @ d, "tag_bias": d.sum(dim=0)}
    dh, dh_turned = (d @ w["tag_kernel"].t()).chunk(2, dim=1)
    dhs = dh.contiguous(), dh_turned.index_select(0, p.back)
    by_token = []
    for name, own, read, dh in zip(_DIRECTIONS, p.plans, kept, dhs, strict=True):
        of_lstm = lstm.backward(_weights(w, name), own, read, dh)
        by_token.append(of_lstm.pop("embedding"))
        gradients |= {f"{name}_{weight}": value for weight, value in of_lstm.items()}
    return gradients | {"embedding": torch.cat(by_token)}


def _weights(w, direction) -> dict:
    return {name: w[f"{direction}_{name}"] for name in _WEIGHTS} | {"embedding": w["embedding"]}
