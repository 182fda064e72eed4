"""The programs in README.md run, and print what it says they print; those in docs/errors.md run."""

import os
import pathlib
import re
import subprocess
import sys

import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests import processes

ROOT = pathlib.Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
# A program, and what it prints if that stands right below.
PROGRAMS = re.findall(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", README, re.DOTALL)
REMEDIES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/errors.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_programs(number, tmp_path):
    program, output = PROGRAMS[number]
    environment = processes.environment()
    environment["PYTHONPATH"] += os.pathsep + str(ROOT / "python/examples")  # For _common.
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", program],
        cwd=tmp_path,
        env={**environment, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    if output:
        assert done.stdout.strip() == output.strip()


def test_the_custom_cell_is_shown_as_it_is():
    source = (ROOT / "python/examples/custom_cell.py").read_text()
    assert source.strip() in [program.strip() for program, _ in PROGRAMS]


@pytest.mark.parametrize("number", range(len(REMEDIES)))
def test_programs_in_the_page_of_errors(number):
    exec(compile(REMEDIES[number], "docs/errors.md", "exec"), {"tf": tf, "cavs": cavs})
