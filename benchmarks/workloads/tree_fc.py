"""The Tree-FC: one fully connected layer over complete binary trees.

Source: Looks et al. 2017, "Deep Learning with Dynamic Computation Graphs", arXiv:1702.02181,
section 3.3, whose leaves are embeddings of random tokens, one row of the table per leaf.
"""

import numpy as np

from benchmarks.workloads import _base, _leaf_inner


class Workload(_leaf_inner.LeafAndInner):
    """h = tanh([h_left, h_right] W + b); the loss is at the root.

    4 units² FLOP forward per inner vertex: 3060 units² per tree of 256 leaves in training.
    """

    arity = 2
    unit = "trees"
    num_states = 1
    inner_pulls = False

    def make_examples(self):
        leaves, count = self.settings.leaves, self.settings.num_examples
        generator = np.random.default_rng([self.settings.seed, 2])
        vertices = 2 * leaves - 1
        one = complete_tree(leaves)
        label = np.full((count, vertices), -1, np.int32)
        label[:, -1] = generator.integers(0, _base.CLASSES, count)
        token = np.zeros((count, vertices), np.int32)
        token[:, :leaves] = generator.integers(0, leaves, (count, leaves))
        splits = vertices * np.arange(count + 1)
        children = np.tile(one, (count, 1))
        return _base.Examples(splits, children, token.ravel(), label.ravel(), leaves)

    def weight_shapes(self):
        return {"kernel": (2 * self.units, self.units), "bias": (self.units,)}

    def project(self, xp, w, x):
        return x

    def leaf(self, xp, w, projected):
        return (projected,)

    def inner(self, xp, w, projected, children):
        return (xp.tanh(xp.concat([h for (h,) in children]) @ w["kernel"] + w["bias"]),)

    def forward_flops(self, leaves, inner):
        return 4 * self.units**2 * inner


def complete_tree(leaves: int) -> np.ndarray:
    """Children, int32 [2 leaves - 1, 2]: the leaves come first, then level after level."""
    children = np.full((2 * leaves - 1, 2), -1, np.int32)
    children[leaves:] = np.arange(2 * leaves - 2).reshape(-1, 2)
    return children
