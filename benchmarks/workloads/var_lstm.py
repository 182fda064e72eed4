"""An LSTM over the sentences of the Stanford Sentiment Treebank."""

from benchmarks.workloads import _treebank
from benchmarks.workloads._lstm import LSTM


class Workload(LSTM):
    """The words of sentences; the label of each word is its own sentiment."""

    def make_examples(self):
        return _treebank.words(_treebank.examples(self.settings))
