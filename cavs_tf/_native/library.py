"""The op library: `ops.cavs_gather(...)` and all the other C++ ops.

A library built for another TensorFlow crashes without a useful message, so the version
that it was built for is compared with the installed one before it is loaded: also before private
parts of TensorFlow are imported, which another version may not have.
"""

import json
import pathlib

import tensorflow as tf

_HOME = pathlib.Path(__file__).parents[1]
_VARIABLES = (tf.float32, tf.float64, tf.bfloat16, tf.float16)
_FIX = "`make build` in a checkout, or else `pip install --no-build-isolation .`"


def check_build(library: pathlib.Path, build_info: pathlib.Path, tensorflow_version: str) -> None:
    """Raises unless `library` exists and was built for this TensorFlow, or another patch of it.

    Args:
      library: The op library.
      build_info: The JSON file that the build writes beside it.
      tensorflow_version: The installed version, "2.21.0" for example.

    Raises:
      ImportError: If it is missing or was built for another version. The message is one line that
        names the command to run.
    """
    for path in (library, build_info):
        if not path.exists():
            raise ImportError(f"cavs_tf is not built: {path} is missing. Run {_FIX}.")
    built_for = json.loads(build_info.read_text())["tensorflow_version"]
    minor = _minor(built_for)
    if _minor(tensorflow_version) != minor:
        raise ImportError(
            f"cavs_tf: found TensorFlow {tensorflow_version} but {library} was built for "
            f"TensorFlow {built_for}, and works with any {minor}. Run `pip install "
            f"'tensorflow~={minor}.0'`; where cavs_tf supports the other one, build it again: "
            f"{_FIX}."
        )


def _minor(version: str) -> str:
    """ "2.21" of "2.21.3" and "2.21.0-rc1": what the interface of TensorFlow depends on."""
    return ".".join(version.split(".")[:2])


def _load():
    library = _HOME / "_cavs_ops.so"
    check_build(library, _HOME / "_build_info.json", tf.__version__)
    return tf.load_op_library(str(library))


def allowed_values(op: str, attribute: str) -> tuple[str, ...]:
    """The strings that an attribute of an op may be, as the library registers them."""
    from tensorflow.python.framework import op_def_registry

    (found,) = (a for a in op_def_registry.get(op).attr if a.name == attribute)
    return tuple(value.decode() for value in found.allowed_values.list.s)


def devices_of_operators() -> frozenset[str]:
    """The types of devices that our operators run on: "CPU", and "GPU" if it was asked for.

    CAVS_CUDA=1 in the environment of the process asks for it: docs/guides/gpus.md. Those that make
    minibatches and schedules run on the CPU alone.
    """
    return _DEVICES


def _registered_devices() -> frozenset[str]:
    from tensorflow.python.framework import kernels

    registered = kernels.get_registered_kernels_for_op("CavsForward").kernel
    return frozenset(kernel.device_type for kernel in registered)


def may_run_on_gpus() -> bool:
    """Whether there is a device other than the CPU that our operators run on."""
    others = {device.device_type for device in tf.config.list_logical_devices()} - {"CPU"}
    return bool(others) and not others.isdisjoint(devices_of_operators())


def in_xla() -> bool:
    """Whether what is called now will be compiled by XLA, which cannot compile custom ops."""
    from tensorflow.python.ops import control_flow_util

    return control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())


def has_operators(*variables) -> bool:
    """Whether our operators can read and update variables where they are, and here.

    They know nothing of what a strategy mirrors.
    """
    return not tf.distribute.has_strategy() and are_in_reach(*variables)


def are_in_reach(*variables) -> bool:
    """Whether our operators can take these variables together; each may be what a strategy has on
    one device.

    An operator that takes variables runs where they are, on one device. Ours run outside of XLA,
    and know floating-point numbers.
    """
    return (
        not in_xla()
        and all(isinstance(v, tf.Variable) and v.dtype in _VARIABLES for v in variables)
        and len({v.device for v in variables}) == 1
        and _has_kernels(variables[0].device)
    )


def _has_kernels(device: str) -> bool:
    """Whether a device runs our operators, or TensorFlow has not decided yet which it is."""
    return tf.DeviceSpec.from_string(device).device_type in {None, *devices_of_operators()}


def is_on_cpu(variable: tf.Variable) -> bool:
    """Whether a variable is on the CPU, or TensorFlow has not decided yet."""
    return tf.DeviceSpec.from_string(variable.device).device_type in (None, "CPU")


def may_be_out_of_reach(x: tf.Tensor) -> bool:
    """Whether a tensor is on an accelerator without our kernels, or TensorFlow may yet decide so.

    From there, an operator that has a kernel for the CPU only gets it late: the host has to wait.
    """
    kind = tf.DeviceSpec.from_string(x.device).device_type
    kinds = {kind} if kind else {device.device_type for device in tf.config.list_logical_devices()}
    return not kinds <= devices_of_operators()


ops = _load()
_DEVICES = _registered_devices()  # Kernels are registered when the library is loaded.
