"""The Tree-LSTM. Source: Tai et al. 2015, arXiv:1503.00075, section 3."""

import keras
import tensorflow as tf

from cavs_tf._values.arguments import check_bools, written_out
from cavs_tf.graphs._options import Options
from cavs_tf.keras._recurrent import CellLayer, TreeCell


@keras.saving.register_keras_serializable("cavs_tf")
class TreeLSTMCell(TreeCell):
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
      arity: The largest number of children; None, with "child_sum": any number.
      mode: "child_sum": the order of children does not matter; "n_ary": it does.
      unit_forget_bias: Whether the bias of the forget gate starts at 1.
      activation: The activation of u and of c, tanh by default.
      recurrent_activation: s, of the gates, sigmoid by default.
      use_bias: Whether there is a bias.
      push_states: Whether to push c as well, by the name "c".
      dropout, recurrent_dropout, dropout_rows: As for `TreeLSTM`.
      **kwargs: Initializers, regularizers and constraints of "kernel", "recurrent" and "bias",
        named as in `keras.layers.LSTM`; and arguments of `GraphSupport`.

    Weights. The weights of f are apart, as vertices without children have no f:
      kernel, kernel_f: [features, 3 units], its columns in the order i, u, o, and
        [features, units].
      recurrent_kernel, recurrent_kernel_f: [units, 3 units] and [units, units]; n_ary:
        [arity units, 3 units], a block of rows for each child, and [arity units, arity units], a
        block of columns for each f_k.
      bias, bias_f: [3 units] and [units].
    With arity 1 they are the weights of `keras.layers.LSTM`, with columns in the order i, f, u, o:
    [features, 4 units], [units, 4 units] and [4 units].
    """

    state_names = ("h", "c")

    def __init__(
        self,
        units: int,
        arity: int = 2,
        mode: str = "child_sum",
        *,
        unit_forget_bias: bool = True,
        **kwargs,
    ):
        check_bools(unit_forget_bias=unit_forget_bias)
        super().__init__(units, arity, mode, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    def _build_weights(self, features):
        rows = self.units * (self.arity if self.mode == "n_ary" else 1)
        self.kernel, self.kernel_f = self._add_gates("kernel", (features,), self.units)
        self.recurrent_kernel, self.recurrent_kernel_f = self._add_gates("recurrent", (rows,), rows)
        if self.use_bias:
            self.bias, self.bias_f = self._add_gates("bias", (), self.units, self._initial_bias)

    def _add_gates(self, weight, rows, columns_of_f, initializer=None):
        """The weights of i, u and o, and of f; with arity 1 the weight of all gates, and None."""
        name = "recurrent_kernel" if weight == "recurrent" else weight
        if self.arity == 1:
            columns = {name: 4 * self.units}
            return *self._add_side_by_side(weight, rows, columns, initializer), None
        columns = {name: 3 * self.units, f"{name}_f": columns_of_f}
        return self._add_side_by_side(weight, rows, columns, initializer)

    def vertex(self):
        if self.arity is None:
            self._any_number()
        else:
            self._of_slots()

    def _any_number(self):
        c, h = tf.split(self.children(), 2, axis=1)
        f, iuo = self._of_input(self._pull_dropped())
        h = self._dropped_children(h, f)
        iuo += self._product(self.sum_children(h), self.recurrent_kernel)
        f = self.to_children(f) + self._product(h, self.recurrent_kernel_f)
        i, u, o = tf.split(iuo, 3, axis=1)
        kept = self.sum_children(self.recurrent_activation(f) * c)
        c = self.recurrent_activation(i) * self.activation(u) + kept
        self._finish(self.recurrent_activation(o) * self.activation(c), c)

    def _of_slots(self):
        cs, hs = zip(*(tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)), strict=True)
        x, hs = self._pull_dropped(), self._dropped(hs)
        i, fs, u, o = self._chain(x, *hs) if self.arity == 1 else self._tree(x, hs)
        c = self.recurrent_activation(i) * self.activation(u)
        for f_k, c_k in zip(fs, cs, strict=True):
            c += self.recurrent_activation(f_k) * c_k
        h = self.recurrent_activation(o) * self.activation(c)
        self._finish(h, c)

    def _chain(self, x, h):
        """The gates before their activations: i, each f_k, u and o, with one child."""
        of_input = self._product(x, self.kernel)
        gates = self._with_bias(of_input + self._product(h, self.recurrent_kernel))
        i, f, u, o = tf.split(gates, 4, axis=1)
        return i, [f], u, o

    def _tree(self, x, hs):
        """The same as `_chain`, with several children."""
        f, iuo = self._of_input(x)
        if self.mode == "child_sum":
            h, fs = tf.add_n(hs), [self._product(h, self.recurrent_kernel_f) for h in hs]
        else:
            h = tf.concat(hs, axis=1)
            fs = tf.split(self._product(h, self.recurrent_kernel_f), self.arity, axis=1)
        i, u, o = tf.split(iuo + self._product(h, self.recurrent_kernel), 3, axis=1)
        return i, [f + f_k for f_k in fs], u, o

    def _of_input(self, x):
        """The part of the input in f, and in i, u and o."""
        f = self._with_bias(self._product(x, self.kernel_f), "bias_f")
        return f, self._with_bias(self._product(x, self.kernel))

    def _initial_bias(self, shape, dtype=None):
        gates = tf.split(self.bias_initializer(shape, dtype=dtype), 4)
        f = 1 if self.arity == 1 else 3
        if self.unit_forget_bias:
            gates[f] = tf.ones_like(gates[f])
        return tf.concat(gates, axis=0)

    def get_config(self):
        return super().get_config() | {"unit_forget_bias": self.unit_forget_bias}


@keras.saving.register_keras_serializable("cavs_tf")
class TreeLSTM(CellLayer):
    """A Tree-LSTM over trees, or any graphs.

    Args:
      units: Size of the output.
      arity: The largest number of children of a vertex; None, with "child_sum": any number, with
        the weights of a layer with several slots.
      mode: "child_sum": the order of children does not matter; "n_ary": it does, and the
        recurrent weights grow with arity squared.
      return_vertices: Whether to return the output of every vertex, or only of the roots.
      return_state: Whether to return h and c as well, the state of each root.
      go_backwards: Whether to run from parents to children: over `graphs.reverse()`.
      dropout, recurrent_dropout: In [0, 1): the share of the inputs, and of the children's h, that
        is dropped in training before it is multiplied: the same elements in all vertices of a
        graph, or with `dropout_rows="vertex"` others in each.
      seed: An int with which dropout starts; None: the next of Keras's seeds.
      options: An `Options`.
      activation, kernel_initializer, ...: Arguments of `TreeLSTMCell`.
      **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      inputs: [V, features] in vertex order, or a `VertexRows` if some vertices have no input.
      initial_state: [h, c], each [B, units], which vertices without children gather as the state
        of their first child. None: zeros.

    Returns:
      [B, units], the hidden state of each graph's root (see `Roots`), or with
      `return_vertices` [V, units] in vertex order. With `return_state` (that, h, c), where h and
      c, [B, units], are the state of each graph's root.

    Raises:
      ValueError: If an argument is not as described, or inputs are missing or have another rank.
      tf.errors.InvalidArgumentError: If a vertex has more than `arity` children.

    Source: Tai et al. 2015, arXiv:1503.00075, equations 2-8 and 9-14.

    >>> from cavs_tf import GraphBatch
    >>> trees = GraphBatch.from_parents([[2, 2, -1], [-1]])
    >>> TreeLSTM(8)(trees, tf.ones([4, 3])).shape
    TensorShape([2, 8])
    >>> TreeLSTM(8, mode="n_ary", return_vertices=True)(trees, tf.ones([4, 3])).shape
    TensorShape([4, 8])

    Up the trees and then down, so that each vertex knows the whole of its tree: going down, it
    gathers from its parent.

    >>> up = TreeLSTM(8, return_vertices=True)(trees, tf.ones([4, 3]))
    >>> down = TreeLSTM(8, arity=1, return_vertices=True, go_backwards=True)(trees, up)
    >>> tf.concat([up, down], axis=1).shape
    TensorShape([4, 16])
    """

    cell_class = TreeLSTMCell

    def __init__(
        self,
        units: int,
        arity: int | None = 2,
        mode: str = "child_sum",
        *,
        return_vertices: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias: bool = True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        activity_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        seed: int | None = None,
        dropout_rows: str = "graph",
        options: Options | None = None,
        **kwargs,
    ):
        super().__init__(**written_out(locals()))
