"""The page that is made from results."""

import json

import pytest

from benchmarks import report
from benchmarks.records import Record

MACHINE = {
    "machine": {"cpu": "A <fast> CPU", "cpus": 2},
    "commit": "abc123",
    "command": ["python", "-m", "benchmarks.compare", "--seed=1 2"],
    "data": {"sst": False, "seed": 1, "minibatches": 4},
}


def record(system, rate, **fields):
    error = None if rate else "ModuleNotFoundError: No module named 'dgl'"
    return Record(
        system,
        "7.1" if rate else None,
        "tree_lstm",
        256,
        64,
        2,
        "training",
        rate,
        0.0,
        error=error,
        **fields,
    )


@pytest.fixture
def page_of(tmp_path):
    def write(*records):
        rows = json.dumps([record.to_json() for record in records])
        (tmp_path / "figure8.json").write_text(rows)
        (tmp_path / "records.machine.json").write_text(json.dumps(MACHINE))
        (tmp_path / "figure8.png").write_bytes(b"a picture")
        assert report.main([str(tmp_path)]) == 0
        return (tmp_path / "report.html").read_text()

    return write


def test_the_page_says_where_and_how_it_was_measured(page_of):
    page = page_of(record("cavs", 30.0), record("fold", 3.0), record("dgl", None))
    assert "A &lt;fast&gt; CPU" in page and "abc123" in page
    assert "python -m benchmarks.compare &#x27;--seed=1 2&#x27;" in page
    assert "<td>fold</td><td>7.1</td>" in page
    assert "dgl: ModuleNotFoundError: No module named &#x27;dgl&#x27; (tree_lstm" in page
    assert "python -m benchmarks.compare --figures=figure8" in page


def test_the_page_stands_alone(page_of):
    page = page_of(record("cavs", 30.0))
    assert 'src="data:image/png;base64,YSBwaWN0dXJl"' in page
    assert "http" not in page.replace("charset", "")


def test_the_page_says_where_the_numbers_agree_with_the_paper(page_of):
    page = page_of(record("cavs", 30.0), record("fold", 3.0))
    assert '<p class="agrees">The paper says that on trees Cavs is faster than Fold' in page
    assert "That is so here: ours is 10 times as fast as fold (1 cell)." in page
    assert '<p class="unknown">The paper says that on sequences' in page


def test_the_page_says_where_they_do_not(page_of):
    page = page_of(record("cavs", 3.0), record("fold", 30.0))
    assert '<p class="not">The paper says that on trees Cavs is faster than Fold' in page
    assert "That is not so here: ours is 0.1 times as fast as fold (1 cell). Below 1: " in page
    assert "0 agrees, 0 agrees in part, 2 does not agree" in page


def test_the_page_says_whether_the_machine_was_busy(page_of):
    assert "left the machine alone" in page_of(record("cavs", 3.0, busy_share=0.02))
    page = page_of(record("cavs", 3.0, busy_share=0.4))
    assert "was busy</b> in 1 of 1 cells: other work and the hypervisor had up to 40%" in page


def test_a_folder_without_results_is_refused(tmp_path, capsys):
    assert report.main([str(tmp_path)]) == 2
    assert "got no results but expected some of figure8.json, " in capsys.readouterr().err
