"""Base classes of recurrent cells and of the layers around them."""

import dataclasses
import itertools
from collections.abc import Callable

import keras
import tensorflow as tf

from cavs_tf._inputs.inputs import DEFAULT, as_graph_batch, check_shapes, size_before
from cavs_tf._inputs.keras_private import asks_for_shapes
from cavs_tf._values.arguments import (
    OF_LAYERS,
    check_bools,
    check_rate,
    checked_int,
    checked_size,
    written_out,
)
from cavs_tf.graph_support._graph_support import GraphSupport
from cavs_tf.graphs._options import Options
from cavs_tf.keras._graph import Graph, roots_of, run_for_roots

_MODES = ("child_sum", "n_ary")
_ROWS = ("graph", "vertex")
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


class RecurrentCell(GraphSupport):
    """A vertex function with gates: one kernel for the inputs of all, others for the children.

    Args:
      units: The size of the output of a vertex.
      arity: The largest number of children; None: any number, which the vertex function reads by
        `children()`.
      activation: The activation of new values (u and c of an LSTM, n of a GRU).
      recurrent_activation: The activation of the gates.
      use_bias: Whether there is a bias.
      push_states: Whether a vertex also pushes the other parts of its state, by their names.
      dropout: In [0, 1): the share of a vertex's inputs that is dropped in training, before they
        are multiplied by the kernel.
      recurrent_dropout: The share of a child's h that is dropped, likewise, before it is
        multiplied by a recurrent kernel.
      dropout_rows: Which vertices drop the same elements: all vertices of one "graph", as in
        layers of Keras, or none ("vertex").
      seed: An int with which dropout starts; None: the next of Keras's seeds.
      options: As for `GraphSupport`.
      kernel_initializer, recurrent_regularizer, bias_constraint, ...: Arguments of
        `keras.layers.LSTM`.
      **kwargs: Arguments of `keras.layers.Layer`.

    Attributes:
      state_names: The parts of a state, each of size `units`, in the order in which Keras's layers
        return them: the output first.
    """

    state_names = ("h",)

    def __init__(
        self,
        units: int,
        arity: int | None,
        /,
        *,
        activation="tanh",
        recurrent_activation="sigmoid",
        use_bias: bool = True,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        bias_initializer="zeros",
        kernel_regularizer=None,
        recurrent_regularizer=None,
        bias_regularizer=None,
        kernel_constraint=None,
        recurrent_constraint=None,
        bias_constraint=None,
        push_states: bool = False,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        dropout_rows: str = "graph",
        seed: int | None = None,
        options: Options | None = None,
        **kwargs,
    ):
        given = written_out(locals())
        arity = None if arity is None else checked_size("arity", arity)
        units = checked_size("units", units)
        check_bools(use_bias=use_bias, push_states=push_states)
        check_rate("dropout", dropout)
        check_rate("recurrent_dropout", recurrent_dropout)
        if dropout_rows not in _ROWS:
            raise ValueError(
                f"dropout_rows: got {dropout_rows!r} but expected one of {_ROWS}. Choose one."
            )
        super().__init__(len(self.state_names) * units, arity, options, **kwargs)
        self.units = units
        self.seed = self._dropout_seed = checked_int("seed", seed)
        self.activation = keras.activations.get(activation)
        self.recurrent_activation = keras.activations.get(recurrent_activation)
        self.use_bias = use_bias
        self.push_states = push_states
        self.input_rate = dropout
        self.recurrent_rate = recurrent_dropout
        self.dropout_rows = dropout_rows
        for name, kind in _OF_WEIGHTS.items():
            setattr(self, name, kind.get(given[name]))

    def build(self, inputs_shape=None, graphs_shape=None):
        if inputs_shape is None:
            raise ValueError(
                "inputs: got none but expected [V, features], one row per vertex. Call the layer "
                "with (graphs, inputs)."
            )
        if _is_pair_of_shapes(inputs_shape):
            inputs_shape = inputs_shape[0]
        if isinstance(inputs_shape, dict) or len(inputs_shape) != 2:
            raise ValueError(
                f"inputs: got shape {inputs_shape} but expected [V, features], one row per vertex. "
                "Embed tokens first."
            )
        self._build_weights(inputs_shape[-1])

    def _build_weights(self, features: int) -> None:
        """Makes the weights for inputs of `features` columns."""
        raise NotImplementedError

    def _add(self, weight: str, shape, name=None, **kwargs):
        """Makes a weight with the initializer and constraint of `weight`, one of `_WEIGHTS`."""
        arguments = {k: getattr(self, f"{weight}_{k}") for k in ("regularizer", "constraint")}
        initializer = getattr(self, f"{weight}_initializer")
        arguments["initializer"] = _Columns(initializer, 0, shape[-1])
        return self.add_weight(name=name or weight, shape=shape, **(arguments | kwargs))

    def _add_side_by_side(self, weight: str, rows: tuple, columns: dict, initializer=None) -> list:
        """Makes several weights, which start as columns of one matrix, as in layers of Keras.

        So gates start with different numbers, of the size that one weight of them all would have.

        Args:
          weight: One of `_WEIGHTS`.
          rows: (rows,), or () for vectors.
          columns: The columns of each weight, by its name.
          initializer: The initializer of the matrix; None: the initializer of `weight`.
        """
        initializer = initializer or getattr(self, f"{weight}_initializer")
        *begins, total = itertools.accumulate(columns.values(), initial=0)
        return [
            self._add(weight, (*rows, width), name, initializer=_Columns(initializer, begin, total))
            for begin, (name, width) in zip(begins, columns.items(), strict=True)
        ]

    def _cast(self, value):
        return tf.cast(value, self.compute_dtype)

    def _product(self, rows, weight):
        return tf.matmul(self._cast(rows), self._cast(weight))

    def _pull_dropped(self):
        """The vertex's input, after `dropout`."""
        return self.dropout(self._cast(self.pull()), self.input_rate, self.dropout_rows)

    def _dropped(self, hs) -> list:
        """The children's h after `recurrent_dropout`, which drops the same elements of all."""
        mask = self._dropout_mask(hs[0], self.recurrent_rate, self.dropout_rows)
        return list(hs) if mask is None else [h * mask for h in hs]

    def _dropped_children(self, h, like):
        """Does `_dropped` for rows of edges: the edges of a vertex lose the same elements.

        `like` has rows of vertices, of the same width.
        """
        mask = self._dropout_mask(like, self.recurrent_rate, self.dropout_rows)
        return h if mask is None else h * self.to_children(mask)

    def _with_bias(self, rows, name="bias"):
        return rows + self._cast(getattr(self, name)) if self.use_bias else rows

    def _finish(self, *states):
        """Scatters and pushes the parts of the state, in the order of `state_names`."""
        self.scatter(_joined(states))
        self.push(states[0])
        if self.push_states:
            for name, state in zip(self.state_names[1:], states[1:], strict=True):
                self.push(state, name)

    def _parts(self, pushed) -> list:
        """The parts of the state that were pushed, in the order of `state_names`."""
        if not isinstance(pushed, dict):
            return [pushed]
        return [pushed[name] for name in (DEFAULT, *self.state_names[1:])]

    def _initial_parts(self, states, name="initial_state") -> list:
        """The parts of an initial state, each [B, units], in the order of `state_names`.

        `name` is the name of the argument.

        Raises:
          ValueError: If there are more or fewer parts, or one has another shape.
        """
        states = list(states) if isinstance(states, (list, tuple)) else [states]
        if len(states) != len(self.state_names):
            raise ValueError(
                f"{name}: got {len(states)} tensors but expected "
                f"[{', '.join(self.state_names)}], each [B, {self.units}]. Pass what "
                "return_state=True returns after the output."
            )
        states = [self._cast(tf.convert_to_tensor(state)) for state in states]
        for k, state in enumerate(states):
            if not state.shape.is_compatible_with([None, self.units]):
                raise ValueError(
                    f"{name}[{k}]: got shape {state.shape} but expected [B, {self.units}], "
                    "one row for each graph or sequence. Make it of the size of the layer."
                )
        # TensorFlow's optimizer would remove tf.identity (see `_or_initial`).
        return [tf.ensure_shape(state, [None, self.units]) for state in states]

    def get_config(self):
        config = {k: get.serialize(getattr(self, k)) for k, get in _OF_WEIGHTS.items()}
        of_layer = super().get_config()
        of_layer.pop("arity", None)  # Subclasses that take it have it in their own config.
        return (
            of_layer
            | config
            | {
                "units": self.units,
                "activation": keras.activations.serialize(self.activation),
                "recurrent_activation": keras.activations.serialize(self.recurrent_activation),
                "use_bias": self.use_bias,
                "push_states": self.push_states,
                "dropout": self.input_rate,
                "recurrent_dropout": self.recurrent_rate,
                "dropout_rows": self.dropout_rows,
                "seed": self.seed,
                "options": self.options.config(),
            }
        )


