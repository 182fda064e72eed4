"""Tries tools/on_device.sh where there is no GPU: its tests and cuda_bench on the emulated driver.

As with NVIDIA's driver, tests can neither count what it does nor let it fail, and skip what needs
that. A few tests of each program run, and sizes are small: `check` runs all tests, and the times
mean nothing.
"""

import json
import os
import pathlib
import subprocess
import tempfile

from benchmarks import on_device

ROOT = pathlib.Path(__file__).parents[3]
SIZES = {"UNITS": "8", "BATCHES": "2", "STEPS": "1", "LARGE": "8 3", "LSTM": "3 8 2"}
SIZES |= {"SLOWER": "10"}
TREES = "5 -1 -1 -1 -1 -1 -1 0 1 3 2\n3 -1 -1 -1 -1 0 1\n"
SHARDS = 12  # Of which one runs, and in long runs the only one.
# Programs that are built under AddressSanitizer only; all others are as they are shipped.
SANITIZED = {"cuda_context_test", "cuda_faults_test", "image_cache_test", "narrow_sums_test"}


def without_controls(library, copy):
    """Copies the emulated driver's library without the names that its controls are found by."""
    copy.write_bytes(library.read_bytes().replace(b"\0fake_", b"\0none_"))


def gflop(units, inputs, parents, children=2):
    """Returns the GFLOP of a training step of the Tree-LSTM, or of an LSTM with one child.

    Each product is three: itself, and the gradients of its rows and of its weight. Vertices that
    are no parents gather zeros, which are not multiplied.
    """
    return 6e-9 * units**2 * (4 * inputs + (3 + children) * parents)


def _counted_otherwise(rows):
    """Returns the sizes of which cuda_bench says other GFLOP than `gflop`, with what it says."""
    wanted = {(2, 0): gflop(8, 5, 3), (3, 0): gflop(8, 8, 5), (2, 3): gflop(8, 6, 4, children=1)}
    rows = [row for row in map(json.loads, rows.read_text().splitlines()) if "gflop" in row]
    return [
        f"gflop of {sizes}: {row['gflop']}"
        for row in rows
        if row["gflop"] != float(f"{wanted[sizes := (row['batch'], row['length'])]:.3g}")
    ]


def run(plain, sanitized):
    """Runs the script with the programs of these folders.

    Returns:
      What went wrong or "", and what was printed.
    """
    with tempfile.TemporaryDirectory() as folder:
        return _run(pathlib.Path(plain), pathlib.Path(sanitized), pathlib.Path(folder))


def _run(plain, sanitized, folder):
    library = folder / "libcuda.so"
    without_controls(plain / "tests/cc/cuda/fake/libfake_cuda.so", library)
    programs = [plain / "benchmarks/cc/exec/cuda_bench"]
    for kind in (plain, sanitized):
        found = [*kind.glob("tests/cc/exec/*_test"), *kind.glob("tests/cc/device/cuda/*_test")]
        programs += [own for own in found if (own.name in SANITIZED) == (kind == sanitized)]
    for program in programs:
        (folder / program.name).symlink_to(program)
    (folder / "trees.txt").write_text(TREES)
    (folder / "on_device.sh").symlink_to(ROOT / "tools/on_device.sh")
    fake = dict.fromkeys(("CAVS_LIBCUDA", "CAVS_LIBNVRTC", "CAVS_LIBCUBLASLT"), str(library))
    shard = {"GTEST_TOTAL_SHARDS": str(SHARDS), "GTEST_SHARD_INDEX": "1"}
    if os.environ.get("CAVS_LONG_TESTS") == "1":
        shard = {}
    environment = {**os.environ, **fake, **SIZES, **shard, "ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run(
        [folder / "on_device.sh"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        return "tools/on_device.sh failed", done.stdout
    sizes = on_device.Sizes(trees=(8, 2), large=(8, 3), lstm=(3, 8, 2))
    results = folder / "benchmarks/results/on_device.jsonl"
    found = on_device.all_tables(results, sizes)
    printed = "\n".join([done.stdout, *(own.markdown() for own in found)])
    _, switches, types, scaling, _ = found
    rows = {**switches.rows, **types.rows, "1": scaling.rows["1"]}
    missing = [name for name, row in rows.items() if "-" in row.values()]
    missing += _counted_otherwise(results)
    return f"tools/on_device.sh left out {', '.join(missing)}" if missing else "", printed
