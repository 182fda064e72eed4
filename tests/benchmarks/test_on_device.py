"""The tables of what tools/on_device.sh measured."""

import json
import os
import pathlib
import re

import pytest

from benchmarks import on_device
from tests.cc.cuda import trial

ROOT = pathlib.Path(__file__).parents[2]
PAGE = ROOT / "docs/how/predictions.md"
SST = pathlib.Path(os.environ.get("CAVS_SST", ROOT / "../shared/data/sst"))
USUAL = {"device": "A GPU", "units": 256, "batch": 64, "gflop": 6.0, "length": 0, "tf32": 0}
USUAL |= {
    "dtype": "float32",
    "cublaslt": 0,
    "streams": 1,
    "eager": 1,
    "lazy": 1,
    "fuse": 1,
    "merge": 1,
    "walk": 1,
}


def ours(ms, **others):
    row = {**USUAL, "workers": 1, **others, "step_ms": ms}
    return {**row, "trees_per_s": round(1000 * row["batch"] / ms)}


def torch(system, ms, **others):
    sizes = {"system": system, "device": "A GPU", "units": 256, "batch": 64}
    return {**sizes, "step_ms": ms, "trees_per_s": round(64e3 / ms), **others}


ROWS = [
    ours(0.4),
    ours(0.5, walk=0),
    ours(0.8, walk=0, lazy=0),
    ours(0.6, lazy=0),
    ours(0.25, walk=0, streams=2),
    ours(2.0, units=512, length=64),
    ours(1.5, units=512, length=64, tf32=1, cublaslt=1),
    ours(8.0, units=512, batch=1024, gflop=273.0),
    ours(4.0, units=512, batch=1024, gflop=273.0, dtype="bfloat16"),
    ours(50.0, device="cpu"),
    ours(12.5, device="cpu", workers=4),
    torch("torch", 8.0),
    torch("torch_by_hand", 2.0),
    torch("cudnn_lstm", 1.25, units=512, length=64, tf32=0),
    torch("cublas", 3.0, units=512, batch=1024, rows=39936, tf32=0, tflops=40.0),
]


def tables(tmp_path, rows):
    path = tmp_path / "results.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return on_device.all_tables(path, on_device.Sizes())


def test_what_was_measured_stands_beside_what_is_predicted(tmp_path):
    goals, switches, types, scaling, _ = tables(tmp_path, ROWS)
    assert goals.title == "on A GPU"
    measured = {name: row["measured"] for name, row in goals.rows.items()}
    assert list(measured.values()) == [
        "128,000",
        "160,000",
        "8,000",
        "32,000",
        "16, 20",
        "4, 5",
        "2; with cuBLASLt -; cuDNN 1.25",
        "-; with cuBLASLt 1.5; cuDNN -",
        "0.853; with cuBLASLt -",
        "-; with cuBLASLt -",
    ]
    assert list(switches.rows["--lazy=0, times as long"].values()) == ["1.3", "1.6", "1.5"]
    assert list(switches.rows["--streams=2, times as fast"].values()) == ["1.1", "2", "1.6"]
    assert switches.rows["--fuse=0, times as long"]["by phases"] == "-"
    assert list(types.rows["float32"].values()) == ["160,000", "2", "34.1"]
    assert list(types.rows["bfloat16"].values()) == ["-", "-", "68.2"]
    assert list(scaling.rows["4"].values()) == ["5,120", "4"]
    assert list(scaling.rows["16"].values()) == ["-", "-"]


def test_predictions_are_those_of_the_page(tmp_path):
    goals, switches, *_ = tables(tmp_path, ROWS)
    texts = [row["goal"] + " " + row["predicted"] for row in goals.rows.values()]
    texts += [row["predicted, by phases"] for row in switches.rows.values()]
    page = PAGE.read_text()
    for number in re.findall(r"\d[\d.,]*\d|\d", " ".join(texts)):
        assert re.search(rf"(?<![\d.,]){re.escape(number)}(?![.,]?\d)", page), number


