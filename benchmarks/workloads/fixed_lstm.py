"""An LSTM over sequences of 64 tokens."""

import numpy as np

from benchmarks.workloads._base import CLASSES
from benchmarks.workloads._lstm import LSTM, chains

STEPS = 64
NUM_TOKENS = 10_000  # As in the paper's data set, the Penn Treebank.


class Workload(LSTM):
    """Sequences of one length, of random tokens."""

    def make_examples(self):
        generator = np.random.default_rng([self.settings.seed, 2])
        count = self.settings.num_examples
        token = generator.integers(0, NUM_TOKENS, count * STEPS)
        label = generator.integers(0, CLASSES, count * STEPS)
        return chains(np.full(count, STEPS), token, label, NUM_TOKENS)
