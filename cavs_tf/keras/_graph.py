"""Layers around vertex functions, and what functional models need."""

import types

import keras
import tensorflow as tf

from cavs_tf._inputs.features import feature_at, select
from cavs_tf._inputs.inputs import as_graph_batch, check_shapes, size_before, with_tensors
from cavs_tf._inputs.keras_private import SelfContained, asks_for_shapes
from cavs_tf._values.arguments import check_bools, checked_size
from cavs_tf._values.integers import length
from cavs_tf._values.wide_sums import sum_of_segments, with_wide_sums
from cavs_tf.data._replicas import GLOBAL_GRAPHS
from cavs_tf.graph_support._graph_support import GraphSupport, shapes_by_call
from cavs_tf.graphs._graph_batch import (
    CHILD_ROW,
    EDGE_SPLITS,
    LOSS_ROWS,
    PACKED,
    PACKED_FIELDS,
    TENSOR_NAMES,
    with_lists,
)
from cavs_tf.keras._output_rows import LabelRows

_PACKAGE = "cavs_tf"


def graph_inputs(
    arity: int | None = None, name: str | None = None, edges: bool = False
) -> dict[str, keras.KerasTensor]:
    """The inputs of a functional model that takes graphs.

    They have the keys that `GraphBatch.to_dict` and `cavs_tf.data.batch(..., as_dict=True)`
    give: with a schedule fewer, as it holds most lists in one tensor.

    Args:
      arity: The arity of the schedule that the graphs carry, as those of `cavs_tf.data.batch`
        do. None: they carry none, and each step plans its own.
      name: The name of the structure, in a model of several; then the names of the inputs
        begin with it. Give each its own entry of the model's inputs, as `cavs_tf.data.batch`
        does: `keras.Model({"left": {**left, "token": token}, "right": ...}, ...)`.
      edges: Whether the schedule has edges, as that of `cavs_tf.data.batch(..., edges=True)`. Its
        arity is 0 by default.

    Returns:
      A dict of int32 Keras inputs, to be called with and to be part of the model's inputs.

    Raises:
      ValueError: If `name` is no name.

    >>> graph_inputs()["child_ids"].shape
    (None,)
    >>> graph_inputs(arity=2)["child_row"].shape
    (2, None)
    >>> graph_inputs(name="left")["child_ids"].name
    'left_child_ids'
    """
    if name is not None and not (isinstance(name, str) and name):
        raise ValueError(
            f"name: got {name!r} but expected a string that is not empty, or None. Name the "
            "structure."
        )
    check_bools(edges=edges)
    if arity is not None:
        arity = checked_size("arity", arity, least=0)
    if edges and arity is None:
        arity = 0
    left_out = {CHILD_ROW, PACKED} if arity is None else {*PACKED_FIELDS}
    if not edges:
        left_out.add(EDGE_SPLITS)
    keys = [key for key in TENSOR_NAMES if key not in left_out]
    shapes = {CHILD_ROW: (arity, None)}
    return {
        key: keras.Input(
            batch_shape=shapes.get(key, (None,)),
            dtype="int32",
            name=key if name is None else f"{name}_{key}",
        )
        for key in keys
    }


