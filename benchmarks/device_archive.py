"""Packs tools/on_device.sh with all that it needs, for a machine that has only a GPU and Python.

    make on-device ARGS="--sst=<folder>/test.txt --nvrtc=<libnvrtc.so of that machine's version>"

Programs, the trees that they read, the same trees for PyTorch, and what NVRTC makes of the kernels
of all benchmarks: the script runs them here on the emulated driver, which computes nothing. What
another version of NVRTC than that machine's has made is not used there, and is made again.
docs/how/predictions.md is about trees of test.txt; without --sst trees are generated.
`tools/on_device.sh --help` says how the archive is used.
"""

import argparse
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

from benchmarks import workloads
from benchmarks.workloads import _treebank

ROOT = pathlib.Path(__file__).parents[1]
MOST_TREES = 1024  # Of a minibatch that tools/on_device.sh times.
PARTS = ("goals", "switches", "types", "sizes")  # Tests do not run where nothing is computed.
PROCESSORS = 132  # Of an H100 or H200: which kernels are chosen depends on their number.


def trees(sst: str | None, count: int) -> str:
    """The first trees of the treebank as cuda_bench reads them, which torch_on_gpu times as well.

    A line each: the number of vertices, and two children of each of them, -1 for none.
    """
    settings = workloads.Settings(batch=count, sst=sst, minibatches=1)
    examples = _treebank.examples(settings)
    splits = examples.graph_splits
    lines = (
        " ".join(map(str, [end - begin, *examples.children[begin:end].ravel()]))
        for begin, end in itertools.pairwise(splits)
    )
    return "\n".join(lines) + "\n"


def programs(built: pathlib.Path) -> list[pathlib.Path]:
    """What the script runs, in Bazel's folder of what was built."""
    tests = built / "tests/cc"
    return [
        built / "benchmarks/cc/exec/cuda_bench",
        *(tests / f"exec/{name}_test" for name in ("executor", "narrow_sums")),
        *sorted(tests.glob("exec/cuda_*_test")),
        *sorted(tests.glob("device/cuda/*_test")),
    ]


def compile_kernels(folder: pathlib.Path, fake: pathlib.Path, nvrtc: str, architecture: int):
    """Fills cubins/ with what the script would compile on a GPU of this architecture."""
    cubins = folder / "cubins"
    cubins.mkdir(mode=0o700, exist_ok=True)
    options = f"lag=0,compute=0,processors={PROCESSORS},architecture={architecture}"
    settings = {
        "CAVS_LIBCUDA": str(fake),
        "CAVS_LIBCUBLASLT": str(fake),
        "CAVS_LIBNVRTC": nvrtc,
        "CAVS_CUDA_CACHE": str(cubins),
        "CAVS_FAKE_OPTIONS": options,
        "CHECK": "0",
        "STEPS": "1",
        "SLOWER": "100",
    }
    command = [folder / "on_device.sh", f"--results={folder.parent / 'rows'}", *PARTS]
    subprocess.run(command, env={**os.environ, **settings}, check=True)


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--built", type=pathlib.Path, required=True, help="Bazel's bazel-bin")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/on_device.tar.gz")
    parser.add_argument("--sst", help="a file of the treebank; without it trees are generated")
    parser.add_argument("--nvrtc", help="the compiler's library; without it nothing is compiled")
    parser.add_argument("--architectures", default="90", help="those compiled for: 90,100")
    flags = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as above:
        folder = pathlib.Path(above, "on_device")
        python = shutil.ignore_patterns("cc", "fold", "results", "__pycache__")
        shutil.copytree(ROOT / "benchmarks", folder / "benchmarks", ignore=python)
        for path in (ROOT / "tools/on_device.sh", *programs(flags.built)):
            shutil.copy(path, folder)
        (folder / "trees.txt").write_text(trees(flags.sst, MOST_TREES))
        if flags.sst:
            shutil.copy(flags.sst, folder / "treebank.txt")
        fake = flags.built / "tests/cc/cuda/fake/libfake_cuda.so"
        for architecture in flags.architectures.split(",") if flags.nvrtc else ():
            compile_kernels(folder, fake, flags.nvrtc, int(architecture))
        flags.out.parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(flags.out, "w:gz") as archive:
            archive.add(folder, folder.name)
        images = len(list(folder.glob("cubins/*")))
    megabytes = flags.out.stat().st_size / 1e6
    print(f"{flags.out}: {megabytes:.1f} MB, with machine code of {images} texts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
