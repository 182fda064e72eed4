"""The right results of all systems: the loss in NumPy, in float64, from the definition."""

import numpy as np


class NumPy:
    """The functions that the cell of a workload is written in."""

    tanh = staticmethod(np.tanh)

    @staticmethod
    def sigmoid(x):
        return 0.5 + 0.5 * np.tanh(0.5 * x)

    @staticmethod
    def split(x, parts):
        return np.split(x, parts, axis=-1)

    @staticmethod
    def concat(parts):
        return np.concatenate(parts, axis=-1)


def loss(workload, minibatch, weights=None) -> float:
    """The loss of a minibatch, at the initial weights unless others are given."""
    weights = weights or workload.weights
    w = {name: value.astype(np.float64) for name, value in weights.items()}
    hidden = _states(workload, minibatch, w)[-1]
    labelled = minibatch.label >= 0
    outputs = [hidden[vertex] for vertex in minibatch.outputs[labelled].T]
    logits = workload.head(NumPy, w, outputs) @ w["output"] + w["output_bias"]
    largest = logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(logits - largest).sum(axis=1)) + largest[:, 0]
    picked = np.take_along_axis(logits, minibatch.label[labelled, None], axis=1)[:, 0]
    return float((log_sum - picked).sum())


def slope(workload, minibatch, direction, step=1e-6) -> float:
    """The derivative of the loss along a direction of the weights, by central differences."""
    ends = []
    for sign in (1.0, -1.0):
        moved = {n: w + sign * step * direction[n] for n, w in workload.weights.items()}
        ends.append(loss(workload, minibatch, moved))
    return (ends[0] - ends[1]) / (2 * step)


def depths(minibatch) -> np.ndarray:
    """int [V]: 0 for a leaf, else one more than the deepest child."""
    depth = [0] * minibatch.num_vertices
    for vertex, children in enumerate(minibatch.children.tolist()):
        depth[vertex] = max((depth[c] + 1 for c in children if c >= 0), default=0)
    return np.array(depth)


class _Edges:
    """The children of some vertices that are summed over."""

    def __init__(self, children, states):
        self._num_parents = len(children)
        self._parent, column = np.nonzero(children >= 0)
        self._states = tuple(state[children[self._parent, column]] for state in states)

    def sum(self, function, *values):
        terms = function(self._states, *(value[self._parent] for value in values))
        total = np.zeros((self._num_parents, terms.shape[1]))
        np.add.at(total, self._parent, terms)
        return total


def _states(workload, minibatch, w):
    # The last row is the state of missing children, which have id -1.
    shape = (minibatch.num_vertices + 1, workload.units)
    states = [np.zeros(shape) for _ in range(workload.num_states)]
    depth = depths(minibatch)
    for level in range(depth.max() + 1):
        for kind, vertex_type in enumerate(workload.vertex_types):
            rows = np.flatnonzero((depth == level) & (minibatch.kind == kind))
            given = None
            if vertex_type.pulls:
                given = workload.given(NumPy, w, kind, w["embedding"][minibatch.token[rows]])
            children = minibatch.children[rows]
            slots = [tuple(s[slot] for s in states) for slot in children[:, : vertex_type.slots].T]
            edges = _Edges(children[:, vertex_type.slots :], states)
            new = workload.vertex(NumPy, w, kind, given, slots, edges)
            for state, value in zip(states, new, strict=True):
                state[rows] = value
    return states
