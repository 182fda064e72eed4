"""The programs in README.md and docs/ run, and print what is written there."""

import pathlib
import re

import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import processes

pytestmark = pytest.mark.in_turns

ROOT = pathlib.Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# A program, and what it prints if that is written directly below it.
PROGRAM = re.compile(r"```python\n(.*?)```\n(?:\n```\n(.*?)```)?", re.DOTALL)
# It makes devices, which a process can do once, before anything runs.
OF_A_FRESH_PROCESS = ("distributed.md",)


def programs_stand_alone(page):
    """Whether each has its own imports. Those of other pages follow each other as they are read."""
    found = PROGRAM.findall(page.read_text())
    alone = len(found) > 1 and all("import cavs_tf" in program for program, _ in found)
    return alone or page.name in OF_A_FRESH_PROCESS


PROGRAMS = [
    pytest.param(*found, id=f"{page.name}-{number}")
    for page in PAGES
    if programs_stand_alone(page)
    for number, found in enumerate(PROGRAM.findall(page.read_text()))
]


@pytest.mark.parametrize("program, output", PROGRAMS)
def test_programs(program, output, tmp_path):
    done, printed, error = processes.run_program(program, tmp_path, ROOT / "python/examples")
    assert done, error
    if output:
        assert printed.strip() == output.strip()


def taken_for_granted():
    """What pages name without making it."""
    model = cavs.keras.TreeLSTM(4, arity=2)
    return {
        "tf": tf,
        "cavs": cavs,
        "model": model,
        "graphs": cavs.GraphBatch.complete_tree(1),
        "inputs": tf.ones([3, 4]),
    }


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if not programs_stand_alone(page) and PROGRAM.search(page.read_text())],
    ids=lambda page: page.name,
)
def test_pages(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = taken_for_granted()
    for number, (program, output) in enumerate(PROGRAM.findall(page.read_text())):
        file = tmp_path / f"{page.stem}_{number}.py"
        file.write_text(program)  # Where AutoGraph finds the source of functions.
        exec(compile(program, file, "exec"), names)
        printed = capsys.readouterr().out
        if output:
            assert printed.strip() == output.strip()
