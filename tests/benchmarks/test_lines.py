"""Lines of code are counted as `ast.unparse` writes them."""

import pytest

from benchmarks import lines, workloads
from benchmarks.lines import Part

CODE = '''"""What this is."""

import os

VALUE = 1  # Counted where the file is counted whole.


class Model:
    """A model.

    Of several lines.
    """

    units = 3

    # A comment.
    def call(self, x):
        """What it does."""

        y = (
            x
            + self.units
        )
        return y

    def other(self):
        """Nothing else."""
'''


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "model.py").write_text(CODE)
    monkeypatch.setattr(lines, "_FOLDER", tmp_path)
    return "model.py"


def test_comments_docstrings_blank_and_broken_lines_do_not_count(code):
    # Of class, units, def call, y, return, def other, and pass.
    assert lines.count([Part(code, ("Model",))]) == 7


def test_methods_and_whole_files_can_be_named(code):
    assert lines.count([Part(code, ("Model.call",))]) == 3
    assert lines.count([Part(code)]) == 8
    assert lines.count([Part(code, ("Model.call",)), Part(code, ("Model.other",))]) == 5


def test_a_definition_that_is_gone_is_named(code):
    with pytest.raises(ValueError, match=r"model.py: got no definition of Model.gone"):
        lines.count([Part(code, ("Model.gone",))])


def test_what_is_not_there_is_left_out():
    assert lines.source("cavs", "unheard_of") is None
    assert lines.source("torch_by_hand", "unheard_of") is None
    assert lines.source("unheard_of", "tree_lstm") is None


@pytest.mark.parametrize("system", ["cavs", "tf_while", "tf_unbatched", "torch", "torch_by_hand"])
@pytest.mark.parametrize("workload", ["fixed_lstm", "var_lstm", "tree_fc", "tree_lstm"])
def test_every_source_of_the_papers_workloads_is_found(system, workload):
    assert lines.count(lines.source(system, workload)) > 5


def test_fold_states_every_workload_of_trees_and_sequences():
    stated = {name for name in workloads.names() if lines.source("fold", name)}
    assert stated == set(workloads.names()) - {"lattice_lstm"}


def test_every_definition_that_is_named_exists():
    for system in lines.systems():
        for workload in workloads.names():
            if parts := lines.source(system, workload):
                assert lines.count(parts) > 0
