"""What tools/on_device.sh measured on a GPU, beside the goals and docs/how/predictions.md.

    python -m benchmarks.on_device [results.jsonl]

Prints tables in Markdown, by default of benchmarks/results/on_device.jsonl; a dash stands for what
was not measured. What was measured twice counts as it was the last time.
"""

import argparse
import dataclasses
import json
import pathlib
import sys

from benchmarks import tables

RESULTS = pathlib.Path(__file__).parent / "results/on_device.jsonl"

# What a row of cuda_bench says that was not asked for anything else.
_AS_USUAL = dict.fromkeys(("length", "tf32", "cublaslt"), 0)
_AS_USUAL |= dict.fromkeys(("streams", "eager", "lazy", "fuse", "merge", "walk"), 1)
_AS_USUAL |= {"dtype": "float32"}


@dataclasses.dataclass(frozen=True)
class Sizes:
    """Those that goals are about: units and graphs of a minibatch; of sequences the length, too."""

    trees: tuple = (256, 64)
    large: tuple = (512, 1024)
    lstm: tuple = (64, 512, 64)


class Rows:
    """The rows of a file.

    Raises:
      ValueError: If there are none, or one that is no row.
    """

    def __init__(self, path: pathlib.Path):
        self._rows, self.parts = [], {}
        for number, line in enumerate(path.read_text().splitlines(), start=1):
            try:
                row = {"system": "cavs", **json.loads(line)}
            except (ValueError, TypeError):
                raise ValueError(
                    f"{path}, line {number}: got {line[:40]!r} but expected a row of JSON. "
                    "Run tools/on_device.sh again, or delete the line."
                ) from None
            if "part" in row:  # What ran last, by its command; without one, the part itself.
                self.parts.setdefault(row["part"], {})[row.get("command", "")] = row
            else:
                self._rows.append(row)
        if not self._rows and not self.parts:
            raise ValueError(
                f"{path}: got no rows but expected those of tools/on_device.sh. Look at what it "
                "printed."
            )

    def value(self, name: str, **wanted) -> float | None:
        """What the last row with these has by that name, or None."""
        for row in reversed(self._rows):
            if all(row.get(key) == value for key, value in wanted.items()):
                return row.get(name)
        return None

    def ours(self, name: str, **wanted) -> float | None:
        """The same of cuda_bench, with all else as usual, on the GPU unless a device is named."""
        gpu = {"device": next(iter(self.devices()), None)}
        return self.value(name, **({"system": "cavs"} | gpu | _AS_USUAL | wanted))

    def devices(self) -> list[str]:
        """The names of all devices but the CPU."""
        return sorted({row["device"] for row in self._rows} - {"cpu"})


def goals(rows: Rows, sizes: Sizes) -> tables.Table:
    """The goals, with what is predicted and what was measured."""
    units, batch = sizes.trees
    tree = {"units": units, "batch": batch}
    name = f"Tree-LSTM, {units} units, {batch} trees"
    ways = [rows.ours("trees_per_s", **tree, walk=walk) for walk in (0, 1)]
    torch = [rows.value("trees_per_s", system=s, **tree) for s in ("torch", "torch_by_hand")]
    lstm = dict(zip(("length", "units", "batch"), sizes.lstm, strict=True))
    found = {  # The goal, what is predicted, and what was measured.
        f"{name}, by phases": ("60,000 trees/s", "145,000", _number(ways[0])),
        f"{name}, by the walk": ("120,000 trees/s", "160,000", _number(ways[1])),
        "PyTorch by levels": ("", "9,000", _number(torch[0])),
        "PyTorch by hand": ("", "17,000", _number(torch[1])),
    }
    for how, other, wanted, predicted in zip(
        ("by levels", "by hand"), torch, (10, 5), ("16, 18", "8.5, 9"), strict=True
    ):
        times = _several(_ratio(way, other) for way in ways)
        found[f"times PyTorch {how}: by phases, by the walk"] = (str(wanted), predicted, times)
    for tf32, kind, predicted in ((0, "float32", "1.7"), (1, "TF32", "1.2")):
        ms = [rows.ours("step_ms", **lstm, tf32=tf32, cublaslt=lt) for lt in (0, 1)]
        cudnn = rows.value("step_ms", system="cudnn_lstm", **lstm, tf32=tf32)
        found["LSTM, {} x {} units x {}, {}, ms".format(*sizes.lstm, kind)] = (
            "cuDNN's",
            f"{predicted}; cuDNN 1.0 to 1.8",
            f"{_several(ms[:1])}; with cuBLASLt {_several(ms[1:])}; cuDNN {_several([cudnn])}",
        )
    for tf32, kind, predicted in ((0, "float32", "0.6"), (1, "TF32", "0.2")):
        large = {"units": sizes.large[0], "batch": sizes.large[1], "tf32": tf32}
        cublas = rows.value("tflops", system="cublas", **large)
        shares = [_ratio(_tflops(rows, **large, cublaslt=lt), cublas) for lt in (0, 1)]
        found[f"{sizes.large[1]} trees, {sizes.large[0]} units, {kind}: share of cuBLAS"] = (
            "0.6",
            predicted,
            f"{_several(shares[:1])}; with cuBLASLt {_several(shares[1:])}",
        )
    title = f"on {', '.join(rows.devices()) or 'no GPU'}"
    return _table(title, ["goal", "predicted", "measured"], found)


