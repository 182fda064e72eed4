"""Calls CavsForward."""

import tensorflow as tf
from tensorflow.python.eager import forwardprop_util, record

from cavs_tf._inputs.inputs import rows_of
from cavs_tf._native.library import in_xla, ops
from cavs_tf._running import gradient as _gradient  # noqa: F401
from cavs_tf._tracing.functions import Functions
from cavs_tf.graphs._options import Options
from cavs_tf.graphs._schedule import Schedule


def run_forward(
    functions: Functions, schedule: Schedule, pulls: dict, options: Options, at=None
) -> dict:
    """Evaluates traced vertex functions over a schedule, and returns the pushes by name.

    `at` are the vertices whose pushes are wanted; None for all.
    """
    values = functions.capture_values()
    rows = [rows_of(pulls[name]) for name in functions.pull_names]
    _check_mode([*rows, *values])
    with functions.place_of_ops(options):
        results = ops.cavs_forward(
            schedule.order,
            schedule.task_splits,
            schedule.task_type,
            schedule.child_row,
            rows,
            values,
            [] if at is None else [at],
            functions.partial_vertices(pulls),
            schedule.edge_lists,
            edge_pulls=functions.edge_pulls,
            edge_pushes=functions.edge_pushes,
            capture_counts=[len(traced.captures) for traced in functions.traced],
            pulled_by=functions.pulled_by,
            gradient_error=functions.gradient_error,
            keep_tape=tf.executing_eagerly() and record.could_possibly_record(),
            **functions.attributes(pulls),
            **options.attributes(),
        )
    return dict(zip(functions.push_names, results.pushes, strict=True))


def _check_mode(tensors) -> None:
    if in_xla():
        raise NotImplementedError(
            "CavsForward: got a call in a function with jit_compile=True but expected one that XLA "
            "need not compile, as it cannot compile custom ops. Leave jit_compile out."
        )
    if forwardprop_util.pack_tangents(tensors).tangents:
        raise NotImplementedError(
            "CavsForward: got a tensor that a tf.autodiff.ForwardAccumulator watches but expected "
            "derivatives by tf.GradientTape. Compute forward-mode ones with "
            "cavs_tf.reference.run, which is plain TensorFlow."
        )
