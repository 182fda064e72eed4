"""What is taken to a machine with a GPU."""

import pathlib
import subprocess
import sys
import tarfile

import pytest

from benchmarks import device_archive

TREEBANK = "(3 (2 It) (4 works))\n(2 (2 (2 a) (1 b)) (2 c))\n(1 no)\n"
LINES = ["3 -1 -1 -1 -1 0 1", "5 -1 -1 -1 -1 0 1 -1 -1 2 3", "1 -1 -1"]
BUILT = [
    "benchmarks/cc/exec/cuda_bench",
    "tests/cc/cuda/fake/libfake_cuda.so",
    "tests/cc/device/cuda/group_test",
    "tests/cc/exec/cuda_walk_test",
    "tests/cc/exec/executor_test",
    "tests/cc/exec/narrow_sums_test",
]
# Keeps an image of a name that says what it was made for.
PROGRAM = """#!/usr/bin/env bash
[[ "$*" == *--check=0* && -s $1 && -n "$CAVS_LIBCUDA$CAVS_LIBNVRTC" ]] || exit 1
touch "$CAVS_CUDA_CACHE/${CAVS_FAKE_OPTIONS##*=}.cubin"
"""


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "test.txt"
    path.write_text(TREEBANK)
    return path


@pytest.fixture
def built(tmp_path):
    for name in BUILT:
        path = tmp_path / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(PROGRAM)
        path.chmod(0o755)
    return tmp_path / "bin"


def test_trees_are_those_of_the_file_and_again(treebank):
    assert device_archive.trees(str(treebank), 4).splitlines() == [*LINES, LINES[0]]


def test_an_archive_has_all_that_the_script_needs(treebank, built, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("UNITS", "8")
    monkeypatch.setenv("BATCHES", "2")
    out = tmp_path / "some/archive.tar.gz"
    flags = [f"--built={built}", f"--sst={treebank}", f"--out={out}", "--nvrtc=libnvrtc.so.1"]
    assert device_archive.main([*flags, "--architectures=90,100"]) == 0
    assert "MB, with machine code of 2 texts" in capsys.readouterr().out
    subprocess.run(["tar", "xf", out], cwd=tmp_path, check=True)
    folder = tmp_path / "on_device"
    programs = {path.name for path in folder.glob("*_test")} | {"cuda_bench"}
    assert programs == {pathlib.Path(name).name for name in BUILT} - {"libfake_cuda.so"}
    assert (folder / "trees.txt").read_text().splitlines()[:3] == LINES
    assert (folder / "treebank.txt").read_text() == TREEBANK
    assert {path.name for path in (folder / "cubins").iterdir()} == {"90.cubin", "100.cubin"}
    # Its Python works without this repository, and without TensorFlow.
    program = "import sys; from benchmarks import checks, on_device, workloads\n"
    program += "sys.exit('tensorflow' in sys.modules or on_device.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=folder,
        env={},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip() == str(folder / "benchmarks/on_device.py")


def test_trees_are_generated_where_there_is_no_treebank(built, tmp_path):
    out = tmp_path / "archive.tar.gz"
    assert device_archive.main([f"--built={built}", f"--out={out}"]) == 0
    with tarfile.open(out) as archive:
        names = archive.getnames()
        trees = archive.extractfile("on_device/trees.txt").read().splitlines()
    assert "on_device/treebank.txt" not in names and "on_device/cubins" not in names
    assert len(trees) == 1024
