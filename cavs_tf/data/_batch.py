"""Minibatches of examples: graphs side by side, with the schedule that evaluates them."""

import os
from collections.abc import Collection

import tensorflow as tf

from cavs_tf._values.arguments import check_bools
from cavs_tf.data._pools import batched, pools_of
from cavs_tf.data._replicas import GLOBAL_GRAPHS, GRAPH_WEIGHT, VERTEX_WEIGHT, merged, replicas_of
from cavs_tf.data._structures import ORIGIN, Structure, structures_of
from cavs_tf.graphs._graph_batch import TENSOR_NAMES


def batch(
    dataset: tf.data.Dataset,
    batch_size: int | None = None,
    *,
    max_vertices: int | None = None,
    bucket_by: str | None = None,
    pool: int | None = None,
    seed: int | None = None,
    arity: int | dict[str, int] | None = None,
    vertex_type: str | dict[str, str] | None = None,
    num_types: int | dict[str, int] = 1,
    policy: str = "depth",
    micro_batch: int | None = None,
    edges: bool | dict[str, bool] = False,
    rounds: int | dict[str, int] | None = None,
    per_graph: Collection[str] = (),
    per_edge: Collection[str] | dict = (),
    per_leaf: Collection[str] = (),
    replicas: int | tf.distribute.InputContext | None = None,
    drop_remainder: bool = False,
    as_dict: bool = False,
) -> tf.data.Dataset:
    """Puts consecutive examples into minibatches and plans their evaluation.

    Shuffle and map before. The pipeline computes the schedule ahead of the step that uses it. The
    functions of the pipeline, and those of `dataset`, run on threads of their own, half as many as
    there are processors; `tf.data.Options` of `dataset`, or of the result, may name another number
    (`options.threading.private_threadpool_size`).

    Args:
      dataset: Examples as dicts: "children", int [n, K] or ragged [n, (slots)], ids relative to
        the example, -1 for no child; features of vertices, [n, ...], or of some vertices, a
        `VertexRows` whose vertices are relative to the example; features of the example,
        scalars. Or dicts of several such structures by name, and of features of the example of
        any shape, as `tf.data.Dataset.zip({"left": ..., "right": ...})` makes them.
      batch_size: Number of examples in a minibatch. With `max_vertices` it is the largest number,
        and None allows any.
      max_vertices: The most vertices in a minibatch, of all structures together. It is filled with
        as many consecutive examples as fit, so that minibatches take about the same memory.
      bucket_by: Makes minibatches of examples that are alike: of similar numbers of vertices
        ("size"), or longest paths ("depth"), which takes the fewest tasks. They come in random
        order. None: consecutive examples.
      pool: Number of examples that are read together and divided into minibatches, by default
        1000, where `max_vertices` or `bucket_by` is given. Examples of two pools never meet.
      seed: Seed of the order of buckets and of equal examples, which changes from epoch to epoch.
        None: TensorFlow's global seed.
      arity: Number of slots that the vertex function gathers from, at least K. None: K, which
        must be known.
      vertex_type: Name of the feature that numbers the vertex functions, or None: all
        vertices are of type 0.
      num_types: Number of vertex functions; the feature's values are in [0, num_types).
      edges: Whether schedules have edges, for vertex functions that read `children()`. The arity
        is then 0 by default, and vertices may have more children than slots.
      rounds: Number of rounds of message passing, at least 0. Children are then the neighbours of
        a vertex, which may form cycles; see below. None: graphs have no rounds. If examples have
        several structures, each of these five arguments may be a dict by name.
      policy, micro_batch: Arguments of `GraphBatch.schedule`.
      per_graph: Names of features that belong to the example although they are not scalars. A
        feature of a structure is named "left/name".
      per_edge: Names of features [e, ...] that have a row for each edge, vertex by vertex: a vertex
        has a row for each of its children, in their order. With rounds, a dict gives the row of
        the edge from a vertex to itself, which is zero by default.
      per_leaf: Names of features [m, ...] that have a row for each vertex without children, in
        their order, such as the words of a parse. In a minibatch they are `VertexRows`.
      replicas: Number of parts into which every minibatch is divided, one after the other. Parts
        have consecutive examples and about the same number of vertices; some may have no graphs.
        Inside of `strategy.distribute_datasets_from_function` pass the context, which knows how
        many replicas there are and for which of them this worker makes minibatches.
      drop_remainder: Whether to drop a last minibatch of fewer examples.
      as_dict: Whether graphs and schedule are plain tensors (`GraphBatch.to_dict`), for functional
        models that are called with minibatches, instead of a `GraphBatch` named "graphs";
        `cavs_tf.keras.inputs` and `for_fit` make these tensors themselves. No feature may have
        the name of such a tensor, except the feature that `vertex_type` names.

    Returns:
      A dataset of dicts: "graphs", a `GraphBatch` with its schedule, or its tensors; features of
      vertices, [V, ...]; `VertexRows` of features of some vertices, which our layers take; features
      of edges, [E, ...], and of examples, [B, ...]. Examples of several structures give a dict of
      such dicts by name, next to the other features of the examples. With `replicas` there are also
      "graph_weight", float32 [B], and "vertex_weight", [V], to be passed as `sample_weight`: the
      mean of losses over replicas is then the mean over the whole minibatch, however it was
      divided. "global_graphs" are int32 zeros, one for each graph of the whole minibatch.

      With `rounds`, graphs are made as `GraphBatch.from_rounds` makes them, and their vertices are
      rows: vertex v of n after round r is row r * n + v of its graph. Features of vertices stay
      [N, ...], for the N vertices of the examples, and "origin", int32 [rows], holds the vertex of
      each row: `tf.gather(batch["x"], batch["origin"])`. `VertexRows` have their rows in round 0.
      Features of edges have a row for every edge of every round. `max_vertices` counts rows.

    Raises:
      ValueError: If the elements are not such dicts, K exceeds `arity`, a feature has the name of
        something else in the minibatch, or an option names something that does not exist.
      tf.errors.InvalidArgumentError: From the pipeline, if graphs are not valid, an example has
        more than `max_vertices` vertices, or `VertexRows` name vertices that it does not have.

    >>> from cavs_tf.data import from_arrays
    >>> examples = from_arrays([0, 1, 3], {"children": [[-1], [-1], [0]]}, {"label": [7, 8]})
    >>> next(iter(batch(examples, 2)))["label"].numpy()
    array([7, 8])

    >>> pairs = tf.data.Dataset.zip({"left": examples, "right": examples.skip(1)})
    >>> next(iter(batch(pairs, 2)))["right"]["graphs"].num_graphs
    1

    >>> ring = {"children": [[2], [0], [1]], "atom": [6, 6, 8]}  # Each has the one before.
    >>> rings = tf.data.Dataset.from_tensors(ring).repeat(2)
    >>> atoms = next(iter(batch(rings, 2, rounds=1)))
    >>> atoms["graphs"].num_vertices, tf.gather(atoms["atom"], atoms["origin"]).numpy()
    (12, array([6, 6, 8, 6, 6, 8, 6, 6, 8, 6, 6, 8], dtype=int32))

    >>> tree = {"children": [[-1, -1], [-1, -1], [0, 1]], "word": [17, 4]}
    >>> trees = tf.data.Dataset.from_tensors(tree).repeat(2)
    >>> words = next(iter(batch(trees, 2, per_leaf=["word"])))
    >>> words["word"].rows.numpy(), words["word"].vertices.numpy()
    (array([17,  4, 17,  4], dtype=int32), array([0, 1, 3, 4], dtype=int32))
    """
    if not isinstance(dataset, tf.data.Dataset):
        raise ValueError(
            f"dataset: got a {type(dataset).__name__} but expected a tf.data.Dataset of examples. "
            "Make one with cavs_tf.data.from_arrays, ptb_trees or listops."
        )
    check_bools(drop_remainder=drop_remainder, as_dict=as_dict)
    pools = pools_of(batch_size, max_vertices, bucket_by, pool, seed, drop_remainder)
    replicas = replicas_of(replicas)
    spec = dataset.element_spec
    structures = structures_of(
        spec,
        per_graph,
        per_edge,
        per_leaf,
        arity=arity,
        vertex_type=vertex_type,
        num_types=num_types,
        edges=edges,
        rounds=rounds,
    )
    taken = TENSOR_NAMES if as_dict else ("graphs",)
    if replicas is not None:
        taken = (*taken, GLOBAL_GRAPHS, GRAPH_WEIGHT, VERTEX_WEIGHT)
    for structure in structures:
        _check_names(structure, spec, taken)

    def graphs_and_features(structure, examples):
        graphs, features = structure.side_by_side(examples)
        graphs = graphs.with_schedule(
            structure.arity, structure.num_types, policy, micro_batch, structure.edges
        )
        # Types may have the name under which graphs have them, as in what `from_graphs` makes.
        return features | (graphs.to_dict() if as_dict else {"graphs": graphs})

    @tf.autograph.experimental.do_not_convert
    def assemble(examples, weights=None):
        if structures[0].name is None:
            made = graphs_and_features(structures[0], examples)
        else:
            made = examples | {s.name: graphs_and_features(s, examples) for s in structures}
        return made if weights is None else merged(made, weights)

    if pools is None:
        batches = batched(dataset, batch_size, drop_remainder)
    else:
        batches = pools.minibatches(dataset, structures)
    if replicas is not None:
        batches = replicas.parts(batches, structures)
    batches = batches.map(assemble, num_parallel_calls=tf.data.AUTOTUNE)
    return batches.prefetch(tf.data.AUTOTUNE).with_options(_options(dataset.options()))


