"""Vertex functions on a GPU: an emulated one, as the device of a process of its own."""

import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.framework import kernels

from tests.accelerator import device, gpu_cases, runner
from tests.accelerator.test_accelerator import assert_equal
from tests.helpers import processes


# The emulated driver does work late: when it is waited for, or when it likes to.
@pytest.mark.parametrize("lag", [pytest.param("lag=1", marks=pytest.mark.long), "lag=2"])
def test_models_compute_what_they_compute_on_the_cpu(lag, tmp_path):
    there = runner.on_gpu("of_all_kinds", tmp_path, CAVS_FAKE_OPTIONS=lag)
    assert_equal(there, runner.here("of_all_kinds", module=gpu_cases))
    log = (tmp_path / "log.txt").read_text().splitlines()
    for op in gpu_cases.OURS:
        where = re.compile(rf"Cavs{op}\b.*device:(\w+):0")
        placed = {match[1] for line in log if (match := where.search(line))}
        assert placed == {"CAVS_TEST"}, op
    # The others make minibatches and schedules, of which no state is an input, or say whether GPUs
    # run a program.
    on_cpu = {
        match[1] for line in log if (match := re.search(r"\(Cavs(\w+)\).*device:CPU:0", line))
    }
    assert "Schedule" in on_cpu
    others = ("AbsoluteChildren", "CheckedRows", "ChildMask", "Describe", "Extend", "Schedule")
    assert on_cpu <= {*others}


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "case", ["derived", "layers", "operators_of_tensorflow", *gpu_cases.OF_USERS]
)
def test_what_users_do_gives_the_results_of_the_cpu(case, tmp_path):
    there = runner.on_gpu(case, tmp_path, CAVS_FAKE_OPTIONS="lag=2")
    assert_equal(there, runner.here(case, module=gpu_cases))


@pytest.mark.in_turns
@pytest.mark.parametrize("case", ["several_gpus", "gradients_elsewhere"])
def test_models_compute_the_same_on_each_of_several_gpus(case, of_several_gpus):
    there, here = of_several_gpus
    assert_equal(there[case], here[case])


