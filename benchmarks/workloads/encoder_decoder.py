"""Pairs of sentences: an LSTM reads one, and another continues from its state with the other.

Source: Sutskever, Vinyals and Le 2014, "Sequence to sequence learning with neural networks",
arXiv:1409.3215.
"""

import numpy as np

from benchmarks.workloads import _base, _lstm, _treebank


class Workload(_lstm.SeveralLSTMs):
    """Two LSTMs (see `_lstm`), with a loss at the words of the decoder.

    A pair is one chain; its type says whose weights a vertex has. 16 units² FLOP forward
    per word.
    """

    unit = "pairs"
    vertex_types = _lstm.vertex_types("encoder", "decoder")

    def make_examples(self):
        words = _treebank.words(_treebank.examples(self.settings))
        return pairs(words)

    def forward_flops_of(self, minibatch):
        return 16 * self.units**2 * minibatch.num_vertices


def pairs(words: _base.Examples) -> _base.Examples:
    """Every sentence, with the sentence after it."""
    starts, ends = words.graph_splits[:-1], words.graph_splits[1:]
    spans = list(zip(starts, ends, strict=True))
    rows, kinds, lengths = [], [], []
    for source, target in zip(spans, spans[1:] + spans[:1], strict=True):
        sizes = [int(last - first) for first, last in (source, target)]
        rows += [np.arange(*source), np.arange(*target)]
        kinds.append(np.repeat([0, 1], sizes))
        lengths.append(sum(sizes))
    row, kind = np.concatenate(rows), np.concatenate(kinds).astype(np.int32)
    label = np.where(kind == 1, words.label[row], -1)
    chains = _lstm.chains(lengths, words.token[row], label, words.num_tokens)
    return _base.Examples(
        chains.graph_splits, chains.children, chains.token, chains.label, chains.num_tokens, kind
    )
