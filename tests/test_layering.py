"""Includes point one way: kernels to core, core to backend and engine; TensorFlow stays above."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[1]
FRAMEWORK = ("tensorflow/", "xla/", "tsl/", "absl/", "third_party/", "unsupported/")
FORBIDDEN = {
    "cc/backend": (*FRAMEWORK, "cc/core/", "cc/engine/", "cc/kernels/", "cc/ops/"),
    "cc/engine": (
        *FRAMEWORK,
        "cc/core/",
        "cc/backend/",
        "cc/kernels/",
        "cc/ops/",
        "cc/python/",
        "pybind11/",
    ),
    "cc/python": (*FRAMEWORK, "cc/core/", "cc/backend/", "cc/kernels/", "cc/ops/"),
    "cc/core": (*FRAMEWORK, "cc/kernels/", "cc/ops/"),
    "cc/ops": ("cc/backend/", "cc/core/", "cc/engine/", "cc/kernels/", "cc/python/"),
}


def includes(text: str) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)', text, re.MULTILINE)


def test_includes_are_found_in_both_spellings():
    assert includes('#include <vector>\n # include "cc/core/span.h"\n// #include "x.h"\n') == [
        "vector",
        "cc/core/span.h",
    ]


@pytest.mark.parametrize("layer", FORBIDDEN)
def test_layer_includes_only_what_lies_below_it(layer):
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in sorted((ROOT / layer).rglob("*"))
        if path.suffix in (".cc", ".h", ".cu")
        for name in includes(path.read_text())
        if name.startswith(FORBIDDEN[layer])
    ]
    assert wrong == []
