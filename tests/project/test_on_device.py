"""tools/on_device.sh, with programs that only say how they are called."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[2]
# Those of the device, and those of any device that run on it as well.
OF_CUDA = [*ROOT.glob("tests/cc/device/cuda/*_test.cc"), *ROOT.glob("tests/cc/exec/cuda_*_test.cc")]
TESTS = {"executor_test", "narrow_sums_test", *(path.stem for path in OF_CUDA)}
PARTS = ["smoke", "goals", "pytorch", "switches", "types", "sizes", "cpu", "tests", "sanitizer"]
# Prints its name and arguments as one row; PyTorch is found unless it is said to be missing.
STUB = """#!/usr/bin/env bash
[[ $1 != -c ]] || { echo "${HAS_TORCH:-1}"; exit; }
[[ $1 != - ]] || exit 0
name=$(basename "$0")
[[ "$name $*" != *"$HANGS"* ]] || sleep 60
if [[ $name == *_test ]]; then
  echo "$name $CAVS_LIBCUDA $*" >> "$TESTS"
  echo "[  PASSED  ] 3 tests."
  touch "$CAVS_CUDA_CACHE/$name.cubin"
else
  echo "[\\"$name\\", \\"$*\\"]"
fi
[[ "$name $*" != *"$FAILS"* ]]
"""


@pytest.fixture
def run(tmp_path):
    shutil.copy(ROOT / "tools/on_device.sh", tmp_path)
    for name in (*TESTS, "cuda_bench", "python3", "compute-sanitizer"):
        stub = tmp_path / name
        stub.write_text(STUB)
        stub.chmod(0o755)
    (tmp_path / "treebank.txt").write_text("")
    tests = tmp_path / "tests"
    tests.write_text("")

    def run(*arguments, **settings):
        """Returns the status, the calls that measure, those of tests, and rows of parts."""
        environment = {"FAILS": "nothing", "HANGS": "nothing", "TESTS": str(tests)} | settings
        environment["PATH"] = f"{tmp_path}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", tmp_path / "on_device.sh", *arguments], env=environment, check=False
        )
        rows = tmp_path / "benchmarks/results/on_device.jsonl"
        rows = [json.loads(line) for line in rows.read_text().splitlines()]
        calls = [row for row in rows if isinstance(row, list)]
        parts = [row for row in rows if isinstance(row, dict)]
        return done.returncode, calls, tests.read_text().splitlines(), parts

    return run


def test_everything_that_is_to_be_compared_runs(run):
    status, calls, tests, parts = run(UNITS="64 256", BATCHES="1 64", STEPS="3")
    assert status == 0
    assert {test.split()[0] for test in tests} == TESTS
    # A driver that is named has to be there: without one, tests would be skipped.
    assert all(test.split()[1] == "libcuda.so.1" for test in tests)
    assert "--gtest_repeat=2" in tests[-1]
    assert [row["part"] for row in parts if "command" not in row] == PARTS
    ours = [arguments for name, arguments in calls if name == "cuda_bench"]
    others = [arguments for name, arguments in calls if name == "python3"]
    assert all(arguments.startswith("trees.txt --steps=3 ") for arguments in ours)
    for switch in ("walk=0", "walk=0 --streams=2", "walk=1 --fuse=0", "tf32=1"):
        assert any(f"--units=256 --batch=64 --{switch}" in a for a in ours), switch
    assert any("--device=cpu --workers=1 " in a for a in ours)
    for units, batch in ((64, 1), (64, 64), (256, 1), (256, 64)):
        size = f"--units={units} --batch={batch}"
        assert ours.count(f"trees.txt --steps=3 {size}") == 1
        assert others.count(f"-m benchmarks.torch_on_gpu {size} --sst=treebank.txt") == 1
    # Each precision, beside cuBLAS and cuDNN, which time both by themselves.
    for tf32 in (0, 1):
        for library in (0, 1):
            end = f"--tf32={tf32} --cublaslt={library}"
            assert f"trees.txt --steps=3 --units=512 --batch=1024 {end}" in ours
            assert f"trees.txt --steps=3 --units=512 --batch=64 --length=64 {end}" in ours
    assert "trees.txt --steps=3 --units=512 --batch=1024 --dtype=bfloat16" in ours
    assert "-m benchmarks.torch_on_gpu --units=512 --batch=1024 --rows=39936" in others
    assert "-m benchmarks.torch_on_gpu --units=512 --batch=64 --length=64" in others


def test_sizes_are_chosen_where_the_driver_is_emulated(run):
    sizes = {"UNITS": "16", "BATCHES": "2", "STEPS": "1", "LARGE": "16 4", "LSTM": "5 8 3"}
    _, calls, *_ = run(HAS_TORCH="0", CHECK="0", **sizes)
    arguments = [arguments for name, arguments in calls if name == "cuda_bench"]
    assert not [name for name, _ in calls if name == "python3"]
    start = "trees.txt --steps=1 --check=0"
    assert f"{start} --units=16 --batch=4 --tf32=1 --cublaslt=0" in arguments
    assert f"{start} --units=8 --batch=3 --length=5 --tf32=0 --cublaslt=1" in arguments


def test_parts_are_chosen_and_what_they_need_is_there_compiled(run, tmp_path):
    (tmp_path / "cubins").mkdir()
    (tmp_path / "cubins/executor_test.cubin").write_text("")
    results = tmp_path / "other/rows.jsonl"
    run("smoke")
    run(f"--results={results}", "cpu")
    status, _, tests, parts = run("tests", "sizes")
    assert status == 0
    assert "TreeLstmMatches" in tests[0]
    assert '"part": "cpu", "status": 0' in results.read_text()
    whole = {row["part"]: row for row in parts if "command" not in row}
    assert list(whole) == ["smoke", "tests", "sizes"]  # Earlier results are kept.
    assert whole["smoke"]["compiled"] == 0
    assert whole["tests"]["compiled"] == len(TESTS) - 1


def test_a_part_that_is_unknown_is_an_error(tmp_path):
    script = ROOT / "tools/on_device.sh"
    done = subprocess.run(
        ["bash", script, "goals", "speed"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "no part speed: look at --help\n"
    told = subprocess.run(["bash", script, "--help"], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in told.stdout.splitlines() if line[:2] == "  "][-9:] == PARTS


@pytest.mark.parametrize(
    ("fails", "part"),
    [
        ("cuda_walk", "tests"),
        ("repeat=2", "tests"),
        ("--streams=2", "switches"),
        ("--rows=", "pytorch"),
        ("racecheck", "sanitizer"),
    ],
)
def test_what_fails_is_a_row_and_the_rest_runs(run, fails, part):
    status, _, _, parts = run(UNITS="64", BATCHES="1", FAILS=fails)
    assert status == 1
    whole = [row for row in parts if "command" not in row]
    assert [row["part"] for row in whole if row["status"]] == [part]
    assert [row["part"] for row in whole] == PARTS
    (failed,) = [row for row in parts if "command" in row and row["status"]]
    assert failed["part"] == part and fails in failed["command"]
    passed = [row["passed"] for row in parts if row["part"] == "tests" and "passed" in row]
    assert passed == [3] * (len(TESTS) + 1)


def test_what_takes_too_long_ends_and_the_rest_runs(run, tmp_path):
    script = tmp_path / "on_device.sh"
    text = script.read_text()
    assert "[smoke]=90" in text and "most_seconds=$((120 " in text
    text = text.replace("[smoke]=90", "[smoke]=1").replace("seconds=$((120 ", "seconds=$((1 ")
    script.write_text(text)
    status, calls, _, parts = run("smoke", "switches", HANGS="TreeLstm")
    assert status == 1
    assert [row["status"] for row in parts] == [124, 1, 0]
    assert len(calls) == 9
    status, calls, _, parts = run("goals", HANGS="--walk=0")
    assert [row["status"] for row in parts[3:]] == [124, 1]
    assert len(calls) == 9 + 9
