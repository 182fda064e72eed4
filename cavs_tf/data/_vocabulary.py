"""Words and their numbers."""

import collections
from collections.abc import Iterable

import numpy as np


class Vocabulary:
    """A fixed set of words, numbered.

    Id 0 is any unknown word, id 1 the empty word: what a vertex without a word has.

    >>> vocabulary = Vocabulary.from_words(["the", "cat", "the", ""])
    >>> vocabulary.words
    ('<unknown>', '', 'the', 'cat')
    >>> vocabulary.ids(["cat", "", "dog"])
    array([3, 1, 0], dtype=int32)
    """

    UNKNOWN, EMPTY = 0, 1

    def __init__(self, words: Iterable[str]):
        """Numbers `words` from 2 in the given order. They differ, and none is empty."""
        self.words = ("<unknown>", "", *words)
        self._ids = {word: i for i, word in enumerate(self.words) if i != self.UNKNOWN}
        if len(self._ids) != len(self.words) - 1:
            [(word, _)] = collections.Counter(self.words[1:]).most_common(1)
            raise ValueError(
                f"words: got {word!r} twice but expected different words that are not empty. "
                "Use Vocabulary.from_words."
            )

    @classmethod
    def from_words(cls, words: Iterable[str], min_count: int = 1) -> "Vocabulary":
        """Numbers the words that occur `min_count` times or more, the most frequent first."""
        counts = collections.Counter(words)
        del counts[""]
        kept = (word for word, count in counts.items() if count >= min_count)
        return cls(sorted(kept, key=lambda word: (-counts[word], word)))

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Iterable[str]) -> np.ndarray:
        """int32 [n]: the id of each word, in [0, len(self))."""
        return np.array([self._ids.get(word, self.UNKNOWN) for word in words], np.int32)
