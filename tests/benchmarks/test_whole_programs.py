"""`python -m benchmarks.programs`, on a few trees, and the programs in PyTorch that it runs."""

import argparse
import json
import pathlib
import sys

import numpy as np
import pytest

from benchmarks import programs
from benchmarks.programs import Turn


@pytest.fixture
def treebank(tmp_path):
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text("(3 (2 It) (4 (2 's) (4 good)))\n" * 60)
    return tmp_path


def test_the_treebank_has_to_be_named(capsys):
    assert programs.main([]) == 2
    assert "--sst: expected the folder" in capsys.readouterr().err


def test_pytorch_has_to_be_installed(treebank, monkeypatch, capsys):
    monkeypatch.setattr(programs.contest.importlib.util, "find_spec", lambda name: None)
    assert programs.main([f"--sst={treebank}"]) == 2
    said = capsys.readouterr().out
    assert said == "programs in PyTorch: torch: not installed. pip install torch\n"


def test_turns_of_all_programs_make_a_table():
    turns = {
        "sentiment": [Turn(2.0, 0.5), Turn(4.0, 0.4), Turn(3.0, 0.3)],
        "sentiment in torch": [Turn(8.0, 0.4), Turn(16.0, 0.4), Turn(6.0, 0.4)],
        "steps": [Turn(1.0), Turn(2.0), Turn(3.0)],
        "8 in a call": [Turn(1.0), Turn(1.0), Turn(1.0)],
        "listops": [Turn(4.0, 0.9)],
        "listops in torch": [Turn(40.0, 0.8)],
    }
    rows = programs.table(turns).rows
    assert rows["`sentiment.py`"] == {
        "s an epoch": "3.00",
        "trees/s": "2,848",
        "accuracy": "40.0%",
    }
    assert rows["`sentiment.py` in PyTorch"]["our time"] == "0.25 times"
    assert rows["the benchmark's steps"]["our time"] == "2.00 times"
    assert rows["the same, 8 in a call"]["our time"] == "3.00 times"
    assert rows["`listops.py`"]["trees/s"] == "10,000"
    assert rows["`listops.py` in PyTorch"]["our time"] == "0.10 times"


def test_all_programs_take_turns_with_other_seeds(monkeypatch, treebank, capsys):
    ran = []

    def run(command, environment):
        flags = dict(part[2:].split("=") for part in command if str(part).startswith("--"))
        name = "torch " + command[3] if "-m" in command else pathlib.Path(command[1]).stem
        ran.append((name, flags["seed"], flags["epochs"]))
        summary = {"seconds_per_epoch": [9.0, 2.0, 4.0], "accuracy_per_epoch": [0.0, 0.4]}
        summary |= {"trees_per_second": 1e4, "accuracy": 0.9}
        pathlib.Path(flags["json"]).write_text(json.dumps(summary))

    monkeypatch.setattr(programs, "_run", run)
    steps = {"steps": 8544.0, "8 in a call": 2 * 8544.0}
    monkeypatch.setattr(programs, "_steps", lambda arguments, crew: steps)
    monkeypatch.setattr(programs.harness, "refuse_debug_build", lambda: None)
    monkeypatch.setattr(programs.contest, "installed", lambda *names: True)
    assert programs.main([f"--sst={treebank}", "--turns=2", "--epochs=3"]) == 0
    names = ["sentiment", "torch sentiment", "listops", "torch listops"]
    assert ran == [(name, seed, "3") for seed in "01" for name in names]
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["`sentiment.py`", "3.00", "2,848", "40.0%", "-"] in lines
    assert ["`listops.py`", "4.00", "10,000", "90.0%", "-"] in lines


def test_a_program_that_fails_is_named(treebank):
    command = [sys.executable, "-c", "raise SystemExit('no data')"]
    with pytest.raises(RuntimeError, match="got exit status 1: no data"):
        programs._run(command, None)


def summary_in_torch(program, folder, *more):
    torch_programs = pytest.importorskip("benchmarks.torch_programs")
    path = folder / "summary.json"
    assert torch_programs.main([program, f"--json={path}", "--threads=1", *more]) == 0
    return json.loads(path.read_text())


def test_sentiment_in_pytorch_learns(in_this_process, treebank):
    summary = summary_in_torch("sentiment", treebank, f"--sst={treebank}", "--epochs=15")
    assert len(summary["seconds_per_epoch"]) == len(summary["accuracy_per_epoch"]) == 15
    assert summary["trees_per_second"] > 0 and summary["accuracy"] == 1.0


def test_listops_in_pytorch_learns(in_this_process, monkeypatch, tmp_path):
    torch_programs = pytest.importorskip("benchmarks.torch_programs")
    monkeypatch.setattr(torch_programs, "EXPRESSIONS", (1000, 100))
    summary = summary_in_torch("listops", tmp_path, "--epochs=3")
    assert len(summary["seconds_per_epoch"]) == 3
    assert summary["accuracy"] > 0.2  # Chance is 0.11.


@pytest.mark.parametrize("name", ["sentiment", "listops"])
def test_accuracy_in_pytorch_is_that_of_roots(in_this_process, monkeypatch, treebank, name):
    torch_programs = pytest.importorskip("benchmarks.torch_programs")
    monkeypatch.setattr(torch_programs, "EXPRESSIONS", (20, 20))
    arguments = argparse.Namespace(sst=treebank, seed=0)
    program = torch_programs.PROGRAMS[name](arguments)
    minibatch = program.test.minibatch(3, 19)
    found = program.model.graphs.plan(minibatch).label[program.roots(minibatch)]
    assert found.tolist() == minibatch.label[minibatch.graph_splits[1:] - 1].tolist()


def test_expressions_have_their_roots_last(in_this_process):
    torch_programs = pytest.importorskip("benchmarks.torch_programs")
    # [MAX 2 [MIN 4 7 ] ]
    found = {
        "children": np.array([[1, 2], [-1, -1], [3, 4], [-1, -1], [-1, -1]]),
        "token": np.array([11, 2, 10, 4, 7]),
        "vertex_label": np.array([4, 2, 4, 4, 7]),
    }
    made = torch_programs._expressions([found, found], 14).minibatch(1, 2)
    assert made.token.tolist() == [7, 4, 10, 2, 11]
    assert made.label.tolist() == [7, 4, 4, 2, 4]
    assert made.children.tolist() == [[-1, -1], [-1, -1], [1, 0], [-1, -1], [3, 2]]
