"""The program that measures the tables of the pages."""

import dataclasses
import json

import pytest

from benchmarks import apart, harness, pages, programs, tables
from benchmarks.page_tables import TABLES
from benchmarks.records import Record

RATES = {
    "ours": 1000.0,
    "8 in a call": 2000.0,
    "two ops": 2500.0,
    "fold": 300.0,
    "torch": 500.0,
    "PyTorch": 500.0,
    "torch_by_hand": 400.0,
    "ceiling": 4000.0,
}


def text_of(page):
    """A page with all of its tables."""
    names = [name for name, table in TABLES.items() if page in table.pages]
    between = "\n\nBetween.\n\n".join(f"{begin(n)}\nformer {n}\n{pages.END}" for n in names)
    return f"# Title\n\n{between}\n\nThe end.\n"


def begin(name):
    return f"<!-- measured by benchmarks.pages: {name} -->"


def has_torch(monkeypatch, there):
    torch = "" if there else "torch: not installed. pip install torch"
    monkeypatch.setattr(pages, "NEEDS", {**pages.NEEDS, "torch": lambda arguments: torch})


@pytest.fixture
def measured():
    """The cells that were measured."""
    return []


@pytest.fixture
def root(monkeypatch, tmp_path, measured):
    """A folder with pages and a treebank; rates are invented; PyTorch does not run the tagger."""

    def measure(cell, contenders, effort, say, start):
        measured.append(cell.key())
        records = [Record(c.system, "1", *cell.key(), RATES[c.system]) for c in contenders]
        if cell.workload == "bilstm_tagger":
            missing = {"per_second": None, "error": "Unsupported: no"}
            others = [dataclasses.replace(r, **missing) for r in records[2:]]
            return records[:2] + others
        return records

    def call(threads, function, *arguments):
        if function.__name__ == "_attention":
            return {"additive attention": (2.0 * arguments[0], 1.0)}
        rows = {"weight gradients": {"ms": "0.430", "rate": "190 GFLOP/s a thread"}}
        return 3.0, rows | {"in all": {"ms": "2.600"}}

    monkeypatch.setattr(harness, "measure", measure)
    monkeypatch.setattr(harness, "refuse_debug_build", lambda: None)
    monkeypatch.setattr(apart, "call", call)
    whole = tables.Table("", ["s an epoch"], {"`sentiment.py`": {"s an epoch": "1.00"}})
    monkeypatch.setattr(programs, "measure", lambda arguments: whole)
    has_torch(monkeypatch, True)
    monkeypatch.setattr(pages, "version", lambda library: "1.2")
    for page in ("README.md", "docs/how/performance.md", "docs/how/programs.md"):
        (tmp_path / page).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / page).write_text(text_of(page))
    (tmp_path / "train.txt").write_text("(3 (2 It) (4 good))\n")
    return tmp_path


def flags_of(root):
    return [
        f"--root={root}",
        "--threads=1",
        f"--sst={root}",
        "--ceiling=program {units} {batch} {threads}",
    ]


def test_all_tables_are_written_between_their_comments(root):
    assert pages.main(flags_of(root)) == 0
    page = root / "docs/how/performance.md"
    whole = page.read_text()
    assert whole.startswith("# Title\n\n") and whole.endswith("\n\nThe end.\n")
    assert whole.count("Between.") == 4 and whole.count(pages.END) == 5
    assert "| Tree-LSTM (SST), 64 units | 1,000 | 2,000 | 500, PyTorch |" in whole
    assert "| BiLSTM tagger, 256 units | 1,000 | 2,000 | - |" in whole
    assert "| one tree, 64 units | 1,000 (0.25) | 2,000 (0.50) | 2,500 (0.62) | 4,000 |" in whole
    assert "| 64 units, 16 at a time | 1,000 | 2,000 | 500 |" in whole
    assert "| `sentiment.py` | 1.00 |" in whole
    gradients = "0.430 (190 GFLOP/s a thread)"
    assert f"| weight gradients | {gradients} | {gradients} |" in whole
    assert "| a step, by the clock (without the profiler) | 3.000 | 3.000 |" in whole
    programs_page = (root / "docs/how/programs.md").read_text()
    assert "| additive attention | 128.0 → 1.0 ms | 512.0 → 1.0 ms |" in programs_page
    short = (root / "README.md").read_text()
    assert "| LSTM of 64 steps, 256 units |" in short
    assert "calculator" not in short and "512" not in short
    assert "| workload | ours | 8 in a call | best other |" in short
    assert "former" not in whole + programs_page + short
    assert pages.main(flags_of(root)) == 0
    assert page.read_text() == whole


