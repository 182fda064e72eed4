"""The LSTM. Source: Hochreiter and Schmidhuber 1997, "Long short-term memory"."""

import numpy as np

from benchmarks.workloads._base import Examples, VertexType, Workload
from benchmarks.workloads._leaf_inner import LeafAndInner


class LSTM(LeafAndInner):
    """[i, f, g, o] = x W + h U + b; c = f c + i g; h = o tanh(c). Gates are in Keras's order.

    Every vertex has a label. 16 units² FLOP forward per token, except that the first
    has no h to multiply.
    """

    arity = 1
    unit = "sequences"
    num_states = 2
    inner_pulls = True

    def weight_shapes(self):
        return weight_shapes(self.units)

    def project(self, xp, w, x):
        return x @ w["kernel"] + w["bias"]

    def leaf(self, xp, w, projected):
        i, _, g, o = xp.split(projected, 4)
        c = xp.sigmoid(i) * xp.tanh(g)
        return c, xp.sigmoid(o) * xp.tanh(c)

    def inner(self, xp, w, projected, children):
        ((c, h),) = children
        return step(xp, projected + h @ w["recurrent_kernel"], c)

    def forward_flops(self, leaves, inner):
        # The first token's h is zero, but the paper counts its product, and so does the floor.
        return 16 * self.units**2 * (leaves + inner)


class SeveralLSTMs(Workload):
    """Chains in which each vertex has the LSTM of its type, with weights named after the type."""

    arity = 1
    num_states = 2

    def weight_shapes(self):
        shapes = {}
        for vertex_type in self.vertex_types:
            shapes |= weight_shapes(self.units, f"{vertex_type.name}_")
        return shapes

    def given(self, xp, w, kind, x):
        name = self.vertex_types[kind].name
        return x @ w[f"{name}_kernel"] + w[f"{name}_bias"]

    def vertex(self, xp, w, kind, given, slots, edges):
        ((c, h),) = slots
        return step(xp, given + h @ w[f"{self.vertex_types[kind].name}_recurrent_kernel"], c)


def vertex_types(*names: str) -> tuple[VertexType, ...]:
    """The vertex types of several LSTMs."""
    return tuple(VertexType(name, pulls=True, slots=1) for name in names)


def weight_shapes(units: int, prefix: str = "") -> dict[str, tuple[int, ...]]:
    """The shapes of the weights of an LSTM whose inputs are as large as its state."""
    return {
        f"{prefix}kernel": (units, 4 * units),
        f"{prefix}recurrent_kernel": (units, 4 * units),
        f"{prefix}bias": (4 * units,),
    }


def step(xp, gates, c) -> tuple:
    """(c, h), from the terms of the gates and the c before."""
    i, f, g, o = xp.split(gates, 4)
    c = xp.sigmoid(f) * c + xp.sigmoid(i) * xp.tanh(g)
    return c, xp.sigmoid(o) * xp.tanh(c)


def chains(lengths, token, label, num_tokens: int) -> Examples:
    """Sequences as graphs: the child of a token is the token before it."""
    splits = np.concatenate([[0], np.cumsum(lengths)])
    position = np.arange(splits[-1]) - np.repeat(splits[:-1], lengths)
    children = (position - 1).astype(np.int32)[:, None]
    return Examples(splits, children, token.astype(np.int32), label.astype(np.int32), num_tokens)


def sequences(graphs, kind: int) -> Examples:
    """The vertices of one type as chains, from `Examples` or a `Minibatch`."""
    rows = graphs.kind == kind
    num_graphs = len(graphs.graph_splits) - 1
    graph = np.repeat(np.arange(num_graphs), np.diff(graphs.graph_splits))
    lengths = np.bincount(graph[rows], minlength=num_graphs)
    num_tokens = getattr(graphs, "num_tokens", 0)
    return chains(lengths, graphs.token[rows], graphs.label[rows], num_tokens)
