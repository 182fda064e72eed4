"""CAVS_MAX_CPU_ISA: results are right with each instruction set, and other values are refused."""

import subprocess
import sys

import pytest

from tests.helpers import processes

NUMERIC = ("test_differential", "test_widths", "test_narrow_floats")
PROGRAM = """
import cavs_tf as cavs
import tensorflow as tf
try:
    cavs.keras.TreeLSTM(4)(cavs.GraphBatch.chain([2]), tf.ones([2, 3]))
except tf.errors.InvalidArgumentError as error:
    print(error.message)
print("still here")
"""
SENTENCE = (
    "CAVS_MAX_CPU_ISA: got 'AVX-2' but expected one of portable, avx2, avx512, avx512bf16. Correct "
    "the environment variable, or unset it."
)


def run(limit, *arguments):
    return subprocess.run(
        [sys.executable, *arguments],
        env=processes.environment() | {"CAVS_MAX_CPU_ISA": limit, "TF_CPP_MIN_LOG_LEVEL": "3"},
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


@pytest.mark.parametrize("limit", ["portable", "avx2", "avx512"])
def test_numbers_are_right_with_each(limit):
    shown = run(limit, "-m", "cavs_tf").stdout
    if f"{limit} (CAVS_MAX_CPU_ISA={limit})" not in shown:
        pytest.skip(f"this processor has no {limit}")
    files = [f"tests/differential/{name}.py" for name in NUMERIC]
    done = run(limit, "-m", "pytest", "-q", "-x", "-n", "0", "-m", "numeric", *files)
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


def test_another_value_is_an_error_that_does_not_end_the_process():
    done = run("AVX-2", "-c", PROGRAM)
    assert done.returncode == 0, done.stderr[-2000:]
    said, last = done.stdout.strip().rsplit("\n", 1)
    assert SENTENCE in said
    assert last == "still here"


def test_the_program_says_what_is_wrong():
    done = run("AVX-2", "-m", "cavs_tf")
    assert done.returncode == 1
    assert SENTENCE in done.stderr
    assert "Traceback" not in done.stderr