@dataclasses.dataclass(frozen=True)
class _Columns:
    """An initializer of some columns of a matrix of `total` columns, from column `begin` on.

    Numbers of 16 bits are drawn with 32: "orthogonal" cannot draw others.
    """

    initializer: Callable
    begin: int
    total: int

    def __call__(self, shape, dtype=None):
        dtype = tf.as_dtype(dtype or keras.config.floatx())
        drawn = "float32" if dtype.size < 4 else dtype.name
        matrix = self.initializer((*shape[:-1], self.total), dtype=drawn)
        return tf.cast(matrix[..., self.begin : self.begin + shape[-1]], dtype)


def _is_pair_of_shapes(shape) -> bool:
    """Whether these are the shapes of a `VertexRows`, which is a list in a saved model."""
    return isinstance(shape, (list, tuple)) and isinstance(shape[0], (list, tuple))


def _joined(states):
    """The parts of states in one tensor, the output last."""
    return tf.concat(states[::-1], axis=1) if len(states) > 1 else states[0]


class TreeCell(RecurrentCell):
    """A `RecurrentCell` for trees, with a choice of how children are told apart.

    With arity None it has the weights that it has with several slots, and gives the same numbers.

    Args:
      mode: "child_sum": the order of children does not matter; "n_ary": it does.
      units, arity, **kwargs: As for `RecurrentCell`.
    """

    def __init__(self, units: int, arity: int, mode: str, **kwargs):
        if mode not in _MODES:
            raise ValueError(f"mode: got {mode!r} but expected one of {_MODES}. Choose one.")
        if arity is None and mode == "n_ary":
            raise ValueError(
                "arity: got None but expected an int with mode='n_ary', which has weights of its "
                "own for every child. Pass the largest number of children, or mode='child_sum'."
            )
        super().__init__(units, arity, **kwargs)
        self.mode = mode

    def get_config(self):
        return super().get_config() | {"arity": self.arity, "mode": self.mode}


