"""Libraries that are already on the machine: nothing here downloads anything."""

_ASK_TENSORFLOW = """
import json, tensorflow as tf
print(json.dumps([tf.sysconfig.get_include(), tf.sysconfig.get_lib(), tf.sysconfig.get_compile_flags()]))
"""

# NDEBUG and NDEBUG_SANITIZER are defined in every build, as in that of the
# wheel: the layouts of TensorFlow's EdgeSet and of Abseil's hash tables depend
# on them.
_TENSORFLOW_BUILD = """
cc_import(name = "framework", shared_library = "libtensorflow_framework.so.2")

cc_library(
    name = "tensorflow",
    # Each header is linked into each sandbox, so two thirds of them are left
    # out: GPUs, sources of other libraries, a second copy of XLA.
    hdrs = glob(
        ["include/**"],
        exclude = [
            "include/external/**",
            "include/tensorflow/compiler/xla/**",
            "include/third_party/gpus/**",
        ],
    ),
    defines = {defines} + ["NDEBUG", "NDEBUG_SANITIZER"],
    includes = ["include"],
    visibility = ["//visibility:public"],
    deps = [":framework"],
)
"""

def _tensorflow_impl(repository):
    python = repository.os.environ.get("PYTHON_BIN_PATH")
    if not python:
        root = repository.path(Label("//:WORKSPACE")).dirname
        in_checkout = root.get_child(".venv").get_child("bin").get_child("python")
        python = in_checkout if in_checkout.exists else repository.which("python3")
    answer = repository.execute([python, "-c", _ASK_TENSORFLOW])
    if answer.return_code:
        fail("TensorFlow: %s cannot import it. Run `make build`, or set PYTHON_BIN_PATH." % python)
    include, lib, flags = json.decode(answer.stdout.strip().split("\n")[-1])
    repository.symlink(include, "include")
    repository.symlink(lib + "/libtensorflow_framework.so.2", "libtensorflow_framework.so.2")
    defines = [flag[len("-D"):] for flag in flags if flag.startswith("-D")]
    repository.file("BUILD", _TENSORFLOW_BUILD.format(defines = defines))

# The TensorFlow that PYTHON_BIN_PATH, .venv or python3 would import.
tensorflow = repository_rule(
    implementation = _tensorflow_impl,
    environ = ["PYTHON_BIN_PATH"],
    local = True,
)

_GOOGLETEST_BUILD = """
cc_library(
    name = "gtest_main",
    testonly = True,
    srcs = [
        "googlemock/src/gmock-all.cc",
        "googlemock/src/gmock_main.cc",
        "googletest/src/gtest-all.cc",
    ],
    hdrs = glob(["*/include/**/*.h"]),
    includes = ["googlemock", "googlemock/include", "googletest", "googletest/include"],
    linkopts = ["-pthread"],
    textual_hdrs = glob(
        ["*/src/*.cc", "*/src/*.h"],
        exclude = ["*/src/*-all.cc", "*/src/*_main.cc"],
    ),
    visibility = ["//visibility:public"],
)
"""

def _googletest_impl(repository):
    home = repository.os.environ.get("GOOGLETEST_DIR", "/usr/src/googletest")
    if not repository.path(home + "/googletest").exists:
        fail("GoogleTest: %s is missing. Run `apt-get install googletest`, or set GOOGLETEST_DIR." % home)
    for part in ("googletest", "googlemock"):
        repository.symlink(home + "/" + part, part)
    repository.file("BUILD", _GOOGLETEST_BUILD)

# GoogleTest's sources, where Debian's package `googletest` puts them.
googletest = repository_rule(
    implementation = _googletest_impl,
    environ = ["GOOGLETEST_DIR"],
    local = True,
)

_BENCHMARK_BUILD = """
cc_library(
    name = "benchmark_main",
    linkopts = ["-lbenchmark_main", "-lbenchmark", "-pthread"],
    visibility = ["//visibility:public"],
)
"""

def _benchmark_impl(repository):
    if not repository.path("/usr/include/benchmark/benchmark.h").exists:
        fail("Google Benchmark: it is missing. Run `apt-get install libbenchmark-dev`.")
    repository.file("BUILD", _BENCHMARK_BUILD)

# Google Benchmark, where Debian's package `libbenchmark-dev` puts it.
benchmark = repository_rule(implementation = _benchmark_impl, local = True)

_TBB_BUILD = """
cc_library(
    name = "tbb",
    linkopts = {linkopts},
    visibility = ["//visibility:public"],
)
"""

def _tbb_impl(repository):
    there = repository.path("/usr/include/tbb/flow_graph.h").exists
    repository.file("BUILD", _TBB_BUILD.format(linkopts = ["-ltbb"] if there else []))

# oneTBB, where Debian's package `libtbb-dev` puts it. Only a benchmark uses it,
# to compare with, and also runs without it.
tbb = repository_rule(implementation = _tbb_impl, local = True)
