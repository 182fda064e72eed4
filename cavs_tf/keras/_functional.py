"""Inputs of functional models, and minibatches for `fit`."""

from collections.abc import Iterable

import keras
import tensorflow as tf

from cavs_tf._inputs.features import feature_at, select
from cavs_tf._inputs.inputs import VertexRows
from cavs_tf._values.arguments import check_bools, checked_size
from cavs_tf.data._replicas import GLOBAL_GRAPHS
from cavs_tf.graphs._graph_batch import (
    CHILD_ROW,
    EDGE_SPLITS,
    LOSS_ROWS,
    PACKED,
    PACKED_FIELDS,
    TENSOR_NAMES,
    GraphBatch,
    with_lists,
)
from cavs_tf.keras._output_rows import LabelRows


def inputs(batches: tf.data.Dataset, features) -> dict:
    """The inputs of a functional model: graphs and some features of these minibatches.

    The dict is both the graphs that layers take and the inputs of the model, and has the shapes and
    types of the minibatches, so that the number of slots, schedules and edges are said once, where
    minibatches are made.

    Args:
      batches: Minibatches from `cavs_tf.data.batch`.
      features: Names of the features that the model reads, such as `["token"]`; labels do not
        belong to them. For minibatches of several structures a dict, with the features of each:
        `{"left": ["token"], "right": ["token"]}`.

    Returns:
      By name, Keras inputs; for a structure a dict of them, for `VertexRows` a `VertexRows`.

    Raises:
      ValueError: If these are not dicts, or not minibatches, or have no such feature.

    >>> import cavs_tf as cavs
    >>> batches = cavs.data.batch(cavs.data.listops(8), 4, arity=5)
    >>> given = inputs(batches, ["token"])
    >>> rows = keras.layers.Embedding(20, 16)(given["token"])
    >>> root = cavs.keras.TreeLSTM(32, arity=5)(given, rows)
    >>> model = keras.Model(given, keras.layers.Dense(10)(root))
    >>> model.predict(cavs.keras.for_fit(batches, model), verbose=0).shape
    (8, 10)
    """
    spec = _spec_of(_with_plain_graphs(batches))
    return _made(select(spec, _with_graphs(spec, features), "batches"))


def graph_inputs(
    arity: int | None = None, name: str | None = None, edges: bool = False
) -> dict[str, keras.KerasTensor]:
    """The inputs of a functional model that takes graphs.

    They have the keys that `GraphBatch.to_dict` and `cavs_tf.data.batch(..., as_dict=True)`
    give: with a schedule fewer, as it holds most lists in one tensor.

    Args:
      arity: The arity of the schedule that the graphs carry, as the graphs of `cavs_tf.data.batch`
        do. None: they carry none, and each step plans its own.
      name: The name of the structure, in a model of several; then the names of the inputs
        begin with it. Give each its own entry of the model's inputs, as `cavs_tf.data.batch`
        does: `keras.Model({"left": {**left, "token": token}, "right": ...}, ...)`.
      edges: Whether the schedule has edges, as with `cavs_tf.data.batch(..., edges=True)`. Its
        arity is 0 by default.

    Returns:
      A dict of int32 Keras inputs, to be called with and to be part of the model's inputs.

    Raises:
      ValueError: If `name` is not a name.

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
      batches: Minibatches from `cavs_tf.data.batch`. A `GraphBatch` is turned into its tensors.
      inputs: The functional model, whose outputs labels are then compared with; or names of
        features, or a dict with such names: `model.input`. The name of a structure stands for all
        of its features; in a dict, a dict says which.
      labels: Name of a feature, or a dict or list of them for a model with several outputs, as
        its outputs are. A feature of a structure is "left/name". None: there are none, as for
        `predict`.
      weigh_by: Name of the feature whose number of rows is the weight of a minibatch, or None.
      sample_weight: Names of features, as `labels`, by which Keras multiplies the loss of each
        row; or None. In a dict outputs may be missing, whose rows weigh 1.

    Returns:
      A dataset of pairs; with `sample_weight` of triples; without labels of inputs.

    Raises:
      ValueError: If there is no such feature, the weight would not be the first input, there is
        a `sample_weight` but no labels, or the arguments are no minibatches and no names.
      tf.errors.InvalidArgumentError: From the dataset, if labels have another number of rows than
        outputs of the model.

    >>> from cavs_tf.data import batch, listops
    >>> batches = batch(listops(8), 4)
    >>> names = ["token", *graph_inputs()]
    >>> features, label = next(iter(for_fit(batches, names, "label")))
    >>> features["0_graphs_of_data_batch"].shape, label.shape
    (TensorShape([4]), TensorShape([4]))
    >>> "label" in next(iter(for_fit(batches, names)))
    False
    """
    batches = _with_plain_graphs(batches)
    spec = _spec_of(batches)
    _check_weights(labels, sample_weight)
    # A dataset stacks the features of a list.
    labels, sample_weight = (
        tuple(n) if isinstance(n, list) else n for n in (labels, sample_weight)
    )
    model, inputs = inputs, _names_of(inputs)
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

    @tf.autograph.experimental.do_not_convert
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


