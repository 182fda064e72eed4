"""The base class of figures and tables of the paper."""

import abc
import dataclasses
from typing import ClassVar

from benchmarks.cells import Cell, Effort
from benchmarks.figures._findings import Finding
from benchmarks.tables import Table
from benchmarks.workloads import Settings


@dataclasses.dataclass(frozen=True)
class Grid:
    """The sizes that are measured, and for how long.

    Attributes:
      batches, units, leaves: The sizes on each axis.
      ablated: Values of h for which optimisations are switched.
      at_batch, at_units: The sizes on the other axes.
      minibatches: The number of different minibatches; None: enough for their mean.
      effort: The effort for every cell.
    """

    batches: tuple[int, ...]
    units: tuple[int, ...]
    leaves: tuple[int, ...]
    ablated: tuple[int, ...]
    at_batch: int
    at_units: int
    minibatches: int | None
    effort: Effort


# Takes less than half an hour on two idle cores; every axis has several points.
REDUCED = Grid(
    batches=(1, 16, 64),
    units=(64, 256, 512),
    leaves=(32, 256, 512),
    ablated=(256,),
    at_batch=64,
    at_units=256,
    minibatches=2,
    effort=Effort(repeats=3, seconds=0.3),
)
# The sizes of the paper.
FULL = Grid(
    batches=(1, 16, 32, 64, 128, 256),
    units=(64, 128, 256, 512, 1024),
    leaves=(32, 64, 128, 256, 512, 1024),
    ablated=(512, 1024),
    at_batch=64,
    at_units=512,
    minibatches=None,
    effort=Effort(),
)


@dataclasses.dataclass(frozen=True)
class Request:
    """What the user has asked for.

    Attributes:
      grid: The sizes.
      systems: The systems compared where the paper compares all; ours comes first.
      threads: The number of threads of every system.
      data: Further fields of `workloads.Settings`.
      workloads: Workloads in place of those of the figure; None for the latter.
    """

    grid: Grid
    systems: list[str]
    threads: int
    data: dict
    workloads: list[str] | None = None

    def cell(self, workload: str, mode="training", profiled=False, **sizes) -> Cell:
        """One cell of a plan, with the usual sizes except for those given."""
        sizes = {"units": self.grid.at_units, "batch": self.grid.at_batch} | sizes
        settings = Settings(**self.data, **sizes)
        return Cell(workload, settings, self.threads, mode, profiled)

    def over_sizes(self, workload: str) -> list[Cell]:
        """Cells of growing minibatches, then of growing hidden states."""
        cells = [self.cell(workload, batch=batch) for batch in self.grid.batches]
        cells += [self.cell(workload, units=units) for units in self.grid.units]
        return list(dict.fromkeys(cells))

    def over_leaves(self) -> list[Cell]:
        """Cells of growing complete trees."""
        return [self.cell("tree_fc", leaves=leaves) for leaves in self.grid.leaves]


class Figure(abc.ABC):
    """A result of the paper: what has to be measured, and how it is shown.

    What is shown follows from the records alone, so that a report can be written later. They are
    the `rows` that methods take.

    Attributes:
      name: The name of its file.
      title: A title for what it shows.
    """

    title: ClassVar[str]

    def __init__(self, name: str):
        self.name = name

    def plan(self, request: Request) -> list:
        """(cell, contenders) of everything that has to be measured."""
        return []

    @abc.abstractmethod
    def tables(self, rows: list) -> list[Table]:
        """The tables for the terminal and the report."""

    @abc.abstractmethod
    def draw(self, rows: list, path) -> None:
        """Writes a picture, if matplotlib is installed."""

    def findings(self, rows: list) -> list[Finding]:
        """The paper's claims, and whether they hold here."""
        return []
