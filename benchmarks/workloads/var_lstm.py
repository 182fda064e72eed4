"""An LSTM over the sentences of the Stanford Sentiment Treebank."""

import numpy as np

from benchmarks.workloads import _treebank
from benchmarks.workloads._lstm import LSTM, chains


class Workload(LSTM):
    """The words of sentences, each with its own sentiment as label."""

    def make_examples(self):
        trees = _treebank.examples(self.settings)
        words = (trees.children < 0).all(axis=1)
        words_before = np.concatenate([[0], np.cumsum(words)])
        lengths = np.diff(words_before[trees.graph_splits])
        return chains(lengths, trees.token[words], trees.label[words], trees.num_tokens)
