"""The Tree-LSTM. Source: Tai et al. 2015, arXiv:1503.00075, section 3."""

import keras
import tensorflow as tf

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
      arity: The largest number of children.
      mode: "child_sum": the order of children does not matter; "n_ary": it does.
      unit_forget_bias: Whether the bias of the forget gate starts at 1.
      activation: Of u and of c, tanh by default.
      recurrent_activation: s, of the gates, sigmoid by default.
      use_bias: Whether there is a bias.
      **kwargs: Initializers, regularizers and constraints of "kernel", "recurrent" and "bias",
        named as those of `keras.layers.LSTM`; and what `GraphSupport` takes.

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
        unit_forget_bias: bool = True,
        **kwargs,
    ):
        super().__init__(units, arity, mode, num_states=2, **kwargs)
        self.unit_forget_bias = unit_forget_bias

    def build_weights(self, features):
        units = self.units
        children = self.arity if self.mode == "n_ary" else 1
        self.kernel = self.add("kernel", (features, 4 * units))
        shape = (children * units, (children + 3) * units)
        self.recurrent_kernel = self.add("recurrent", shape, "recurrent_kernel")
        if self.use_bias:
            self.bias = self.add("bias", (4 * units,), initializer=self._initial_bias)

    def vertex(self):
        x = self.product(self.pull(), self.kernel)
        if self.use_bias:
            x += self.cast(self.bias)
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
        weight = self.cast(self.recurrent_kernel)
        weight_i, weight_f, weight_uo = tf.split(weight, [self.units, self.units, -1], axis=1)
        summed = tf.matmul(tf.add_n(hs), tf.concat([weight_i, weight_uo], axis=1))
        i, u, o = tf.split(summed, 3, axis=1)
        return i, [tf.matmul(h, weight_f) for h in hs], u, o

    def _recur_n_ary(self, hs):
        summed = self.product(tf.concat(hs, axis=1), self.recurrent_kernel)
        i, *f, u, o = tf.split(summed, self.arity + 3, axis=1)
        return i, f, u, o

    def _initial_bias(self, shape, dtype):
        units = self.units
        f = keras.initializers.Ones() if self.unit_forget_bias else self.bias_initializer
        i, uo = self.bias_initializer((units,), dtype), self.bias_initializer((2 * units,), dtype)
        return tf.concat([i, f((units,), dtype), uo], axis=0)

    def get_config(self):
        return super().get_config() | {"unit_forget_bias": self.unit_forget_bias}


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

    cell_class = TreeLSTMCell

    def __init__(self, units, arity=2, mode="child_sum", return_vertices=False, **kwargs):
        super().__init__(return_vertices, units=units, arity=arity, mode=mode, **kwargs)
