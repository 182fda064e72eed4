"""Includes and imports point one way; only the top of the C++ includes TensorFlow."""

import ast
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FRAMEWORK = ("tensorflow/", "xla/", "tsl/", "absl/", "third_party/", "unsupported/", "pybind11/")
# The other modules that each module may include: these stand above it. A folder in a module is a
# module by itself, so that the executor knows no device by name, and no device another.
ALLOWED = {
    "base": (),
    "engine": (),
    "schedule": ("base",),
    "ir": ("base",),
    "ir/passes": ("base", "ir"),
    "device": ("base", "schedule", "ir"),
    "device/reference": ("base", "ir", "device"),
    "device/cpu": ("base", "schedule", "ir", "device", "engine"),
    "device/cuda/source": ("base", "ir"),
    "device/cuda": ("base", "schedule", "ir", "device", "device/cuda/source"),
    "exec": ("base", "schedule", "ir", "ir/passes", "device"),
    "python": ("engine",),
    "kernels": (
        *("base", "schedule", "ir", "ir/passes", "device", "device/cpu", "device/cuda"),
        *("engine", "exec"),
    ),
    "ops": ("base", "schedule"),
}
# Only devices write to their memory. Ops access memory of the host, except for rows that operators
# of the framework read and write, whose kernels run on the host.
TOUCHES = re.compile(
    r"\b(?:mem(?:set|cpy|move)|(?:copy|fill)(?:_n)?(?=\()|(?:flat|matrix|vec|scalar|tensor)<[^>]*>)"
)
TOUCHED_BY_OPS = {
    "allocate.cc": ["copy", "flat<int32_t>"],  # Lists of a graph or a schedule.
    "backward_op.cc": ["scalar<tensorflow::Variant>"],  # The tape.
    "cross_entropy_op.cc": ["flat<Label>", "vec<T>"],  # Numbers of classes, and factors of rows.
    "cuda_report_op.cc": ["vec<tensorflow::tstring>"],  # Lines of text.
    "describe_op.cc": ["scalar<tensorflow::tstring>"],  # The text.
    "dropout_mask_op.cc": ["vec<int32_t>", "vec<int64_t>"],  # Numbers of rows, and the seed.
    "extend_op.cc": ["flat<int32_t>", "scalar<int32_t>"],  # A graph.
    "foreign_kernel.cc": ["copy", "copy", "flat<int32_t>", "flat<int64_t>", "memcpy", "memcpy"],
    "forward_op.cc": ["flat<int32_t>", "scalar<tensorflow::Variant>"],  # `at`, and the tape.
    # Graphs, which no device holds.
    "graph_ops.cc": [
        "flat<Split>",
        "flat<bool>",
        *["flat<int32_t>"] * 3,
        "scalar<tensorflow::tstring>",  # A message.
        *["vec<int64_t>"] * 2,
    ],
    "instruction_set_op.cc": ["scalar<tensorflow::tstring>"],  # Its name.
    "look_up_op.cc": ["copy", *["flat<Index>"] * 3],  # Row numbers.
    "memory_op.cc": [
        "copy",
        "flat<int32_t>",
        "flat<int64_t>",
        "matrix<int64_t>",
        "scalar<T>",
        *["scalar<int64_t>"] * 2,
    ],
    "partial_pulls.cc": ["flat<int32_t>"],  # Row numbers.
    "present_op.cc": ["vec<Index>", "vec<Index>", "vec<int32_t>"],  # Row numbers.
    "read_schedule.cc": ["flat<int32_t>"],  # Row numbers.
    "row_count_op.cc": ["flat<T>"],  # Numbers of rows.
    "row_ops.cc": ["flat<int32_t>", "flat<int32_t>"],  # Row numbers.
    "schedule_op.cc": ["scalar<int32_t>"],  # The micro-batch.
    # Handles of variables, the scalars, and row numbers.
    "update_ops.cc": [
        "flat<Index>",
        "flat<double>",  # The numbers of a rule, which a GPU reads where they are.
        "flat<int64_t>",
        "scalar<tensorflow::ResourceHandle>",
        "vec<Index>",
    ],
}
ABOVE = {"python": ("pybind11/",), "kernels": FRAMEWORK, "ops": FRAMEWORK}


def includes(text: str) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', text, re.MULTILINE)


def test_includes_are_found_in_both_spellings():
    assert includes('#include <vector>\n # include "cc/base/span.h"\n// #include "x.h"\n') == [
        "vector",
        "cc/base/span.h",
    ]


def is_allowed(module: str, name: str) -> bool:
    if name.startswith(FRAMEWORK):
        return name.startswith(ABOVE.get(module, ()))
    if not name.startswith("cc/"):
        return True
    return name.removeprefix("cc/").rpartition("/")[0] in (module, *ALLOWED[module])


def test_every_module_has_a_layer():
    folders = {path for path in (ROOT / "cc").rglob("*") if path.is_dir()}
    assert {path.relative_to(ROOT / "cc").as_posix() for path in folders} == set(ALLOWED)


def test_modules_include_those_that_stand_above_them_in_the_table():
    order = list(ALLOWED)
    for module, others in ALLOWED.items():
        assert all(order.index(other) < order.index(module) for other in others)


@pytest.mark.parametrize("module", ALLOWED)
def test_module_includes_only_what_lies_below_it(module):
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sorted((ROOT / "cc" / module).glob("*"))
        if path.suffix in (".cc", ".h", ".cu")
        for name in includes(path.read_text())
        if not is_allowed(module, name)
    ]
    assert wrong == []


def test_ops_touch_no_memory_of_the_device():
    assert TOUCHES.findall("std::fill_n(data, 2, 0); t->flat<int>()(0); std::memset(p, 0, 4);") == [
        "fill_n",
        "flat<int>",
        "memset",
    ]
    found = {
        path.name: sorted(TOUCHES.findall(path.read_text()))
        for path in (ROOT / "cc" / "kernels").iterdir()
    }
    assert {name: touched for name, touched in found.items() if touched} == TOUCHED_BY_OPS


# The way from a graph to a result: each folder, or module, imports only from those before it.
STATIONS = (
    "_native",
    "_values",
    "engine",
    "graphs",
    "_inputs",
    "_tracing",
    "_running",
    "ops",
    "graph_support",
    "data",
    "keras",
    "inspect",
    "plot",
    "reference",
)


def imported(text: str) -> set[str]:
    """The stations from which a module imports, also in functions."""
    names = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module == "cavs_tf":
            names |= {f"cavs_tf.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names.add(node.module)
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    parts = [name.split(".") for name in names if name]
    return {own[1] for own in parts if own[0] == "cavs_tf" and len(own) > 1}


def test_imports_are_found_in_functions_too():
    text = "import cavs_tf.keras\ndef f():\n    from cavs_tf import data\n    import keras\n"
    assert imported(text) == {"keras", "data"}


def test_every_module_is_at_a_station():
    package = ROOT / "cavs_tf"
    parts = [path.relative_to(package).parts[0] for path in package.rglob("*.py")]
    found = {part.removesuffix(".py") for part in parts}
    assert found == {*STATIONS, "__init__", "__main__", "version"}


@pytest.mark.parametrize("station", STATIONS)
def test_a_station_imports_only_from_those_before_it(station):
    before = STATIONS[: STATIONS.index(station) + 1]
    paths = [*(ROOT / "cavs_tf" / station).rglob("*.py"), ROOT / "cavs_tf" / f"{station}.py"]
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in paths
        if path.exists()
        for name in sorted(imported(path.read_text()) & {*STATIONS})
        if name not in before
    ]
    assert wrong == []
