"""PyTorch's versions, which tools/on_device.sh times on a GPU, on the CPU."""

import json
import sys

import pytest

pytest.importorskip("torch")

from benchmarks import torch_on_gpu


@pytest.fixture
def run(monkeypatch, capsys):
    """Runs the program with tiny sizes; returns its rows."""
    monkeypatch.setattr(torch_on_gpu, "_place_on", lambda device: None)  # For good.

    def run(*flags):
        sizes = ["--device=cpu", "--units=4", "--batch=3", "--steps=1"]
        monkeypatch.setattr(sys, "argv", ["torch_on_gpu", *sizes, *flags])
        torch_on_gpu.main()
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return run


def test_trees_are_timed_by_levels_and_by_hand(run):
    rows = run()
    assert [row["system"] for row in rows] == ["torch", "torch_by_hand"]
    assert all(row["device"] == "cpu" and row["trees_per_s"] > 0 for row in rows)


def test_gradients_that_differ_are_an_error(run, monkeypatch):
    def doubled(self, gradients):
        return {name: 2 * gradient for name, gradient in gradients.items()}

    monkeypatch.setattr(torch_on_gpu.torch_by_hand.Peer, "in_common_layout", doubled)
    with pytest.raises(SystemExit, match=r"torch_by_hand: gradient by .* that of torch"):
        run()


@pytest.mark.parametrize(("flag", "system"), [("--length=5", "cudnn_lstm"), ("--rows=7", "cublas")])
def test_libraries_are_timed_in_both_precisions(run, flag, system):
    rows = run(flag)
    assert [(row["system"], row["tf32"]) for row in rows] == [(system, 0), (system, 1)]
    assert all(row["step_ms"] > 0 for row in rows)
    assert all(("tflops" in row) == (system == "cublas") for row in rows)
