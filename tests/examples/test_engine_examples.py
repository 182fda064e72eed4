"""The engine's examples print what they promise."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

EXAMPLES = pathlib.Path(__file__).parents[2] / "python" / "examples"


@pytest.fixture
def example(request):
    path = EXAMPLES / f"engine_{request.param}.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def of(name):
    return pytest.mark.parametrize("example", [name], indirect=True)


@of("four_lines")
def test_lines_two_and_three_overlap_and_the_result_is_that_of_the_serial_program(example):
    assert example.data_flow() == 12


@of("four_lines")
def test_queues_let_two_lines_run_then_one_then_one(example):
    shown = []
    assert example.queue_animation(shown.append) == [
        ("all four pushed", {"B = A + 1", "C = A + 2"}),
        ("C is done", {"B = A + 1"}),
        ("B is done", {"A = C * 2"}),
        ("A is done", {"D = A + 3"}),
    ]
    assert "'A = C * 2' pushed at" in shown[1] and "waits for 'A' (v0) to mutate" in shown[1]


@of("memory")
def test_memory_is_recycled_after_its_last_reader(example):
    *readers, recycled, reused = example.run()
    assert sorted(readers) == ["B = A + 1", "C = A + 2"]
    assert (recycled, reused) == ("del A", "E = 5")


@of("random")
@pytest.mark.parametrize("policy", ["threaded", "streams"])
def test_draws_from_one_generator_are_reproducible(example, policy):
    generator = np.random.default_rng(3)
    expected = generator.normal(size=1000) - generator.normal(size=1000)
    for _ in range(20):
        assert np.array_equal(example.run(3, policy), expected)


@of("calls")
@pytest.mark.parametrize("policy", ["naive", "threaded", "streams"])
def test_translated_calls_do_what_the_serial_program_does(example, policy):
    serial, parallel = example.serial(), example.parallel(policy)
    assert "A" not in parallel
    assert [parallel[name] for name in "BCDEF"] == [serial[name] for name in "BCDEF"]


@of("calls")
def test_call_names_what_the_line_reads_and_mutates(example):
    assert example.call("D = B * C", "BC", "D") == (
        "engine.push(lambda: exec('D = B * C'), read=[B, C], mutate=[D])"
    )


@pytest.mark.in_turns
def test_data_parallel_training_is_bitwise_serial_and_its_copies_start_early(tmp_path):
    # Runs in a process of its own, because BLAS reads its number of threads when it is loaded.
    command = [sys.executable, str(EXAMPLES / "engine_data_parallel.py")]
    command += [f"--picture={tmp_path}/timeline.png", f"--trace={tmp_path}/trace.json"]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parents[1])}
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode == 0, result.stderr
    assert "the weights of the serial program, bitwise" in result.stdout
    early, copies = re.search(r"(\d+) of (\d+) copies of the gradient", result.stdout).groups()
    assert 0 < int(early) <= int(copies) == 10
    assert (tmp_path / "timeline.png").stat().st_size > 10000
    assert (tmp_path / "trace.json").stat().st_size > 10000


@of("data_parallel")
@pytest.mark.parametrize("policy", ["naive", "threaded", "streams"])
def test_every_policy_gives_the_weights_of_the_serial_program(example, policy):
    size = 3, 32, (48, 64, 16)
    weights, _ = example.train(*size, policy)
    for name, weight in example.train_serially(*size).items():
        assert np.array_equal(weights[name], weight)
