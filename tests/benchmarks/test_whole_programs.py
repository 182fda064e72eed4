"""`python -m benchmarks.programs`, on a few generated trees."""

import json

import pytest

from benchmarks import programs


def test_the_treebank_has_to_be_named(capsys):
    assert programs.main([]) == 2
    assert "--sst: expected the folder" in capsys.readouterr().err


def test_turns_of_both_programs_make_a_table(monkeypatch, capsys, tmp_path):
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text("(3 (2 It) (4 (2 's) (4 good)))\n")
    epochs = {"cavs_tf": [9.0, 2.0, 4.0], "pytorch": [9.0, 8.0, 8.0]}
    monkeypatch.setattr(programs, "_in_a_process", lambda name, arguments: epochs[name])
    assert programs.main([f"--sst={tmp_path}", "--repeats=2"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["cavs_tf", "3.00", "2,848"] in lines and ["pytorch", "8.00", "1,068"] in lines


def test_pytorch_trains_as_many_epochs_as_asked(in_this_process, monkeypatch, capsys, tmp_path):
    pytest.importorskip("torch")
    (tmp_path / "train.txt").write_text("(3 (2 It) (4 (2 's) (4 good)))\n" * 60)
    monkeypatch.setattr(programs, "TREES", 60)
    arguments = [f"--sst={tmp_path}", "--one=pytorch", "--epochs=3", "--threads=1"]
    assert programs.main(arguments) == 0
    seconds = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(seconds) == 3 and min(seconds) > 0
