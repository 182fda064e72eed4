"""The binary Tree-LSTM on the Stanford Sentiment Treebank.

Source: Tai et al. 2015, "Improved semantic representations from tree-structured long
short-term memory networks", arXiv:1503.00075, section 3.1.
"""

from benchmarks.workloads import _leaf_inner, _treebank


class Workload(_leaf_inner.LeafAndInner):
    """Child-sum gates, a forget gate per child; words at the leaves only; a loss at every vertex.

    6 units² FLOP forward at a leaf, 10 units² at an inner vertex: 888 units² per tree of the
    treebank in training.
    """

    arity = 2
    unit = "trees"
    num_states = 2
    inner_pulls = False

    def make_examples(self):
        return _treebank.examples(self.settings)

    def weight_shapes(self):
        h = self.units
        return {
            "leaf_kernel": (h, 3 * h),
            "kernel": (h, 3 * h),
            "bias": (3 * h,),
            "forget_kernel": (h, h),
            "forget_bias": (h,),
        }

    def project(self, xp, w, x):
        return x @ w["leaf_kernel"] + w["bias"]

    def leaf(self, xp, w, projected):
        i, o, u = xp.split(projected, 3)
        c = xp.sigmoid(i) * xp.tanh(u)
        return c, xp.sigmoid(o) * xp.tanh(c)

    def inner(self, xp, w, projected, children):
        total = sum(h for _, h in children[1:]) + children[0][1]
        i, o, u = xp.split(total @ w["kernel"] + w["bias"], 3)
        c = xp.sigmoid(i) * xp.tanh(u)
        for c_k, h_k in children:
            c = c + xp.sigmoid(h_k @ w["forget_kernel"] + w["forget_bias"]) * c_k
        return c, xp.sigmoid(o) * xp.tanh(c)

    def forward_flops(self, leaves, inner):
        return self.units**2 * (6 * leaves + 10 * inner)
