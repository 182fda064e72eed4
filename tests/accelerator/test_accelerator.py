"""All that works on the CPU works on a machine with an accelerator, with the same results.

A test device takes the place of a GPU. Its memory cannot be touched by the host and its streams run
behind the host, so what only works where all memory is the host's ends the process, or computes
something else.
"""

import numpy as np
import pytest

from tests.accelerator import runner

# fit_eagerly runs on a device that lags, below.
CASES = [
    "calls",
    "control_flow",
    "fit",
    pytest.param("fit_with_mixed_bfloat16", marks=pytest.mark.long),
    "fit_with_mixed_float16",
    "fit_with_steps_in_one_call",
    "lookups",
    "losses",
    "mirrored",
    "optimizers",
    "row_operators",
    "sequence_layers",
    "threads",
    "tools",
    "tree_layers",
    "variables_on_the_cpu",
    "vertex_functions",
]
# Each update of a narrow type is rounded, and TensorFlow's operators round more often than ours.
ROUNDED = ("bfloat16", "float16")


def assert_equal(found, wanted, path=()):
    """Compares two nests of numbers."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys()
        for key in wanted:
            assert_equal(found[key], wanted[key], (*path, key))
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted)
        for number, pair in enumerate(zip(found, wanted, strict=True)):
            assert_equal(*pair, (*path, number))
    elif wanted is not None:
        narrow = any(str(key).endswith(ROUNDED) for key in path)
        tolerance = {"rtol": 0.02, "atol": 0.02} if narrow else {"rtol": 1e-4, "atol": 1e-5}
        np.testing.assert_allclose(found, wanted, **tolerance, err_msg=str(path))


@pytest.mark.in_turns
@pytest.mark.parametrize("case", CASES)
def test_results_are_those_of_the_cpu(case, tmp_path):
    assert_equal(runner.on_device(case, tmp_path), runner.here(case))


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("case", "options"),
    [("fit_eagerly", {"CAVS_TEST_SLOW": "300"}), ("lookups", {"CAVS_TEST_BFC": "1"})],
)
def test_a_device_that_lags_or_shares_out_its_memory(case, options, tmp_path):
    assert_equal(runner.on_device(case, tmp_path, **options), runner.here(case))


@pytest.mark.in_turns
def test_what_one_device_saves_the_other_loads(tmp_path):
    folders = [tmp_path / name for name in ("there", "here")]
    for folder in folders:
        folder.mkdir()
    there = runner.on_device("save_and_load", tmp_path / "saving", folders[0])
    here = runner.here("save_and_load", folders[1])
    assert_equal(there, here)
    loaded = runner.on_device("load", tmp_path / "loading", folders[1])
    assert_equal(loaded, runner.here("load", folders[0]))


@pytest.mark.in_turns
def test_a_portable_model_is_one_of_any_device(tmp_path):
    there = runner.on_device("portable", tmp_path, tmp_path / "there")
    assert_equal(there, runner.here("portable", tmp_path / "here"))


@pytest.mark.in_turns
def test_the_command_says_where_the_kernels_run(tmp_path):
    printed = runner.on_device("command", tmp_path)
    assert "devices:          CPU, CAVS_TEST (CAVS_TEST_PLATFORM)\n" in printed
    assert "kernels run on:   CPU; what is on CAVS_TEST is copied there and back\n" in printed
    printed = runner.here("command")
    assert "devices:          CPU\n" in printed
    assert "kernels run on:   CPU\n" in printed