@pytest.fixture(scope="module")
def of_several_gpus(tmp_path_factory):
    """The results of cases there and on the CPU, by name."""
    folder, case = tmp_path_factory.mktemp("gpus"), "of_several_gpus"
    there = runner.on_gpu(case, folder, CAVS_FAKE_OPTIONS="devices=2,lag=2")
    return there, runner.here(case, module=gpu_cases)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The results of cases, by name."""
    folder = tmp_path_factory.mktemp("gpu")
    return runner.on_gpu("one_after_another", folder, CAVS_FAKE_OPTIONS="devices=2")


def test_results_are_repeatable_and_the_host_waits_for_nothing(found):
    of_both = ("look_up", "look_up_grad", "forward", "backward")
    of_both += ("cross_entropy", "cross_entropy_grad")
    updates = (("adam", "lazy_adam"), ("descent", "lazy_descent"))
    assert found["repeated"] == [{f"cavs_{op}": [0] for op in (*of_both, *own)} for own in updates]


def test_few_operators_of_a_training_step_are_those_of_tensorflow(found):
    of_the_model = {"BiasAdd": 1, "BiasAddGrad": 1, "MatMul": 3, "Mean": 1, "RealDiv": 1, "Tile": 1}
    of_the_optimizer = {"AddV2": 1, "Cast": 1}  # The number of steps, and the learning rate.
    for operators in found["operators_of_a_step"].values():
        assert operators == of_the_model | of_the_optimizer


def test_tensorflow_says_whether_products_are_those_of_tf32(found):
    off, on, off_again = (np.array(errors) for errors in found["tensor_float_32"])
    assert off.max() < 2e-6
    # Of the output, for which all products are of more than 128 rows, and of all weights.
    assert (on > 5 * off).all() and on.max() < 5e-3
    np.testing.assert_array_equal(off_again, off)


def test_operators_of_tensorflow_are_named(found):
    *explained, (memory, on_cpu), message = found["said_of_operators_of_tensorflow"]
    said = "runs on the CPU, as there are no kernels for GPUs of: CumulativeLogsumexp\n"
    assert all(said in f"{text}\n" for text in explained)
    assert memory == on_cpu
    assert "vertex function: operator " in message
    assert "got a device of type CAVS_TEST but expected the CPU, which alone has a" in message
    advice = 'Call the model under `with tf.device("CPU:0")`, or set CAVS_CUDA=0.'
    assert f"kernel of this operator. {advice}" in message


def test_tools_describe_the_programs_of_the_device(found):
    ((on_gpu, memory), (on_cpu, other)), before, after = found["predictions"]
    assert "tasks in which no vertex has a child" in on_cpu  # Programs that need finite values.
    assert "tasks in which no vertex has a child" not in on_gpu
    for text, predicted in ((on_gpu, memory), (on_cpu, other)):
        assert f"memory for inference: {predicted.inference}\n" in text
        assert f"to train with all at once takes {predicted.training:,} of " in text
    left = [re.search(r" of ([\d,]+) bytes\)", text)[1] for text in (on_gpu, on_cpu)]
    assert left[0] != left[1]  # Of the GPU, and of the machine.
    assert after[0] >= before[0] + 2**22 and sum(after) == sum(before)


def test_a_gpu_that_is_full_is_an_error(found):
    (of_all, inference, training), predicted, after = found["out_of_memory"]
    assert "pushes[0]: got shape [180000,4], that is 2880000 bytes, but expected" in of_all
    assert "one that fits into the memory that is available" in of_all
    assert np.isfinite(after).all()
    need = f"{predicted.inference.total} bytes ({predicted.inference.state} state, "
    assert f"minibatch: got one that needs {need}" in inference
    peak = f"{predicted.training} bytes at its peak (forward: {predicted.forward.total} bytes ("
    assert f"minibatch: got one whose training step needs {peak}" in training


def test_a_gpu_that_is_lost_is_an_error(found):
    message, on_cpu = found["lost"]
    assert "GPU: got CUDA_ERROR_LAUNCH_FAILED (" in message
    assert np.isfinite(on_cpu).all()


def test_a_compiler_that_is_missing_is_an_error(found):
    message, printed, on_cpu = found["without_compiler"]
    missing = "got no library of the name /missing/libnvrtc.so but"
    assert f"NVRTC: {missing}" in message
    report, self_check = printed.split("self-check:")
    assert f"NVRTC:            {missing}" in report
    assert self_check.lstrip().startswith("FAILED\n") and f"NVRTC: {missing}" in self_check
    assert np.isfinite(on_cpu).all()


def test_the_command_says_that_vertex_functions_run_there(found):
    assert (
        "kernels run on:   CPU; all but those of schedules on CAVS_TEST (experimental)\n"
        f"NVIDIA driver:    {device.fake_cuda()} of CUDA 13.0\n"
        "GPU 0:            Emulated device 0, compute capability 9.0\n"
        "GPU 1:            Emulated device 1, compute capability 9.0\n"
        f"NVRTC:            12.9, {device.fake_cuda()}\n"
        f"cuBLASLt:         {device.fake_cuda()}\n"
    ) in found["command"]


WITHOUT_GPU = """
import cavs_tf as cavs, keras, tensorflow as tf
from cavs_tf._native.library import devices_of_operators
assert devices_of_operators() == {"CPU", "GPU"}, devices_of_operators()
table, tree, optimizer = cavs.keras.Embedding(9, 4), cavs.keras.TreeLSTM(4), cavs.keras.LazyAdam()
graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])
with tf.GradientTape() as tape:
    rows = tree(graphs, table(tf.constant([3, 5, 3, 8])))
    loss = tf.reduce_sum(cavs.ops.sparse_softmax_cross_entropy([1, 0], rows))
weights = [*table.trainable_variables, *tree.trainable_variables]
optimizer.apply(tape.gradient(loss, weights), weights)
opened = open("/proc/self/maps").read()
print([name for name in ("libcuda", "libnvrtc", "libcublasLt") if name in opened], loss.device)
"""


@pytest.mark.skipif(bool(tf.config.list_physical_devices("GPU")), reason="there is a GPU")
def test_without_a_gpu_all_runs_on_the_cpu_and_no_library_of_cuda_is_opened(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_GPU],
        cwd=tmp_path,
        env=processes.environment() | {"CAVS_CUDA": "1"},
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[] /job:localhost/replica:0/task:0/device:CPU:0\n", done.stderr[-4000:]


def test_without_being_asked_for_there_are_no_kernels_of_gpus():
    for op in gpu_cases.OURS:
        found = kernels.get_registered_kernels_for_op(f"Cavs{op}").kernel
        assert {kernel.device_type for kernel in found} == {"CPU"}
    maps = pathlib.Path("/proc/self/maps").read_text()
    for library in ("libcuda", "libnvrtc", "libcublasLt"):
        assert library not in maps
