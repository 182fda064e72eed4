"""The programs in README.md and docs/ run, and print what is written there."""

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
PAGES = ("README.md", "docs/data.md", "docs/distributed.md")
# A program, and what it prints if that is written directly below it.
PROGRAMS = [
    pytest.param(*found, id=f"{page}-{number}")
    for page in PAGES
    for number, found in enumerate(
        re.findall(
            r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", (ROOT / page).read_text(), re.DOTALL
        )
    )
]
REMEDIES = re.findall(r"```python\n(.*?)```", (ROOT / "docs/errors.md").read_text(), re.DOTALL)


@pytest.mark.parametrize("program, output", PROGRAMS)
def test_programs(program, output, tmp_path):
    environment = processes.environment()
    environment["PYTHONPATH"] += os.pathsep + str(
        ROOT / "python/examples"
    )  # The examples import _common.
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
    assert source.strip() in [found.values[0].strip() for found in PROGRAMS]


@pytest.mark.parametrize("number", range(len(REMEDIES)))
def test_programs_in_the_page_of_errors(number):
    exec(compile(REMEDIES[number], "docs/errors.md", "exec"), {"tf": tf, "cavs": cavs})
