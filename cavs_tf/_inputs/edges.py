"""The edges from vertices to their children, inside of a vertex function: a row for each."""

import abc
import dataclasses

import tensorflow as tf

from cavs_tf._native.library import ops
from cavs_tf._values import wide_sums as _wide_sums


@dataclasses.dataclass
class Edges(abc.ABC):
    """The edges of the vertices that are evaluated; the edges of a vertex are side by side.

    Attributes:
      states: [edges, *state], the state that each child scattered.
      rows: int32 [edges], the vertex that each edge belongs to, as a number among these.
      ids: int32 [vertices], the numbers of these vertices.
      used: Whether the vertex function reads edges.
    """

    states: tf.Tensor
    rows: tf.Tensor
    ids: tf.Tensor
    used: bool = False

    @abc.abstractmethod
    def spread(self, x: tf.Tensor) -> tf.Tensor:
        """[edges, ...]: for each edge the row of its vertex."""

    @abc.abstractmethod
    def sum(self, x: tf.Tensor) -> tf.Tensor:
        """[vertices, ...]: for each vertex the sum over its edges, in order."""

    @abc.abstractmethod
    def max(self, x: tf.Tensor) -> tf.Tensor:
        """[vertices, ...]: for each vertex the maximum over its edges; zeros without any."""


class TracedEdges(Edges):
    """Edges whose methods make operators that the C++ side knows."""

    def spread(self, x):
        return ops.cavs_gather(x, self.rows)

    def sum(self, x):
        return ops.cavs_scatter(x, self.rows, tf.shape(self.ids)[0])

    def max(self, x):
        return ops.cavs_scatter_max(x, self.rows, tf.shape(self.ids)[0])


class PlainEdges(Edges):
    """Edges whose methods make operators of TensorFlow."""

    def spread(self, x):
        return _wide_sums.gather(x, self.rows)

    def sum(self, x):
        return _wide_sums.sum_of_segments(x, self.rows, tf.shape(self.ids)[0])

    def max(self, x):
        return _wide_sums.max_of_segments(x, self.rows, tf.shape(self.ids)[0])
