"""The paper's results, regenerated on the CPU: one module for each, found by its file's name.

A module defines `class Figure(Base)`, and is a program: `python -m benchmarks.figures.figure8`.

Source: Zhang et al. 2017, "Cavs: A Vertex-centric Programming Interface for Dynamic Neural
Networks", arXiv:1712.04048.
"""

import importlib
import pathlib

from benchmarks.figures._base import Figure as Figure


def names() -> list[str]:
    """The names of all, in the order of the paper."""
    found = (path.stem for path in pathlib.Path(__file__).parent.glob("[a-z]*.py"))
    order = {"figure": 0, "table": 1}
    return sorted(found, key=lambda name: (order.get(name.rstrip("0123456789"), 2), _number(name)))


def make(name: str) -> Figure:
    """The figure of that name."""
    return importlib.import_module(f"benchmarks.figures.{name}").Figure(name)


def _number(name: str) -> int:
    digits = name.lstrip("abcdefghijklmnopqrstuvwxyz_")
    return int(digits) if digits else 0
