"""Checks the GPU's kernels and their driver on a machine without a GPU: `make cuda-check`.

    python -m tests.cc.cuda.check --plain=<folder> --sanitized=<folder>

The folders are Bazel's of the tests as they are shipped, and under AddressSanitizer. Tests run on
the emulated driver, those of the executor and of kernels under AddressSanitizer while races are
looked for and orders are drawn; tools/on_device.sh is tried; then mistakes are made that tests have
to find, a quarter of them for each commit; and NVRTC compiles every text that was compiled.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import io
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from tests.cc.cuda import mutants, nvrtc_check, trial
from tests.helpers import turns

ROOT = pathlib.Path(__file__).parents[3]
DAYS_KEPT = 14  # How long the emulated compiler's files are kept without use.


@dataclasses.dataclass(frozen=True)
class Case:
    """Tests of a program, run in some way."""

    test: str
    filter: str = "*"
    shards: int = 1
    sanitized: bool = False
    kernels_too: bool = False  # Sanitized, in drawn orders, looking for races.


SANITIZED_WALKS = "*TreeLstm*Oracle:*DoNotFit*"
PLAIN = [
    Case("exec/cuda_counts_test"),
    Case("exec/cuda_walk_test", f"-{SANITIZED_WALKS}"),
    Case("device/cuda/plan_launches_test"),
]
LONG = [
    Case("exec/executor_test", "*/Cuda", shards=6),
    Case("exec/cuda_walk_test", SANITIZED_WALKS),
]
SANITIZED = [
    Case("exec/executor_test", "*/Cuda", shards=6, sanitized=True, kernels_too=True),
    Case("exec/cuda_walk_test", SANITIZED_WALKS, sanitized=True, kernels_too=True),
    Case("device/cuda/cuda_kernels_test", shards=2, sanitized=True, kernels_too=True),
    Case("device/cuda/cuda_training_test", sanitized=True, kernels_too=True),
    Case("device/cuda/group_test", sanitized=True, kernels_too=True),
    Case("device/cuda/epilogue_test", sanitized=True, kernels_too=True),
    Case("device/cuda/cuda_stream_test", sanitized=True, kernels_too=True),
    # Its tests say themselves how kernels are compiled.
    Case("cuda/fake_driver_test", sanitized=True),
    Case("exec/cuda_faults_test", sanitized=True),
    Case("exec/narrow_sums_test", "*/Cuda*", sanitized=True),
    Case("device/cuda/cuda_context_test", sanitized=True),
    Case("device/cuda/image_cache_test", sanitized=True),
    Case("device/cuda/cublas_lt_test", sanitized=True),
]
# Kernels report races and memory out of bounds, streams do their work at times that are drawn.
SANITIZED_SETTINGS = {
    "CAVS_FAKE_FLAGS": "-fsanitize=address -g1",
    "CAVS_FAKE_RACES": "1",
    "ASAN_OPTIONS": "detect_leaks=0",
}


def environment_of(case, shard, library, seed):
    """Returns the environment in which a part of the tests runs."""
    fake = dict.fromkeys(("CAVS_LIBCUDA", "CAVS_LIBNVRTC", "CAVS_LIBCUBLASLT"), library)
    environment = {**os.environ, **fake}
    environment["CAVS_CUDA_CACHE"] = ""  # Every text is compiled, or found compiled.
    environment.update(GTEST_TOTAL_SHARDS=str(case.shards), GTEST_SHARD_INDEX=str(shard))
    if case.kernels_too:
        environment.update(SANITIZED_SETTINGS, CAVS_FAKE_OPTIONS=f"lag=2,seed={seed}")
    else:
        environment["CAVS_SANITIZED_ELSEWHERE"] = "1"  # Other programs are drawn than there.
    return environment


def run(case, shard, folder, seed):
    """Runs a part of the tests.

    Returns:
      How many tests have passed, what went wrong or "", and what was printed.
    """
    program = f"{folder}/tests/cc/{case.test}"
    library = f"{folder}/tests/cc/cuda/fake/libfake_cuda.so"
    done = subprocess.run(
        [program, f"--gtest_filter={case.filter}"],
        env=environment_of(case, shard, library, seed),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    passed = re.search(r"\[  PASSED  \] (\d+) test", done.stdout)
    skipped = "[  SKIPPED ]" in done.stdout
    wrong = ""
    if done.returncode != 0 or passed is None:
        wrong = f"{case.test} ended with {done.returncode}"
    elif skipped:
        wrong = f"{case.test} skipped tests: there is no GPU"
    return int(passed[1]) if passed else 0, wrong, done.stdout


def run_workloads():
    """Runs `workloads`; returns what went wrong or "", and what was printed."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.cc.cuda.workloads"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    return "the workloads ended otherwise" if done.returncode else "", done.stdout


