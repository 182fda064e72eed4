"""Word vectors that were trained elsewhere.

Sources: Pennington et al. 2014, "GloVe"; Mikolov et al. 2013, arXiv:1310.4546 (word2vec);
Bojanowski et al. 2017, arXiv:1607.04606 (fastText).
"""

import os
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from cavs_tf.data._streams import decoded, located, numbered_lines
from cavs_tf.data._vocabulary import Vocabulary, check_vocabulary


class Vectors(NamedTuple):
    """The vectors of a vocabulary's words.

    Attributes:
      rows: float32 [len(vocabulary), size]; zeros for a word that is not in the file.
      is_found: bool [len(vocabulary)]. The words `<unknown>` and "" are never found.
      share: The share of the other words that were found, in [0, 1].
    """

    rows: np.ndarray
    is_found: np.ndarray
    share: float


def read_vectors(path: str | os.PathLike, vocabulary: Vocabulary) -> Vectors:
    """Reads the vectors of words from a text file: of GloVe, word2vec or fastText (`.vec`).

    A line has a word and its numbers, with blanks between them. A first line of two integers, as
    word2vec and fastText write it, says how many words and numbers there are. The file is read line
    by line, and only vectors of words of the vocabulary are kept, the first one of each.

    Args:
      path: The file, in UTF-8.
      vocabulary: The words whose vectors are read, spelled as in the file.

    Returns:
      `Vectors`, whose rows are the weights of an embedding layer.

    Raises:
      ValueError: If the file has another form, or ends too soon. The message names file and
        line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "glove.txt")
    >>> _ = path.write_text("the 0.5 1\\ncat 2 -3\\n")
    >>> vectors = read_vectors(path, Vocabulary.from_words(["cat", "dog"]))
    >>> vectors.rows.tolist(), vectors.share
    ([[0.0, 0.0], [0.0, 0.0], [2.0, -3.0], [0.0, 0.0]], 0.5)
    """
    check_vocabulary(vocabulary, needed=True)
    numbers = {word.encode(): i for i, word in enumerate(vocabulary.words) if i > vocabulary.EMPTY}
    rows, is_found = None, np.zeros(len(vocabulary), bool)
    for line, word, size, values in _lines(path):
        if rows is None:
            rows = np.zeros([len(vocabulary), size], np.float32)
        i = numbers.get(word)
        if i is not None and not is_found[i]:
            with located(path, line):
                rows[i] = _vector(word, values)
            is_found[i] = True
    if rows is None:
        raise ValueError(
            f"{path}:1: got no vectors but expected lines of a word and numbers. Pass a text file "
            "of GloVe, word2vec or fastText."
        )
    return Vectors(rows, is_found, float(is_found.sum() / max(len(numbers), 1)))


def _lines(path) -> Iterator[tuple[int, bytes, int, bytes]]:
    """Yields the number of each line, its word, the size of vectors, and the numbers as text."""
    size = count = None
    number = last = 0
    for number, line in numbered_lines(path):
        line = line.replace(b"\t", b" ").rstrip(b" ")
        blanks = line.count(b" ")
        if number == 1:
            header = line.split(b" ")
            if blanks == 1 and all(field.isdigit() for field in header):
                count, size = map(int, header)
                continue
        if size is None:
            size = blanks
        if not line and blanks == 0 and number > 1:
            continue
        if blanks < size or not size:
            with located(path, number):
                raise ValueError(
                    f"got {blanks} numbers but expected {size or 'one or more'} behind a word, "
                    "with blanks between. Pass a text file of GloVe, word2vec or fastText."
                )
        # Some words of GloVe have blanks in them.
        split = _end_of_word(line, blanks - size)
        last += 1
        yield number, line[:split], size, line[split + 1 :]
    if count is not None and last != count:
        with located(path, number + 1):
            raise ValueError(
                f"got the end of the file after {last} words but expected {count}, as the first "
                "line says. Copy the file again."
            )


def _end_of_word(line: bytes, blanks_in_word: int) -> int:
    end = line.index(b" ")
    for _ in range(blanks_in_word):
        end = line.index(b" ", end + 1)
    return end


def _vector(word: bytes, values: bytes) -> np.ndarray:
    try:
        vector = np.array(values.split(b" "), np.float32)
    except ValueError:
        vector = np.array(np.nan)
    if not np.isfinite(vector).all():
        raise ValueError(
            f"got {decoded(values)[:60]!r} behind {decoded(word)!r} but expected finite numbers. "
            "Correct the line."
        )
    return vector
