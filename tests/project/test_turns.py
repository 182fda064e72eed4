"""Each long test has a turn, and what is asked for by name runs wholly."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.helpers import turns

ROOT = pathlib.Path(__file__).parents[2]
TABLE = [f"tests/test_a.py::test_table[{a}-{b}]" for a in range(32) for b in "xyz"]
SINGLES = [f"tests/test_a.py::test_{number}" for number in range(30)]
FILE = """
import pytest

@pytest.mark.in_turns
@pytest.mark.parametrize("number", range(16))
def test_table(number): pass

@pytest.mark.parametrize("letter", "abcdef")
def test_large(letter): pass

@pytest.mark.parametrize("letter", "abc")
def test_of_every_run(letter): pass
"""
SETTINGS = """
[tool.pytest.ini_options]
testpaths = ["folder"]
addopts = "-m 'not long'"
markers = ["in_turns", "long"]
"""


def test_each_case_has_one_turn():
    names = TABLE + SINGLES
    runs = [set(names) - turns.left_out(names, turn) for turn in range(turns.TURNS)]
    assert sorted(name for run in runs for name in run) == sorted(names)
    for run in runs:
        assert len(run & set(TABLE)) == len(TABLE) / turns.TURNS
        assert run & set(SINGLES)
        # A stride over a product would have one value of the second parameter.
        assert {name[-2] for name in run & set(TABLE)} == set("xyz")


def test_what_is_no_checkout_has_the_first_turn(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert turns.of_commit(tmp_path) == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    assert turns.of_commit(tmp_path) == 0


@pytest.mark.parametrize("digit", "0123456789abcdef")
def test_make_chooses_a_turn_of_the_cc_tests_by_the_commit(digit, tmp_path):
    number = int(re.search(r"^_TURNS = (\d+)$", (ROOT / "tools/cc.bzl").read_text(), re.M)[1])
    assert passed_on_by_make(tmp_path, f"echo 12345{digit}") == f"_{int(digit, 16) % number}"


def test_make_chooses_the_first_turn_without_a_commit_and_all_for_long_runs(tmp_path):
    assert passed_on_by_make(tmp_path, "exit 1") == "_0"
    assert passed_on_by_make(tmp_path, "echo 1", "LONG=1") == ""


def passed_on_by_make(folder, git, *arguments):
    """Returns the turn that `make test` gives to `test-cc`, where `git` does this."""
    program = folder / "git"
    program.write_text(f"#!/bin/sh\n{git}\n")
    program.chmod(0o755)
    outside = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "TURN", "LONG")
    environment = {name: value for name, value in os.environ.items() if name not in outside}
    environment["PATH"] = f"{folder}:{environment['PATH']}"
    command = ["make", "--dry-run", "test", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    return re.search(r"test-cc cuda-check TURN=(\S*)", done.stdout)[1]


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("arguments", "passed"),
    [
        ([], 3 + 3 + 2),
        (["--numprocesses=2"], 3 + 3 + 2),
        (["folder", "--turn=1"], 3 + 3 + 2),
        (["-m", ""], 3 + 6 + 16),
        (["folder/test_it.py"], 3 + 6 + 16),
        (["-k", "table"], 16),
    ],
    ids=["whole", "processes", "turn", "long", "file", "name"],
)
def test_a_run_of_everything_leaves_out_what_has_another_turn(arguments, passed, tmp_path, request):
    tmp_path.joinpath("pyproject.toml").write_text(SETTINGS)
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.joinpath("test_it.py").write_text(FILE)
    folder.joinpath("conftest.py").write_text("from tests.helpers.turns import *\n")
    environment = os.environ | {"PYTHONPATH": str(request.config.rootpath), "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", *arguments]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert f" {passed} passed" in done.stdout, done.stdout
