"""Long tests that take turns: hooks of pytest that leave most of them out of whole runs.

Of a table that is marked `in_turns` a run of everything has an eighth of the cases, and of single
tests that are marked it has an eighth. What is asked for by name runs wholly, as does a long run.
"""

import collections
import pathlib
import random
import subprocess

import pytest

TURNS = 8


def pytest_addoption(parser):
    parser.addoption(
        "--turn", type=int, help=f"0 to {TURNS - 1}: only tests `in_turns` that have this one"
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
    out = left_out(marked, config.option.turn)
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


def left_out(names: list[str], turn: int) -> set[str]:
    """Which of these tests have another turn.

    In TURNS turns each has one. The cases of a table are drawn for a turn, so that values of
    several parameters are mixed.

    Args:
      names: Of tests, as pytest writes them: `file.py::test[case]`.
      turn: From 0 to TURNS - 1.
    """
    tables = collections.defaultdict(list)
    for name in names:
        tables[name.partition("[")[0]].append(name)
    out = set(names)
    for table, cases in tables.items():
        draw = random.Random(table)
        draw.shuffle(cases)
        out.difference_update(cases[(turn + draw.randrange(TURNS)) % TURNS :: TURNS])
    return out
