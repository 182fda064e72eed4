"""Where a step's time goes, as `benchmarks.phases` adds it up."""

import pytest

from benchmarks import phases, workloads
from benchmarks.peers import cavs

SETTINGS = workloads.Settings(units=8, batch=2, minibatches=2)
STEPS = 2


@pytest.fixture
def workload():
    return workloads.make("tree_lstm", SETTINGS)


def test_every_operator_counts_in_one_phase(workload):
    timed = [
        ("cavs", "MatMul x2 (gates/i, gates/f)", 0.004),
        ("cavs", "weight gradient", 0.002),
        ("cavs", "AddV2", 0.002),
        ("cavs", "task 3: 17 rows of Cell.vertex", 0.002),
        ("tensorflow", "CavsForward", 0.002),
        ("tensorflow", "ResourceGather", 0.002),
        ("tensorflow", "CavsSchedule", 0.002),
        ("tensorflow", "Mul", 0.002),
        ("tensorflow", "_Arg", 9.0),  # Only hands over a value that exists.
    ]
    rows = phases.table(timed, STEPS, workload)
    assert rows["in all"]["ms"] == "9.000"
    assert rows["products, forward and of gradients"]["share"] == "22%"
    assert {rows[phase]["ms"] for phase in list(rows)[1:-1]} == {"1.000"}
    assert len(rows) == 9


def test_rates_are_those_of_the_steps_that_ran(workload):
    flops = sum(workload.flops(batch, "training") for batch in workload.minibatches) / 3
    rows = phases.table([("cavs", "weight gradient", flops / 7e9)], STEPS, workload)
    assert rows["weight gradients"]["rate"] == "7 GFLOP/s a thread"


@pytest.mark.in_turns
def test_a_real_step_spends_most_of_its_time_in_known_phases(in_this_process, workload):
    milliseconds, timed = phases.measure(workload, threads=1, steps=STEPS)
    assert milliseconds > 0
    rows = phases.table(timed, STEPS, workload)
    ours = {"weight gradients", "elementwise groups", "setting up our ops", "embedding"}
    assert ours <= set(rows)
    assert "ns a hidden unit" in rows["elementwise groups"]["rate"]


def test_setting_up_has_no_events_of_operators_in_it(in_this_process, workload):
    peer = cavs.Peer(workload, threads=1)
    peer.train(0)
    timed = peer.timed_operators(lambda: peer.train(1), outline=True)
    inside = [name for kind, name, _ in timed if kind == "cavs"]
    assert inside == ["programs", "programs"]
    assert {"CavsForward", "CavsBackward"} <= {name for _, name, _ in timed}
