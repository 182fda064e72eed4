"""The benchmark of graphs that grow by one vertex at a time."""

import re

import pytest

from benchmarks import growth

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.mark.in_turns
def test_the_tables_have_every_row(capsys):
    growth.main(["--units=4", "--vertices=3,5", "--steps=4", "--turns=2"])
    over, by_vertices = capsys.readouterr().out.split("\n\n")
    names = [
        "one vertex",
        "10",
        "100,000",
        "1, a tf.function",
        "1, eager",
        "ratio of 100,000 to 10",
    ]
    assert [line.startswith(n) for line, n in zip(over.splitlines(), names, strict=True)] == [1] * 6
    found = re.findall(r"^(\d) vertices in (.*?) +\d+\.\d +\d+\.\d$", by_vertices, re.M)
    assert found == [(n, kept) for n in "35" for kept in ("one tensor", "a TensorArray")]
