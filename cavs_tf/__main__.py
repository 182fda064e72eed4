"""`python -m cavs_tf`: versions, devices and threads, and whether results are right.

What it prints belongs into a report of a fault. The status is 0 if the self-check passes.
"""

import json
import os
import pathlib
import platform
import sys
import time

import keras
import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import devices_of_operators
from cavs_tf._native.library import ops as _cavs_ops


def main() -> int:
    """Prints the environment and the outcome of a self-check; returns the exit status."""
    try:
        environment = _environment()
    except tf.errors.InvalidArgumentError as error:  # Of a variable of the environment.
        print(error.message, file=sys.stderr)
        return 1
    for name, value in environment.items():
        print(f"{name + ':':17} {value}")
    start = time.perf_counter()
    try:
        report = _self_check()
    except tf.errors.OpError as error:  # Of a GPU that cannot be used.
        print(f"{'self-check:':17} FAILED\n{error.message}")
        return 1
    seconds = time.perf_counter() - start
    print(f"{'self-check:':17} {'passed' if report.ok else 'FAILED'} in {seconds:.1f} s")
    if not report.ok:
        print(report)
    return 0 if report.ok else 1


def _environment() -> dict[str, str]:
    path = pathlib.Path(__file__).with_name("_build_info.json")
    build = json.loads(path.read_text())
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    return {
        "cavs_tf": f"{cavs.__version__}, {build['build']} build by {build['compiler']}",
        "TensorFlow": tf.__version__,
        "Keras": keras.__version__,
        "NumPy": np.__version__,
        "Python": platform.python_version(),
        "system": platform.platform(),
        "instruction set": _instruction_set(),
        "processors": str(os.cpu_count()),
        "threads": str(threads or "one for each processor"),
        **_devices(),
        **_gpus(),
    }


def _instruction_set() -> str:
    """The one that the CPU's kernels use, and what limits it."""
    limit = os.environ.get("CAVS_MAX_CPU_ISA")
    used = _cavs_ops.cavs_instruction_set().numpy().decode()
    return used if limit is None else f"{used} (CAVS_MAX_CPU_ISA={limit})"


def _devices() -> dict[str, str]:
    """The devices that TensorFlow found, and which of them run our kernels."""
    found = tf.config.list_physical_devices()
    names = [tf.config.experimental.get_device_details(d).get("device_name") for d in found]
    texts = [
        device.device_type + (f" ({name})" if name else "")
        for device, name in zip(found, names, strict=True)
    ]
    others = dict.fromkeys(device.device_type for device in found if device.device_type != "CPU")
    ours = [other for other in others if other in devices_of_operators()]
    parts = ["CPU"]
    if ours:
        parts.append(f"all but those of schedules on {' and '.join(ours)} (experimental)")
    if others and not ours:
        parts.append(f"what is on {' or '.join(others)} is copied there and back")
    return {"devices": ", ".join(texts), "kernels run on": "; ".join(parts)}


def _gpus() -> dict[str, str]:
    """What NVIDIA's GPUs need to run our kernels, and what of it is missing, if asked for."""
    kinds = devices_of_operators() - {"CPU"}
    if not kinds:
        return {}
    found = dict(line.decode().split(": ", 1) for line in _cavs_ops.cavs_cuda_report().numpy())
    for kind in kinds:
        if not tf.config.list_physical_devices(kind):
            found["TensorFlow GPUs"] = (
                f"got no device of type {kind} but expected one, as our kernels run where "
                "TensorFlow does. Run `pip install 'tensorflow[and-cuda]'`, and see what "
                "TensorFlow logs."
            )
    return found


def _self_check():
    """Compares a Tree-LSTM on a few trees with the reference executor, gradients too."""
    cell = cavs.keras.TreeLSTMCell(units=8, arity=2)
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1], [2]], [[]], [[], [0, 0]]])
    rows = np.random.default_rng(0).standard_normal((graphs.num_vertices, 5))
    return cavs.check_equivalence(cell, graphs, tf.constant(rows, tf.float32))


if __name__ == "__main__":
    sys.exit(main())