def for_fit(
    batches: tf.data.Dataset, inputs, labels=None, weigh_by=None, sample_weight=None
) -> tf.data.Dataset:
    """Makes what `fit`, `evaluate` and `predict` take from minibatches of features.

    These are (inputs, labels), or inputs alone for `predict`. A functional model needs exactly its
    inputs: where there are other features, Keras pairs them by position, not by name, which layers
    that take graphs refuse.

    The loss that Keras reports is a mean over minibatches. They are weighed by how many rows
    their labels have, so that it is the mean over all graphs, or over all vertices for labels
    of vertices. There is one weight for the sum of all losses of a model: where some labels
    have a row per vertex and some a row per graph, it is the number of graphs, unless
    `weigh_by` says otherwise, or the minibatches are parts for several replicas. Metrics are
    right either way.

    Args:
      batches: Dicts of tensors, from `cavs_tf.data.batch(..., as_dict=True)`.
      inputs: The functional model, whose outputs labels are then compared with; or names of
        features, or a dict with such names: `model.input`. The name of a structure stands for all
        of its features; in a dict, a dict says which.
      labels: Name of a feature, or a dict of them for a model with several outputs. A feature
        of a structure is "left/name". None: there are none, as for `predict`.
      weigh_by: Name of the feature whose number of rows is the weight of a minibatch, or None.
      sample_weight: Names of features, as `labels`, by which Keras multiplies the loss of each
        row; or None. In a dict outputs may be missing, whose rows weigh 1.

    Returns:
      A dataset of pairs; with `sample_weight` of triples; without labels of inputs.

    Raises:
      ValueError: If there is no such feature, the weight would not be the first input, or there is
        a `sample_weight` but no labels.
      tf.errors.InvalidArgumentError: From the dataset, if labels have another number of rows than
        outputs of the model.

    >>> from cavs_tf.data import batch, listops
    >>> batches = batch(listops(8), 4, as_dict=True)
    >>> names = ["token", *graph_inputs()]
    >>> features, label = next(iter(for_fit(batches, names, "label")))
    >>> features["0_graphs_of_data_batch"].shape, label.shape
    (TensorShape([4]), TensorShape([4]))
    >>> "label" in next(iter(for_fit(batches, names)))
    False
    """
    spec = batches.element_spec
    if not isinstance(spec, dict) or any("graphs" in part for part in (spec, *_dicts(spec))):
        raise ValueError(
            f"batches: got {'graphs that are no' if isinstance(spec, dict) else 'no'} plain "
            "tensors but expected a dict of them. Use cavs_tf.data.batch with as_dict=True."
        )
    if not any(set(part) & set(TENSOR_NAMES) for part in (spec, *_dicts(spec))):
        raise ValueError(
            f"batches: got examples, with features {', '.join(spec)}, but expected minibatches, "
            "with graphs. Pass cavs_tf.data.batch(examples, batch_size, as_dict=True)."
        )
    _check_weights(labels, sample_weight)
    model, inputs = inputs, _inputs_of(inputs) if isinstance(inputs, keras.Model) else inputs
    if _plans_its_own(inputs):
        batches = batches.map(with_lists)
        spec = batches.element_spec

    def named(features, names):
        return tf.nest.map_structure(lambda name: feature_at(features, name, "batches"), names)

    of_labels = LabelRows(model, labels)
    for names in (labels, weigh_by, sample_weight):
        named(spec, [] if names is None else names)
    path = path_of_loss_rows(select(spec, inputs, "batches"))
    if weigh_by is None and GLOBAL_GRAPHS in spec:
        weigh_by = GLOBAL_GRAPHS  # The same on all replicas, as Keras takes a mean over them.

    def pair(features):
        chosen = select(features, inputs, "batches")
        weighing = labels if weigh_by is None else weigh_by
        if path is not None and weighing is not None:
            part = chosen
            for key in path[:-1]:
                part[key] = dict(part[key])
                part = part[key]
            graphs = part[LOSS_ROWS]
            rows = tf.nest.flatten(named(features, weighing)) or [graphs]
            part[LOSS_ROWS] = _rows_in_common(rows, graphs)
        if labels is None:
            return chosen
        with tf.control_dependencies(of_labels.checks(features)):
            wanted = tf.nest.map_structure(
                tf.identity, named(features, labels), expand_composites=True
            )
        if sample_weight is None:
            return chosen, wanted
        weights = named(features, sample_weight)
        if isinstance(weights, dict):
            weights = {name: _ones(label) for name, label in wanted.items()} | weights
        return chosen, wanted, weights

    return batches.map(pair).prefetch(tf.data.AUTOTUNE)


def _plans_its_own(inputs) -> bool:
    """Whether these names are those of graphs without a schedule, also in a structure."""
    parts = inputs.values() if isinstance(inputs, dict) else ()
    return "child_ids" in inputs or any(_plans_its_own(p) for p in parts if isinstance(p, dict))


def _check_weights(labels, sample_weight) -> None:
    """Raises ValueError if there are weights of what has no labels."""
    if labels is None and sample_weight is not None:
        raise ValueError(
            f"sample_weight: got {sample_weight!r} without labels but expected None. Name the "
            "labels whose losses it weighs."
        )
    for name in sample_weight if isinstance(sample_weight, dict) else ():
        if not isinstance(labels, dict) or name not in labels:
            raise ValueError(
                f"sample_weight[{name!r}]: got a weight but expected the name of an output that "
                "has labels. Pass labels as a dict with this name."
            )


