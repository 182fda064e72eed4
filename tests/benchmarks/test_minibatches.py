"""benchmarks.minibatches: every way trains on all examples and keeps its budget."""

import pytest

from benchmarks import minibatches


@pytest.mark.in_turns
@pytest.mark.parametrize("data, mean", [("trees", 20), ("chains", 500)])
def test_a_way_is_measured(data, mean):
    result = minibatches.measure(
        minibatches.Run(data, "vertices, by depth", 4, 8, examples=20, seed=0, sst=None)
    )
    assert result.per_second > 0 and result.steps >= 2
    assert mean < result.most_vertices < 16 * mean
    assert result.tasks >= result.steps


def test_ways_have_minibatches_of_the_same_size_on_average():
    for options in minibatches.ways(64, 37.25).values():
        assert options.get("batch_size", 64) == 64
        assert options.get("max_vertices", 2384) == 2384


@pytest.mark.in_turns
def test_prints_a_table(capsys, monkeypatch):
    two_ways = minibatches.WAYS[0], minibatches.WAYS[-1]
    monkeypatch.setattr(minibatches, "WAYS", two_ways)
    # Processes are tested by test_apart.py.
    monkeypatch.setattr(minibatches.apart, "call", lambda _, function, *args: function(*args))
    flags = ["--data=trees", "--units=4", "--batch=4", "--examples=12", "--rounds=1"]
    assert minibatches.main(flags) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "trees h=4 batch 4"
    assert all(any(way in line for line in lines) for way in two_ways)
