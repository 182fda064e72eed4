"""Workers that train together, and one of which is killed."""

import json
import os
import pathlib
import signal
import socket

import pytest

from tests.helpers import processes

EXAMPLE = pathlib.Path(__file__).parents[2] / "python/examples/distributed.py"
STEPS = 6
SIZES = ("--examples=50", "--batch_size=7", "--units=8", f"--steps={STEPS}")


def start(folder, *arguments, **environment):
    """Starts the example in a folder of its own; `printed.txt` has what it prints."""
    folder.mkdir()
    paths = processes.environment()["PYTHONPATH"] + os.pathsep + str(EXAMPLE.parent)
    given = [f"--folder={folder}", f"--json={folder}/losses.json", *SIZES, *arguments]
    environment |= {"CUDA_VISIBLE_DEVICES": "-1", "PYTHONPATH": paths}
    return processes.start_script(EXAMPLE, given, folder, **environment)


def cluster_of_one():
    """The `TF_CONFIG` of a machine whose only worker is started by hand."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    return json.dumps({"cluster": {"worker": [address]}, "task": {"type": "worker", "index": 0}})


def losses(lines):
    """The loss of each step, and how often each was computed."""
    found, counts = {}, {}
    for line in lines:
        if line.startswith("step "):
            number, loss = line.removeprefix("step ").split(": loss ")
            found[int(number)] = float(loss)
            counts[int(number)] = counts.get(int(number), 0) + 1
    return found, counts


@pytest.mark.in_turns
def test_a_killed_worker_costs_a_step(tmp_path):
    undisturbed = start(tmp_path / "one", TF_CONFIG=cluster_of_one())
    killed = start(tmp_path / "two", "--workers=2", "--restarts=1")
    lines, worker = [], None
    for line in processes.lines_of(killed, tmp_path / "two"):
        lines.append(line)
        if line.startswith("worker 1 is process") and worker is None:
            worker = int(line.split()[-1])
        if line.startswith("step 3:") and worker > 0:
            os.kill(worker, signal.SIGKILL)
            worker = 0
    undisturbed.join(100)
    printed = (tmp_path / "one" / "printed.txt").read_text()
    assert killed.exitcode == undisturbed.exitcode == 0, "".join(lines)
    want, _ = losses(printed.splitlines())
    got, counts = losses(lines)
    assert set(want) == set(range(1, STEPS + 1))
    assert got == pytest.approx(want, rel=1e-4)
    assert sum(counts.values()) <= STEPS + 1, "Only the step in progress may be lost."
    assert sum(line.startswith("A worker died") for line in lines) == 1
    assert sum("graphs per second" in line for line in lines) == 2
    summary = json.loads((tmp_path / "two" / "losses.json").read_text())
    assert str(STEPS) in summary["loss"]
