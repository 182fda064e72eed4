"""Tests that take turns: hooks of pytest that leave some of them out of whole runs.

Of tests that are marked `in_turns`, which are long, a run of everything has an eighth: of each
table an eighth of the cases. Of other tables that have many cases it has half of these. What is
asked for by name runs wholly, as does a long run.
"""

import collections
import pathlib
import random
import subprocess

import pytest

TURNS = 8
MANY = 4  # From so many cases on, a table that is not marked has two turns.


def pytest_addoption(parser):
    parser.addoption(
        "--turn", type=int, help=f"0 to {TURNS - 1}: only tests that have this one, or none"
    )


def pytest_configure(config):
    """Chooses the turn of a run of everything, as each process of xdist does with its arguments."""
    asked = config.args_source is not pytest.Config.ArgsSource.TESTPATHS or config.option.keyword
    if asked or config.option.markexpr != "not long":
        return
    if config.option.turn is None:
        config.option.turn = of_commit(config.rootpath)


def pytest_report_header(config):
    if config.option.turn is not None:
        return f"turn: {config.option.turn} of {TURNS} (--turn=N for another, LONG=1 for all tests)"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if config.option.turn is None:
        return
    marked = [item.nodeid for item in items if item.get_closest_marker("in_turns")]
    others = [item.nodeid for item in items if not item.get_closest_marker("in_turns")]
    tables = collections.Counter(name.partition("[")[0] for name in others)
    large = [name for name in others if tables[name.partition("[")[0]] >= MANY]
    out = left_out(marked, config.option.turn) | left_out(large, config.option.turn, 2)
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
    items[:] = [item for item in items if item.nodeid not in out]


def of_commit(folder: pathlib.Path) -> int:
    """The turn of a checkout: the same in each run, and another after most commits.

    Sources that are no checkout have the first.
    """
    command = ["git", "rev-parse", "--verify", "HEAD"]
    try:
        found = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    except OSError:
        return 0
    return int(found.stdout or "0", 16) % TURNS


def left_out(names: list[str], turn: int, turns: int = TURNS) -> set[str]:
    """Which of these tests have another turn.

    In so many turns each has one. The cases of a table are drawn for a turn, so that values of
    several parameters are mixed.

    Args:
      names: Of tests, as pytest writes them: `file.py::test[case]`.
      turn: From 0 to TURNS - 1.
      turns: How many there are.
    """
    tables = collections.defaultdict(list)
    for name in names:
        tables[name.partition("[")[0]].append(name)
    out = set(names)
    for table, cases in tables.items():
        draw = random.Random(table)
        draw.shuffle(cases)
        out.difference_update(cases[(turn + draw.randrange(turns)) % turns :: turns])
    return out