def run_all(cases, plain, sanitized, seed, processes):
    """Runs all tests; returns how many passed, by `kernels_too`; failures, and outputs by test."""
    jobs = [(case, shard) for case in cases for shard in range(case.shards)]
    counts, failures, outputs = {False: 0, True: 0}, [], {}
    with concurrent.futures.ThreadPoolExecutor(processes) as pool:
        others = {
            "workloads": pool.submit(run_workloads),
            "trial": pool.submit(trial.run, plain, sanitized),
        }
        answers = pool.map(
            lambda job: run(*job, sanitized if job[0].sanitized else plain, seed),
            jobs,
        )
        for (case, _), (passed, wrong, output) in zip(jobs, answers, strict=True):
            counts[case.kernels_too] += passed
            outputs[case.test] = outputs.get(case.test, "") + output
            if wrong:
                failures.append(wrong)
                print(output[-6000:], flush=True)
    for name, other in others.items():
        wrong, outputs[name] = other.result()
        if wrong:
            failures.append(wrong)
            print(outputs[name][-6000:], flush=True)
    return counts, failures, outputs


def delete_unused(folder):
    """Deletes what the emulated compiler has kept and nobody has used for long."""
    oldest = time.time() - DAYS_KEPT * 24 * 3600
    for path in folder.glob("*.cu"):
        with contextlib.suppress(OSError):
            if path.stat().st_mtime < oldest:
                path.unlink()
                path.with_suffix(".so").unlink()


def said_by(check, *arguments):
    """Returns the status of a check and the last line that it prints; prints the lines before."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        status = check(list(arguments))
    *before, last = output.getvalue().splitlines() or [""]
    print("\n".join(before), end="\n" if before else "", flush=True)
    return status, last


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plain", required=True, help="folder of tests as they are shipped")
    parser.add_argument("--sanitized", required=True, help="folder of those of AddressSanitizer")
    parser.add_argument(
        "--long",
        action="store_true",
        help="more programs, other ones without AddressSanitizer too, every mistake, registers "
        "of every text for every architecture",
    )
    parser.add_argument("--seed", type=int, help="of orders: 5, or with --long drawn")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    flags = parser.parse_args(arguments)
    if flags.long:
        os.environ["CAVS_LONG_TESTS"] = "1"
    turn = turns.of_commit(ROOT)
    os.environ["CAVS_TURN_OF_SEEDS"] = str(turn)
    seed = flags.seed
    if seed is None:
        seed = random.randrange(1, 2**31) if flags.long else 5
    print(f"Orders are drawn by --seed={seed}", flush=True)
    default = pathlib.Path(tempfile.gettempdir()) / f"cavs_fake_cuda_{os.getuid()}"
    cache = pathlib.Path(os.environ.setdefault("CAVS_FAKE_CACHE", str(default)))
    cache.mkdir(parents=True, exist_ok=True)
    delete_unused(cache)
    stamp = cache / f"stamp_{os.getpid()}"
    stamp.write_text("")

    begin = time.monotonic()
    times = {}

    def took(what):
        times[what] = time.monotonic() - begin - sum(times.values())

    cases = SANITIZED + PLAIN + (LONG if flags.long else [])
    counts, failures, outputs = run_all(cases, flags.plain, flags.sanitized, seed, flags.processes)
    took("tests")
    processes = f"--processes={flags.processes}"
    mutants_failed, mutants_line = said_by(
        mutants.main,
        f"--tests={flags.plain}/tests/cc",
        f"--cuda={flags.plain}/tests/cc/cuda/fake/libfake_cuda.so",
        f"--cache={cache / 'wrong'}",
        processes,
        *([] if flags.long else [f"--turn={turn % mutants.TURNS}"]),
    )
    took("mistakes")
    passed = f"--passed={cache / 'passed_by_nvrtc'}"
    nvrtc_failed, nvrtc_line = said_by(
        nvrtc_check.main,
        f"--texts={cache}",
        f"--since={stamp}",
        processes,
        passed,
        "--every" if flags.long else "--no-every",
    )
    took("NVRTC")
    stamp.unlink()

    print("\n".join(f"Failed: {failure}" for failure in failures), end="\n" if failures else "")
    print(", ".join(f"{what} took {seconds:.0f} s" for what, seconds in times.items()))
    print(
        f"{sum(counts.values())} cases passed on the emulated device, {counts[True]} of them under "
        "AddressSanitizer, in drawn orders, looking for races"
    )
    print(mutants_line)
    print(nvrtc_line)
    counted = outputs["exec/cuda_counts_test"] + "\n" + outputs["workloads"]
    for line in re.findall(r"^A step of .*", counted, re.MULTILINE):
        print(line)
    return 1 if failures or mutants_failed or nvrtc_failed else 0


if __name__ == "__main__":
    sys.exit(main())
