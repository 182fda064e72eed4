"""Switches of the execution engine."""

import dataclasses

from cavs_tf._values.arguments import check_bools
from cavs_tf.graphs._schedule import check_micro_batch, check_policy

# Switches that decide how programs are compiled.
PASSES = ("eager", "lazy", "split", "share", "merge", "fuse", "skip_zeros", "specialize", "views")
ATTRIBUTES = (*PASSES, "streams")
_SWITCHES = ("decompose", "look_up", *PASSES)


@dataclasses.dataclass(frozen=True)
class Options:
    """Switches for optimisations. They change speed, not results (up to summation order).

    Attributes:
      decompose: Operators on rows of rank 2 and more, and products of rows with rows, become
        operators on vectors, which have native kernels. Off: they run by TensorFlow's. A change
        traces the vertex function again.
      look_up: Rows of variables that are looked up by pulled ids are looked up for the whole
        minibatch before, and the gradient of the variable is a `tf.IndexedSlices`. Off: the
        variable is an operand, and its gradient dense. A change traces the function again.
      eager: Operators that depend on no gathered state run once over all vertices, before
        the first task. Off: task by task.
      lazy: Operators that no scattered state depends on, weight gradients above all, run
        once over all vertices, after the last task (arXiv:1712.04048, section 3.5). Off:
        task by task.
      split: Products of a concatenation, `concat([x, h]) @ w`, become sums of products of its
        operands where these are known, or their gradients are needed, at different times: the
        product of the inputs is then eager. Weight gradients are computed from the operands.
        `to_children(x) @ w` becomes `to_children(x @ w)`, and the sum over edges of products the
        product of the sum; where w or x is infinite or NaN, a vertex without children may then
        have NaN in this sum, or add it to the gradient of w.
      share: An operator that is written several times, `x @ w` for every child, is computed
        once, and gradients are added before a product with the same factor instead of after.
      merge: Products of one operand with several weights (the gates of a cell, written one
        by one) become one product, and sums of products are formed in place.
      fuse: Elementwise operators that can run side by side become one kernel
        (arXiv:1712.04048, section 3.5).
      skip_zeros: Tasks in which no vertex has a child do not multiply the zeros that they
        gather: half of the work where one vertex function serves leaves and inner vertices.
        They do where a factor is infinite or NaN, so that a diverged run shows at leaves too.
      specialize: Tasks in which no vertex has a child, or none has a row of a `VertexRows`, run a
        program of their own, made of the same vertex function with zeros in place of what they
        gather or pull: without products, gates and gradients that only zeros depend on. So do
        those in which every vertex has all children, if the function asks for that. Used
        where it saves more time than one more program takes. Weights, inputs and gradients of
        outputs that are infinite or NaN are run without it, so that results are the same; where
        finite numbers overflow inside of the vertex function, a gate that leaves multiply by
        zero shows no NaN.
      views: Gathered and pulled rows are read where they are. Off: they are copied first.
      streams: 2: eager operators run ahead of the critical path and lazy ones behind it, on a
        thread of their own (arXiv:1712.04048, section 3.5); inference has one stream. 1: all
        threads share each operator. "auto": what was faster where both were measured, which
        is 1; see docs/how/running.md.
      policy: How vertices become tasks: "depth"; "ratio", which makes fewer tasks where there
        are several vertex types; or "serial", which batches nothing.
      micro_batch: How many graphs are run before the next ones begin, so that they need fewer
        temporaries; None: all. "auto": all, unless a training step would then take more than
        the memory that was available at the first call; then as many as fit.

    Graphs that carry a schedule (those of `data.batch` do) are run by it, whatever `policy` and
    `micro_batch` say here: give them to what makes the schedule.

    >>> Options(lazy=False).lazy
    False
    """

    decompose: bool = True
    look_up: bool = True
    eager: bool = True
    lazy: bool = True
    split: bool = True
    share: bool = True
    merge: bool = True
    fuse: bool = True
    skip_zeros: bool = True
    specialize: bool = True
    views: bool = True
    streams: int | str = "auto"
    policy: str = "depth"
    micro_batch: int | str | None = None

    def __post_init__(self):
        check_bools(**{name: getattr(self, name) for name in _SWITCHES})
        if isinstance(self.streams, bool) or self.streams not in (1, 2, "auto"):
            raise ValueError(
                f"streams: got {self.streams!r} but expected 1, 2 or 'auto'. Two streams are the "
                "critical path and everything else."
            )
        check_policy(self.policy)
        if self.micro_batch != "auto":
            check_micro_batch(self.micro_batch)

    def attributes(self) -> dict:
        """The switches that the ops have as attributes."""
        streams = 1 if self.streams == "auto" else self.streams
        return {name: getattr(self, name) for name in PASSES} | {"streams": streams}
