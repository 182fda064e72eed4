"""The package pytorch-tree-lstm: a child-sum Tree-LSTM for any trees."""

import importlib.metadata
import types

import numpy as np
import treelstm

from benchmarks.peers import _base
from benchmarks.peers import torch as torch_peer
from benchmarks.peers._torch import indices, trainable


class Peer(torch_peer.Peer):
    """The workload whose cell the package has."""

    def __init__(self, workload, threads):
        super().__init__(workload, threads)
        version = importlib.metadata.version("pytorch-tree-lstm")
        self.version = f"pytorch-tree-lstm {version} on {self.version}"

    def make_model(self, workload):
        if workload.name != "dependency_lstm":
            raise _base.Unsupported("its cell is another one")
        return _Model(workload.units)


class _Model:
    """The package's layer, whose kernels are transposed."""

    _THEIRS = types.MappingProxyType(
        {
            "kernel": "W_iou.weight",
            "bias": "W_iou.bias",
            "recurrent_kernel": "U_iou.weight",
            "forget_kernel": "W_f.weight",
            "forget_bias": "W_f.bias",
            "recurrent_forget_kernel": "U_f.weight",
        }
    )

    def __init__(self, units):
        self._layer = treelstm.TreeLSTM(units, units)

    def take(self, weights):
        """Takes weights; returns those to train, by name."""
        for ours, theirs in self._THEIRS.items():
            parameter = self._layer.get_parameter(theirs)
            parameter.data.copy_(weights[ours].t())
            weights[ours] = parameter
        return trainable(weights)

    def in_common_layout(self, gradients):
        """Transposes the weights that the layer keeps transposed."""
        return {n: g.t() if n in self._THEIRS else g for n, g in gradients.items()}

    def plan(self, minibatch):
        """Plans when each vertex and each edge is evaluated, in the package's numbering."""
        parent, slot = np.nonzero(minibatch.children >= 0)
        edges = np.stack([parent, minibatch.children[parent, slot]], axis=1)
        orders = treelstm.calculate_evaluation_orders(edges, minibatch.num_vertices)
        labelled = minibatch.label >= 0
        return types.SimpleNamespace(
            token=indices(minibatch.token),
            orders=[indices(order) for order in orders],
            edges=indices(edges),
            label=indices(minibatch.label[labelled]),
            labelled=indices(np.flatnonzero(labelled)),
        )

    def run(self, plan, x):
        """h of all vertices."""
        vertex_order, edge_order = plan.orders
        return self._layer(x, vertex_order, plan.edges, edge_order)[0]
