"""Chooses how many graphs run at a time: `Options(micro_batch="auto")`."""

import tensorflow as tf

from cavs_tf._native.library import ops

_USABLE = 0.8  # The fraction of the available memory that a step may take.


def choose_micro_batch(graphs, functions, options, inputs=None, at=None) -> tuple:
    """Chooses the largest number of graphs at a time whose training step fits into memory.

    It does not depend on the cache: smaller micro-batches are slower (docs/how/performance.md).

    Args:
      functions: The traced functions, a `Functions`.
      inputs: External inputs by name. Inputs that are missing count with a row per vertex.
      at: The vertices whose outputs are wanted; None for all.

    Returns:
      int32 [], the number of graphs at a time, at least 1; and int64 [], the bytes that a
      training step takes with all graphs at a time.
    """
    inputs = inputs or {}
    with functions.place_of_ops(options):
        return ops.cavs_micro_batch(
            graphs.child_splits,
            graphs.child_ids,
            graphs.graph_splits,
            graphs.vertex_type,
            functions.pulled_rows(inputs),
            -1 if at is None else tf.size(at, tf.int64),
            available_bytes(functions, options),
            functions.partial_vertices(inputs),
            arity=functions.arity,
            policy=options.policy,
            Tpulls=[spec.dtype for spec in functions.pull_specs],
            **functions.attributes(inputs),
            **options.attributes(),
        )


def available_bytes(functions, options) -> int:
    """Bytes that a step here may take: a fraction of those available there at the first call."""
    with tf.init_scope(), functions.place_of_ops(options):
        found = ops.cavs_available_memory()
        return functions.available.setdefault(found.device, int(_USABLE * found.numpy()))
