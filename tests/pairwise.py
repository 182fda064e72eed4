"""Few combinations of choices that have every pair of them."""

import itertools


def all_pairs(choices: list[tuple]) -> list[tuple]:
    """Combinations of one of each of `choices`, so that any two values stand together in one.

    The first is of the first of each. Every other takes as many new pairs as one can, and the
    same every time.
    """
    pairs = {
        combination: set(itertools.combinations(enumerate(combination), 2))
        for combination in itertools.product(*choices)
    }
    found = [next(iter(pairs))]
    missing = set().union(*pairs.values()) - pairs[found[0]]
    while missing:
        found.append(max(pairs, key=lambda c: len(pairs[c] & missing)))
        missing -= pairs[found[-1]]
    return found
