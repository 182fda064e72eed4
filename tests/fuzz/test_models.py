"""Compares 40 random models with the oracle, and with the long tests 260 more."""

import pytest

from tests.fuzz.cases import SEEDS_OF_A_BLOCK, draw_case, process_of
from tests.fuzz.run import show
from tests.fuzz.worker import Worker

BLOCKS = range(0, 300, SEEDS_OF_A_BLOCK)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "first", [pytest.param(k, marks=[pytest.mark.long] if k >= 40 else []) for k in BLOCKS]
)
def test_random_models_give_the_numbers_of_the_oracle(first):
    failures = []
    with Worker(process_of(first)) as worker:
        for seed in range(first, first + SEEDS_OF_A_BLOCK):
            verdict = worker.check(seed)
            if not verdict.ok:
                failures.append(f"seed {seed}: {verdict.kind}: {verdict.where}\n{verdict.text}")
                failures.append(show(draw_case(seed)))
    assert not failures, "\n".join(failures)
