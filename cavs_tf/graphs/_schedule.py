"""The plan by which a minibatch of graphs is evaluated.

Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.2.
"""

from typing import Optional

import numpy as np
import tensorflow as tf

from cavs_tf._native.library import allowed_values
from cavs_tf._values.integers import int32_tensor, is_int, length, saturated, shown

SCHEDULE_FIELDS = ("order", "task_splits", "task_type", "child_row")
EDGE_FIELDS = ("edge_splits", "edge_child", "edge_number")
POLICIES = allowed_values("CavsSchedule", "policy")  # The first policy is the default.
_WHOLE_MINIBATCH = np.iinfo(np.int32).max


def check_policy(policy) -> None:
    """Raises ValueError unless `policy` is the name of a policy."""
    if policy not in POLICIES:
        raise ValueError(
            f"policy: got {policy!r} but expected one of {', '.join(map(repr, POLICIES))}. "
            f"Leave it out for {POLICIES[0]!r}."
        )


def check_micro_batch(micro_batch) -> None:
    """Raises ValueError unless `micro_batch` is a number of graphs, or None."""
    if micro_batch is None:
        return
    if not is_int(micro_batch) or micro_batch < 1:
        raise ValueError(
            f"micro_batch: got {micro_batch!r} but expected an int of at least 1, the number of "
            "graphs in a micro-batch, or None. Pass None to plan the whole minibatch at once."
        )


def micro_batch_tensor(micro_batch) -> tf.Tensor:
    """Converts a number of graphs, or None, to the int32 scalar that the op takes."""
    if tf.is_tensor(micro_batch):
        if micro_batch.dtype.is_integer:  # Any larger number means all graphs, too.
            micro_batch = saturated(micro_batch)
        return int32_tensor("micro_batch", micro_batch, rank=0)
    check_micro_batch(micro_batch)
    count = _WHOLE_MINIBATCH if micro_batch is None else int(micro_batch)
    return tf.constant(min(count, _WHOLE_MINIBATCH))


