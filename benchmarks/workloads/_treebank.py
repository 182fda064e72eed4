"""Parse trees of sentences: of the Stanford Sentiment Treebank, or like them.

Source: Socher et al. 2013, "Recursive deep models for semantic compositionality over a
sentiment treebank".
"""

import pathlib
import re

import numpy as np

from benchmarks.workloads import _lstm
from benchmarks.workloads._base import Examples, Settings

# The deciles of the number of words of the 8,544 sentences of train.txt.
_WORD_DECILES = (2, 7, 11, 13, 16, 18, 21, 24, 27, 32, 52)
# How often a phrase is cut behind its first word, and before its last; otherwise it is cut
# anywhere. These give the treebank's depth: 9.8 on average, with a deviation of 3.9.
_ONE_WORD_LEFT, _ONE_WORD_RIGHT = 0.4, 0.12
_LABEL_SHARES = np.array([8245, 34362, 219788, 44194, 11993]) / 318582
_NUM_TOKENS = 16_000
_TOKEN = re.compile(r"[()]|[^() \t\r\n]+")


def examples(settings: Settings) -> Examples:
    """Binary trees with labels at all vertices and tokens at the leaves; vertices in post-order."""
    if settings.sst:
        path = pathlib.Path(settings.sst)
        path = path if path.is_file() else path / "train.txt"
        return read(path, {}, settings.num_examples)
    generator = np.random.default_rng([settings.seed, 2])
    return _generate(generator, settings.num_examples)


def words(trees: Examples) -> Examples:
    """The words of the trees as sequences; the label of each word is its own sentiment."""
    words = (trees.children < 0).all(axis=1)
    words_before = np.concatenate([[0], np.cumsum(words)])
    lengths = np.diff(words_before[trees.graph_splits])
    return _lstm.chains(lengths, trees.token[words], trees.label[words], trees.num_tokens)


def read(path: pathlib.Path, numbers: dict[str, int], count: int | None = None) -> Examples:
    """The trees of a file; new words are added to `numbers`.

    With `count` so many of them, and again from the first one if the file has fewer.
    """
    if not path.is_file():
        raise ValueError(f"--sst: got a folder without {path} but expected train.txt in it.")
    lines = [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    count = len(lines) if count is None else count
    trees = [_parse(lines[i % len(lines)], numbers) for i in range(count)]
    return _join(trees, len(numbers))


def _parse(line: str, numbers: dict[str, int]):
    """(children, tokens, labels) of one tree; words are numbered in order of appearance."""
    children, tokens, labels = [], [], []
    open_vertices = []  # (label, children, words) from the root down.
    symbols = iter(_TOKEN.findall(line))
    for symbol in symbols:
        if symbol == "(":
            open_vertices.append((int(next(symbols)), [], []))
        elif symbol != ")":
            open_vertices[-1][2].append(symbol)
        else:
            label, below, words = open_vertices.pop()
            if open_vertices:
                open_vertices[-1][1].append(len(labels))
            labels.append(label)
            children.append(below or [-1, -1])
            tokens.append(numbers.setdefault(words[0], len(numbers)) if words else 0)
    return children, tokens, labels


def _generate(generator, count: int) -> Examples:
    """Random trees with the treebank's statistics of length, depth and labels."""
    lengths = np.interp(generator.random(count), np.linspace(0, 1, 11), _WORD_DECILES)
    trees = []
    for length in lengths.round().astype(int):
        children = _random_tree(generator, length)
        leaf = np.array([below[0] < 0 for below in children])
        tokens = np.where(leaf, generator.integers(0, _NUM_TOKENS, len(leaf)), 0)
        labels = generator.choice(len(_LABEL_SHARES), len(leaf), p=_LABEL_SHARES)
        trees.append((children, tokens, labels))
    return _join(trees, _NUM_TOKENS)


def _random_tree(generator, length: int) -> list[list[int]]:
    """Child lists of a tree of `length` leaves, in post-order."""
    if length == 1:
        return [[-1, -1]]
    draw = generator.random()
    if draw < _ONE_WORD_LEFT:
        cut = 1
    elif draw < _ONE_WORD_LEFT + _ONE_WORD_RIGHT:
        cut = length - 1
    else:
        cut = int(generator.integers(1, length))
    left, right = _random_tree(generator, cut), _random_tree(generator, length - cut)
    moved = [[c + len(left) if c >= 0 else -1 for c in below] for below in right]
    size = len(left) + len(right)
    return [*left, *moved, [len(left) - 1, size - 1]]


def _join(trees, num_tokens: int) -> Examples:
    splits = np.concatenate([[0], np.cumsum([len(labels) for _, _, labels in trees])])
    children, token, label = (
        np.concatenate([np.asarray(tree[part], np.int32) for tree in trees]) for part in range(3)
    )
    return Examples(splits, children, token, label, num_tokens)
