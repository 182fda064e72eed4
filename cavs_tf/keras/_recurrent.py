"""Base classes of recurrent cells and of the layers around them."""

import dataclasses

import keras
import tensorflow as tf

from cavs_tf.graph_support import GraphSupport
from cavs_tf.keras._graph import Graph
from cavs_tf.options import Options

_MODES = ("child_sum", "n_ary")
_WEIGHTS = ("kernel", "recurrent", "bias")
_OF_WEIGHTS = {
    f"{weight}_{kind}": get
    for weight in _WEIGHTS
    for kind, get in {
        "initializer": keras.initializers,
        "regularizer": keras.regularizers,
        "constraint": keras.constraints,
    }.items()
}
_INITIALIZERS = {
    "kernel_initializer": "glorot_uniform",
    "recurrent_initializer": "orthogonal",
    "bias_initializer": "zeros",
}
_LAYER_ARGUMENTS = ("name", "dtype", "trainable", "activity_regularizer")


class RecurrentCell(GraphSupport):
    """A vertex function with gates: one kernel for the inputs of all, others for the children.

    Args:
      units: Size of what a vertex pushes.
      arity: The largest number of children.
      num_states: The number of vectors of size `units` in the state of a vertex.
      activation: The activation of new values (u and c of an LSTM, n of a GRU).
      recurrent_activation: The activation of the gates.
      use_bias: Whether there is a bias.
      options: As for `GraphSupport`.
      **kwargs: Initializers, regularizers and constraints, named as those of
        `keras.layers.LSTM` ("kernel_initializer", "recurrent_regularizer", ...), and what
        `GraphSupport` takes.
    """

    def __init__(
        self,
        units: int,
        arity: int,
        num_states: int,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias: bool = True,
        options=None,
        **kwargs,
    ):
        for name, value in (("units", units), ("arity", arity)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: got {value!r} but expected an int of at least 1.")
        of_weights = {k: kwargs.pop(k, _INITIALIZERS.get(k)) for k in _OF_WEIGHTS}
        super().__init__(num_states * units, arity, options, **kwargs)
        self.units = units
        self.activation = keras.activations.get(activation)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.use_bias = use_bias
        for name, value in of_weights.items():
            setattr(self, name, _OF_WEIGHTS[name].get(value))

    def build(self, inputs_shape=None, graphs_shape=None):
        if inputs_shape is None:
            raise ValueError(
                "inputs: got none but expected [V, features], one row per vertex. Call the layer "
                "with (graphs, inputs)."
            )
        if isinstance(inputs_shape, dict) or len(inputs_shape) != 2:
            raise ValueError(
                f"inputs: got shape {inputs_shape} but expected [V, features], one row per vertex. "
                "Embed tokens first."
            )
        self.build_weights(inputs_shape[-1])

    def build_weights(self, features: int) -> None:
        """Makes the weights for inputs of `features` columns."""
        raise NotImplementedError

    def add(self, weight: str, shape, name=None, **kwargs):
        """Makes a weight with the initializer and constraint of `weight`, one of `_WEIGHTS`."""
        arguments = {k: getattr(self, f"{weight}_{k}") for k in ("initializer", "regularizer")}
        arguments["constraint"] = getattr(self, f"{weight}_constraint")
        return self.add_weight(name=name or weight, shape=shape, **(arguments | kwargs))

    def cast(self, value):
        return tf.cast(value, self.compute_dtype)

    def product(self, rows, weight):
        return tf.matmul(self.cast(rows), self.cast(weight))

    def with_bias(self, rows):
        return rows + self.cast(self.bias) if self.use_bias else rows

    def get_config(self):
        config = {k: get.serialize(getattr(self, k)) for k, get in _OF_WEIGHTS.items()}
        return (
            super().get_config()
            | config
            | {
                "units": self.units,
                "activation": keras.activations.serialize(self.activation),
                "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
                "use_bias": self.use_bias,
                "options": dataclasses.asdict(self.options),
            }
        )

    @classmethod
    def from_config(cls, config):
        return cls(**(config | {"options": Options(**config["options"])}))


class TreeCell(RecurrentCell):
    """A `RecurrentCell` for trees, with a choice of how children are told apart.

    Args:
      mode: "child_sum": the order of children does not matter; "n_ary": it does.
      units, arity, num_states, **kwargs: As for `RecurrentCell`.
    """

    def __init__(self, units: int, arity: int, mode: str, num_states: int, **kwargs):
        if mode not in _MODES:
            raise ValueError(f"mode: got {mode!r} but expected one of {_MODES}.")
        super().__init__(units, arity, num_states, **kwargs)
        self.mode = mode

    def get_config(self):
        return super().get_config() | {"arity": self.arity, "mode": self.mode}


class CellLayer(Graph):
    """A `Graph` that makes its own cell, of `cell_class`, and is configured by its arguments."""

    cell_class: type[RecurrentCell]

    def __init__(self, return_vertices: bool, **kwargs):
        layer = {k: kwargs.pop(k) for k in _LAYER_ARGUMENTS if k in kwargs}
        dtype = keras.dtype_policies.get(layer.pop("dtype", None))
        cell = self.cell_class(**kwargs, dtype=dtype, name="cell")
        super().__init__(cell, return_vertices, dtype=dtype, **layer)

    @property
    def units(self) -> int:
        return self.cell.units

    def get_config(self):
        of_cell = {
            k: v
            for k, v in self.cell.get_config().items()
            if k not in ("name", "trainable", "dtype")
        }
        config = keras.layers.Layer.get_config(self)
        return config | of_cell | {"return_vertices": self.return_vertices}

    @classmethod
    def from_config(cls, config):
        return cls(**(config | {"options": Options(**config["options"])}))


class TreeLayer(CellLayer):
    """A `CellLayer` over trees, or any graphs; its cell is a `TreeCell`."""

    def __init__(self, units, arity=2, mode="child_sum", return_vertices=False, **kwargs):
        super().__init__(return_vertices, units=units, arity=arity, mode=mode, **kwargs)