@pytest.mark.skipif(not SST.is_dir(), reason=f"no treebank in {SST}; set CAVS_SST")
@pytest.mark.parametrize("units, batch", [(256, 64), (512, 1024)])
def test_operations_on_the_page_are_those_of_the_treebank(units, batch):
    texts = (SST / "test.txt").read_text(encoding="utf-8").split("\n")[:batch]
    vertices = sum(text.count("(") for text in texts)
    inputs, parents = (vertices + batch) // 2, (vertices - batch) // 2
    assert f" {trial.gflop(units, inputs, parents):.3g} GFLOP |" in PAGE.read_text()


def test_operations_of_the_lstm_are_those_of_the_page():
    length, units, batch = on_device.Sizes().lstm
    own = trial.gflop(units, length * batch, (length - 1) * batch, children=1)
    assert f" {own:.2g} GFLOP |" in PAGE.read_text()


def test_counts_on_the_page_are_those_of_the_emulated_driver():
    steps = json.loads((ROOT / "tests/cc/cuda/workloads.json").read_text())["steps"]
    least, most = (
        {
            field: of(sum(op[field] for op in ops.values()) for ops in steps.values())
            for field in ("launches", "memsets", "uploads", "bytes_up")
        }
        for of in (min, max)
    )
    page = PAGE.read_text()
    assert "| | {} to {} |".format(least["launches"], most["launches"]) in page
    fills, uploads, kb = (
        (least[field] / unit, most[field] / unit)
        for field, unit in (("memsets", 1), ("uploads", 1), ("bytes_up", 1000))
    )
    text = "{:.0f} to {:.0f} fills and {:.0f} to {:.0f} uploads, of {:.0f} to {:.0f} kB"
    assert text.format(*fills, *uploads, *kb) in page


def test_a_row_that_is_missing_is_a_dash(tmp_path):
    def dashes(rows):
        text = "".join(table.markdown() for table in tables(tmp_path, rows))
        return len(re.findall(r" -[ ,;]", text))

    for left in range(len(ROWS)):
        assert dashes(ROWS[:left] + ROWS[left + 1 :]) > dashes(ROWS), ROWS[left]


def test_what_is_measured_again_counts(tmp_path):
    goals, *_ = tables(tmp_path, [*ROWS, ours(0.2)])
    assert next(iter(goals.rows.values()))["measured"] == "128,000"
    measured = [row["measured"] for row in goals.rows.values()]
    assert "320,000" in measured and "160,000" not in measured


def test_what_failed_is_said_by_part(tmp_path):
    def row(part, status, **others):
        return {"part": part, "status": status, "seconds": 7, **others}

    rows = [
        row("tests", 1, command="a_test"),
        row("tests", 0, command="a_test", passed=3),
        row("tests", 124, command="b_test"),
        row("tests", 0, command="c_test", passed=4),
        row("tests", 1, seconds=1200, compiled=2),
        row("smoke", 0, command="a_test", passed=1),
        row("smoke", 0, compiled=0),
        row("sizes", 1, command="cuda_bench"),
    ]
    goals, *_, parts = tables(tmp_path, rows)
    assert goals.title == "on no GPU"
    assert [list(row.values()) for row in parts.rows.values()] == [
        ["1,200", "2", "7", "`b_test` with 124"],
        ["7", "0", "1", "nothing"],
        ["-", "-", "-", "`cuda_bench` with 1"],
    ]


def test_results_of_the_cpu_alone_have_no_gpu(tmp_path):
    goals, *_ = tables(tmp_path, [ours(50.0, device="cpu")])
    assert goals.title == "on no GPU"
    assert "128,000" not in goals.markdown()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "got no rows but expected those of tools/on_device.sh"),
        ('{"a": 1}\n{"device": "A', 'line 2: got \'{"device": "A\' but expected a row of JSON'),
        ("3\n", "line 1: got '3' but expected a row of JSON"),
    ],
)
def test_files_without_rows_are_errors(text, message, tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    path.write_text(text)
    assert on_device.main([str(path)]) == 2
    assert message in capsys.readouterr().err


def test_sizes_are_chosen(tmp_path, capsys):
    path = tmp_path / "results.jsonl"
    path.write_text(json.dumps(ours(1.0, units=8, batch=2)) + "\n")
    assert on_device.main([str(path), "--trees", "8", "2"]) == 0
    printed = capsys.readouterr().out
    assert (
        "| Tree-LSTM, 8 units, 2 trees, by the walk | 120,000 trees/s | 160,000 | 2,000 |"
        in printed
    )
