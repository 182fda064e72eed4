"""Runs cases in processes that have a test device."""

import os
import pathlib
import pickle
import subprocess
import sys

import keras
import tensorflow as tf

from tests.accelerator import cases, device
from tests.helpers import processes


def on_device(case: str, folder: pathlib.Path, *arguments, **options):
    """The results of a case in a process with the device.

    Args:
      case: A function of `cases`.
      folder: Where the process runs.
      *arguments: Of the function.
      **options: Variables of the environment that the device reads, as texts.

    Raises:
      AssertionError: If the process fails.
    """
    folder.mkdir(exist_ok=True)
    error = processes.call(_run, (device.library(), case, arguments, options), folder)
    assert not error, error
    return pickle.loads((folder / "results.pickle").read_bytes())


def on_gpu(case: str, folder: pathlib.Path, **options):
    """The results of a case of `gpu_cases` in a process in which our kernels run on the GPU.

    Args, raises: As `on_device`; `log.txt` in the folder has what TensorFlow logged.
    """
    fake = str(device.fake_cuda())
    environment = {
        "CAVS_CUDA": "1",
        "CAVS_CUDA_DEVICE_TYPE": device.TYPE,
        "CAVS_LIBCUDA": fake,
        "CAVS_LIBNVRTC": fake,
        "CAVS_LIBCUBLASLT": fake,
        "XDG_CACHE_HOME": str(folder / "cache"),
        "TF_CPP_MIN_LOG_LEVEL": "0",
    }
    program = [sys.executable, "-m", __name__, str(device.library_of_gpu()), case]
    # With the library in mind that a fork would have loaded already.
    done = subprocess.run(
        program,
        cwd=folder,
        env=processes.environment() | environment | options,
        capture_output=True,
        text=True,
    )
    (folder / "log.txt").write_text(done.stderr)
    assert done.returncode == 0, done.stderr[-4000:]
    return pickle.loads((folder / "results.pickle").read_bytes())


def here(case: str, *arguments, module=cases):
    """The results of a case in this process."""
    keras.utils.set_random_seed(0)
    return getattr(module, case)(*arguments)


def _run(library, case, arguments, options):
    os.environ |= options
    device.load(library)
    _write(here(case, *arguments))


def _write(results):
    pathlib.Path("results.pickle").write_bytes(pickle.dumps(results))


def _main(library, case):
    from tests.accelerator import gpu_cases

    device.load(library)
    # Most cases are compared with the CPU, which knows no TF32.
    tf.config.experimental.enable_tensor_float_32_execution(False)
    _write(here(case, module=gpu_cases))


if __name__ == "__main__":
    _main(*sys.argv[1:])
