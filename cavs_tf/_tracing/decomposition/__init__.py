"""Rewrites operators on rows as operators on vectors, which have native kernels."""

from collections.abc import Callable, Iterator

import tensorflow as tf

from cavs_tf._tracing.decomposition.decompose import decompose_operators
from cavs_tf._tracing.decomposition.wide_sums import widen_sums
from cavs_tf._tracing.inference import Analysis


def rewritings(analysis: Analysis, decompose: bool) -> Iterator[Callable[[tf.Tensor], tf.Tensor]]:
    """Rewrites a graph step by step.

    Args:
      analysis: The analysis of the graph, which this changes.
      decompose: See `Options`.

    Yields:
      After each step, a function from a tensor of the graph to the tensor that replaces it.
    """
    yield widen_sums(analysis, decompose)
    if decompose:
        yield decompose_operators(analysis)
