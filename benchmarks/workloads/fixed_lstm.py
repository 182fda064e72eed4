"""An LSTM over sequences of one length: 64 tokens."""

import numpy as np

from benchmarks.workloads._base import CLASSES
from benchmarks.workloads._lstm import LSTM, chains

NUM_TOKENS = 10_000  # The number of words of the paper's data set, the Penn Treebank.


class Workload(LSTM):
    """Sequences of random tokens."""

    def make_examples(self):
        generator = np.random.default_rng([self.settings.seed, 2])
        count, steps = self.settings.num_examples, self.settings.steps
        token = generator.integers(0, NUM_TOKENS, count * steps)
        label = generator.integers(0, CLASSES, count * steps)
        return chains(np.full(count, steps), token, label, NUM_TOKENS)
