"""The Tree-LSTM. Source: Tai et al. 2015, arXiv:1503.00075, section 3."""

import dataclasses

import keras
import tensorflow as tf

from cavs_tf.graph_support import GraphSupport
from cavs_tf.keras._graph import Graph
from cavs_tf.options import Options

_MODES = ("child_sum", "n_ary")
LAYER_ARGUMENTS = ("name", "dtype", "trainable", "activity_regularizer")


@keras.saving.register_keras_serializable("cavs_tf")
class TreeLSTMCell(GraphSupport):
    """The vertex function of a Tree-LSTM. Pushes the hidden state h; its state is [c, h].

    With j a vertex, k its children and * elementwise:

      child_sum (equations 2-8):  h~ = sum_k h_k
        i = s(W_i x + U_i h~ + b_i)   f_k = s(W_f x + U_f h_k + b_f)
        o = s(W_o x + U_o h~ + b_o)   u = tanh(W_u x + U_u h~ + b_u)
      n_ary (equations 9-14): a U of its own for every child, sum_l U_l h_l in place of U h~,
        and in f_k, sum_l U_f,k,l h_l.
      both:  c = i * u + sum_k f_k * c_k,  h = o * tanh(c)

    A missing child has the state zero, and so adds nothing. With arity 1 both are the LSTM.

    Args:
      units: Size of h, and of c.
      arity: The largest number of children.
      mode: "child_sum": the order of children does not matter; "n_ary": it does.
      activation: Of u and of c.
      recurrent_activation: s, of the gates.
      kernel_initializer, recurrent_initializer, bias_initializer: As of `keras.layers.LSTM`.
      unit_forget_bias: Whether the bias of the forget gate starts at 1.
      options, **kwargs: As for `GraphSupport`.

    Weights, their columns in the order of `keras.layers.LSTM`, i, f, u, o:
      kernel: [features, 4 units].
      recurrent_kernel: [units, 4 units]; n_ary: [arity units, (arity + 3) units] with one
        block of columns for each f_k, one block of rows for each child.
      bias: [4 units].
    """

    def __init__(
        self,
        units: int,
        arity: int = 2,
        mode: str = "child_sum",
        activation="tanh",
        recurrent_activation="sigmoid",
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias: bool = True,
        options=None,
        **kwargs,
    ):
        for name, value in (("units", units), ("arity", arity)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: got {value!r} but expected an int of at least 1.")
        if mode not in _MODES:
            raise ValueError(f"mode: got {mode!r} but expected one of {_MODES}.")
        super().__init__(state_size=2 * units, arity=arity, options=options, **kwargs)
        self.units = units
        self.mode = mode
        self.activation = keras.activations.get(activation)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(recurrent_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.unit_forget_bias = unit_forget_bias

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
        units = self.units
        children = self.arity if self.mode == "n_ary" else 1
        self.kernel = self.add_weight(
            shape=(inputs_shape[-1], 4 * units), initializer=self.kernel_initializer, name="kernel"
        )
        self.recurrent_kernel = self.add_weight(
            shape=(children * units, (children + 3) * units),
            initializer=self.recurrent_initializer,
            name="recurrent_kernel",
        )
        self.bias = self.add_weight(shape=(4 * units,), initializer=self._initial_bias, name="bias")

    def vertex(self):
        x = tf.matmul(self._cast(self.pull()), self._cast(self.kernel)) + self._cast(self.bias)
        i, f, u, o = tf.split(x, 4, axis=1)
        cs, hs = zip(*(tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)), strict=True)
        recur = self._recur_child_sum if self.mode == "child_sum" else self._recur_n_ary
        from_h_i, from_h_f, from_h_u, from_h_o = recur(hs)

        c = self.recurrent_activation(i + from_h_i) * self.activation(u + from_h_u)
        for c_k, from_h_f_k in zip(cs, from_h_f, strict=True):
            c += self.recurrent_activation(f + from_h_f_k) * c_k
        h = self.recurrent_activation(o + from_h_o) * self.activation(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)

    def _recur_child_sum(self, hs):
        """The terms of i, of each f_k, of u and of o that depend on the children's h."""
        weight = self._cast(self.recurrent_kernel)
        weight_i, weight_f, weight_uo = tf.split(weight, [self.units, self.units, -1], axis=1)
        summed = tf.matmul(tf.add_n(hs), tf.concat([weight_i, weight_uo], axis=1))
        i, u, o = tf.split(summed, 3, axis=1)
        return i, [tf.matmul(h, weight_f) for h in hs], u, o

    def _recur_n_ary(self, hs):
        summed = tf.matmul(tf.concat(hs, axis=1), self._cast(self.recurrent_kernel))
        i, *f, u, o = tf.split(summed, self.arity + 3, axis=1)
        return i, f, u, o

    def _cast(self, value):
        return tf.cast(value, self.compute_dtype)

    def _initial_bias(self, shape, dtype):
        units = self.units
        f = keras.initializers.Ones() if self.unit_forget_bias else self.bias_initializer
        i, uo = self.bias_initializer((units,), dtype), self.bias_initializer((2 * units,), dtype)
        return tf.concat([i, f((units,), dtype), uo], axis=0)

    def get_config(self):
        return super().get_config() | {
            "units": self.units,
            "arity": self.arity,
            "mode": self.mode,
            "activation": keras.activations.serialize(self.activation),
            "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
            "kernel_initializer": keras.initializers.serialize(self.kernel_initializer),
            "recurrent_initializer": keras.initializers.serialize(self.recurrent_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "unit_forget_bias": self.unit_forget_bias,
            "options": dataclasses.asdict(self.options),
        }

    @classmethod
    def from_config(cls, config):
        return cls(**(config | {"options": Options(**config["options"])}))


class CellLayer(Graph):
    """A `Graph` that makes its own `TreeLSTMCell` and is configured by its arguments."""

    def __init__(self, cell_arguments: dict, return_vertices: bool, **kwargs):
        dtype = keras.dtype_policies.get(kwargs.pop("dtype", None))
        cell = TreeLSTMCell(**cell_arguments, dtype=dtype, name="cell")
        super().__init__(cell, return_vertices, dtype=dtype, **kwargs)

    @property
    def units(self) -> int:
        return self.cell.units

    def cell_config(self) -> dict:
        """The arguments that made the cell."""
        config = self.cell.get_config()
        return {k: v for k, v in config.items() if k not in ("name", "trainable", "dtype")}

    @classmethod
    def from_config(cls, config):
        return cls(**(config | {"options": Options(**config["options"])}))


@keras.saving.register_keras_serializable("cavs_tf")
class TreeLSTM(CellLayer):
    """A Tree-LSTM over trees, or any graphs.

    Args:
      units: Size of the output.
      arity: The largest number of children of a vertex.
      mode: "child_sum": the order of children does not matter; "n_ary": it does, and the
        recurrent weights grow with arity squared.
      return_vertices: Whether to return the output of every vertex, or only of the roots.
      **kwargs: Arguments of `TreeLSTMCell` (activations, initializers) and `keras.layers.Layer`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      inputs: [V, features] in vertex order. Zeros for a vertex without input.

    Returns:
      [B, units], the hidden state of each graph's root (see `Roots`), or with
      `return_vertices` [V, units] in vertex order.

    Source: Tai et al. 2015, arXiv:1503.00075, equations 2-8 and 9-14.

    >>> from cavs_tf import GraphBatch
    >>> trees = GraphBatch.from_parents([[2, 2, -1], [-1]])
    >>> TreeLSTM(8)(trees, tf.ones([4, 3])).shape
    TensorShape([2, 8])
    >>> TreeLSTM(8, mode="n_ary", return_vertices=True)(trees, tf.ones([4, 3])).shape
    TensorShape([4, 8])
    """

    def __init__(self, units, arity=2, mode="child_sum", return_vertices=False, **kwargs):
        layer = {k: kwargs.pop(k) for k in LAYER_ARGUMENTS if k in kwargs}
        cell = {"units": units, "arity": arity, "mode": mode} | kwargs
        super().__init__(cell, return_vertices, **layer)

    def get_config(self):
        config = keras.layers.Layer.get_config(self)
        return config | self.cell_config() | {"return_vertices": self.return_vertices}
