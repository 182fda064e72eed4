"""Words and their numbers."""

import collections
import itertools
import json
import os
import pathlib
from collections.abc import Iterable, Iterator

import numpy as np
import tensorflow as tf

from cavs_tf._inputs.inputs import rows_of
from cavs_tf._values.arguments import checked_size


class Vocabulary:
    """A fixed set of words, numbered.

    Id 0 is any unknown word. Id 1 is the empty word, that of a vertex without a word.

    >>> vocabulary = Vocabulary.from_words(["the", "cat", "the", ""])
    >>> vocabulary.words
    ('<unknown>', '', 'the', 'cat')
    >>> vocabulary.ids(["cat", "", "dog"])
    array([3, 1, 0], dtype=int32)
    """

    UNKNOWN, EMPTY = 0, 1

    def __init__(self, words: Iterable[str]):
        """Numbers `words` from 2 in the given order. They differ, and none is empty.

        All methods take strings, and bytes in UTF-8, as tensors have them.
        """
        self.words = ("<unknown>", "", *_strings(words))
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
        min_count = checked_size("min_count", min_count, least=0)
        counts = collections.Counter(_strings(words))
        del counts[""]
        kept = (word for word, count in counts.items() if count >= min_count)
        return cls(sorted(kept, key=lambda word: (-counts[word], word)))

    @classmethod
    def from_dataset(cls, dataset: tf.data.Dataset, min_count: int = 1) -> "Vocabulary":
        """Numbers the words of examples: their features "word", in structures too.

        Args:
          dataset: Read once, an example at a time, with "word" string [n], or a `VertexRows`;
            minibatches of such examples, too.
          min_count: As for `from_words`.

        Raises:
          ValueError: If the examples have no such feature.

        >>> dataset = tf.data.Dataset.from_tensors({"word": ["the", "cat", "the", ""]})
        >>> Vocabulary.from_dataset(dataset).words
        ('<unknown>', '', 'the', 'cat')
        """
        if not list(_words(dataset.element_spec)):
            raise ValueError(
                f"dataset: got elements {dataset.element_spec} but expected dicts with 'word' "
                "among the names. Read the examples without a vocabulary."
            )
        # Graphs of minibatches have no form in numpy.
        words = itertools.chain.from_iterable(
            rows.numpy() for example in dataset for rows in _words(example)
        )
        return cls.from_words(words, min_count)

    @classmethod
    def load(cls, path: str | os.PathLike) -> "Vocabulary":
        """The vocabulary that `save` wrote.

        Raises:
          ValueError: If the file is not such a list.
        """
        try:
            words = json.loads(pathlib.Path(path).read_bytes().decode("utf-8-sig"))
        except ValueError:
            words = None
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise ValueError(
                f"path: got {str(path)!r} but expected a list of words, as JSON. Pass a file that "
                "Vocabulary.save wrote."
            )
        return cls(words)

    def save(self, path: str | os.PathLike) -> None:
        """Writes the words from id 2 on: a list of strings, as JSON, a word in a line.

        A model that numbers words by a vocabulary needs the same one wherever it is loaded.

        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "words.json")
        >>> Vocabulary.from_words(["the", "café"]).save(path)
        >>> Vocabulary.load(path).words
        ('<unknown>', '', 'café', 'the')
        """
        text = json.dumps(self.words[2:], ensure_ascii=False, indent=0)
        pathlib.Path(path).write_bytes(text.encode() + b"\n")

    def __len__(self) -> int:
        return len(self.words)

    def ids(self, words: Iterable[str]) -> np.ndarray:
        """int32 [n]: the id of each word, in [0, len(self)).

        Raises:
          ValueError: If `words` are not strings or bytes, or are one word.
        """
        return np.array([self._ids.get(w, self.UNKNOWN) for w in _strings(words)], np.int32)


def check_vocabulary(vocabulary, needed: bool = False) -> None:
    """Raises ValueError unless this is a `Vocabulary`, or None where none is `needed`."""
    if not isinstance(vocabulary, Vocabulary if needed else Vocabulary | None):
        raise ValueError(
            f"vocabulary: got a {type(vocabulary).__name__} but expected a Vocabulary. Make one "
            "with Vocabulary.from_words or from_dataset."
        )


def _strings(words: Iterable[str | bytes]) -> Iterator[str]:
    """The words as strings."""
    if isinstance(words, (str, bytes)):
        raise ValueError(f"words: got {words!r} but expected several words. Pass a list.")
    for word in words:
        if not isinstance(word, (str, bytes)):
            raise ValueError(
                f"words: got {word!r} but expected strings, or bytes in UTF-8. Convert it: the "
                "words of a tensor have them in tensor.numpy()."
            )
        yield word.decode() if isinstance(word, bytes) else word


def _words(features) -> Iterator:
    """The features "word" of an example, and of its structures."""
    for name, feature in features.items() if isinstance(features, dict) else ():
        if isinstance(feature, dict):
            yield from _words(feature)
        elif name == "word":
            yield rows_of(feature)