def _with_plain_graphs(batches: tf.data.Dataset) -> tf.data.Dataset:
    """Minibatches in which each `GraphBatch` is replaced by its tensors, as Keras needs them."""
    if not isinstance(batches, tf.data.Dataset):
        raise ValueError(
            f"batches: got a {type(batches).__name__} but expected a dataset of minibatches. Pass "
            "cavs_tf.data.batch(examples, batch_size)."
        )
    spec = batches.element_spec
    if not isinstance(spec, dict) or not any(_has_graphs(part) for part in (spec, *_dicts(spec))):
        return batches
    for part in filter(_has_graphs, (spec, *_dicts(spec))):
        for name in sorted((set(part) & set(TENSOR_NAMES)) - {"vertex_type"}):
            raise ValueError(
                f"batches: got a feature named {name!r} but expected another name, as a functional "
                "model has a tensor of its graphs under this one. Rename the feature."
            )

    @tf.autograph.experimental.do_not_convert
    def plain(features):
        parts = {n: plain(f) if isinstance(f, dict) else f for n, f in features.items()}
        if not isinstance(features.get("graphs"), GraphBatch):
            return parts
        return parts | parts.pop("graphs").to_dict()

    return batches.map(plain)


def _has_graphs(part: dict) -> bool:
    return isinstance(part.get("graphs"), GraphBatch.Spec)


def _spec_of(batches: tf.data.Dataset) -> dict:
    """The types of the features of minibatches; ValueError unless they have graphs."""
    spec = batches.element_spec
    if not isinstance(spec, dict):
        raise ValueError(
            "batches: got elements that are not dicts but expected minibatches of graphs. Pass "
            "cavs_tf.data.batch(examples, batch_size)."
        )
    if not any(set(part) & set(TENSOR_NAMES) for part in (spec, *_dicts(spec))):
        raise ValueError(
            f"batches: got examples, with features {', '.join(spec)}, but expected minibatches, "
            "with graphs. Pass cavs_tf.data.batch(examples, batch_size)."
        )
    return spec


def _with_graphs(spec: dict, features) -> dict:
    """The names of these features, and of the tensors of the graphs that they belong to."""
    if isinstance(features, str):
        features = [features]
    names = {name: None for name in spec if name in TENSOR_NAMES}
    for name in features:
        part = features[name] if isinstance(features, dict) else None
        structure = spec.get(name)
        if isinstance(structure, dict):
            part = _with_graphs(structure, structure if part is None else part)
        names[name] = part
    return names


def _made(specs, prefix=""):
    made = {}
    for name, spec in specs.items():
        of_parts = f"{prefix}{name}_"
        if isinstance(spec, dict):
            made[name] = _made(spec, of_parts)
        elif isinstance(spec, VertexRows):
            made[name] = VertexRows(**_made(spec._asdict(), of_parts))
        else:
            made[name] = keras.Input(
                batch_shape=spec.shape,
                dtype=spec.dtype.name,
                name=f"{prefix}{name}",
                ragged=isinstance(spec, tf.RaggedTensorSpec),
            )
    return made


def _plans_its_own(inputs) -> bool:
    """Whether there are names of graphs without a schedule, also in a structure."""
    parts = inputs.values() if isinstance(inputs, dict) else ()
    return "child_ids" in inputs or any(_plans_its_own(p) for p in parts if isinstance(p, dict))


def _check_weights(labels, sample_weight) -> None:
    """Raises ValueError if there are weights of outputs that have no labels."""
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


def _names_of(inputs):
    """The names of features that `for_fit` was given, or of the inputs of a functional model."""
    if isinstance(inputs, str):
        return [inputs]
    if isinstance(inputs, Iterable):
        return inputs
    try:
        inputs = inputs.input
        return inputs if isinstance(inputs, dict) else [x.name for x in keras.tree.flatten(inputs)]
    except AttributeError:
        raise ValueError(
            f"inputs: got a {type(inputs).__name__}, which has no inputs by name, but expected a "
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
