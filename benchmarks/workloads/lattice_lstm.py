"""The lattice LSTM: characters in a chain, and words that skip some of them.

Source: Zhang and Yang 2018, "Chinese NER using lattice LSTM", arXiv:1805.02023, section 3.2;
the gates of the words that end at a character are not normalised here.
"""

import numpy as np

from benchmarks.workloads import _base

WORD, CHARACTER = 0, 1
MAX_WORDS = 6  # The most words that end at one character.
# The numbers of characters of Chinese sentences, and of words of a lexicon in them.
_CHARACTERS, _CHARACTERS_DEVIATION, _MOST_CHARACTERS = 44, 22, 120
# The number of words that end at a character has a negative binomial distribution: 23 in a lattice.
_SUCCESSES, _SUCCESS = 0.5, 0.462
# The probabilities of words of 2 to 7 characters.
_LENGTH_SHARES = np.array([0.6, 0.2, 0.1, 0.05, 0.03, 0.02])
_NUM_CHARACTERS, _NUM_WORDS = 4_000, 12_000


class Workload(_base.Workload):
    """An LSTM over characters (see `_lstm`), whose c also adds the c of words.

    A word goes on from the first of its characters: i, f, g = x W + h U + b, c = f c + i g.
    The last one takes in the sum of s(x W_l + c_word U_l + b_l) c_word. The loss is at the
    characters. 18 units² FLOP forward at a character, 12 at a word, 2 where it ends.
    """

    arity = 1 + MAX_WORDS
    unit = "lattices"
    num_states = 2
    vertex_types = (
        _base.VertexType("word", pulls=True, slots=1),
        _base.VertexType("character", pulls=True, slots=1, sums=True),
    )

    def make_examples(self):
        generator = np.random.default_rng([self.settings.seed, 2])
        return generate(generator, self.settings.num_examples)

    def weight_shapes(self):
        h = self.units
        return {
            "kernel": (h, 4 * h),
            "recurrent_kernel": (h, 4 * h),
            "bias": (4 * h,),
            "link_kernel": (h, h),
            "recurrent_link_kernel": (h, h),
            "link_bias": (h,),
            "word_kernel": (h, 3 * h),
            "recurrent_word_kernel": (h, 3 * h),
            "word_bias": (3 * h,),
        }

    def given(self, xp, w, kind, x):
        if kind == WORD:
            return x @ w["word_kernel"] + w["word_bias"]
        return x @ w["kernel"] + w["bias"], x @ w["link_kernel"] + w["link_bias"]

    def vertex(self, xp, w, kind, given, slots, edges):
        ((c, h),) = slots
        if kind == WORD:
            i, f, g = xp.split(given + h @ w["recurrent_word_kernel"], 3)
            c = xp.sigmoid(f) * c + xp.sigmoid(i) * xp.tanh(g)
            return c, c  # A word has no output gate.

        def linked(word, own):
            return xp.sigmoid(own + word[1] @ w["recurrent_link_kernel"]) * word[0]

        gates, link = given
        i, f, g, o = xp.split(gates + h @ w["recurrent_kernel"], 4)
        c = xp.sigmoid(f) * c + xp.sigmoid(i) * xp.tanh(g) + edges.sum(linked, link)
        return c, xp.sigmoid(o) * xp.tanh(c)

    def forward_flops_of(self, minibatch):
        words = int((minibatch.kind == WORD).sum())
        links = int((minibatch.children[:, 1:] >= 0).sum())
        characters = minibatch.num_vertices - words
        return self.units**2 * (18 * characters + 12 * words + 2 * links)


def generate(generator, count: int) -> _base.Examples:
    """Generates lattices: a word precedes the character that it ends at."""
    parts = [_lattice(generator) for _ in range(count)]
    children, kind = (np.concatenate([part[i] for part in parts]) for i in range(2))
    splits = np.concatenate([[0], np.cumsum([len(own) for _, own in parts])])
    words = kind == WORD
    token = generator.integers(0, _NUM_CHARACTERS, len(kind))
    token[words] = _NUM_CHARACTERS + generator.integers(0, _NUM_WORDS, words.sum())
    label = np.where(words, -1, generator.integers(0, _base.CLASSES, len(kind)))
    num_tokens = _NUM_CHARACTERS + _NUM_WORDS
    return _base.Examples(
        splits, children, token.astype(np.int32), label.astype(np.int32), num_tokens, kind
    )


def _lattice(generator) -> tuple[np.ndarray, np.ndarray]:
    """(children, types) of the vertices of one lattice."""
    length = generator.normal(_CHARACTERS, _CHARACTERS_DEVIATION)
    length = int(np.clip(round(length), 1, _MOST_CHARACTERS))
    children, kind, characters = [], [], []
    for end in range(length):
        words = []
        for start in _word_starts(generator, end):
            words.append(len(kind))
            children.append([characters[start], *[-1] * MAX_WORDS])
            kind.append(WORD)
        before = characters[-1] if characters else -1
        characters.append(len(kind))
        children.append([before, *words, *[-1] * (MAX_WORDS - len(words))])
        kind.append(CHARACTER)
    return np.array(children, np.int32), np.array(kind, np.int32)


def _word_starts(generator, end: int) -> list[int]:
    """The first characters of the words that end at a character, all of different lengths."""
    shares = _LENGTH_SHARES[:end]
    count = min(generator.negative_binomial(_SUCCESSES, _SUCCESS), len(shares))
    if count == 0:
        return []
    beyond_one = generator.choice(len(shares), count, replace=False, p=shares / shares.sum())
    return sorted(end - 1 - int(n) for n in beyond_one)
