"""The workloads that systems train: one module for each, found by its file's name.

A module defines `class Workload(Base)`. Nothing here imports a framework.
"""

import importlib
import pathlib

from benchmarks.workloads._base import Minibatch as Minibatch
from benchmarks.workloads._base import Settings as Settings
from benchmarks.workloads._base import Workload as Workload


def names() -> list[str]:
    """The names of all workloads."""
    return sorted(p.stem for p in pathlib.Path(__file__).parent.glob("[a-z]*.py"))


def make(name: str, settings: Settings) -> Workload:
    """The workload of that name, with its data and weights."""
    module = importlib.import_module(f"benchmarks.workloads.{name}")
    return module.Workload(name, settings)
