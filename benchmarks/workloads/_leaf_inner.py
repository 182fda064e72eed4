"""Chains and trees, whose vertices are leaves or have all their children."""

import abc

from benchmarks.workloads._base import Minibatch, VertexType, Workload


class LeafAndInner(Workload):
    """A cell in two functions, for leaves and for inner vertices.

    Attributes:
      arity: The number of children of a vertex that has any.
      inner_pulls: Whether a vertex with children has an input of its own.
    """

    inner_pulls: bool

    @property
    def layout(self) -> str:
        return "chains" if self.arity == 1 else "trees"

    @property
    def vertex_types(self) -> tuple[VertexType, ...]:
        return VertexType("leaf", True), VertexType("inner", self.inner_pulls, self.arity)

    @abc.abstractmethod
    def project(self, xp, w, x):
        """The terms of inputs in the gates of their vertices, which need no child."""

    @abc.abstractmethod
    def leaf(self, xp, w, projected) -> tuple:
        """The state of vertices without children."""

    @abc.abstractmethod
    def inner(self, xp, w, projected, children) -> tuple:
        """The state of vertices, from the states of their children, one for each slot.

        `projected` is None unless inner vertices pull.
        """

    @abc.abstractmethod
    def forward_flops(self, leaves: int, inner: int) -> int:
        """The FLOP of the cell's matrix products at these numbers of vertices."""

    def given(self, xp, w, kind, x):
        return self.project(xp, w, x)

    def vertex(self, xp, w, kind, given, slots, edges):
        return self.inner(xp, w, given, slots) if kind else self.leaf(xp, w, given)

    def forward_flops_of(self, minibatch: Minibatch) -> int:
        leaves = int(minibatch.is_leaf.sum())
        return self.forward_flops(leaves, minibatch.num_vertices - leaves)
