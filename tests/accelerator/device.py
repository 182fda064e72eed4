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
    return _made("test_device", _SOURCES, *_flags_of_tensorflow())


def library_of_gpu() -> pathlib.Path:
    """The library of a device that is a GPU of the driver that CAVS_LIBCUDA names."""
    return _made("test_gpu", _SOURCES_OF_GPU, *_flags_of_tensorflow())


def fake_cuda() -> pathlib.Path:
    """The library that emulates NVIDIA's driver and compiler."""
    flags = [*_FLAGS_OF_FAKE, f"-I{_ROOT}", f"-Wa,-I{_ROOT}"]
    return _made("fake_cuda", sorted(_FAKE.glob("*.cc")), flags, ["-ldl", "-pthread"])


def _flags_of_tensorflow():
    include = tf.sysconfig.get_include()
    others = [flag for flag in tf.sysconfig.get_compile_flags() if include not in flag]
    flags = ["-isystem", include, f"-I{_ROOT}", *others, *_FLAGS]
    return flags, tf.sysconfig.get_link_flags()


def _made(name, sources, flags, link_flags) -> pathlib.Path:
    """A library of these sources, which is kept for further runs."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    folders = {source.parent for source in sources} | {_FAKE.parent}
    texts = [path.read_bytes() for folder in sorted(folders) for path in _texts(folder)]
    key = [tf.__version__, compiler, flags, link_flags, texts]
    folder = _ROOT / "build" / name / hashlib.sha256(repr(key).encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"{name}.so"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Several processes may run tests.
        if not made.exists():
            _compile(compiler, sources, flags, link_flags, made)
    return made


def _texts(folder):
    return sorted(folder.glob("*.[ch]*"))


def _compile(compiler, sources, flags, link_flags, made):
    def compile_one(source):
        out = made.parent / f"{source.stem}.o"
        subprocess.run([*compiler, *flags, "-c", source, "-o", out], check=True, cwd=_ROOT)
        return out

    with concurrent.futures.ThreadPoolExecutor() as pool:
        objects = list(pool.map(compile_one, sources))
    unfinished = made.parent / "unfinished.so"
    subprocess.run([*compiler, "-shared", *objects, *link_flags, "-o", unfinished], check=True)
    unfinished.rename(made)


def load(path: pathlib.Path) -> None:
    """Adds the device to those of this process, which must not have run any operator yet."""
    load_library.load_pluggable_device_library(str(path))
    if not tf.config.list_physical_devices(TYPE):
        raise RuntimeError(f"TensorFlow loaded {path} but has no device of type {TYPE}.")
