"""Sequences by `nn.LSTM`, packed where lengths differ.

Its kernels are transposed, its biases two: one of them stays zero.
"""

import types

import numpy as np
import torch
from torch.nn.utils import rnn

from benchmarks.peers import _levels
from benchmarks.peers._torch import Functions, indices, trainable
from benchmarks.workloads._lstm import sequences

_NAMES = {"kernel": "weight_ih_l0", "recurrent_kernel": "weight_hh_l0", "bias": "bias_ih_l0"}
_TRANSPOSED = ("kernel", "recurrent_kernel")


class _Model:
    """A model whose layers have the weights to train."""

    def __init__(self, workload):
        self._cell = workload
        # {prefix of our names: (the layer, the suffix of its names)}.
        self._layers = self.make_layers(workload.units)

    def make_layers(self, units: int) -> dict:
        """{prefix of our names: (the layer, the suffix of its names)}."""
        raise NotImplementedError

    def take(self, weights):
        """Takes weights; returns those to train, by name."""
        for prefix, (layer, suffix) in self._layers.items():
            getattr(layer, f"bias_hh_l0{suffix}").requires_grad_(False).zero_()
            for ours, theirs in _NAMES.items():
                parameter = getattr(layer, theirs + suffix)
                parameter.data.copy_(weights[prefix + ours].t())
                weights[prefix + ours] = parameter
        self._weights = trainable(weights)
        return self._weights

    def in_common_layout(self, gradients):
        """Transposes the weights that layers keep transposed."""
        theirs = {prefix + name for prefix in self._layers for name in _TRANSPOSED}
        return {n: g.t() if n in theirs else g for n, g in gradients.items()}


class Sequences(_Model):
    """An LSTM over sequences."""

    def make_layers(self, units):
        self._lstm = torch.nn.LSTM(units, units)
        return {"": (self._lstm, "")}

    def plan(self, minibatch):
        """Plans where steps are."""
        steps = _levels.steps(minibatch)
        sizes = np.diff(steps.splits)
        same = bool((sizes == sizes[0]).all())
        return types.SimpleNamespace(
            token=indices(minibatch.token[steps.vertex]),
            sizes=None if same else torch.from_numpy(sizes.astype(np.int64)),
            num_steps=len(sizes),
            label=indices(minibatch.label[steps.vertex]),
            labelled=None,
        )

    def run(self, plan, x):
        """h of all rows."""
        if plan.sizes is not None:
            return self._lstm(rnn.PackedSequence(x, plan.sizes))[0].data
        h, _ = self._lstm(x.view(plan.num_steps, -1, x.shape[1]))
        return h.view(-1, h.shape[2])


class Tagger(_Model):
    """An LSTM in each direction."""

    def make_layers(self, units):
        self._lstm = torch.nn.LSTM(units, units, bidirectional=True)
        return {"forward_": (self._lstm, ""), "backward_": (self._lstm, "_reverse")}

    def plan(self, minibatch):
        """Plans where steps are."""
        return types.SimpleNamespace(**_packed(minibatch, 0), labelled=None)

    def run(self, plan, x):
        """The rows that the output layer reads, for all words."""
        both = self._lstm(plan.packed(x))[0].data
        return self._cell.head(Functions, self._weights, [both])


class EncoderDecoder(_Model):
    """An LSTM that starts from the last state of another."""

    def make_layers(self, units):
        self._encoder, self._decoder = torch.nn.LSTM(units, units), torch.nn.LSTM(units, units)
        return {"encoder_": (self._encoder, ""), "decoder_": (self._decoder, "")}

    def plan(self, minibatch):
        """Plans where steps are, on both sides."""
        source, target = (_packed(minibatch, kind) for kind in range(2))
        return types.SimpleNamespace(
            token=torch.cat([source["token"], target["token"]]),
            sources=source["packed"],
            targets=target["packed"],
            num_sources=len(source["token"]),
            label=target["label"],
            labelled=None,
        )

    def run(self, plan, x):
        """h of all rows of the decoder."""
        _, state = self._encoder(plan.sources(x[: plan.num_sources]))
        return self._decoder(plan.targets(x[plan.num_sources :]), state)[0].data


MODELS = {"bilstm_tagger": Tagger, "encoder_decoder": EncoderDecoder}


def _packed(minibatch, kind) -> dict:
    """Token and label of every row of the sequences of one type, and how rows are packed."""
    words = sequences(minibatch, kind)
    steps = _levels.steps(words)
    sizes = torch.from_numpy(np.diff(steps.splits).astype(np.int64))
    order = indices(np.argsort(-np.diff(words.graph_splits), kind="stable"))
    back = torch.argsort(order)
    return {
        "token": indices(words.token[steps.vertex]),
        "label": indices(words.label[steps.vertex]),
        "packed": lambda x: rnn.PackedSequence(x, sizes, order, back),
    }
