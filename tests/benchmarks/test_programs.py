"""The command lines: what they reject, measure, print and write, and how they resume."""

import json

import pytest

from benchmarks import harness, run
from benchmarks.records import Record

pytest.importorskip("matplotlib")


@pytest.fixture
def measured(monkeypatch):
    """Records the cells that a program measures; their invented rate is twice the batch size."""
    cells = []

    def measure(cell, contenders, effort, say, start):
        cells.append(cell.key())
        say("  measured")
        rate = 2.0 * cell.settings.batch
        return [Record(c.system, "1", *cell.key(), rate, 0.1, 0.25) for c in contenders]

    monkeypatch.setattr(harness, "measure", measure)
    monkeypatch.setattr(harness, "refuse_debug_build", lambda: None)
    return cells


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--units=0", "argument --units: got '0' but expected an int of at least 1"),
        ("--batch=x", "argument --batch: got 'x' but expected an int of at least 1"),
        ("--seed=-1", "argument --seed: got '-1' but expected an int of at least 0"),
        ("--leaves=1", "argument --leaves: got '1' but expected an int of at least 2"),
        ("--seconds=inf", "argument --seconds: got 'inf' but expected a number above 0"),
        ("--repeats=0", "argument --repeats: got '0' but expected an int of at least 1"),
        ("--threads=1000", "argument --threads: got '1000' but expected an int in [1, "),
        ("--systems=cavs,tensorfold", "argument --systems: got 'tensorfold' in 'cavs,tensorfold'"),
        (
            "--systems=cavs,cavs",
            "but expected each at most once of cavs, cavs_bfloat16, cavs_gates, ",
        ),
        ("--workload=tree", "argument --workload: invalid choice: 'tree' (choose from "),
        (
            "--ceiling=program {units} 64 2",
            "argument --ceiling: got 'program {units} 64 2' but expected a command with {batch}, "
            "{threads} to fill in. Add each where the program takes it, as in '--h {units} ",
        ),
        ("--sst=/nowhere", "argument --sst: got '/nowhere' but expected a folder with train.txt"),
        ("--optimizer=adam", "argument --optimizer: invalid choice: 'adam' (choose from "),
        ("--mode=test", "argument --mode: invalid choice: 'test' (choose from "),
    ],
)
def test_a_bad_flag_is_named_with_what_is_allowed(flag, message, capsys):
    with pytest.raises(SystemExit):
        run.main([flag])
    assert message in capsys.readouterr().err


@pytest.mark.in_turns
def test_one_cell_is_measured_printed_and_written(measured, tmp_path, capsys):
    path = tmp_path / "out.json"
    flags = ["--workload=tree_lstm", "--units=16", "--batch=4", "--threads=1", f"--json={path}"]
    assert run.main([*flags, "--systems=cavs,torch"]) == 0
    assert measured == [("tree_lstm", 16, 4, 1, "training")]
    assert [record["system"] for record in json.loads(path.read_text())] == ["cavs", "torch"]
    assert "tree_lstm h=16 batch 4" in capsys.readouterr().out
    assert (tmp_path / "out.png").exists()
    about = json.loads((tmp_path / "out.machine.json").read_text())
    assert about["data"] == {"sst": False, "seed": 0, "minibatches": None}


def test_without_a_workload_the_whole_table_is_measured(measured, capsys):
    assert run.main(["--systems=cavs"]) == 0
    assert len(measured) == len(run.TABLE) == 14
    assert {key[0] for key in measured} == {"tree_lstm", "tree_fc", "var_lstm", "fixed_lstm"}


def test_a_table_goes_on_where_it_stopped(measured, tmp_path, capsys):
    path = tmp_path / "out.json"
    cell = ["--workload=tree_fc", "--units=16", "--threads=1", f"--json={path}"]
    assert run.main([*cell, "--systems=cavs"]) == 0
    assert run.main([*cell, "--systems=cavs"]) == 0
    assert len(measured) == 1
    assert f"in {path} already" in capsys.readouterr().out
    assert run.main([*cell, "--systems=cavs,torch"]) == 0
    assert len(measured) == 2
    assert run.main([*cell, "--systems=cavs", "--leaves=32"]) == 0
    systems = [(r["workload"], r["system"]) for r in json.loads(path.read_text())]
    assert systems == [("tree_fc", "cavs"), ("tree_fc", "torch"), ("tree_fc_32", "cavs")]


def test_results_on_other_data_are_not_mixed(measured, tmp_path, capsys):
    flags = ["--workload=tree_fc", "--systems=cavs", f"--json={tmp_path / 'out.json'}"]
    assert run.main(flags) == 0
    assert run.main([*flags, "--seed=1"]) == 2
    assert "but expected a file measured with {'sst': False, 'seed': 1" in capsys.readouterr().err
