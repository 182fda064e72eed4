"""`benchmarks.compare`: what it resumes, and one tiny run with real workers."""

import json
import os

import pytest

from benchmarks import compare, harness, records
from benchmarks.cells import MODES, Effort
from benchmarks.crew import Crew
from benchmarks.figures import _base, figure10, table2
from benchmarks.records import Record
from benchmarks.workers import Worker

pytest.importorskip("matplotlib")
TINY = _base.Grid(
    batches=(2,),
    units=(8,),
    leaves=(4,),
    ablated=(8,),
    at_batch=2,
    at_units=8,
    minibatches=2,
    effort=Effort(2, 0.01),
)


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(_base, "REDUCED", TINY)


@pytest.fixture
def measured(monkeypatch, small):
    """Records the cells that are to be measured, and invents their figures."""
    cells = []

    def measure(cell, contenders, effort, say, start):
        if len(cells) == 3:
            raise KeyboardInterrupt
        cells.append((cell.key(), [contender.system for contender in contenders]))
        return [
            Record(c.system, "1", *cell.key(), 100.0, 0.1, 0.25, memory_share=0.5)
            for c in contenders
        ]

    monkeypatch.setattr(harness, "measure", measure)
    monkeypatch.setattr(harness, "refuse_debug_build", lambda: None)
    return cells


@pytest.mark.in_turns
def test_an_interrupted_comparison_goes_on_where_it_stopped(measured, tmp_path, capsys):
    flags = [f"--folder={tmp_path}", "--threads=1", "--systems=cavs,torch"]
    with pytest.raises(KeyboardInterrupt):
        compare.main(flags)
    known = list(measured)
    measured.clear()
    with pytest.raises(KeyboardInterrupt):
        compare.main(flags)
    assert not [entry for entry in measured if entry in known]
    measured.clear()
    while not (tmp_path / "report.html").exists():
        try:
            assert compare.main(flags) == 0
        except KeyboardInterrupt:
            measured.clear()
    capsys.readouterr()
    measured.clear()
    assert compare.main(flags) == 0
    assert measured == []
    out = capsys.readouterr().out
    assert f"in {tmp_path / 'records.json'} already" in out and "Table 2" in out


def test_figures_and_systems_can_be_chosen(measured, tmp_path):
    flags = [f"--folder={tmp_path}", "--threads=1", "--systems=cavs", "--figures=table2"]
    assert compare.main(flags) == 0
    modes = [(key[4], systems) for key, systems in measured]
    assert [mode for mode, _ in modes] == ["training", "inference"]
    assert modes[0][1][0] == "cavs"
    assert {path.name for path in tmp_path.iterdir()} == {
        *("records.json", "records.machine.json", "report.html"),
        *("table2.json", "table2.png"),
    }


def test_an_ablation_measures_the_workloads_and_sizes_that_are_asked_for(measured, tmp_path):
    flags = ["--figures=figure10", f"--folder={tmp_path}", "--threads=1"]
    asked = ["--workloads=tree_fc,var_lstm", "--units=4", "--batch=3"]
    assert compare.main([*flags, *asked]) == 0
    assert [key[:3] for key, _ in measured] == [("tree_fc", 4, 3), ("var_lstm", 4, 3)]
    rows = records.read(tmp_path / "figure10.json")
    assert len(rows) == 2 * len(figure10.NAMES)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("flags", "kept", "effort"),
    [([], True, TINY.effort), (["--fresh", "--repeats=7"], False, Effort(7, 0.01))],
)
def test_workers_stay_and_turns_are_the_grids_unless_flags_say_otherwise(
    measured, tmp_path, monkeypatch, flags, kept, effort
):
    given = []
    measure = harness.measure

    def noted(cell, contenders, effort, say, start):
        given.append((start is not Worker, effort))
        return measure(cell, contenders, effort, say, start)

    monkeypatch.setattr(harness, "measure", noted)
    assert compare.main([f"--folder={tmp_path}", "--figures=table2", *flags]) == 0
    assert given == [(kept, effort)] * 2


@pytest.mark.in_turns
@pytest.mark.skipif(
    "libasan" in os.environ.get("LD_PRELOAD", ""),
    reason="workers run the checkout's own library, not the sanitized one",
)
def test_a_tiny_comparison_in_earnest(small, tmp_path, capsys, monkeypatch):
    # One system on TensorFlow, one without it, and one that does not exist.
    monkeypatch.setattr(table2, "SYSTEMS", ("cavs", "torch", "absent"))
    flags = [f"--folder={tmp_path}", "--systems=cavs,tf_while", "--figures=table2"]
    assert compare.main(flags) == 0
    rows = {(r["system"], r["mode"]): r for r in json.loads((tmp_path / "table2.json").read_text())}
    for mode in MODES:
        ours = rows["cavs", mode]
        assert "error" not in ours, ours["error"]
        assert 0 < ours["memory_share"] < 1
        assert ours["busy_share"] >= 0
        # The worker of the first cell ran the second too, so the peak of the second is not known.
        assert (ours["peak_bytes"] is None) == (mode == "inference")
        assert "No module named" in rows["absent", mode]["error"]
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 1
    assert "not installed" in capsys.readouterr().out


def test_workers_stay_from_cell_to_cell_until_they_end():
    with Crew() as crew:
        start = crew.starter(["cavs", "cavs", "torch"])
        first, second, other = (start(1) for _ in range(3))
        assert len({worker._process.pid for worker in (first, second, other)}) == 3
        first.close()
        assert first.alive
        again = crew.starter(["torch", "cavs"])
        assert again(1)._process is other._process
        assert again(1)._process is first._process
        first._process.kill()
        first._process.wait()
        assert crew.starter(["cavs"])(1)._process is not first._process
        assert crew.starter(["torch"])(os.cpu_count() + 1)._process is not other._process
    assert not second.alive and not other.alive
