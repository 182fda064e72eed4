"""The C++ rules of this project: its flags, and targets that follow the files."""

_COPTS = [
    "-std=c++17",
    "-Wall",
    "-Wextra",
    "-Wno-psabi",  # Vectors are passed between functions of one file only.
] + select({
    "//tools:opt": ["-O3"],
    "//conditions:default": [],
})

# UBSan's checks that are left out here would take a third of the compile time;
# AddressSanitizer or a crash shows what they find.
_FEWER_CHECKS = select({
    "//tools:opt": [],
    "//conditions:default": ["-fno-sanitize=null,alignment,object-size,vptr"],
})

# What is tested is checked wholly; of the tests' own code, accesses to the heap
# are. The rest would take a third of the time to compile them.
_TEST_COPTS = _COPTS + ["-O1"] + select({
    "//tools:opt": [],
    "//conditions:default": [
        "-fno-sanitize=undefined",
        "--param=asan-globals=0",
        "--param=asan-stack=0",
    ],
})

# Of tests that take longer to compile than to run, under sanitizers.
_LIGHT_COPTS = select({
    "//tools:opt": [],
    "//conditions:default": ["-O0", "--param=asan-instrumentation-with-call-threshold=0"],
})

# A program that can be taken to another machine; under sanitizers, where it
# would be 70 MB, tests share libraries, which takes a tenth of the time to link.
_ONE_FILE = select({
    "//tools:opt": True,
    "//conditions:default": False,
})

def _in_library(extension):
    exclude = ["**/*_test" + extension, "**/*_bench" + extension]
    return native.glob(["**/*" + extension], exclude = exclude)

def cavs_library(**kwargs):
    """Every .h and .cc of this folder and those below it; with --config=shipped their objects."""
    folder = native.package_name().split("/")[-1]
    native.cc_library(
        srcs = select({
            "//tools:shipped": ["@shipped//:" + folder],
            "//conditions:default": _in_library(".cc"),
        }),
        hdrs = _in_library(".h"),
        copts = _COPTS,
        **kwargs
    )

def cavs_op_library(name, deps):
    """What `tf.load_op_library` loads."""
    native.cc_binary(
        name = name,
        copts = _COPTS,
        linkopts = ["-Wl,-z,defs"],
        linkshared = True,
        deps = deps,
    )

def cavs_fake_library(name, **kwargs):
    """A library of this folder's files that stands in for one of the system's; its headers are part of it."""
    native.cc_binary(
        name = name,
        srcs = native.glob(["*.cc", "*.h"]),
        # Programs are fast, also with what a sanitizer adds to all else.
        copts = _COPTS + ["-O2", "-fvisibility=hidden"] + _FEWER_CHECKS,
        linkopts = ["-ldl", "-pthread"],
        linkshared = True,
        **kwargs
    )

# `make test` runs one in so many of the C++ tests, those with its tag.
_TURNS = 4

# The emulated CUDA device, for tests that say so.
_FAKE_CUDA = "//tests/cc/cuda/fake:libfake_cuda.so"

def _tags(source, way, sources):
    """That a test runs in some way, if it does, and its turn."""
    if source not in sources:
        return []
    return [way, "%s_%d" % (way, sources.index(source) % _TURNS)]

def cavs_tests(deps, as_shipped = [], heavy = [], shards = {}, on_fake_cuda = []):
    """One test for each *_test.cc, here and below; other files are for all of them.

    Text files are for the tests of their folder. The tags of a test say how it
    runs: `sanitized` or `on_fake_cuda`, and `as_shipped`. With the number of its
    turn behind them, `sanitized_0`, they choose a part of these tests.

    Args:
      deps: Of all of them.
      as_shipped: Files of those that `--config=shipped` runs.
      heavy: Files of those that compute much themselves; all others are
        compiled without optimisation under sanitizers.
      shards: Those that take long, by name: in how many parts they run, side by side.
      on_fake_cuda: Files of those that use the emulated CUDA device, which
        `make cuda-check` runs in other ways than this one.
    """
    shipped = native.glob(as_shipped)
    fake_cuda = native.glob(on_fake_cuda)
    heavy = native.glob(heavy)
    native.cc_library(
        name = "helpers",
        testonly = True,
        srcs = native.glob(["**/*.cc"], exclude = ["**/*_test.cc"]),
        hdrs = native.glob(["**/*.h"]),
        copts = _TEST_COPTS,
        deps = deps + ["@googletest//:gtest_main"],
    )
    tests = native.glob(["**/*_test.cc"])
    sanitized = [source for source in tests if source not in fake_cuda]
    for source in tests:
        native.cc_test(
            name = source[:-len(".cc")],
            srcs = [source],
            copts = _TEST_COPTS + ([] if source in heavy else _LIGHT_COPTS),
            linkstatic = _ONE_FILE,
            timeout = "long",
            shard_count = shards.get(source[:-len("_test.cc")]),
            data = native.glob([source[:source.rfind("/") + 1] + "*.txt"]) +
                   ([_FAKE_CUDA] if source in fake_cuda else []),
            env = {
                "CAVS_LIBCUDA": "$(rootpath %s)" % _FAKE_CUDA,
                "CAVS_LIBNVRTC": "$(rootpath %s)" % _FAKE_CUDA,
                "CAVS_LIBCUBLASLT": "$(rootpath %s)" % _FAKE_CUDA,
            } if source in fake_cuda else {},
            tags = _tags(source, "as_shipped", shipped) +
                   _tags(source, "on_fake_cuda", fake_cuda) +
                   _tags(source, "sanitized", sanitized),
            deps = [":helpers"],
        )

def cavs_benchmarks(deps):
    """One program for each *_bench.cc, here and below; headers are for all of them."""
    for source in native.glob(["**/*_bench.cc"]):
        native.cc_binary(
            name = source[:-len(".cc")],
            srcs = [source] + native.glob(["**/*.h"]),
            copts = _COPTS,
            deps = deps + ["@benchmark//:benchmark_main"],
        )
