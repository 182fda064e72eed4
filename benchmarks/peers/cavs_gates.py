"""This project, with gates written one by one as in the paper's Figure 4."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import _base, cavs
from benchmarks.peers._cavs import gates

_LSTM = (gates.LSTM, {"kernel": 4, "recurrent_kernel": 4, "bias": 4})
# Workload: (model, how many gates the weights of that name are for).
_MODELS = {
    "tree_lstm": (gates.TreeLSTM, {"leaf_kernel": 3, "leaf_bias": 3, "kernel": 3, "bias": 3}),
    "fixed_lstm": _LSTM,
    "var_lstm": _LSTM,
}


class Peer(cavs.Peer):
    """As `cavs`, but every gate has weights of its own."""

    def prepare(self):
        name = self.workload.name
        if name not in _MODELS:
            raise _base.Unsupported(f"{name} is not written gate by gate")
        self._gates_of = _MODELS[name][1]
        self.variables = self._in_parts(self.variables)
        super().prepare()

    def make_model(self, model_class):
        return super().make_model(_MODELS[self.workload.name][0])

    def gradients(self):
        """As of packed weights."""
        found = super().gradients()
        packed = {
            name: np.concatenate([found.pop(gates.part(name, k)) for k in range(count)], axis=-1)
            for name, count in self._gates_of.items()
        }
        return found | packed

    def _in_parts(self, variables):
        parts = {}
        for name, variable in variables.items():
            count = self._gates_of.get(name)
            if count is None:
                parts[name] = variable
                continue
            for k, value in enumerate(np.split(variable.numpy(), count, axis=-1)):
                parts[gates.part(name, k)] = tf.Variable(value, name=gates.part(name, k))
        return parts
