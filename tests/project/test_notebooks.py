"""Notebooks run from top to bottom in a fresh process, and print what they say they print.

CAVS_UPDATE_GOLDEN=1 writes down what they print.
"""

import json
import os
import pathlib
import re

import pytest

from tests.helpers import notebook, processes

ROOT = pathlib.Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "docs").rglob("*.ipynb"))


def blurred(text):
    """Rounding differs between processors, so numbers with a fraction are all the same."""
    return re.sub(r"\d+\.\d+", "0.0", text)


def as_output(text):
    lines = text.splitlines(keepends=True)
    return [{"name": "stdout", "output_type": "stream", "text": lines}] if lines else []


@pytest.mark.in_turns
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_notebook_runs_from_top_to_bottom(path, tmp_path):
    done, printed, error = processes.run_script("tests.helpers.notebook", [path], tmp_path)
    assert done, error
    outputs = json.loads(printed)
    content = json.loads(path.read_text())
    cells = notebook.cells_of(content)
    if os.environ.get("CAVS_UPDATE_GOLDEN"):
        for number, (cell, output) in enumerate(zip(cells, outputs, strict=True), start=1):
            cell.update(execution_count=number, outputs=as_output(output))
        path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    said = [blurred(notebook.printed_by(cell)) for cell in cells]
    assert [blurred(output) for output in outputs] == said


def test_a_notebook_is_found():
    assert "first_steps.ipynb" in [path.name for path in NOTEBOOKS]
