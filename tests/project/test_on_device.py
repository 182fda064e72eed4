"""tools/on_device.sh, with programs that only say how they are called."""

import json
import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
SCRIPT = ROOT / "tools/on_device.sh"
# Those of the device, and those of any device that run on it as well.
OF_CUDA = [*ROOT.glob("tests/cc/device/cuda/*_test.cc"), *ROOT.glob("tests/cc/exec/cuda_*_test.cc")]
TESTS = {"executor_test", "narrow_sums_test", *(path.stem for path in OF_CUDA)}
# Prints its name and arguments as one row; PyTorch is found unless it is said to be missing.
STUB = """#!/usr/bin/env bash
[[ $1 != -c ]] || exit "${NO_TORCH:-0}"
[[ $1 != - ]] || exit 0
name=$(basename "$0")
if [[ $name == *_test ]]; then
  echo "$name $CAVS_LIBCUDA $*" >> "$TESTS"
else
  echo "[\\"$name\\", \\"$*\\"]"
fi
[[ "$name $*" != *"$FAILS"* ]]
"""


@pytest.fixture
def run(tmp_path):
    for name in (*TESTS, "cuda_bench", "python3"):
        stub = tmp_path / name
        stub.write_text(STUB)
        stub.chmod(0o755)

    def run(**settings):
        rows, tests = tmp_path / "rows.jsonl", tmp_path / "tests"
        environment = {"FAILS": "nothing", "TESTS": str(tests)} | settings
        environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", SCRIPT, tmp_path, "trees.txt", "sst", rows], env=environment, check=False
        )
        calls = [json.loads(line) for line in rows.read_text().splitlines()]
        return done.returncode, calls, tests.read_text().splitlines()

    return run


def test_everything_that_is_to_be_compared_runs(run):
    status, calls, tests = run(UNITS="64 256", BATCHES="1 64", STEPS="3")
    assert status == 0
    assert {test.split()[0] for test in tests} == TESTS
    # A driver that is named has to be there: without one, tests would be skipped.
    assert all(test.split()[1] == "libcuda.so.1" for test in tests)
    assert "--gtest_repeat=2" in tests[-1]
    ours = [arguments for name, arguments in calls if name == "cuda_bench"]
    others = [arguments for name, arguments in calls if name == "python3"]
    assert all(arguments.startswith("trees.txt --steps=3 ") for arguments in ours)
    for switch in ("walk=0", "walk=0 --streams=2", "walk=1 --fuse=0", "tf32=1"):
        assert any(f"--units=256 --batch=64 --{switch}" in a for a in ours), switch
    assert any("--device=cpu --workers=1 " in a for a in ours)
    for units, batch in ((64, 1), (64, 64), (256, 1), (256, 64)):
        size = f"--units={units} --batch={batch}"
        assert f"trees.txt --steps=3 {size}" in ours
        assert f"-m benchmarks.torch_on_gpu {size} --sst=sst" in others
    # Each precision, beside cuBLAS and cuDNN, which time both by themselves.
    for tf32 in (0, 1):
        for library in ("", " --cublaslt=1"):
            end = f"--tf32={tf32}{library}"
            assert f"trees.txt --steps=3 --units=512 --batch=1024 {end}" in ours
            assert f"trees.txt --steps=3 --units=512 --batch=64 --length=64 {end}" in ours
    assert "trees.txt --steps=3 --units=512 --batch=1024 --dtype=bfloat16" in ours
    assert "-m benchmarks.torch_on_gpu --units=512 --batch=1024 --rows=39936" in others
    assert "-m benchmarks.torch_on_gpu --units=512 --batch=64 --length=64" in others


def test_sizes_are_chosen_where_the_driver_is_emulated(run):
    sizes = {"UNITS": "16", "BATCHES": "2", "STEPS": "1", "LARGE": "16 4", "LSTM": "5 8 3"}
    _, calls, _ = run(NO_TORCH="1", **sizes)
    arguments = [arguments for _, arguments in calls]
    assert not [name for name, _ in calls if name != "cuda_bench"]
    assert "trees.txt --steps=1 --units=16 --batch=4 --tf32=1" in arguments
    assert "trees.txt --steps=1 --units=8 --batch=3 --length=5 --tf32=0" in arguments


@pytest.mark.parametrize("fails", ["cuda_walk", "repeat=2", "--streams=2", "--length=64"])
def test_what_fails_is_said_by_the_status_at_the_end(run, fails):
    status, calls, _ = run(UNITS="64", BATCHES="1", FAILS=fails)
    assert status == 1
    assert calls[-1][0] == "python3"
