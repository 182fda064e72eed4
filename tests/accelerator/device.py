"""Makes the test device, and lets TensorFlow load it."""

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
# Of the layout of TensorFlow's and Abseil's tables, as setup.py has it.
_FLAGS = ("-O1", "-fPIC", "-pthread", "-DNDEBUG", "-DNDEBUG_SANITIZER")


def library() -> pathlib.Path:
    """The device's library, which is compiled unless it was before, in half a minute."""
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    include = tf.sysconfig.get_include()
    others = [flag for flag in tf.sysconfig.get_compile_flags() if include not in flag]
    flags = ["-isystem", include, f"-I{_ROOT}", *others, *_FLAGS]
    texts = [path.read_bytes() for path in sorted(_HERE.glob("*.[ch]*"))]
    key = hashlib.sha256(repr([tf.__version__, compiler, flags, texts]).encode()).hexdigest()[:16]
    folder = _ROOT / "build/test_device" / key
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / "device.so"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Several processes may run tests.
        if not made.exists():
            _compile(compiler, flags, folder, made)
    return made


def _compile(compiler, flags, folder, made):
    def compile_one(source):
        out = folder / f"{source.stem}.o"
        subprocess.run([*compiler, *flags, "-c", source, "-o", out], check=True)
        return out

    with concurrent.futures.ThreadPoolExecutor() as pool:
        objects = list(pool.map(compile_one, _SOURCES))
    unfinished = folder / "unfinished.so"
    link = [*compiler, "-shared", *objects, *tf.sysconfig.get_link_flags()]
    subprocess.run([*link, "-o", unfinished], check=True)
    unfinished.rename(made)


def load(path: pathlib.Path) -> None:
    """Adds the device to those of this process, which must not have run any operator yet."""
    load_library.load_pluggable_device_library(str(path))
    if not tf.config.list_physical_devices(TYPE):
        raise RuntimeError(f"TensorFlow loaded {path} but has no device of type {TYPE}.")
