"""CAVS_MAX_CPU_ISA: results are right with each instruction set, and other values are refused."""

import pathlib

import pytest

from tests.helpers import processes

TESTS = pathlib.Path(__file__).parents[1]
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


@pytest.fixture
def run(tmp_path):
    """Runs a module where the variable has some value."""

    def run(limit, module, *arguments):
        return processes.run_script(module, arguments, tmp_path, CAVS_MAX_CPU_ISA=limit)

    return run


# Where there is AVX-512, all other tests run with it, but those of bfloat16 perhaps with bf16 too.
@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("limit", "names"), [("portable", ""), ("avx2", ""), ("avx512", "bfloat16")]
)
def test_numbers_are_right_with_each(limit, names, run):
    _, shown, _ = run(limit, "cavs_tf")
    if f"{limit} (CAVS_MAX_CPU_ISA={limit})" not in shown:
        pytest.skip(f"this processor has no {limit}")
    files = [TESTS / f"differential/{name}.py" for name in NUMERIC]
    done, printed, _ = run(
        limit, "pytest", "-q", "-x", "-n", "0", "-m", "numeric", "-k", names, *files
    )
    assert done, printed[-5000:]
    assert " passed" in printed


@pytest.mark.in_turns
def test_another_value_is_an_error_that_does_not_end_the_process(run, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done, printed, error = run("AVX-2", tmp_path / "program.py")
    assert done, error
    said, last = printed.strip().rsplit("\n", 1)
    assert SENTENCE in said
    assert last == "still here"


def test_the_program_says_what_is_wrong(run):
    done, _, error = run("AVX-2", "cavs_tf")
    assert not done and "It ended with status 1." in error
    assert SENTENCE in error
    assert "Error" not in error
