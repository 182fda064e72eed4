"""Every workload and every installed peer through the harness, at a tiny size."""

import dataclasses
import importlib.util
import json
import math
import os
import stat
import sys

import pytest

from benchmarks import harness, peers, records, workers, workloads
from benchmarks.cells import Cell, Contender, Effort
from benchmarks.entries import Entry

TINY = workloads.Settings(units=8, batch=3, leaves=8, steps=5, minibatches=2)
EFFORT = Effort(repeats=2, seconds=0.01)
pytestmark = pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="workers run the checkout's own library, not the sanitized one",
)
# The module that a peer needs, where it is not the name of the peer.
NEEDS = {"torch_by_hand": "torch"}
OPTIONAL = ("dgl", "torch", "torch_by_hand")
MISSING = [name for name in OPTIONAL if not importlib.util.find_spec(NEEDS.get(name, name))]
OTHERS = [name for name in workloads.names() if name != "tree_lstm"]
# Options of our peer have tests of their own in test_cavs_peer.py.
WITHOUT_OPTIONS = [name for name in peers.names() if not name.startswith("cavs_")]
PROMISED = (
    *("system", "version", "workload", "units", "batch", "threads", "mode", "per_second"),
    *("spread", "share_of_floor", "construct_share", "peak_bytes", "losses"),
)


def tiny_cell(workload="tree_lstm", mode="training", **sizes):
    return Cell(workload, dataclasses.replace(TINY, **sizes), os.cpu_count(), mode)


def quietly(line):
    del line


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("workload", "mode", "names"),
    [
        ("tree_lstm", "training", WITHOUT_OPTIONS),
        *(
            pytest.param(name, mode, peers.names(), marks=pytest.mark.long)
            for name, mode in [
                *((name, "training") for name in ("tree_lstm", *OTHERS)),
                ("tree_lstm", "inference"),
            ]
        ),
    ],
)
def test_every_installed_peer_computes_the_same_and_is_timed(workload, mode, names, kept_workers):
    contenders = [Contender(name, name) for name in names]
    measured = harness.measure(
        tiny_cell(workload, mode), contenders, EFFORT, quietly, kept_workers(names)
    )
    ran = [record for record in measured if record.error is None]
    refused = [record for record in measured if record.error is not None]
    assert [record.system for record in measured] == names
    for record in refused:
        reason = "ModuleNotFoundError" if record.system in MISSING else "Unsupported"
        assert record.error.startswith(f"{reason}: "), record.system
    assert {"cavs", "tf_while", "tf_unbatched"} <= {record.system for record in ran}
    for record in ran:
        assert record.per_second > 0 and record.spread >= 0
        assert record.construct_seconds is None or record.construct_seconds > 0
        assert len(record.losses) == 3
        rel_tol = 5e-3 if record.system == "cavs_bfloat16" else 1e-4
        assert math.isclose(record.losses[2], ran[0].losses[2], rel_tol=rel_tol)


@pytest.mark.in_turns
def test_a_record_in_json_has_the_fields_that_are_promised(kept_workers, tmp_path):
    contenders = [Contender("cavs", "cavs"), Contender("without", "cavs", {"lazyness": 1})]
    start = kept_workers(["cavs", "cavs_ops"])
    measured = harness.measure(tiny_cell(), contenders, EFFORT, quietly, start)
    path = tmp_path / "results" / "out.json"
    records.write(path, measured)
    good, failed = json.loads(path.read_text())
    assert tuple(good) == (*PROMISED, "construct_seconds", "busy_share")
    assert tuple(failed) == (*PROMISED, "error")
    assert failed["error"] == "Unsupported: not available: cavs_tf.Options has no lazyness"
    assert 0 < good["share_of_floor"] < 1
    assert 0 < good["construct_share"] < 1
    assert records.read(path) == measured


@pytest.mark.in_turns
def test_a_peer_that_is_not_installed_is_shown_as_failed():
    (record,) = harness.measure(tiny_cell(), [Contender("x", "x")], EFFORT, quietly)
    assert record.error == (
        "ModuleNotFoundError: No module named 'benchmarks.peers.x', which x needs. Run `pip "
        "install benchmarks.peers.x` (benchmarks/README.md says more)."
    )
    assert record.per_second is None and record.losses is None


def test_a_process_that_dies_is_shown_as_failed():
    def start(threads):
        worker = workers.Worker(threads)
        worker._process.terminate()
        worker._process.wait()
        return worker

    (record,) = harness.measure(tiny_cell(), [Contender("torch", "torch")], EFFORT, quietly, start)
    assert record.error == "the process ended with signal SIGTERM: no output"


def test_a_worker_that_takes_too_long_is_ended():
    worker = workers.Worker(1)
    worker.stop()
    worker._connection.send(("peak_bytes", {}))
    with pytest.raises(workers.WorkerFailed, match=r"peak_bytes took more than 0 s"):
        worker.receive("peak_bytes", 0.1)
    assert worker._process.returncode is not None


@pytest.mark.in_turns
def test_a_program_may_measure_itself(tmp_path):
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "h=$1 on $2: 1,234.5 trees/s (mean 1.0)"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    command = f"{program} {{units}} {{threads}}"
    contender = Contender("ceiling", "ceiling", {"command": command})
    (record,) = harness.measure(tiny_cell(), [contender], EFFORT, quietly)
    assert record.error is None
    assert record.per_second == 1234.5 and record.losses is None
    program.write_text("#!/bin/sh\necho sorry >&2\nexit 3\n")
    (record,) = harness.measure(tiny_cell(), [contender], EFFORT, quietly)
    assert record.error == (
        "RuntimeError: program: got exit status 3 and 'sorry' but expected '<number> trees/s'"
    )


def test_a_debug_build_is_refused(tmp_path, monkeypatch):
    (tmp_path / "cavs_tf").mkdir()
    info = tmp_path / "cavs_tf/_build_info.json"
    monkeypatch.setattr(harness, "ROOT", tmp_path)
    harness.refuse_debug_build()
    info.write_text('{"build": "release"}')
    harness.refuse_debug_build()
    info.write_text('{"build": "debug"}')
    with pytest.raises(RuntimeError, match="got a debug build but expected a release build"):
        harness.refuse_debug_build()


class Idle:
    """A worker that does nothing."""

    def send(self, verb, **arguments):
        pass

    def close(self):
        pass


def test_each_turn_is_held_against_the_peak_at_its_time():
    entry = Entry(tiny_cell(), Contender("cavs", "cavs"), Idle())
    entry.rates, entry.peaks = [10.0, 20.0, 4.0], [[1.0, 3.0], [4.0, 4.0], [1.0, 1.0]]
    entry.compute(flops=0.1e9, busy_share=0.0)
    assert entry.record.per_second == 10
    assert entry.record.share_of_floor == pytest.approx(0.5)
    entry.peaks[0] = [None, None]  # As without a compiler.
    entry.compute(flops=0.1e9, busy_share=0.0)
    assert entry.record.share_of_floor is None


def test_a_package_that_is_not_installed_is_named_with_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    monkeypatch.delitem(sys.modules, "benchmarks.peers.torch", raising=False)
    with pytest.raises(
        ModuleNotFoundError, match=r"which torch needs\. Run `pip install torch`"
    ) as e:
        peers.load("torch")
    entry = Entry(tiny_cell(), Contender("torch", "torch"), Idle())
    entry.fail(f"ModuleNotFoundError: {e.value}")
    assert entry.summary("trees").startswith("torch            not installed: ")
    entry.record.error = "ValueError: no"
    assert entry.summary("trees") == "torch            failed: ValueError: no"
