"""Chooses how many graphs run at a time: `Options(micro_batch="auto")`."""

import dataclasses
import json

import tensorflow as tf

from cavs_tf._library import ops
from cavs_tf.options import PASSES

_USABLE = 0.8  # The share of the available memory that a step may take.


@dataclasses.dataclass(frozen=True)
class Budget:
    """What a training step takes per vertex, and what there is.

    Attributes:
      kept: Bytes per vertex of state, tape, and rows that come in or go out.
      temporaries: Bytes per vertex of the graphs that run together.
      available: Bytes that a step may take.
    """

    kept: int
    temporaries: int
    available: int

    def graphs_at_a_time(self, graphs) -> tf.Tensor:
        """int32 []: all graphs if their step fits, else as many as leave room; at least 1.

        The cache does not come into it: smaller micro-batches were slower where they were
        measured, see docs/performance.md.
        """
        rows = tf.cast(graphs.num_vertices, tf.int64)
        count = tf.maximum(tf.cast(graphs.num_graphs, tf.int64), 1)
        left = tf.maximum(self.available - self.kept * rows, 0)
        needed = tf.maximum(self.temporaries * rows, 1)
        # Divided first, as sizes in bytes are large: at most one graph too few.
        at_a_time = tf.where(left >= needed, count, left // tf.maximum(needed // count, 1))
        return tf.cast(tf.clip_by_value(at_a_time, 1, count), tf.int32)


def budget_of(functions, options, state_bytes: int) -> Budget:
    """The budget of a model whose state has so many bytes per vertex; cached in `functions`."""
    if functions.budget is None:
        with tf.init_scope():
            functions.budget = _make_budget(functions, options, state_bytes)
    return functions.budget


def describe_programs(options, pairs) -> list[dict]:
    """How functions run, as `CavsDescribe` says. Eager only."""
    description = ops.cavs_describe(
        vertex_functions=[function for function, _ in pairs],
        vertex_signatures=[signature for _, signature in pairs],
        **{name: getattr(options, name) for name in PASSES},
    )
    return json.loads(description.numpy())


def row_bytes(specs) -> int:
    """Of one row of each."""
    return sum(tf.TensorShape(s.shape).num_elements() * s.dtype.size for s in specs)


def _make_budget(functions, options, state_bytes) -> Budget:
    forward = describe_programs(options, functions.forward)
    backward = describe_programs(options, functions.backward) if functions.backward else []
    largest = lambda programs, key: max((program[key] for program in programs), default=0)  # noqa: E731
    passing = 2 * row_bytes(functions.push_specs) + row_bytes(functions.pull_specs)
    return Budget(
        kept=2 * state_bytes + largest(forward, "tape_bytes_per_row") + passing,
        temporaries=sum(largest(p, "temporary_bytes_per_row") for p in (forward, backward)),
        available=int(_USABLE * int(ops.cavs_available_memory())),
    )
