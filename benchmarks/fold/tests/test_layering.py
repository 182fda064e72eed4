"""Fold stands alone: the benchmarks use it, and it uses nothing of theirs."""

import pathlib
import re

import pytest

FOLDER = pathlib.Path(__file__).parents[1]
# The program `benchmarks.fold` uses the harness to compare modes.
ALLOWED = {"__main__.py": {"benchmarks"}}


@pytest.mark.parametrize("path", sorted(FOLDER.rglob("*.py")), ids=lambda path: path.name)
def test_only_the_program_imports_other_parts_of_the_benchmarks(path):
    found = set(re.findall(r"^\s*(?:from|import) (benchmarks\S*)", path.read_text(), re.MULTILINE))
    others = {name for name in found if not name.startswith("benchmarks.fold")}
    assert others == ALLOWED.get(path.name, set())
