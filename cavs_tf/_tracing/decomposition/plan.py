"""Plans of what becomes of an operator."""

import dataclasses
from collections.abc import Callable

from cavs_tf._tracing.decomposition.columns import Columns, Run


@dataclasses.dataclass(frozen=True)
class Plan:
    """The columns that an operator reads, and the computation of its results.

    Attributes:
      reads: The columns.
      compute: A function that takes a [None, columns] tensor per element of `reads`, and returns
        the columns of each output of the operator as pieces.
    """

    reads: list[Run]
    compute: Callable[[list], list]

    def run(self, op, columns: Columns) -> None:
        results = self.compute([columns.read(run) for run in self.reads])
        for tensor, pieces in zip(op.outputs, results, strict=True):
            columns.make(tensor, pieces)


class PlanOfSum(Plan):
    """A plan of an operator whose only result is a sum over rows; `compute` returns it."""

    def run(self, op, columns: Columns) -> None:
        (tensor,) = op.outputs
        columns.replace(tensor, self.compute([columns.read(run) for run in self.reads]))
