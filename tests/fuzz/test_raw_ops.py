"""A few thousand malformed calls of the C++ ops, always the same ones."""

from tests.fuzz.raw_ops import run

CALLS = 3000


def test_malformed_calls_end_in_answers():
    report = run(CALLS, seed=0)
    assert report.faults == []
    assert report.calls == CALLS
    # Most calls are refused; some spoil nothing that matters.
    kinds = {label.split(":")[0] for label in report.counts}
    assert {"forward", "backward", "schedule", "row_op", "function", "dictionary"} <= kinds
