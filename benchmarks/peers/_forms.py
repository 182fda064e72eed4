"""Other forms that a workload's cell is written in, and the weights of these."""

import numpy as np
import tensorflow as tf

from benchmarks.peers import _base
from benchmarks.peers._cavs import gates

_LSTM = (gates.LSTM, {"kernel": 4, "recurrent_kernel": 4, "bias": 4})
# Workload: (model, {weights of all gates: number of gates}).
_BY_GATE = {
    "tree_lstm": (gates.TreeLSTM, {"leaf_kernel": 3, "kernel": 3, "bias": 3}),
    "fixed_lstm": _LSTM,
    "var_lstm": _LSTM,
}


class Gates:
    """Weights that are separate for every gate, as in the paper's Figure 4.

    Attributes:
      model: The model.
    """

    def __init__(self, workload: str):
        if workload not in _BY_GATE:
            raise _base.Unsupported(f"{workload} is not written gate by gate")
        self.model, self._counts = _BY_GATE[workload]

    def split(self, variables: dict) -> dict:
        """The workload's variables as those of the model."""
        parts = {n: v for n, v in variables.items() if n not in self._counts}
        for name, count in self._counts.items():
            for k, value in enumerate(np.split(variables[name].numpy(), count, axis=-1)):
                parts[gates.part(name, k)] = tf.Variable(value, name=gates.part(name, k))
        return parts

    def join(self, arrays: dict) -> dict:
        """Gradients of the model's variables as those of the workload's."""
        joined = {
            name: np.concatenate([arrays.pop(gates.part(name, k)) for k in range(count)], axis=-1)
            for name, count in self._counts.items()
        }
        return arrays | joined


class Stacked:
    """Kernels that are applied to what is concatenated.

    Attributes:
      model: The model. `model.stacked` has, for each of its kernels, the workload's weights that
        are the rows of it, from above; None stands for rows of zeros whose gradient is zero.
    """

    def __init__(self, model):
        self.model = model

    def split(self, variables: dict) -> dict:
        """The workload's variables as those of the model."""
        stacked = dict(variables)
        for name, parts in self.model.stacked.items():
            values = {part: stacked.pop(part).numpy() for part in parts if part is not None}
            rows = [values.get(part, np.zeros_like(values[parts[-1]])) for part in parts]
            stacked[name] = tf.Variable(np.concatenate(rows), name=name)
        return stacked

    def join(self, arrays: dict) -> dict:
        """Gradients of the model's variables as those of the workload's."""
        for name, parts in self.model.stacked.items():
            pieces = np.split(arrays.pop(name), len(parts))
            arrays |= {part: rows for part, rows in zip(parts, pieces, strict=True) if part}
        return arrays


def form_of(name: str | None, workload: str, model):
    """The form of that name of a workload, of which `model` is the usual model.

    Raises:
      _base.Unsupported: If the workload is not written in it.
    """
    if name == "gates":
        return Gates(workload)
    return Stacked(model)
