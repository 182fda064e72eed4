"""The benchmark of attention over DAGs."""

import pytest

from benchmarks import dags


def test_both_systems_give_the_same_numbers_and_are_in_the_table(capsys):
    pytest.importorskip("torch")
    dags.main(["--units=4", "--turns=2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("4 units")
    assert lines[-1].count(" ms") == 2
