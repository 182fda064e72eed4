"""The paper's results, regenerated on the CPU: one module for each.

A module defines `class Figure(Base)`. `benchmarks.compare` is the program.

Source: Zhang et al. 2017, "Cavs: A Vertex-centric Programming Interface for Dynamic Neural
Networks", arXiv:1712.04048.
"""

import importlib

from benchmarks.figures._base import Figure as Figure

NAMES = ("figure8", "figure9", "figure10", "table1", "table2")


def make(name: str) -> Figure:
    """The figure with that name."""
    return importlib.import_module(f"benchmarks.figures.{name}").Figure(name)
