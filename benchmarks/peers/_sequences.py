"""Sequences with padding, as static frameworks take them."""

import numpy as np


def padded(minibatch, multiple: int = 1) -> tuple:
    """(tokens, labels, mask), each [B, T]: T is the longest length, rounded up to a multiple."""
    lengths = np.diff(minibatch.graph_splits)
    steps = -(-int(lengths.max()) // multiple) * multiple
    mask = np.arange(steps) < lengths[:, None]
    token = np.zeros(mask.shape, np.int32)
    label = np.zeros(mask.shape, np.int32)
    token[mask], label[mask] = minibatch.token, minibatch.label
    return token, label, mask
