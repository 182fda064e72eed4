"""Figures that show quantities over the sizes of minibatches, graphs or hidden states."""

import abc
import dataclasses
from collections.abc import Callable
from typing import ClassVar

from benchmarks import plots
from benchmarks.figures import _base
from benchmarks.figures._axes import Axis, seconds
from benchmarks.tables import Table


@dataclasses.dataclass(frozen=True)
class Quantity:
    """A quantity that is read from a record.

    Attributes:
      name: The name of the quantity.
      value: Takes a record without an error; returns None if the value is not known.
      text: Takes a record and returns text; None if values are seconds.
    """

    name: str
    value: Callable
    text: Callable | None = None

    def written(self, record) -> str:
        """The text for a table."""
        return self.text(record) if self.text else seconds(self.value(record))


class Curves(_base.Figure):
    """A table and a panel for every quantity along every axis.

    Attributes:
      quantities: What is shown.
      unit: Of the panels.
      columns: Of panels.
      log_y: Whether the unit's axis is logarithmic.
    """

    quantities: ClassVar[tuple[Quantity, ...]]
    unit: ClassVar[str] = "s per epoch"
    columns: ClassVar[int] = 2
    log_y: ClassVar[bool] = True

    @abc.abstractmethod
    def axes(self, rows: list) -> list[Axis]:
        """The axes to show rows along, without axes that have no records."""

    def tables(self, rows):
        return [
            Table(title, axis.systems, axis.rows(quantity.written))
            for title, axis, quantity in self._panels(rows)
        ]

    def draw(self, rows, path):
        panels = [(title, axis.name, axis.lines(q.value)) for title, axis, q in self._panels(rows)]
        plots.curves(panels, path, self.unit, self.columns, self.log_y)

    def _panels(self, rows):
        return [
            (f"{quantity.name}: {axis.title}", axis, quantity)
            for axis in self.axes(rows)
            if axis.records
            for quantity in self.quantities
        ]
