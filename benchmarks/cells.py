"""The cells of tables: what is compared, with which systems, and for how long."""

import dataclasses

from benchmarks import workloads

MODES = ("training", "inference")


@dataclasses.dataclass(frozen=True)
class Contender:
    """A system, perhaps with options, and the name that its record gets."""

    system: str
    peer: str
    options: dict = dataclasses.field(default_factory=dict)


def contenders(systems: list[str]) -> list[Contender]:
    """Contenders for systems without options."""
    return [Contender(name, name) for name in systems]


@dataclasses.dataclass(frozen=True)
class Cell:
    """One comparison: a workload, its sizes, and how it is run.

    `profiled`: operators are timed too, after the turns.
    """

    workload: str
    settings: workloads.Settings
    threads: int
    mode: str = "training"
    profiled: bool = False

    @property
    def label(self) -> str:
        """The workload's name, with the number of leaves if it is not the usual 256."""
        if self.workload == "tree_fc" and self.settings.leaves != 256:
            return f"tree_fc_{self.settings.leaves}"
        return self.workload

    def key(self) -> tuple:
        """The same as `Record.cell`."""
        return self.label, self.settings.units, self.settings.batch, self.threads, self.mode

    def __str__(self):
        sizes = f"units {self.settings.units}, batch {self.settings.batch}"
        return f"{self.label}, {sizes}, {self.threads} threads, {self.mode}"


@dataclasses.dataclass(frozen=True)
class Effort:
    """How long to measure: each system has `repeats` turns of `seconds`."""

    repeats: int = 5
    seconds: float = 1.0
