"""The plan by which a minibatch of graphs is evaluated.

Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, section 3.2.
"""

import tensorflow as tf

from cavs_tf._integers import int32_tensor, length, shown

SCHEDULE_FIELDS = ("order", "task_splits", "task_type", "child_row")


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
    """

    __name__ = "cavs_tf.Schedule"

    order: tf.Tensor
    task_splits: tf.Tensor
    task_type: tf.Tensor
    child_row: tf.Tensor

    class Spec:
        """The type of a schedule: its arity, if known, but no sizes."""

        def __init__(self, arity=None):
            vector = tf.TensorSpec([None], tf.int32)
            self.order = self.task_splits = self.task_type = vector
            self.child_row = tf.TensorSpec([arity, None], tf.int32)

        @classmethod
        def from_value(cls, value):
            return cls(value.arity)

    def __init__(self, order, task_splits, task_type, child_row):
        self.order = int32_tensor("order", order, rank=1)
        self.task_splits = int32_tensor("task_splits", task_splits, rank=1)
        self.task_type = int32_tensor("task_type", task_type, rank=1)
        self.child_row = int32_tensor("child_row", child_row, rank=2)

    @property
    def arity(self) -> int | None:
        """Number of child slots, or None where it is not known yet."""
        return self.child_row.shape[0]

    @property
    def num_tasks(self):
        """T: an int, or an int32 scalar tensor where it is not known yet."""
        return length(self.task_type)

    def __repr__(self):
        return f"Schedule(num_vertices={shown(length(self.order))}, num_tasks=" + (
            f"{shown(self.num_tasks)}, arity={shown(self.arity)})"
        )
