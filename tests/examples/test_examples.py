"""Runs every example at a tiny size."""

import json
import pathlib

import pytest

from tests.helpers import processes

ROOT = pathlib.Path(__file__).parents[2]
EXAMPLES = ROOT / "python" / "examples"
VERSIONS = {"python", "tensorflow", "keras", "cavs_tf", "numpy"}


def run(example, folder, *arguments):
    return processes.run_script(EXAMPLES / example, arguments, folder)


def summary_of(example, tmp_path, *arguments):
    """The summary that the example wrote, and the text that it printed."""
    file = tmp_path / "summary.json"
    done, printed, error = run(example, tmp_path, f"--json={file}", *arguments)
    assert done, error
    summary = json.loads(file.read_text())
    assert set(summary["versions"]) == VERSIONS
    return summary, printed


@pytest.mark.in_turns
def test_listops(tmp_path):
    picture = tmp_path / "folder" / "listops.png"
    summary, printed = summary_of(
        "listops.py",
        tmp_path,
        "--train_examples=400",
        "--test_examples=50",
        "--epochs=2",
        "--units=16",
        "--max_depth=2",
        "--seed=3",
        f"--picture={picture}",
    )
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert len(summary["loss"]) == 2 and summary["loss"][1] < summary["loss"][0]
    assert 0.1 <= summary["chance"] < 0.4
    assert 0 <= summary["bag_of_tokens_accuracy"] <= 1
    assert summary["trees_per_second"] > 0
    assert summary["seed"] == 3
    assert f"Tree-LSTM       {summary['accuracy']:6.1%}" in printed
    assert "roots_accuracy" in printed  # Part of Keras's progress bar.


SENTENCES = {
    "good": "(4 (3 (2 a) (4 good)) (2 film))",
    "bad": "(0 (1 (2 a) (0 bad)) (2 film))",
    "short": "(2 film)",
}


@pytest.mark.in_turns
def test_sentiment_learns_what_it_saw(tmp_path):
    text = "\n".join(SENTENCES.values())
    for split in ("train", "dev", "test"):
        (tmp_path / f"{split}.txt").write_text(text + "\n")
    summary, printed = summary_of(
        "sentiment.py",
        tmp_path,
        f"--data={tmp_path}",
        "--epochs=12",
        "--units=16",
        "--embedding=16",
        "--batch_size=1",
        "--dropout=0",
        "--learning_rate=0.1",
    )
    assert summary["accuracy"] == summary["test_accuracy"] == 1
    assert summary["chance"] == pytest.approx(1 / 3)
    assert len(summary["accuracy_per_epoch"]) == len(summary["loss"]) == 12
    assert len(summary["seconds_per_epoch"]) == 12
    assert "val_roots_accuracy" in printed


def test_sentiment_needs_data(tmp_path):
    done, _, error = run("sentiment.py", tmp_path)
    assert not done and "--data" in error


@pytest.mark.in_turns
def test_custom_cell_prints_the_same_each_time(tmp_path):
    runs = [summary_of("custom_cell.py", tmp_path, "--epochs=3") for _ in range(2)]
    assert runs[0] == runs[1]
    summary, printed = runs[0]
    assert "num_graphs=3" in printed and "epoch 3: loss" in printed
    assert summary["loss"] == sorted(summary["loss"], reverse=True)


def test_custom_cell_is_small():
    assert len((EXAMPLES / "custom_cell.py").read_text().splitlines()) < 40


def test_help_lists_the_flags(tmp_path):
    _, printed, _ = run("listops.py", tmp_path, "--help")
    for flag in ("epochs", "json", "seed", "units"):
        assert f"--{flag}:" in printed


@pytest.mark.in_turns
def test_tree_to_sequence_learns_to_write(tmp_path):
    summary, printed = summary_of(
        "tree_to_sequence.py",
        tmp_path,
        "--train_examples=200",
        "--test_examples=16",
        "--max_args=2",
        "--epochs=4",
        "--units=16",
        "--batch_size=8",
        "--learning_rate=0.02",
    )
    assert len(summary["loss"]) == 4 and summary["loss"][3] < 0.8 * summary["loss"][0]
    assert f"{summary['accuracy']:.1%} of 16 unseen expressions" in printed
