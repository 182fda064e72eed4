"""Deep Graph Library: messages go from level to level, in groups with equal numbers of children."""

import types

import dgl
import numpy as np
import torch

from benchmarks.peers import _base
from benchmarks.peers import torch as torch_peer
from benchmarks.peers._torch import Model, indices


class Peer(torch_peer.Peer):
    """Tree-LSTMs, as in the library's own example."""

    def __init__(self, workload, threads):
        super().__init__(workload, threads)
        self.version = f"dgl {dgl.__version__} on {self.version}"

    def make_model(self, workload):
        models = {"tree_lstm": _WordsAtLeaves, "dependency_lstm": _TreeLSTM}
        if workload.name not in models:
            raise _base.Unsupported("its example is a Tree-LSTM")
        return models[workload.name]()


class _TreeLSTM(Model):
    """The child-sum Tree-LSTM with a word at every vertex."""

    recurrent_kernel, recurrent_forget_kernel = "recurrent_kernel", "recurrent_forget_kernel"

    def plan(self, minibatch):
        """Makes a graph with edges from children to parents, and the order of its vertices."""
        parent, slot = np.nonzero(minibatch.children >= 0)
        child = indices(minibatch.children[parent, slot])
        graph = dgl.graph((child, indices(parent)), num_nodes=minibatch.num_vertices)
        labelled = minibatch.label >= 0
        return types.SimpleNamespace(
            graph=graph,
            order=dgl.topological_nodes_generator(graph),
            token=indices(minibatch.token),
            label=indices(minibatch.label[labelled]),
            labelled=None if labelled.all() else indices(np.flatnonzero(labelled)),
        )

    def run(self, plan, x):
        """h of all vertices."""
        w = self._weights
        with plan.graph.local_scope() as _:
            graph = plan.graph
            graph.ndata["iou"], graph.ndata["f"] = self.own(plan, x)
            zeros = x.new_zeros(plan.graph.num_nodes(), w[self.recurrent_kernel].shape[0])
            graph.ndata["h"], graph.ndata["c"] = zeros, zeros
            dgl.prop_nodes(graph, plan.order, self._message, self._reduce, self._apply)
            return graph.ndata["h"]

    def own(self, plan, x):
        """The inputs' terms in the gates of all vertices: those of i, o and u, and those of f."""
        w = self._weights
        iou = torch.addmm(w["bias"], x, w["kernel"])
        return iou, torch.addmm(w["forget_bias"], x, w["forget_kernel"])

    def _message(self, edges):
        return {"h": edges.src["h"], "c": edges.src["c"]}

    def _reduce(self, nodes):
        w, h = self._weights, nodes.mailbox["h"]
        f = torch.sigmoid(nodes.data["f"][:, None] + h @ w[self.recurrent_forget_kernel])
        iou = torch.addmm(nodes.data["iou"], h.sum(dim=1), w[self.recurrent_kernel])
        return {"iou": iou, "c": (f * nodes.mailbox["c"]).sum(dim=1)}

    def _apply(self, nodes):
        i, o, u = nodes.data["iou"].chunk(3, dim=1)
        c = torch.sigmoid(i) * torch.tanh(u) + nodes.data["c"]
        return {"h": torch.sigmoid(o) * torch.tanh(c), "c": c}


class _WordsAtLeaves(_TreeLSTM):
    """The binary Tree-LSTM, with words at the leaves."""

    recurrent_kernel, recurrent_forget_kernel = "kernel", "forget_kernel"

    def plan(self, minibatch):
        """Plans so that only leaves pull words."""
        plan = super().plan(minibatch)
        plan.leaf = indices(np.flatnonzero(minibatch.is_leaf))
        plan.token = plan.token[plan.leaf]
        return plan

    def own(self, plan, x):
        w = self._weights
        size = plan.graph.num_nodes()
        iou = w["bias"].expand(size, -1).index_add(0, plan.leaf, x @ w["leaf_kernel"])
        return iou, w["forget_bias"].expand(size, -1)
