"""What every system must compute: the loss in NumPy, in float64, straight from the definition."""

import numpy as np


class NumPy:
    """The functions that a workload's cell is written in."""

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
    states = _states(workload, minibatch, w)
    labelled = minibatch.label >= 0
    logits = states[-1][labelled] @ w["output"] + w["output_bias"]
    largest = logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(logits - largest).sum(axis=1)) + largest[:, 0]
    picked = np.take_along_axis(logits, minibatch.label[labelled, None], axis=1)[:, 0]
    return float((log_sum - picked).sum())


def slope(workload, minibatch, direction, step=1e-6) -> float:
    """How fast the loss grows along a direction of the weights, by central differences."""
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


def _states(workload, minibatch, w):
    shape = (minibatch.num_vertices, workload.units)
    states = [np.empty(shape) for _ in range(workload.num_states)]
    depth = depths(minibatch)
    for level in range(depth.max() + 1):
        rows = np.flatnonzero(depth == level)
        projected = None
        if level == 0 or workload.inner_pulls:
            projected = workload.project(NumPy, w, w["embedding"][minibatch.token[rows]])
        if level == 0:
            new = workload.leaf(NumPy, w, projected)
        else:
            slots = minibatch.children[rows].T
            children = [tuple(state[slot] for state in states) for slot in slots]
            new = workload.inner(NumPy, w, projected, children)
        for state, value in zip(states, new, strict=True):
            state[rows] = value
    return states
