"""Small sets of combinations that contain every pair of choices."""

import itertools


def all_pairs(choices: list[tuple]) -> list[tuple]:
    """Combinations of one choice of each kind, such that any two choices stand together in one.

    The first combination has the first choice of each kind. Each of the others has as many new
    pairs as possible. The result is the same every time.
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
