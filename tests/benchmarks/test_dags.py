"""The benchmark of attention over DAGs."""

import pytest

from benchmarks import contest, dags

pytestmark = pytest.mark.usefixtures("in_this_process")


def test_both_systems_give_the_same_numbers_and_are_in_the_table(capsys):
    pytest.importorskip("torch")
    dags.main(["--units=4", "--turns=2"])
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("4 units")
    assert lines[-1].count(" ms") == 2


@pytest.mark.in_turns
def test_a_package_that_is_not_installed_is_named_with_its_command(monkeypatch, capsys):
    monkeypatch.setattr(contest.importlib.util, "find_spec", lambda name: None)
    assert dags.main(["--units=4", "--turns=1"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0] == "PyTorch by levels: torch: not installed. pip install torch"
    assert said[-1].count(" ms") == 1