def _inputs_of(model: keras.Model):
    """The inputs of a functional model, by name."""
    try:
        inputs = model.input
        return inputs if isinstance(inputs, dict) else [x.name for x in keras.tree.flatten(inputs)]
    except AttributeError:
        raise ValueError(
            f"inputs: got a {type(model).__name__}, which has no inputs by name, but expected a "
            "functional model or names of features. Name the features that its call reads."
        ) from None


def _dicts(features: dict) -> list[dict]:
    return [feature for feature in features.values() if isinstance(feature, dict)]


def path_of_loss_rows(inputs: dict) -> list[str] | None:
    """The keys of the first input, by whose length Keras weighs losses; None without graphs."""
    if not any(set(part) & set(TENSOR_NAMES) for part in (inputs, *_dicts(inputs))):
        return None
    path = [min(inputs)]
    if isinstance(inputs[path[0]], dict):
        path.append(min(inputs[path[0]]))
    if path[-1] != LOSS_ROWS:
        raise ValueError(
            f"inputs: got {'/'.join(path)!r} as the first in the order of names but expected "
            f"{LOSS_ROWS!r}, by whose length Keras weighs the loss of a minibatch. Take all names "
            "of graph_inputs(), and rename what comes before."
        )
    return path


def _rows_in_common(features, default):
    """int32 zeros, one per row if all features have as many; else `default`."""
    counts = tf.stack([f.nrows(tf.int32) if _is_ragged(f) else tf.shape(f)[0] for f in features])
    same = tf.reduce_all(counts == counts[0])
    return tf.zeros([tf.where(same, counts[0], tf.size(default))], tf.int32)


def _ones(label) -> tf.Tensor:
    """A weight for each row."""
    return tf.ones([label.nrows() if _is_ragged(label) else tf.shape(label)[0]])


def _is_ragged(feature) -> bool:
    return isinstance(feature, tf.RaggedTensor)


def _max_of_graphs(rows, graph, count):
    """The largest of the rows of each graph, and zeros for a graph without any."""
    largest = tf.math.unsorted_segment_max(rows, graph, count)
    has_rows = tf.math.unsorted_segment_sum(tf.ones_like(graph), graph, count) > 0
    shape = tf.concat([[count], tf.ones([tf.rank(rows) - 1], tf.int32)], 0)
    return tf.where(tf.reshape(has_rows, shape), largest, tf.zeros_like(largest))


# How several rows of a graph become one. Functions of the rows, the graphs that they are of, and
# the number of graphs; `pooled` calls them.
POOLS = types.MappingProxyType(
    {
        "sum": sum_of_segments,
        "mean": tf.math.unsorted_segment_mean,
        "max": _max_of_graphs,
    }
)


def pooled(mode, rows, graph, count):
    """Combines rows, [n, ...], by one of POOLS; numbers of 16 bits are added up in float32."""
    return with_wide_sums(POOLS[mode], rows, graph, count)


def rows_of_graphs(graphs, rows):
    """Zeros of the shape of one row per graph, while Keras asks for shapes."""
    # The graphs may be of any dtype then.
    splits = graphs["graph_splits"] if isinstance(graphs, dict) else graphs.graph_splits
    num_graphs = tf.shape(splits)[:1] - 1
    return tf.nest.map_structure(
        lambda values: tf.zeros(tf.concat([num_graphs, values.shape[1:]], 0), values.dtype),
        rows,
    )


def shapes_of_graphs(graphs_shape, rows_shape):
    """The shapes of one row per graph, of rows of these shapes."""
    if isinstance(rows_shape, dict):
        return {name: shapes_of_graphs(graphs_shape, shape) for name, shape in rows_shape.items()}
    return (size_before("graph_splits", graphs_shape), *rows_shape[1:])


def roots_of(graphs, rows, combine="sum"):
    """Computes the result of `Roots`."""
    if asks_for_shapes():
        return rows_of_graphs(graphs, rows)
    graphs = as_graph_batch(graphs)
    roots, rows = graphs.roots, checked_rows(graphs, rows)
    of_roots = tf.nest.map_structure(lambda values: tf.gather(values, roots), rows)
    return _by_graph(graphs, roots, of_roots, combine)


