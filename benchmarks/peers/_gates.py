"""Weights that are separate for every gate, as in the paper's Figure 4."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import _base
from benchmarks.peers._cavs import gates

_LSTM = (gates.LSTM, {"kernel": 4, "recurrent_kernel": 4, "bias": 4})
# Workload: (model, {weights of all gates: number of gates}).
_MODELS = {
    "tree_lstm": (gates.TreeLSTM, {"leaf_kernel": 3, "leaf_bias": 3, "kernel": 3, "bias": 3}),
    "fixed_lstm": _LSTM,
    "var_lstm": _LSTM,
}


class Gates:
    """The model of a workload in which every gate is written by itself, and its weights.

    Attributes:
      model: The model.
    """

    def __init__(self, workload: str):
        if workload not in _MODELS:
            raise _base.Unsupported(f"{workload} is not written gate by gate")
        self.model, self._counts = _MODELS[workload]

    def split(self, variables: dict) -> dict:
        """Splits variables into those of every gate."""
        parts = {n: v for n, v in variables.items() if n not in self._counts}
        for name, count in self._counts.items():
            for k, value in enumerate(np.split(variables[name].numpy(), count, axis=-1)):
                parts[gates.part(name, k)] = tf.Variable(value, name=gates.part(name, k))
        return parts

    def join(self, arrays: dict) -> dict:
        """Joins gradients of every gate to those of the workload's variables."""
        joined = {
            name: np.concatenate([arrays.pop(gates.part(name, k)) for k in range(count)], axis=-1)
            for name, count in self._counts.items()
        }
        return arrays | joined