def _options(given: tf.data.Options) -> tf.data.Options:
    """The options of a pipeline that runs while steps train, from the options of its examples.

    TensorFlow's autotuner is off: its thread sleeps longer and longer, and the end of an epoch
    often waits until it wakes. The functions of the pipeline have threads of their own: if they
    shared the threads that run the operators of a step, steps would wait for them.
    """
    options = tf.data.Options()
    options.autotune.enabled = False
    if given.threading.private_threadpool_size is None:
        options.threading.private_threadpool_size = max(1, len(os.sched_getaffinity(0)) // 2)
    return options


def _check_names(structure: Structure, spec, taken: Collection[str]) -> None:
    """Raises ValueError if a feature has a name that the graphs of a minibatch use."""
    features = structure.of(spec)
    taken = taken if structure.rounds is None else (*taken, ORIGIN)
    where = "dataset" if structure.name is None else f"dataset[{structure.name!r}]"
    for name in sorted(set(features) & set(taken)):
        if name == structure.vertex_type == "vertex_type":
            continue
        advice = "Rename the feature."
        if name == "vertex_type":
            advice = f"Rename the feature, or pass vertex_type={name!r} if it says their types."
        raise ValueError(
            f"{where}: got a feature named {name!r} but expected a name other than "
            f"{', '.join(map(repr, taken))}, under which a minibatch has its graphs. {advice}"
        )
