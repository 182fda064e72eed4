"""The Tree-GRU. Source: Kokkinos and Potamianos 2017, arXiv:1701.01811, section 2."""

import keras
import tensorflow as tf

from cavs_tf._values.arguments import written_out
from cavs_tf.graphs._options import Options
from cavs_tf.keras._recurrent import CellLayer, TreeCell


@keras.saving.register_keras_serializable("cavs_tf")
class TreeGRUCell(TreeCell):
    """The vertex function of a Tree-GRU. Pushes the hidden state h, which is its state.

    With k the children of a vertex, h~ = sum_k h_k, s the recurrent activation and *
    elementwise:

      child_sum: a reset gate for every child, one U for all.
        z = s(W_z x + U_z h~ + b_z)   r_k = s(W_r x + U_r h_k + b_r)
        n = tanh(W_n x + U_n sum_k r_k * h_k + b_n)
      n_ary: one reset gate, a U of its own for every child.
        z = s(W_z x + sum_k U_z,k h_k + b_z)   r = s(W_r x + sum_k U_r,k h_k + b_r)
        n = tanh(W_n x + sum_k U_n,k (r * h_k) + b_n)
      both:  h = z * h~ + (1 - z) * n

    A missing child has the state zero, and so adds nothing. With arity 1 both are the GRU of
    Cho et al. 2014, arXiv:1406.1078, with z and 1 - z as in `keras.layers.GRU`.

    Args:
      units: Size of h.
      arity: The largest number of children; None, with "child_sum": any number.
      mode: "child_sum": the order of children does not matter; "n_ary": it does.
      activation: The activation of n, tanh by default.
      recurrent_activation: s, of the gates, sigmoid by default.
      use_bias: Whether there is a bias.
      dropout, recurrent_dropout, dropout_rows: As for `TreeGRU`.
      **kwargs: Initializers, regularizers and constraints of "kernel", "recurrent" and "bias",
        named as in `keras.layers.GRU`; and arguments of `GraphSupport`.

    Weights. The weights of the input in r are apart, as vertices without children have no r:
      kernel, kernel_r: [features, 2 units], its columns in the order z, n, and [features, units].
      recurrent_kernel_z, recurrent_kernel_r, recurrent_kernel_n: [units, units]; n_ary:
        [arity units, units], a block of rows for each child.
      bias, bias_r: [2 units], in the order z, n, and [units].
    """

    def __init__(self, units: int, arity: int | None = 2, mode: str = "child_sum", **kwargs):
        super().__init__(units, arity, mode, **kwargs)

    def _build_weights(self, features):
        units, children = self.units, self.arity if self.mode == "n_ary" else 1
        self.kernel, self.kernel_r = self._add_side_by_side(
            "kernel", (features,), {"kernel": 2 * units, "kernel_r": units}
        )
        # These are three weights, since their operands differ.
        self.recurrent_kernel_z, self.recurrent_kernel_r, self.recurrent_kernel_n = (
            self._add_side_by_side(
                "recurrent", (children * units,), {f"recurrent_kernel_{g}": units for g in "zrn"}
            )
        )
        if self.use_bias:
            self.bias, self.bias_r = self._add_side_by_side(
                "bias", (), {"bias": 2 * units, "bias_r": units}
            )

    def vertex(self):
        x = self._pull_dropped()
        z, n = tf.split(self._with_bias(self._product(x, self.kernel)), 2, axis=1)
        r = self._with_bias(self._product(x, self.kernel_r), "bias_r")
        summed, of_gates, reset = self._of_edges(r) if self.arity is None else self._of_slots(r)
        z = self._gate(z, of_gates, self.recurrent_kernel_z)
        n = self.activation(n + self._product(reset, self.recurrent_kernel_n))
        self._finish(n + z * (summed - n))

    def _of_edges(self, r):
        """The sums of the children's h: as they are, for the gate z, and after the gate r."""
        h = self.children()
        left = self._dropped_children(h, r)
        reset = self._gate(self.to_children(r), left, self.recurrent_kernel_r) * left
        return self.sum_children(h), self.sum_children(left), self.sum_children(reset)

    def _of_slots(self, r):
        hs = [self.gather(k) for k in range(self.arity)]
        summed, left = tf.add_n(hs), self._dropped(hs)
        if self.mode == "child_sum":
            of_gates = tf.add_n(left)
            reset = tf.add_n([self._gate(r, h, self.recurrent_kernel_r) * h for h in left])
        else:
            of_gates = tf.concat(left, axis=1)
            r = self._gate(r, of_gates, self.recurrent_kernel_r)
            reset = tf.concat([r * h for h in left], axis=1)
        return summed, of_gates, reset

    def _gate(self, of_input, rows, weight):
        return self.recurrent_activation(of_input + self._product(rows, weight))


@keras.saving.register_keras_serializable("cavs_tf")
class TreeGRU(CellLayer):
    """A Tree-GRU over trees, or any graphs.

    Args:
      units: Size of the output.
      arity: The largest number of children of a vertex; None, with "child_sum": any number.
      mode: "child_sum": the order of children does not matter; "n_ary": it does, and the
        recurrent weights grow with arity.
      return_vertices: Whether to return the output of every vertex, or only of the roots.
      return_state: Whether to return h as well, the state of each root.
      go_backwards: Whether to run from parents to children: over `graphs.reverse()`.
      dropout, recurrent_dropout: In [0, 1): the share of the inputs, and of the children's h, that
        is dropped in training before it is multiplied: the same elements in all vertices of a
        graph, or with `dropout_rows="vertex"` others in each.
      seed: An int with which dropout starts; None: the next of Keras's seeds.
      options: An `Options`.
      activation, kernel_initializer, ...: Arguments of `TreeGRUCell`.
      **kwargs: Arguments of `keras.layers.Layer`.

    It takes the call arguments of `TreeLSTM`, and returns and raises the same, except that its
    state is h alone.

    Source: Kokkinos and Potamianos 2017, arXiv:1701.01811, section 2; see `TreeGRUCell`.

    >>> from cavs_tf import GraphBatch
    >>> trees = GraphBatch.from_parents([[2, 2, -1], [-1]])
    >>> TreeGRU(8)(trees, tf.ones([4, 3])).shape
    TensorShape([2, 8])
    >>> TreeGRU(8, mode="n_ary", return_vertices=True)(trees, tf.ones([4, 3])).shape
    TensorShape([4, 8])
    """

    cell_class = TreeGRUCell

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