class Schedule(tf.experimental.ExtensionType):
    """Which vertices are evaluated together, and where their children's rows are.

    Made by `GraphBatch.schedule`. V vertices in T tasks; rows number the vertices in
    the order in which tasks evaluate them, and a child's row always precedes its
    parent's task.

    Attributes:
      order: int32 [V], a permutation: the vertex of each row.
      task_splits: int32 [T + 1]. Task t evaluates rows [task_splits[t], task_splits[t + 1]).
      task_type: int32 [T]. The vertex type of each task.
      child_row: int32 [arity, V]. The row of the child in each slot of each row's vertex,
        in [0, V), or -1: no child, which gathers zeros.
      edge_splits: int32 [V + 1], or None: edges are not planned. Row r has the edges
        [edge_splits[r], edge_splits[r + 1]), one for each child, in their order.
      edge_child: int32 [E], the row of each edge's child; or None.
      edge_number: int32 [E], the number of each edge in the minibatch, which is counted vertex by
        vertex, without missing children; or None.
    """

    __name__ = "cavs_tf.Schedule"

    order: tf.Tensor
    task_splits: tf.Tensor
    task_type: tf.Tensor
    child_row: tf.Tensor
    # TensorFlow does not accept `tf.Tensor | None`.
    edge_splits: Optional[tf.Tensor]  # noqa: UP045
    edge_child: Optional[tf.Tensor]  # noqa: UP045
    edge_number: Optional[tf.Tensor]  # noqa: UP045

    class Spec:
        """The type of a schedule: its arity, if known, and whether it has edges. No sizes."""

        def __init__(self, arity=None, edges=False):
            vector = tf.TensorSpec([None], tf.int32)
            self.order = self.task_splits = self.task_type = vector
            self.child_row = tf.TensorSpec([arity, None], tf.int32)
            self.edge_splits = self.edge_child = self.edge_number = vector if edges else None

        @classmethod
        def from_value(cls, value):
            return cls(value.arity, value.has_edges)

        def __hash__(self):
            # A call of a tf.function hashes the types of its arguments several times.
            return hash((Schedule, self.child_row, self.edge_splits is None))

    def __init__(
        self,
        order,
        task_splits,
        task_type,
        child_row,
        edge_splits=None,
        edge_child=None,
        edge_number=None,
    ):
        self.order = int32_tensor("order", order, rank=1)
        self.task_splits = int32_tensor("task_splits", task_splits, rank=1)
        self.task_type = int32_tensor("task_type", task_type, rank=1)
        self.child_row = int32_tensor("child_row", child_row, rank=2)
        lists = (edge_splits, edge_child, edge_number)
        if any(x is None for x in lists) and not all(x is None for x in lists):
            raise ValueError(
                "edges: got some of edge_splits, edge_child and edge_number but expected all or "
                "none. Pass what GraphBatch.schedule returned."
            )
        if edge_splits is not None:
            edge_splits, edge_child, edge_number = (
                int32_tensor(name, value, rank=1)
                for name, value in zip(EDGE_FIELDS, lists, strict=True)
            )
        self.edge_splits, self.edge_child = edge_splits, edge_child
        self.edge_number = edge_number

    @property
    def has_edges(self) -> bool:
        """Whether edges are planned, for vertex functions that read them."""
        return self.edge_splits is not None

    @property
    def edge_lists(self) -> list[tf.Tensor]:
        """The three tensors of edges, or nothing."""
        return [getattr(self, name) for name in EDGE_FIELDS] if self.has_edges else []

    @property
    def arity(self) -> int | None:
        """Number of child slots, or None where it is not known yet."""
        return self.child_row.shape[0]

    @property
    def num_tasks(self):
        """T: an int, or an int32 scalar tensor where it is not known yet."""
        return length(self.task_type)

    @property
    def min_tasks(self) -> int:
        """A number of tasks that every schedule of these graphs has at least. Eager only.

        The most vertices of a type on one path, summed over the types. On a path each vertex
        waits for the one before, so vertices of one type on it are in different tasks; and
        a task holds one type, so that the tasks of different types add up.

        >>> from cavs_tf import GraphBatch
        >>> GraphBatch.from_children([[[], [0], [1]]], [0, 1, 0]).schedule(1, 2).min_tasks
        3
        """
        types, kinds = np.unique(self.task_type.numpy(), return_inverse=True)
        splits, child_row = self.task_splits.numpy(), self.child_row.numpy()
        if self.has_edges:
            edge_child, counts = self.edge_child.numpy(), np.diff(self.edge_splits.numpy())
            owners = np.repeat(np.arange(counts.size), counts)
        # The most vertices of each type on a path that ends in a row; the last one: no child.
        most = np.zeros([child_row.shape[1] + 1, types.size], np.int32)
        for kind, begin, end in zip(kinds, splits, splits[1:], strict=False):
            for rows in child_row[:, begin:end]:
                np.maximum(most[begin:end], most[rows], out=most[begin:end])
            if self.has_edges:
                first, last = self.edge_splits.numpy()[[begin, end]]
                np.maximum.at(most, owners[first:last], most[edge_child[first:last]])
            most[begin:end, kind] += 1
        return int(most.max(axis=0, initial=0).sum())

    @property
    def view_share(self) -> float:
        """Share of gathered rows that a view can give, in [0, 1]. Eager only.

        A task gathers through a slot; where the rows of the children are equally far apart, in
        the order of their parents and none missing, nothing needs to be copied. Rows count only
        where the task has a child in that slot at all; without any, the share is 1.

        >>> from cavs_tf import GraphBatch
        >>> GraphBatch.chain([5, 3]).schedule().view_share
        1.0
        """
        splits, child_row = self.task_splits.numpy()[:-1], self.child_row.numpy()
        if not np.any(child_row >= 0):
            return 1.0
        sizes = np.diff(self.task_splits.numpy())
        # The distance of each row's child to the child of the row before, and to the child
        # of the task's second row.
        step = np.diff(child_row, axis=1, prepend=0)
        second = np.repeat(np.minimum(splits + 1, child_row.shape[1] - 1), sizes)
        fits = (child_row >= 0) & (step > 0) & (step == step[:, second])
        fits[:, splits] = child_row[:, splits] >= 0
        views = np.logical_and.reduceat(fits, splits, axis=1)
        gathers = np.logical_or.reduceat(child_row >= 0, splits, axis=1)
        return float((views @ sizes).sum() / (gathers @ sizes).sum())

    def __repr__(self):
        return f"Schedule(num_vertices={shown(length(self.order))}, num_tasks=" + (
            f"{shown(self.num_tasks)}, arity={shown(self.arity)})"
        )
