"""Our own declarations of NVIDIA's libraries, which nothing includes the headers of."""

import os
import pathlib
import shlex
import subprocess

import pytest
import tensorflow as tf

HERE = pathlib.Path(__file__).parent
CUDA = pathlib.Path(tf.sysconfig.get_include()) / "third_party/gpus/cuda"


@pytest.mark.in_turns
@pytest.mark.skipif(not (CUDA / "include/cublasLt.h").exists(), reason="TensorFlow has no headers")
def test_declarations_are_those_of_the_headers():
    folders = [CUDA / "include", CUDA / "libcudacxx/include"]
    flags = ["-std=c++17", "-fsyntax-only", f"-I{HERE.parents[1]}"]
    flags += [flag for folder in folders for flag in ("-isystem", str(folder))]
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    command = [*compiler, *flags, str(HERE / "declarations.cc")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