def checked_rows(graphs, rows):
    """The rows, once it is known that there is one per vertex."""
    with tf.control_dependencies(_check_rows(graphs, rows)):
        return tf.nest.map_structure(tf.identity, rows)


def _check_rows(graphs, rows) -> list:
    """Checks sizes now where they are known; returns operators that check the others."""
    message = "Check that both belong to the same minibatch, and that rows are of all vertices."
    checks = []
    for name, values in (rows if isinstance(rows, dict) else {None: rows}).items():
        label = "rows" if name is None else f"rows[{name!r}]"
        got, expected = length(values), graphs.num_vertices
        if isinstance(got, int) and isinstance(expected, int):
            if got != expected:
                raise ValueError(
                    f"{label}: got {got} rows but expected {expected}, one per vertex of the "
                    f"graphs. {message}"
                )
        else:
            check = tf.debugging.assert_equal(
                got,
                expected,
                f"{label}: got another number of rows than the graphs have vertices but expected "
                f"one per vertex. {message}",
            )
            checks += [] if check is None else [check]
    return checks


def run_for_roots(cell, graphs, inputs, initial_state=None):
    """Runs `cell` for the rows that `Roots` picks, without computing other rows of vertices."""
    if asks_for_shapes():
        rows = cell(graphs, inputs, initial_state=initial_state)
        return _of_vertices(cell, rows, lambda own: roots_of(graphs, own))
    graphs = as_graph_batch(graphs)
    roots = graphs.roots
    rows = cell(graphs, inputs, at=roots, initial_state=initial_state)
    return _of_vertices(cell, rows, lambda own: _by_graph(graphs, roots, own))


def _of_vertices(cell, rows, function):
    """What `function` makes of rows of vertices, and rows of edges as they are."""
    of_edges = cell._edge_outputs
    if not isinstance(rows, dict) or of_edges.isdisjoint(rows):
        return function(rows)
    chosen = function({name: value for name, value in rows.items() if name not in of_edges})
    return {name: chosen.get(name, value) for name, value in rows.items()}


def _by_graph(graphs, roots, rows, combine="sum"):
    """Combines the rows of roots by graph."""
    graph = tf.gather(graphs.vertex_graph, roots)
    return tf.nest.map_structure(
        lambda values: pooled(combine, values, graph, graphs.num_graphs), rows
    )


@keras.saving.register_keras_serializable(_PACKAGE)
class Roots(SelfContained):
    """Picks, from rows of vertices, those of the roots: one row per graph.

    Args:
      combine: What becomes of the rows of several roots of one graph: their "sum", "mean" or
        "max".
      **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      rows: [V, ...] in vertex order, or a dict of such.

    Returns:
      [B, ...]: zeros for a graph without vertices.

    Raises:
      ValueError: If `combine` is something else, or there is not a row per vertex.

    >>> from cavs_tf import GraphBatch
    >>> graphs = GraphBatch.from_parents([[2, 2, -1], [], [-1]])
    >>> Roots()(graphs, tf.constant([[1.0], [2.0], [3.0], [4.0]])).numpy()
    array([[3.],
           [0.],
           [4.]], dtype=float32)
    """

    def __init__(self, combine: str = "sum", **kwargs):
        if combine not in POOLS:
            raise ValueError(
                f"combine: got {combine!r} but expected one of {', '.join(map(repr, POOLS))}. "
                "Choose one of them."
            )
        super().__init__(**kwargs)
        self.combine = combine

    def __call__(self, graphs, rows, **kwargs):
        # By name, since Keras accepts only tensors as positional arguments.
        return super().__call__(graphs=graphs, rows=rows, **kwargs)

    def call(self, graphs, rows):
        return roots_of(graphs, rows, self.combine)

    def compute_output_shape(self, graphs_shape=None, rows_shape=None, **others):
        """The shapes of `GraphBatch.to_dict()`, and of rows [V, ...] or a dict of them."""
        check_shapes(others, rows_shape=rows_shape)
        return shapes_of_graphs(graphs_shape, rows_shape)

    def get_config(self):
        return super().get_config() | {"combine": self.combine}


