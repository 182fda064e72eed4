"""The benchmark of cells that combine all children."""

import pytest

from benchmarks import attention

pytestmark = pytest.mark.usefixtures("in_this_process")


@pytest.mark.in_turns
def test_the_table_has_every_cell(capsys):
    attention.main(["--units=4", "--turns=2"])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["4", "additive", "dot-product", "mean"]
    assert all(line.count(" ms ") == 2 for line in lines[1:])
