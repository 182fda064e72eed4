"""Switches of the execution engine."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Options:
    """Which optimisations are on. They change speed, not results (up to summation order).

    Attributes:
      eager: Operators that depend on no gathered state run once over all vertices, before
        the first task. Off: task by task.
      lazy: Operators that no scattered state depends on, weight gradients above all, run
        once over all vertices, after the last task (arXiv:1712.04048, section 3.5). Off:
        task by task.
      merge: Products of one operand with several weights (the gates of a cell, written one
        by one) become one product, and sums of products are formed in place.
      fuse: Elementwise operators that can run side by side become one kernel
        (arXiv:1712.04048, section 3.5).

    >>> Options(lazy=False)
    Options(eager=True, lazy=False, merge=True, fuse=True)
    """

    eager: bool = True
    lazy: bool = True
    merge: bool = True
    fuse: bool = True
