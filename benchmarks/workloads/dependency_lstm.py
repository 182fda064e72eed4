"""The child-sum Tree-LSTM on trees like those of dependency parsers: up to 15 children.

Source: Tai et al. 2015, "Improved semantic representations from tree-structured long
short-term memory networks", arXiv:1503.00075, section 3.1.
"""

import itertools

import numpy as np

from benchmarks.workloads import _base, _treebank

MAX_CHILDREN = 15
# The number of children on a side that has words is geometric: mostly one, but there are lists.
_LAST_CHILD, _LAST_OF_LIST, _LIST_SHARE = 0.75, 0.12, 0.06


class Workload(_base.Workload):
    """A word at every vertex and a forget gate for each child; the loss is at the root.

    i, o, u = x W + (sum_k h_k) U + b; f_k = x W_f + h_k U_f + b_f, and for the rest see
    `tree_lstm`. 14 units² FLOP forward at a vertex, and 2 units² for every child.
    """

    arity = MAX_CHILDREN
    unit = "trees"
    num_states = 2
    vertex_types = (_base.VertexType("word", pulls=True, sums=True),)

    def make_examples(self):
        words = _treebank.words(_treebank.examples(self.settings))
        generator = np.random.default_rng([self.settings.seed, 3])
        return attach(generator, words)

    def weight_shapes(self):
        h = self.units
        return {
            "kernel": (h, 3 * h),
            "recurrent_kernel": (h, 3 * h),
            "bias": (3 * h,),
            "forget_kernel": (h, h),
            "recurrent_forget_kernel": (h, h),
            "forget_bias": (h,),
        }

    def given(self, xp, w, kind, x):
        return x @ w["kernel"] + w["bias"], x @ w["forget_kernel"] + w["forget_bias"]

    def vertex(self, xp, w, kind, given, slots, edges):
        def remembered(child, own):
            c, h = child
            return xp.sigmoid(own + h @ w["recurrent_forget_kernel"]) * c

        gates, forget = given
        total = edges.sum(lambda child: child[-1])
        i, o, u = xp.split(gates + total @ w["recurrent_kernel"], 3)
        c = xp.sigmoid(i) * xp.tanh(u) + edges.sum(remembered, forget)
        return c, xp.sigmoid(o) * xp.tanh(c)

    def forward_flops_of(self, minibatch):
        children = int((minibatch.children >= 0).sum())
        return self.units**2 * (14 * minibatch.num_vertices + 2 * children)


def attach(generator, words: _base.Examples) -> _base.Examples:
    """Chooses a random head for every word of each sentence, without crossing arcs."""
    children, token = [], []
    for first, last in zip(words.graph_splits[:-1], words.graph_splits[1:], strict=True):
        order: list[int] = []
        below: list[list[int]] = []
        _grow(generator, int(first), int(last), order, below)
        children += [own + [-1] * (MAX_CHILDREN - len(own)) for own in below]
        token.append(words.token[order])
    label = np.full(len(words.token), -1, np.int32)
    roots = words.graph_splits[1:] - 1
    label[roots] = words.label[roots]
    return _base.Examples(
        words.graph_splits,
        np.array(children, np.int32),
        np.concatenate(token),
        label,
        words.num_tokens,
        np.zeros(len(label), np.int32),
    )


def _grow(generator, first: int, last: int, order: list, below: list) -> int:
    """Adds a tree over the words [first, last), its head last; returns the head's vertex."""
    head = int(generator.integers(first, last))
    left = _cut(generator, first, head, MAX_CHILDREN // 2)
    right = _cut(generator, head + 1, last, MAX_CHILDREN - len(left))
    own = [_grow(generator, *span, order, below) for span in (*left, *right)]
    order.append(head)
    below.append(own)
    return len(below) - 1


def _cut(generator, first: int, last: int, most: int) -> list[tuple[int, int]]:
    """Divides words among the children on one side of their head, at most `most` of them."""
    if first == last:
        return []
    is_list = generator.random() < _LIST_SHARE
    wanted = generator.geometric(_LAST_OF_LIST if is_list else _LAST_CHILD)
    wanted = min(int(wanted), last - first, most)
    inside = first + 1 + generator.permutation(last - first - 1)[: wanted - 1]
    bounds = [first, *sorted(int(cut) for cut in inside), last]
    return list(itertools.pairwise(bounds))
