"""Choices of how vertex functions run."""

import dataclasses
from collections.abc import Collection, Mapping

from cavs_tf.graphs._schedule import check_micro_batch, check_policy

# Passes over compiled programs, which are attributes of the ops.
PASSES = ("eager", "lazy", "split", "share", "merge", "fuse", "skip_zeros", "specialize", "views")
ATTRIBUTES = (*PASSES, "streams")
# All passes: the first two rewrite the vertex function when it is traced.
ALL_PASSES = ("decompose", "look_up", *PASSES)


@dataclasses.dataclass(frozen=True)
class Options:
    """How a GraphSupport runs. Options change speed, not results (up to the order of sums).

    Attributes:
      policy: How vertices become tasks: "depth"; "ratio", which makes fewer tasks where there
        are several vertex types; or "serial", which batches nothing.
      micro_batch: How many graphs are run before the next ones begin, so that they need fewer
        temporaries; None: all. "auto": all, unless a training step would then take more than
        the memory that was available at the first call; then as many as fit.
      streams: 2: eager operators run ahead of the critical path and lazy ones behind it, on a
        thread of their own (arXiv:1712.04048, section 3.5); inference has one stream. 1: all
        threads share each operator. "auto" is 1 (docs/how/running.md says why).
      disable: The names of passes that are left out, to measure what they gain. docs/how/passes.md
        describes them all. After a change of "decompose" or "look_up" the vertex function is
        traced again:
        - "decompose": operators on rows of rank 2 and more become native operators on vectors.
        - "look_up": rows of tables are looked up for the whole minibatch before it runs.
        - "eager": operators that depend on no gathered state run once, before the first task.
        - "lazy": operators that no scattered state depends on run once, after the last task.
        - "split": products of a concatenation become sums of products of its operands.
        - "share": an operator that is written several times is computed once.
        - "merge": products of one operand with several weights become one product.
        - "fuse": elementwise operators that can run side by side become one kernel.
        - "skip_zeros": tasks in which no vertex has a child do not multiply gathered zeros.
        - "specialize": tasks without children, or without an input, run a shorter program.
        - "views": gathered and pulled rows are read where they are instead of copied.

    Graphs that carry a schedule (the graphs of `data.batch` do) are run by it, whatever `policy`
    and `micro_batch` say here: give them to the function that makes the schedule.

    Raises:
      ValueError: If an argument is not as described.

    >>> Options(micro_batch=16, disable=["lazy"])
    Options(policy='depth', micro_batch=16, streams='auto', disable=('lazy',))
    """

    policy: str = "depth"
    micro_batch: int | str | None = None
    streams: int | str = "auto"
    disable: Collection[str] = ()

    def __post_init__(self):
        check_policy(self.policy)
        if self.micro_batch != "auto":
            check_micro_batch(self.micro_batch)
        if isinstance(self.streams, bool) or self.streams not in (1, 2, "auto"):
            raise ValueError(
                f"streams: got {self.streams!r} but expected 1, 2 or 'auto'. Two streams are the "
                "critical path and everything else."
            )
        _check_names(self.disable)
        names = tuple(name for name in ALL_PASSES if name in self.disable)
        object.__setattr__(self, "disable", names)  # The same names are equal in any order.

    def config(self) -> dict:
        """The arguments that make such options, as a file of a model holds them."""
        return dataclasses.asdict(self) | {"disable": list(self.disable)}

    def does(self, name: str) -> bool:
        """Whether the pass of this name is not left out."""
        return name not in self.disable

    def passes(self) -> dict:
        """Which passes over programs run, as attributes of the ops."""
        return {name: self.does(name) for name in PASSES}

    def attributes(self) -> dict:
        """The attributes that the ops have of these options."""
        return self.passes() | {"streams": 1 if self.streams == "auto" else self.streams}


def _check_names(disable) -> None:
    """Raises ValueError unless this is a collection of names of passes."""
    is_collection = isinstance(disable, Collection) and not isinstance(disable, (str, Mapping))
    for name in disable if is_collection else [disable]:
        if not is_collection or name not in ALL_PASSES:
            raise ValueError(
                f"disable: got {name!r} but expected a list with some of "
                f"{', '.join(map(repr, ALL_PASSES))}. Name the passes to leave out."
            )