@keras.saving.register_keras_serializable(_PACKAGE)
class Graph(SelfContained):
    """Runs a vertex function over graphs: what `keras.layers.RNN` is to sequences.

    Args:
      cell: A `GraphSupport`. To save a model, it must be serializable as any Keras layer is:
        register its class with `keras.saving.register_keras_serializable`.
      return_vertices: Whether to return the output of every vertex, or only of the roots.
      go_backwards: Whether to run over `graphs.reverse()`, from parents to children. Its roots are
        the vertices without children. A schedule that the graphs carry is not used.
      **kwargs: Arguments of `keras.layers.Layer`. The default of `dtype` is the cell's.

    Call arguments:
      graphs: A `GraphBatch` of B graphs and V vertices, or its `to_dict()`.
      inputs: External inputs, [V, ...] in vertex order: a tensor, or a dict by name.
      initial_state: As for calling a `GraphSupport`: [B, *state_size], or None for zeros.

    Returns:
      What the vertices push: [V, ...] in vertex order with `return_vertices`, else the row of
      each graph's root, [B, ...] (see `Roots`). A dict if the pushes have names; those of
      `push_edge` are [E, ...], a row for each edge.

    Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.1.

    >>> from cavs_tf import GraphBatch, vertex_function
    >>> @vertex_function(state_size=1, arity=2)
    ... def tree_sum(v):
    ...     total = v.pull() + v.gather(0) + v.gather(1)
    ...     v.scatter(total)
    ...     v.push(total)
    >>> graphs = GraphBatch.from_parents([[2, 2, -1], [-1]])
    >>> Graph(tree_sum)(graphs, tf.constant([[1.0], [2.0], [3.0], [4.0]])).numpy()
    array([[6.],
           [4.]], dtype=float32)
    """

    def __init__(
        self,
        cell: GraphSupport,
        return_vertices: bool = False,
        go_backwards: bool = False,
        **kwargs,
    ):
        if not isinstance(cell, GraphSupport):
            raise ValueError(
                f"cell: got {type(cell).__name__} but expected a GraphSupport. Subclass "
                "GraphSupport, or use vertex_function."
            )
        check_bools(return_vertices=return_vertices, go_backwards=go_backwards)
        kwargs.setdefault("dtype", cell.dtype_policy)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_vertices = return_vertices
        self.go_backwards = go_backwards
        self.supports_jit = False  # XLA cannot compile custom ops.

    def __call__(self, graphs, inputs=None, **kwargs):
        return super().__call__(graphs=graphs, inputs=with_tensors(inputs), **kwargs)

    def call(self, graphs, inputs=None, initial_state=None):
        graphs = self._directed(graphs)
        if self.return_vertices:
            return self.cell(graphs, inputs, initial_state=initial_state)
        return run_for_roots(self.cell, graphs, inputs, initial_state)

    def compute_output_shape(
        self, graphs_shape=None, inputs_shape=None, initial_state_shape=None, **others
    ):
        """As of a `GraphSupport`."""
        check_shapes(others)
        return shapes_by_call(
            self, self.cell, graphs_shape, inputs_shape, initial_state_shape=initial_state_shape
        )

    def extend(self, states, children, inputs=None, vertex_type=None, **arguments):
        """Evaluates new vertices of graphs that grow: see `GraphSupport.extend`.

        `go_backwards` changes nothing: `children` are what the new vertices gather from.
        """
        return self.cell.extend(states, children, inputs, vertex_type, **arguments)

    def _directed(self, graphs):
        """The graphs, or with `go_backwards` their reverses."""
        if not self.go_backwards or asks_for_shapes():
            return graphs
        return as_graph_batch(graphs).reverse()

    def get_build_config(self):
        return self.cell.get_build_config()

    def build_from_config(self, config):
        self.cell.build_from_config(config)
        self.build(None)

    def get_config(self):
        return super().get_config() | {
            "cell": keras.saving.serialize_keras_object(self.cell),
            "return_vertices": self.return_vertices,
            "go_backwards": self.go_backwards,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        cell = keras.saving.deserialize_keras_object(config["cell"], custom_objects)
        return cls(**(config | {"cell": cell}))
