"""Makes the test devices, and lets TensorFlow load one of them."""

import concurrent.futures
import fcntl
import hashlib
import os
import pathlib
import shlex
import subprocess

import tensorflow as tf
from tensorflow.python.framework import load_library

TYPE = "CAVS_TEST"
_HERE = pathlib.Path(__file__).parent
_ROOT = _HERE.parents[1]
_SOURCES = [_HERE / name for name in ("kernels.cc", "memory.cc", "plugin.cc")]
_SOURCES_OF_GPU = [_HERE / name for name in ("kernels.cc", "gpu.cc")]
_FAKE = _ROOT / "tests/cc/cuda/fake"
# Of the layout of TensorFlow's and Abseil's tables, as setup.py has it.
_FLAGS = ("-O1", "-fPIC", "-pthread", "-DNDEBUG", "-DNDEBUG_SANITIZER")
_FLAGS_OF_FAKE = ("-std=c++17", "-O2", "-fPIC", "-fvisibility=hidden", "-pthread")


def library() -> pathlib.Path:
    """The device's library, which is compiled unless it was before, in half a minute."""
    return _linked("test_device", _SOURCES, *_flags_of_tensorflow())


def library_of_gpu() -> pathlib.Path:
    """The library of a device that is a GPU of the driver that CAVS_LIBCUDA names."""
    return _linked("test_gpu", _SOURCES_OF_GPU, *_flags_of_tensorflow())


def fake_cuda() -> pathlib.Path:
    """The library that emulates NVIDIA's driver and compiler."""
    flags = [*_FLAGS_OF_FAKE, f"-I{_ROOT}", f"-Wa,-I{_ROOT}"]
    return _linked("fake_cuda", sorted(_FAKE.glob("*.cc")), flags, ["-ldl", "-pthread"])


def _flags_of_tensorflow():
    include = tf.sysconfig.get_include()
    others = [flag for flag in tf.sysconfig.get_compile_flags() if include not in flag]
    flags = ["-isystem", include, f"-I{_ROOT}", *others, *_FLAGS]
    return flags, tf.sysconfig.get_link_flags()


def _linked(name, sources, flags, link_flags) -> pathlib.Path:
    """A library of these sources. Libraries share the objects of sources that they have both."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        objects = list(pool.map(lambda source: _compiled(source, flags), sources))
    return _made(name, f"{name}.so", ["-shared", *objects, *link_flags])


def _compiled(source, flags) -> pathlib.Path:
    folders = sorted({source.parent, _FAKE.parent})
    texts = [path.read_bytes() for folder in folders for path in sorted(folder.glob("*.[ch]*"))]
    return _made("objects", f"{source.stem}.o", [*flags, "-c", source], texts)


def _made(kind, name, arguments, texts=()) -> pathlib.Path:
    """A file that the compiler makes of these texts, which is kept for further runs."""
    command = [*shlex.split(os.environ.get("CXX", "c++")), *map(str, arguments)]
    key = repr([tf.__version__, command, texts]).encode()
    folder = _ROOT / "build" / kind / hashlib.sha256(key).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    made, unfinished = folder / name, folder / "unfinished"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Several processes may run tests.
        if not made.exists():
            subprocess.run([*command, "-o", unfinished], check=True, cwd=_ROOT)
            unfinished.rename(made)
    return made


def load(path: pathlib.Path) -> None:
    """Adds the device to those of this process, which must not have run any operator yet."""
    load_library.load_pluggable_device_library(str(path))
    if not tf.config.list_physical_devices(TYPE):
        raise RuntimeError(f"TensorFlow loaded {path} but has no device of type {TYPE}.")
