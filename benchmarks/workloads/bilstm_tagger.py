"""A tagger: an LSTM in each direction, and a layer over both at every word.

Source: Huang, Xu and Yu 2015, "Bidirectional LSTM-CRF models for sequence tagging",
arXiv:1508.01991, section 2.2; here every word is classified by itself.
"""

import numpy as np

from benchmarks.workloads import _base, _lstm, _treebank


class Workload(_lstm.SeveralLSTMs):
    """h = tanh([h_forward, h_backward] W + b) at every word, of two LSTMs (see `_lstm`).

    A sentence is a graph of two chains that meet at the output layer: a forward and a
    backward vertex for every word. 36 units² FLOP forward per word.
    """

    unit = "sentences"
    vertex_types = _lstm.vertex_types("forward", "backward")

    def make_examples(self):
        words = _treebank.words(_treebank.examples(self.settings))
        return two_chains(words)

    def weight_shapes(self):
        h = self.units
        return super().weight_shapes() | {"tag_kernel": (2 * h, h), "tag_bias": (h,)}

    def head(self, xp, w, outputs):
        return xp.tanh(xp.concat(outputs) @ w["tag_kernel"] + w["tag_bias"])

    def forward_flops_of(self, minibatch):
        # The product of the first word's h is counted although h is zero, as for every LSTM.
        return 18 * self.units**2 * minibatch.num_vertices


def two_chains(words: _base.Examples) -> _base.Examples:
    """Makes two chains for each: the words of a sentence, then the same from last to first."""
    lengths = np.diff(words.graph_splits)
    first, last = (
        np.repeat(ends, lengths) for ends in (words.graph_splits[:-1], words.graph_splits[1:] - 1)
    )
    word = np.arange(words.graph_splits[-1])
    # Relative to the graph.
    forward, backward = word - first, 2 * last + 1 - first - word
    size = 2 * len(word)
    children = np.empty((size, 1), np.int32)
    token, kind = np.empty(size, np.int32), np.zeros(size, np.int32)
    label, outputs = np.full(size, -1, np.int32), np.zeros((size, 2), np.int32)
    children[2 * first + forward, 0] = forward - 1
    children[2 * first + backward, 0] = np.where(word == last, -1, backward - 1)
    token[2 * first + forward] = token[2 * first + backward] = words.token
    kind[2 * first + backward] = 1
    label[2 * first + forward] = words.label
    outputs[2 * first + forward] = np.stack([forward, backward], axis=1)
    splits = 2 * words.graph_splits
    return _base.Examples(splits, children, token, label, words.num_tokens, kind, outputs)
