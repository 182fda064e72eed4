"""A few thousand malformed calls of the C++ ops, the same ones in every run."""

import pytest

from tests.fuzz.raw_ops import run

pytestmark = pytest.mark.in_turns

CALLS = 3000
FILES = 60


def test_malformed_calls_end_in_answers():
    report = run(CALLS, seed=0)
    assert report.faults == []
    assert report.calls == CALLS
    # Most calls are refused; in some the change has no effect.
    kinds = {label.split(":")[0] for label in report.counts}
    assert {"forward", "backward", "schedule", "row_op", "function", "dictionary"} <= kinds


def test_malformed_files_end_in_answers():
    report = run(FILES, seed=0, kind="file")
    assert report.faults == []
    assert report.calls == FILES
    assert set(report.counts) >= {
        "file: ok",
        "file: ValueError",
        "file: InvalidArgumentError",
    }
