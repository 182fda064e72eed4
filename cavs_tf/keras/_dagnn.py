"""A network over DAGs. Source: Thost and Chen 2021, arXiv:2101.07965, section 3."""

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import DEFAULT
from cavs_tf._values.arguments import written_out
from cavs_tf.graphs._options import Options
from cavs_tf.keras._graph import roots_of
from cavs_tf.keras._gru import GatedCell
from cavs_tf.keras._recurrent import CellLayer

ATTENTION = "attention"  # The name of the output that has the weights of edges.


@keras.saving.register_keras_serializable("cavs_tf")
class DAGNNCell(GatedCell):
    """The vertex function of a DAG neural network: attention over its children, then a GRU.

    With k the children of a vertex, s the recurrent activation and * elementwise:

      a_k = softmax_k(w . x + u . h_k)   m = sum_k a_k h_k
      z = s(W_z x + U_z m + b_z)   r = s(W_r x + U_r m + b_r)
      n = tanh(W_n x + b_n + r * (U_n m + b'_n))
      h = z * m + (1 - z) * n

    A vertex without children has the message m = 0. It pushes h, which is its state; and if a call
    asks for it (`pushes=["default", "attention"]`) the weights a of its edges, "attention" [E].

    Args:
      units: Size of h.
      activation: The activation of n, tanh by default.
      recurrent_activation: s, of the gates, sigmoid by default.
      use_bias: Whether the GRU has a bias.
      dropout, recurrent_dropout, dropout_rows: As for `DAGNN`. The shares of x and of the
        message that are dropped.
      **kwargs: Initializers, regularizers and constraints of "kernel", "recurrent" and "bias",
        named as in `keras.layers.GRU`; and arguments of `GraphSupport`.

    Weights:
      attention_kernel: [features, 1], w.
      recurrent_attention_kernel: [units, 1], u.
      kernel, recurrent_kernel, bias: The weights of a `keras.layers.GRU` of x and the message.
    """

    _default_pushes = (DEFAULT,)

    def __init__(self, units: int, **kwargs):
        super().__init__(units, None, **kwargs)

    def _build_weights(self, features):
        self.attention_kernel = self._add("kernel", (features, 1), "attention_kernel")
        self.recurrent_attention_kernel = self._add(
            "recurrent", (self.units, 1), "recurrent_attention_kernel"
        )
        super()._build_weights(features)

    def vertex(self):
        x, h = self._pull_dropped(), self.children()
        score = self.to_children(self._product(x, self.attention_kernel))
        score += self._product(h, self.recurrent_attention_kernel)
        weights = self.softmax_children(score)
        message = self.sum_children(weights * h)
        self.push_edge(tf.squeeze(weights, axis=1), ATTENTION)
        self._finish(self._updated(x, message))


@keras.saving.register_keras_serializable("cavs_tf")
class DAGNN(CellLayer):
    """A layer of a DAG neural network: every vertex attends to its children, in the DAG's order.

    A vertex has any number of children; nothing is padded. Stack layers with
    `return_vertices=True`, and run one over the reversed graphs (`go_backwards=True`) to have both
    directions, as in the paper.

    Args:
      units: Size of the output.
      return_vertices: Whether to return the output of every vertex, or only of the roots.
      return_state: Whether to return the state of each root as well.
      go_backwards: Whether to run from parents to children: over `graphs.reverse()`.
      dropout, recurrent_dropout: In [0, 1): the share of the inputs, and of the messages, that is
        dropped in training: the same elements in all vertices of a graph, or with
        `dropout_rows="vertex"` others in each.
      seed: An int with which dropout starts; None: the next of Keras's seeds.
      options: An `Options`.
      activation, kernel_initializer, ...: Arguments of `DAGNNCell`.
      **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`; a schedule that it
        carries must have edges, as with `cavs_tf.data.batch(..., edges=True)`.
      inputs: [V, features] in vertex order, or a `VertexRows` if some vertices have no input.
      initial_state: As for `cavs_tf.keras.Graph`.
      return_attention_scores: Whether to return the attention weights of all edges as well.

    Returns:
      [B, units], the output of each graph's root (see `Roots`), or with `return_vertices`
      [V, units] in vertex order. With `return_state` or `return_attention_scores` a tuple: the
      output, then the state [B, units], then the weights [E] of the E edges, positive and with sum
      1 over the children of each vertex, in the order of `graphs.edges` (with `go_backwards`, of
      `graphs.reverse().edges`).

    Raises:
      ValueError: If an argument is not as described, or inputs are missing or have another rank.

    Source: Thost and Chen 2021, "Directed acyclic graph neural networks", arXiv:2101.07965,
    equations 4 to 6.

    >>> from cavs_tf import GraphBatch
    >>> graphs = GraphBatch.from_edges([4], [[(0, 1), (0, 2), (1, 3), (2, 3), (0, 3)]])
    >>> x = tf.ones([4, 3])
    >>> up = DAGNN(8, return_vertices=True)(graphs, x)
    >>> down = DAGNN(8, return_vertices=True, go_backwards=True)(graphs, x)
    >>> tf.concat([up, down], axis=1).shape
    TensorShape([4, 16])
    """

    cell_class = DAGNNCell

    def __init__(
        self,
        units: int,
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

    def call(self, graphs, inputs=None, initial_state=None, return_attention_scores=False):
        if not return_attention_scores:
            return super().call(graphs, inputs, initial_state)
        graphs = self._directed(graphs)
        initial = None if initial_state is None else self.cell._initial_parts(initial_state)
        state = None if initial is None else initial[0]
        pushes = (DEFAULT, ATTENTION)
        pushed = self.cell(graphs, inputs, initial_state=state, pushes=pushes)
        rows, scores = pushed[DEFAULT], pushed[ATTENTION]
        of_roots = roots_of(graphs, rows)
        output = rows if self.return_vertices else of_roots
        if not self.return_state:
            return output, scores
        return output, *self._or_initial(graphs, [of_roots], initial), scores
