"""Small sets of combinations that contain every pair of choices."""

import itertools
import random

import pytest

_TRIED = 60  # How many combinations are compared for each that is taken.


def all_pairs(choices: list[tuple]) -> list[tuple]:
    """Combinations of one choice of each kind, such that any two choices stand together in one.

    The first combination has the first choice of each kind. Each of the others has the most new
    pairs among some that are tried. The result is the same every time.
    """
    generator = random.Random(0)
    order = [
        ((i, a), (k, b))
        for i, k in itertools.combinations(range(len(choices)), 2)
        for a, b in itertools.product(choices[i], choices[k])
    ]
    found = [tuple(some[0] for some in choices)]
    missing = set(order) - _pairs(found[0])
    while missing:
        starts = [pair for pair in order if pair in missing]
        tried = [
            _completed(dict(generator.choice(starts)), choices, missing, generator)
            for _ in range(_TRIED)
        ]
        found.append(max(tried, key=lambda one: len(_pairs(one) & missing)))
        missing -= _pairs(found[-1])
    return found


def parametrize_pairs(**choices):
    """As `pytest.mark.parametrize` of each name with its choices, all pairs of which are tested.

    The other combinations are long tests.
    """
    chosen = all_pairs([tuple(some) for some in choices.values()])
    every = itertools.product(*choices.values())
    rest = [pytest.param(*one, marks=pytest.mark.long) for one in every if one not in chosen]
    return pytest.mark.parametrize(tuple(choices), [*chosen, *rest])


def each_in_one_of(first, second):
    """Parameters: each value of `first` with one of `second` in turn; in long runs with each."""
    return [
        pytest.param(a, b, marks=[] if i % len(second) == j else pytest.mark.long)
        for i, a in enumerate(first)
        for j, b in enumerate(second)
    ]


def _pairs(combination) -> set:
    return set(itertools.combinations(enumerate(combination), 2))


def _completed(chosen, choices, missing, generator) -> tuple:
    """Adds to a pair, kind by kind, what stands in the most missing pairs with what is there."""
    kinds = [i for i in range(len(choices)) if i not in chosen]
    generator.shuffle(kinds)
    for i in kinds:

        def new_pairs(one, i=i):
            return sum(
                (((i, one), other) if i < other[0] else (other, (i, one))) in missing
                for other in chosen.items()
            )

        chosen[i] = max(choices[i], key=new_pairs)
    return tuple(chosen[i] for i in range(len(choices)))
