"""Minibatches of examples: graphs side by side, with the schedule that evaluates them."""

from collections.abc import Collection

import tensorflow as tf

from cavs_tf._integers import check_at_least
from cavs_tf.data._structures import structures_of
from cavs_tf.graphs import TENSOR_NAMES


def batch(
    dataset: tf.data.Dataset,
    batch_size: int,
    *,
    arity: int | dict[str, int] | None = None,
    vertex_type: str | dict[str, str] | None = None,
    num_types: int | dict[str, int] = 1,
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
        scalars. Or dicts of several such structures by name, and of features of the example of
        any shape, as `tf.data.Dataset.zip({"left": ..., "right": ...})` makes them.
      batch_size: Number of examples in a minibatch.
      arity: Number of slots that the vertex function gathers from, at least K. None: K, which
        must be known.
      vertex_type: Name of the feature that numbers the vertex functions, or None: all
        vertices are of type 0.
      num_types: Number of vertex functions; the feature's values are in [0, num_types).
        Of several structures, each of these three may be a dict by name.
      policy, micro_batch: Of the schedule; see `GraphBatch.schedule`.
      per_graph: Names of features that belong to the example although they are no scalars;
        of a structure, "left/name".
      drop_remainder: Whether to drop a last minibatch of fewer examples.
      as_dict: Whether graphs and schedule are plain tensors (`GraphBatch.to_dict`), as Keras
        functional models need them, instead of a `GraphBatch` named "graphs". No feature may
        have such a name.

    Returns:
      A dataset of dicts: "graphs", a `GraphBatch` with its schedule, or its tensors; features
      of vertices, [V, ...]; features of examples, [B, ...]. Of several structures, a dict of
      such dicts by name, and the other features of the examples.

    Raises:
      ValueError: If the elements are no such dicts, K exceeds `arity`, a feature has the name of
        something else in the minibatch, or an option names something that is not there.
      tf.errors.InvalidArgumentError: From the pipeline, if graphs are not valid.

    >>> from cavs_tf.data import from_arrays
    >>> examples = from_arrays([0, 1, 3], {"children": [[-1], [-1], [0]]}, {"label": [7, 8]})
    >>> next(iter(batch(examples, 2)))["label"].numpy()
    array([7, 8])

    >>> pairs = tf.data.Dataset.zip({"left": examples, "right": examples.skip(1)})
    >>> next(iter(batch(pairs, 2)))["right"]["graphs"].num_graphs
    1
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise ValueError(
            f"dataset: got a {type(dataset).__name__} but expected a tf.data.Dataset of examples. "
            "Make one with cavs_tf.data.from_arrays, ptb_trees or listops."
        )
    check_at_least(1, batch_size=batch_size)
    spec = dataset.element_spec
    structures = structures_of(
        spec, per_graph, arity=arity, vertex_type=vertex_type, num_types=num_types
    )
    for structure in structures:
        _check_names(structure.name, spec, TENSOR_NAMES if as_dict else ("graphs",))

    def graphs_and_features(structure, examples):
        graphs, features = structure.side_by_side(examples)
        graphs = graphs.with_schedule(structure.arity, structure.num_types, policy, micro_batch)
        return features | (graphs.to_dict() if as_dict else {"graphs": graphs})

    def assemble(examples):
        if structures[0].name is None:
            return graphs_and_features(structures[0], examples)
        return examples | {s.name: graphs_and_features(s, examples[s.name]) for s in structures}

    batches = (
        dataset.batch(batch_size, drop_remainder)
        if all(map(_batches_as_it_is, tf.nest.flatten(spec)))
        else dataset.ragged_batch(batch_size, drop_remainder)
    )
    batches = batches.map(assemble, num_parallel_calls=tf.data.AUTOTUNE)
    return batches.prefetch(tf.data.AUTOTUNE)


def _check_names(structure: str | None, spec, taken: Collection[str]) -> None:
    """Raises ValueError if a feature has a name that the graphs of a minibatch use."""
    features = spec if structure is None else spec[structure]
    where = "dataset" if structure is None else f"dataset[{structure!r}]"
    for name in sorted(set(features) & set(taken)):
        raise ValueError(
            f"{where}: got a feature named {name!r} but expected a name other than "
            f"{', '.join(map(repr, taken))}, under which a minibatch has its graphs. Rename the "
            "feature."
        )


def _batches_as_it_is(feature: tf.TypeSpec) -> bool:
    """Whether elements stack although their sizes differ, or have one size."""
    return isinstance(feature, tf.RaggedTensorSpec) or feature.shape.is_fully_defined()
