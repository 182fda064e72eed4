"""PyTorch, batched by hand, with a backward pass written by hand: its fastest version we know."""

import torch
from torch.nn import functional

from benchmarks.peers import _base, _torch
from benchmarks.peers._by_hand import (
    bilstm_tagger,
    calculator,
    dependency_lstm,
    lstm,
    tree_fc,
    tree_lstm,
)

_CELLS = {
    "bilstm_tagger": bilstm_tagger,
    "calculator": calculator,
    "dependency_lstm": dependency_lstm,
    "fixed_lstm": lstm,
    "tree_fc": tree_fc,
    "tree_lstm": tree_lstm,
    "var_lstm": lstm,
}


class Peer(_torch.TorchPeer):
    """Runs without autograd; weight gradients are deferred to one product over all levels."""

    def __init__(self, workload, threads):
        if workload.name not in _CELLS:
            raise _base.Unsupported(f"no passes by hand for {workload.name}")
        self._cell = _CELLS[workload.name]
        super().__init__(workload, threads)

    def plan(self, minibatch):
        return self._cell.plan(minibatch)

    def loss(self, plan):
        h, _ = self._cell.forward(self.weights, plan)
        return functional.cross_entropy(self._logits(h), plan.label, reduction="sum")

    def differentiate(self, plan):
        with torch.inference_mode():
            w = self.weights
            h, kept = self._cell.forward(w, plan)
            log_shares = functional.log_softmax(self._logits(h), dim=1)
            label = plan.label[:, None]
            loss = -log_shares.gather(1, label).sum()
            d_logits = log_shares.exp_()
            d_logits.scatter_add_(1, label, torch.full(label.shape, -1.0))
            output = {"output": h.t() @ d_logits, "output_bias": d_logits.sum(dim=0)}
            dh = d_logits @ w["output"].t()
            return loss, self._cell.backward(w, plan, kept, dh) | output

    def train(self, index):
        with torch.inference_mode():
            return super().train(index)

    def gradients(self):
        with torch.inference_mode():
            return super().gradients()

    def _logits(self, h):
        return torch.addmm(self.weights["output_bias"], h, self.weights["output"])
