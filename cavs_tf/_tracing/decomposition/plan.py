"""What an operator is rewritten as."""

import dataclasses
from collections.abc import Callable

from cavs_tf._tracing.decomposition.columns import Columns, Run


@dataclasses.dataclass(frozen=True)
class Plan:
    """The columns that an operator reads, and what it computes from them.

    Attributes:
      reads: The columns.
      compute: Takes a [None, columns] tensor per element of `reads`; returns, for each output of
        the operator, the pieces that its columns are.
    """

    reads: list[Run]
    compute: Callable[[list], list]

    def run(self, op, columns: Columns) -> None:
        results = self.compute([columns.read(run) for run in self.reads])
        for tensor, pieces in zip(op.outputs, results, strict=True):
            columns.make(tensor, pieces)


class PlanOfSum(Plan):
    """The same for an operator whose only result is a sum over rows; `compute` returns it."""

    def run(self, op, columns: Columns) -> None:
        (tensor,) = op.outputs
        columns.replace(tensor, self.compute([columns.read(run) for run in self.reads]))