class CellLayer(Graph):
    """A `Graph` that makes its own cell, of `cell_class`, and is configured by its arguments.

    Args:
      return_vertices, go_backwards: As for `Graph`.
      return_state: Whether to return (output, *states), with the states of the roots in the order
        of the cell's `state_names`; of a graph without vertices, the initial state.
      push_states: Whether `_run` returns these states; None: the same as `return_state`.
      **kwargs: Arguments of the cell and `keras.layers.Layer`.
    """

    cell_class: type[RecurrentCell]

    def __init__(
        self,
        *,
        return_vertices: bool,
        return_state: bool,
        go_backwards: bool,
        push_states: bool | None = None,
        **kwargs,
    ):
        check_bools(return_state=return_state)
        names = ("activity_regularizer", *OF_LAYERS)
        layer = {k: kwargs.pop(k) for k in names if k in kwargs}
        dtype = keras.dtype_policies.get(layer.pop("dtype", None))
        push_states = return_state if push_states is None else push_states
        cell = self.cell_class(**kwargs, push_states=push_states, dtype=dtype, name="cell")
        super().__init__(cell, return_vertices, go_backwards, dtype=dtype, **layer)
        self.return_state = return_state

    @property
    def units(self) -> int:
        return self.cell.units

    def build(self, graphs_shape=None, inputs_shape=None):
        """Makes the cell's weights, unless `call` will say why there are none."""
        if inputs_shape is not None:
            self.cell._build_for(inputs_shape)

    def call(self, graphs, inputs=None, initial_state=None):
        output, states = self._run(self._directed(graphs), inputs, initial_state)
        return (output, *states) if self.return_state else output

    @tf.autograph.experimental.do_not_convert
    def extend(self, states, children, inputs=None, vertex_type=None, **arguments):
        """Evaluates new vertices of graphs that grow: see `GraphSupport.extend`.

        Args:
          states: [n, size of a state], as this method returned them; or their parts, each
            [n, units], in the order in which a call with `return_state` returns them: [h, c] of an
            encoder is where a decoder begins. One tensor of them, as variables of a loop need it,
            is `tf.concat([c, h], axis=1)`. None: no vertices exist.
          children, inputs, vertex_type, **arguments: As for `GraphSupport.extend`. `go_backwards`
            changes nothing: the new vertices gather from `children`.

        Returns:
          (output, states): [m, units] and [m, size of a state] of the m new vertices.

        >>> import cavs_tf as cavs
        >>> layer, words = cavs.keras.LSTM(2), tf.ones([1, 3])
        >>> output, state = layer.extend(None, [[]], words)
        >>> output, state = layer.extend(state, [[0]], words)
        >>> output.shape, state.shape
        (TensorShape([1, 2]), TensorShape([1, 4]))
        """
        if isinstance(states, (list, tuple)):
            states = _joined(self.cell._initial_parts(states, "states"))
        arguments = {"pushes": [DEFAULT]} | arguments
        return self.cell.extend(states, children, inputs, vertex_type, **arguments)

    def compute_output_shape(
        self, graphs_shape=None, inputs_shape=None, initial_state_shape=None, **others
    ):
        """The arguments are the shapes of `GraphBatch.to_dict()` and of the inputs, or None."""
        check_shapes(others)
        state = (size_before("graph_splits", graphs_shape), self.units)
        vertices = (size_before("child_splits", graphs_shape), self.units)
        return self._with_states(vertices if self.return_vertices else state, state)

    def _with_states(self, output, state):
        """The result of a call: the output, with `return_state` followed by the states."""
        return (output, *[state] * len(self.cell.state_names)) if self.return_state else output

    def _run(self, graphs, inputs, initial_state) -> tuple:
        """Runs the cell.

        Returns:
          (output, states): the output of every vertex, or of the roots; and a list of the parts of
          the state of the roots, which is empty without `push_states` if all rows are returned.
        """
        initial = None if initial_state is None else self.cell._initial_parts(initial_state)
        state = None if initial is None else _joined(initial)
        if not self.return_vertices:
            of_roots = self.cell._parts(run_for_roots(self.cell, graphs, inputs, state))
            return of_roots[0], self._or_initial(graphs, of_roots, initial)
        rows = self.cell(graphs, inputs, initial_state=state)
        output = self.cell._parts(rows)[0]
        if not self.cell.push_states:
            return output, []
        of_roots = self.cell._parts(roots_of(graphs, rows))
        return output, self._or_initial(graphs, of_roots, initial)

    def _or_initial(self, graphs, states, initial) -> list:
        """The states; graphs without vertices keep their initial state.

        `initial` must be results of operators, and not variables of a loop or a branch. Where the
        condition of `tf.where` folds to a constant, TensorFlow's optimizer makes the rest depend on
        the operators of all arguments: on a Switch that is never computed, if one is such a
        variable, so that the loop returns nothing.
        """
        if initial is None or not self.cell.push_states or asks_for_shapes():
            return states
        splits = as_graph_batch(graphs).graph_splits
        has_vertices = splits[1:, None] > splits[:-1, None]
        return [
            tf.where(has_vertices, state, first)
            for state, first in zip(states, initial, strict=True)
        ]

    def get_config(self):
        of_cell = {
            k: v
            for k, v in self.cell.get_config().items()
            if k not in ("name", "trainable", "dtype", "push_states")
        }
        of_layer = ("return_vertices", "return_state", "go_backwards")
        config = keras.layers.Layer.get_config(self)
        return config | of_cell | {name: getattr(self, name) for name in of_layer}

    @classmethod
    def from_config(cls, config):
        """Makes a layer, also from the config of a layer of Keras with the same arguments."""
        if isinstance(config.get("options"), dict):
            config = config | {"options": Options(**config["options"])}
        return cls(**config)
