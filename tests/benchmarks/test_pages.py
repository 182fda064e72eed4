"""The program that measures the tables of the pages."""

import dataclasses

import pytest

from benchmarks import harness, pages
from benchmarks.records import Record

RATES = {
    "ours": 1000.0,
    "8 in a call": 2000.0,
    "fold": 300.0,
    "torch": 500.0,
    "torch_by_hand": 400.0,
}
TEXT = f"# Title\n\n{pages._BEGIN}\nold\n{pages._END}\n\nThe end.\n"


@pytest.fixture
def root(monkeypatch, tmp_path):
    """A folder with pages, whose cells have invented rates; PyTorch does not run the tagger."""

    def measure(cell, contenders, effort, say, start):
        records = [Record(c.system, "1", *cell.key(), RATES[c.system]) for c in contenders]
        if cell.workload == "bilstm_tagger":
            missing = {"per_second": None, "error": "Unsupported: no"}
            others = [dataclasses.replace(r, **missing) for r in records[2:]]
            return records[:2] + others
        return records

    monkeypatch.setattr(harness, "measure", measure)
    monkeypatch.setattr(harness, "refuse_debug_build", lambda: None)
    for page in pages.PAGES:
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).write_text(TEXT)
    return tmp_path


def test_tables_are_written_between_the_comments(root):
    arguments = [f"--root={root}", "--threads=1"]
    assert pages.main(arguments) == 0
    whole = (root / "docs/performance.md").read_text()
    assert whole.startswith("# Title\n\n") and whole.endswith("\n\nThe end.\n")
    assert "| Tree-LSTM (SST), 64 units | 1,000 | 2,000 | 500, PyTorch |" in whole
    assert "| BiLSTM tagger, 256 units | 1,000 | 2,000 | - |" in whole
    assert "`python -m benchmarks.pages --threads=1` on an " in whole
    assert "old" not in whole
    assert pages.main(arguments) == 0
    assert (root / "docs/performance.md").read_text() == whole
    short = (root / "README.md").read_text()
    assert "| LSTM of 64 steps, 256 units |" in short
    assert "one tree" not in short and "512" not in short


def test_a_page_without_the_comments_is_named(root, capsys):
    (root / "README.md").write_text("# Title\n")
    assert pages.main([f"--root={root}"]) == 2
    assert f"{root / 'README.md'}: found no '{pages._BEGIN}'" in capsys.readouterr().err