def switches(rows: Rows, sizes: Sizes) -> tables.Table:
    """How much longer a step takes without a pass, and how much shorter it is in two streams."""
    tree = dict(zip(("units", "batch"), sizes.trees, strict=True))
    found = {}
    for switch, predicted in (("lazy", 1.3), ("eager", 1.25), ("fuse", 1.3), ("merge", 1.01)):
        times = [
            _ratio(
                rows.ours("step_ms", **tree, walk=walk, **{switch: 0}),
                rows.ours("step_ms", **tree, walk=walk),
            )
            for walk in (0, 1)
        ]
        found[f"--{switch}=0, times as long"] = (str(predicted), *map(_text, times))
    two = rows.ours("step_ms", **tree, walk=0, streams=2)
    faster = [_ratio(rows.ours("step_ms", **tree, walk=walk), two) for walk in (0, 1)]
    found["--streams=2, times as fast"] = ("1.1", *map(_text, faster))
    return _table("switch", ["predicted, by phases", "by phases", "by the walk"], found)


def types(rows: Rows, sizes: Sizes) -> tables.Table:
    """Steps in other types of numbers."""
    tree = dict(zip(("units", "batch"), sizes.trees, strict=True))
    large = dict(zip(("units", "batch"), sizes.large, strict=True))
    lstm = dict(zip(("length", "units", "batch"), sizes.lstm, strict=True))
    found = {}
    for name in ("float32", "TF32", "bfloat16", "float16"):
        own = {"tf32": 1} if name == "TF32" else {"dtype": name}
        found[name] = (
            _number(rows.ours("trees_per_s", **tree, **own)),
            _text(rows.ours("step_ms", **lstm, **own)),
            _text(_tflops(rows, **large, **own)),
        )
    columns = ["Tree-LSTM, trees/s", "LSTM, ms", f"{sizes.large[1]} trees, TFLOP/s"]
    return _table("numbers", columns, found)


def scaling(rows: Rows, sizes: Sizes) -> tables.Table:
    """The CPU of the same machine, with 1 to 16 threads."""
    tree = dict(zip(("units", "batch"), sizes.trees, strict=True))
    found = {}
    one = rows.ours("trees_per_s", device="cpu", **tree, workers=1)
    for workers in (1, 2, 4, 8, 16):
        rate = rows.ours("trees_per_s", device="cpu", **tree, workers=workers)
        found[str(workers)] = (_number(rate), _text(_ratio(rate, one)))
    return _table("threads of the CPU", ["trees/s", "times one"], found)


def parts(rows: Rows) -> tables.Table:
    """What ran, and what of it failed."""
    found = {}
    for part, commands in rows.parts.items():
        failed = [
            f"`{command}` with {row['status']}"
            for command, row in commands.items()
            if command and row["status"]
        ]
        passed = [row["passed"] for row in commands.values() if "passed" in row]
        whole = commands.get("", {})  # There is none if the part was interrupted.
        found[part] = (
            _number(whole.get("seconds")),
            _number(whole.get("compiled")),
            _number(sum(passed) if passed else None),
            ", ".join(failed) or ("nothing" if whole else "-"),
        )
    columns = ["seconds", "texts compiled there", "tests passed", "failed"]
    return _table("part", columns, found)


def all_tables(path: pathlib.Path, sizes: Sizes) -> list[tables.Table]:
    """All of them; raises ValueError as `Rows` does."""
    rows = Rows(path)
    return [*(make(rows, sizes) for make in (goals, switches, types, scaling)), parts(rows)]


def _table(title, columns, found):
    rows = {name: dict(zip(columns, own, strict=True)) for name, own in found.items()}
    return tables.Table(title, columns, rows)


def _tflops(rows, **wanted):
    gflop, ms = (rows.ours(name, **wanted) for name in ("gflop", "step_ms"))
    return _ratio(gflop, ms)  # GFLOP in a millisecond.


def _ratio(of, to):
    return None if of is None or not to else of / to


def _text(number):
    return "-" if number is None else f"{number:.3g}"


def _number(number):
    return "-" if number is None else f"{number:,.0f}"


def _several(numbers):
    return ", ".join(map(_text, numbers))


def main(argv=None) -> int:
    """Runs the program; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "results", type=pathlib.Path, nargs="?", default=RESULTS, help="of tools/on_device.sh"
    )
    for field in dataclasses.fields(Sizes):
        parser.add_argument(
            f"--{field.name}",
            type=int,
            nargs="+",
            default=field.default,
            help="as UNITS and the like",
        )
    flags = parser.parse_args(argv)
    sizes = Sizes(*(tuple(getattr(flags, field.name)) for field in dataclasses.fields(Sizes)))
    try:
        found = all_tables(flags.results, sizes)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 2
    print("\n\n".join(table.markdown() for table in found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