def test_a_table_says_how_it_was_measured(root):
    assert pages.main(flags_of(root)) == 0
    whole = (root / "docs/how/performance.md").read_text()
    command = "`python -m benchmarks.pages --only=ceiling --threads=1 --sst=<folder>"
    assert f"{command} --ceiling=<program>` on an " in whole
    assert ", 1 thread; tensorflow 1.2; medians of 5 turns.\n" in whole
    assert "; tensorflow 1.2, torch 1.2; 3 turns of 4 epochs.\n" in whole


def test_only_some_tables_can_be_chosen(root, measured):
    assert pages.main([*flags_of(root), "--only=attention,sequences"]) == 0
    assert {key[0] for key in measured} == {"fixed_lstm"}
    whole = (root / "docs/how/performance.md").read_text()
    assert (
        "former sequences" not in whole and "former ceiling" in whole and "former programs" in whole
    )
    assert (root / "README.md").read_text() == text_of("README.md")


@pytest.mark.parametrize(
    "name, missing",
    [
        ("systems", "no --sst=<folder>"),
        ("ceiling", "no --sst=<folder>, no --ceiling=<program>"),
        ("sequences", "torch: not installed. pip install torch"),
        ("programs", "no --sst=<folder>, torch: not installed. pip install torch"),
        ("phases", "no --sst=<folder>"),
    ],
)
def test_a_table_that_lacks_something_is_left_alone(
    root, measured, monkeypatch, capsys, name, missing
):
    has_torch(monkeypatch, "torch" not in missing)
    assert pages.main([f"--root={root}", f"--only={name},attention"]) == 0
    assert f"{name}: left as it is: {missing}\n" in capsys.readouterr().out
    assert not measured
    assert f"former {name}" in (root / "docs/how/performance.md").read_text()
    assert "former" not in (root / "docs/how/programs.md").read_text()


def test_what_is_measured_of_cells_is_not_measured_again(root, measured, tmp_path, capsys):
    flags = [*flags_of(root), f"--folder={tmp_path / 'kept'}"]
    assert pages.main([*flags, "--only=ceiling"]) == 0
    assert pages.main([*flags, "--only=ceiling,sequences"]) == 0
    assert len(measured) == 5 + 6
    systems = {r["system"] for r in json.loads((tmp_path / "kept/ceiling.json").read_text())}
    assert systems == {"ours", "8 in a call", "two ops", "ceiling"}


@pytest.mark.parametrize(
    "text, found",
    [
        ("# Title\n", begin("systems")),
        (f"{begin('systems')}\nformer\n", pages.END),
        (f"{begin('systems')}\nformer\n{begin('ceiling')}\nformer\n{pages.END}\n", pages.END),
    ],
)
def test_a_page_without_the_comments_is_named_before_anything_is_measured(
    root, measured, capsys, text, found
):
    (root / "README.md").write_text(text)
    assert pages.main(flags_of(root)) == 2
    assert f"{root / 'README.md'}: found no {found} but" in capsys.readouterr().err
    assert not measured
    assert (root / "README.md").read_text() == text


def test_the_pages_of_this_checkout_have_all_comments(monkeypatch, capsys):
    monkeypatch.setattr(harness, "refuse_debug_build", lambda: None)
    nothing = dict.fromkeys(pages.NEEDS, lambda arguments: "nothing is measured")
    monkeypatch.setattr(pages, "NEEDS", nothing)
    monkeypatch.setattr(TABLES["attention"], "needs", ("sst",), raising=False)
    assert pages.main([]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(TABLES)
