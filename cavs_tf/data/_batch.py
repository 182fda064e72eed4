"""Minibatches of examples: graphs side by side, with the schedule that evaluates them."""

from collections.abc import Collection

import tensorflow as tf

from cavs_tf._integers import check_at_least
from cavs_tf.graphs import TENSOR_NAMES, GraphBatch


def batch(
    dataset: tf.data.Dataset,
    batch_size: int,
    *,
    arity: int | None = None,
    vertex_type: str | None = None,
    num_types: int = 1,
    policy: str = "depth",
    micro_batch: int | None = None,
    per_graph: Collection[str] = (),
    drop_remainder: bool = False,
    as_dict: bool = False,
) -> tf.data.Dataset:
    """Puts consecutive examples into minibatches and plans their evaluation.

    Shuffle and map before. The schedule is computed inside the pipeline, ahead of the
    step that uses it.

    Args:
      dataset: Examples as dicts: "children", int [n, K] or ragged [n, (slots)], ids relative to
        the example, -1 for no child; features of vertices, [n, ...]; features of the example,
        scalars.
      batch_size: Number of examples in a minibatch.
      arity: Number of slots that the vertex function gathers from, at least K. None: K, which
        must be known.
      vertex_type: Name of the feature that numbers the vertex functions, or None: all
        vertices are of type 0.
      num_types: Number of vertex functions; the feature's values are in [0, num_types).
      policy, micro_batch: Of the schedule; see `GraphBatch.schedule`.
      per_graph: Names of features that belong to the example although they are no scalars.
      drop_remainder: Whether to drop a last minibatch of fewer examples.
      as_dict: Whether graphs and schedule are plain tensors (`GraphBatch.to_dict`), as Keras
        functional models need them, instead of a `GraphBatch` named "graphs". No feature may
        have such a name.

    Returns:
      A dataset of dicts: "graphs", a `GraphBatch` with its schedule, or its tensors; features
      of vertices, [V, ...]; features of examples, [B, ...].

    Raises:
      ValueError: If the elements are no such dicts, K exceeds `arity`, or a feature has the
        name of something else in the minibatch.
      tf.errors.InvalidArgumentError: From the pipeline, if graphs are not valid.

    >>> from cavs_tf.data import from_arrays
    >>> examples = from_arrays([0, 1, 3], {"children": [[-1], [-1], [0]]}, {"label": [7, 8]})
    >>> next(iter(batch(examples, 2)))["label"].numpy()
    array([7, 8])
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise ValueError(
            f"dataset: got a {type(dataset).__name__} but expected a tf.data.Dataset of examples. "
            "Make one with cavs_tf.data.from_arrays, ptb_trees or listops."
        )
    check_at_least(1, batch_size=batch_size)
    arity = _check(dataset.element_spec, arity, vertex_type, per_graph)
    _check_names(dataset.element_spec, TENSOR_NAMES if as_dict else ("graphs",))
    spec = dataset.element_spec
    per_vertex = [
        name
        for name, feature in spec.items()
        if name not in per_graph and feature.shape.rank != 0 and name != "children"
    ]

    def assemble(examples):
        children, splits = _rows(examples.pop("children"))
        rows = {}
        for name in per_vertex:
            rows[name], row_splits = _rows(examples.pop(name))
            tf.debugging.assert_equal(
                row_splits,
                splits,
                f"{name}: got another number of rows than children has but expected one per "
                "vertex. Name it in per_graph if it belongs to the example.",
            )
        types = rows[vertex_type] if vertex_type is not None else None
        graphs = _graphs(children, splits, arity, types)
        graphs = graphs.with_schedule(arity, num_types, policy, micro_batch)
        graphs = graphs.to_dict() if as_dict else {"graphs": graphs}
        return graphs | rows | examples

    batches = (
        dataset.batch(batch_size, drop_remainder)
        if all(_batches_as_it_is(feature) for feature in spec.values())
        else dataset.ragged_batch(batch_size, drop_remainder)
    )
    batches = batches.map(assemble, num_parallel_calls=tf.data.AUTOTUNE)
    return batches.prefetch(tf.data.AUTOTUNE)


def _check(spec, arity: int | None, vertex_type: str | None, per_graph: Collection[str]) -> int:
    """Returns the arity, or raises ValueError."""
    if not isinstance(spec, dict) or "children" not in spec:
        raise ValueError(
            f"dataset: got elements {spec} but expected dicts with 'children' among the names. "
            "Map them to such dicts."
        )
    children = spec["children"]
    if children.shape.rank != 2 or not children.dtype.is_integer:
        raise ValueError(
            f"dataset['children']: got {children.dtype.name} of shape {children.shape} but "
            "expected integers of shape [vertices, slots]. Pad lists of children with -1."
        )
    for name in (*per_graph, *([] if vertex_type is None else [vertex_type])):
        if name not in spec:
            raise ValueError(
                f"dataset: got elements with {sorted(spec)} but expected {name!r} among the "
                "names. Correct per_graph or vertex_type."
            )
    slots = children.shape[1]
    if slots is None and arity is None:
        raise ValueError(
            "arity: got None but expected an int, because the number of slots in "
            "dataset['children'] is not known. Pass the arity of the vertex function."
        )
    if slots is not None and arity is not None and arity < slots:
        raise ValueError(
            f"arity: got {arity} but expected at least {slots}, the number of slots in "
            "dataset['children']. Raise the arity of the vertex function."
        )
    return slots if arity is None else arity


def _check_names(spec, taken: Collection[str]) -> None:
    """Raises ValueError if a feature has a name that the graphs of a minibatch use."""
    for name in sorted(set(spec) & set(taken)):
        raise ValueError(
            f"dataset: got a feature named {name!r} but expected a name other than "
            f"{', '.join(map(repr, taken))}, under which a minibatch has its graphs. Rename the "
            "feature."
        )


def _batches_as_it_is(feature: tf.TypeSpec) -> bool:
    """Whether elements stack although their sizes differ, or have one size."""
    return isinstance(feature, tf.RaggedTensorSpec) or feature.shape.is_fully_defined()


def _rows(feature) -> tuple[tf.Tensor, tf.Tensor]:
    """The rows of all examples of a minibatch, and the splits between examples."""
    if not isinstance(feature, tf.RaggedTensor):
        feature = tf.RaggedTensor.from_tensor(feature)
    return feature.values, feature.row_splits


def _graphs(children, graph_splits, arity: int, types) -> GraphBatch:
    """Makes ids absolute, and fills missing slots with -1 where children are not ragged."""
    if not isinstance(children, tf.RaggedTensor):
        # More slots than the arity are rejected when the graphs are scheduled.
        missing = tf.maximum(arity - tf.shape(children)[1], 0)
        children = tf.pad(children, [[0, 0], [0, missing]], constant_values=-1)
    nested = tf.RaggedTensor.from_row_splits(children, graph_splits, validate=False)
    return GraphBatch.from_ragged(nested, types)
