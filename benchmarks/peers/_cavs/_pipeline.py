"""Minibatches with their schedules, from arrays."""

import cavs_tf as cavs


def batches(
    examples,
    size: int,
    model,
    policy="depth",
    slots=None,
    micro_batch=None,
    edge_features=None,
    **features,
):
    """An endless dataset of minibatches of `size` graphs, for a `GraphSupport`.

    Args:
      examples: A `workloads.Examples`.
      size: Graphs in a minibatch.
      model: The class that the schedules are for.
      policy: Of the schedules; "ratio" has fewer tasks where types wait for each other.
      slots: How many slots a model of any number of children gathers from.
      micro_batch: Of the schedules, see `cavs_tf.Options`.
      edge_features: Of edges, by name.
      **features: Of vertices, beside token, label and children; `kind` is their type.
    """
    vertices = {name: getattr(examples, name) for name in ("children", "token", "label")}
    dataset = cavs.data.from_arrays(
        examples.graph_splits, vertices | features, {}, edge_features
    ).repeat()
    num_types = len(model.vertex_types)
    return cavs.data.batch(
        dataset,
        size,
        arity=slots or model.arity,
        edges=model.arity is None,
        per_edge=tuple(edge_features or ()),
        vertex_type="kind" if num_types > 1 else None,
        num_types=num_types,
        policy=policy,
        micro_batch=micro_batch,
    )
