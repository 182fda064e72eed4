"""Rows as columns: tensors with a row for each vertex, in pieces of some columns."""

import bisect
import collections
import dataclasses
import itertools
import math

import numpy as np
import tensorflow as tf

from cavs_tf._tracing.inference import Analysis, Kind
from cavs_tf._tracing.inference.sizes import ROWS, size

# Operators that would become more pieces are left to TensorFlow's kernels: many small pieces are
# not faster, and take long to compile.
MAX_PIECES = 64


@dataclasses.dataclass(frozen=True)
class Run:
    """The columns `begin` to `end` of the rows of a tensor, all axes of a row in one."""

    tensor: tf.Tensor
    begin: int
    end: int

    @property
    def width(self) -> int:
        return self.end - self.begin


def runs_of(tensors, positions) -> list[Run] | None:
    """The runs of consecutive columns that the positions are; None if they are too many.

    Args:
      tensors: (tensor, number of columns) pairs.
      positions: int [columns of the result]; the columns of all tensors are counted through.
    """
    positions = np.asarray(positions)
    if not positions.size:
        return None
    starts = [0, *itertools.accumulate(columns for _, columns in tensors)]
    owners = np.searchsorted(starts, positions, side="right") - 1
    breaks = (np.diff(positions) != 1) | (np.diff(owners) != 0)
    firsts = [0, *(np.flatnonzero(breaks) + 1)]
    if len(firsts) > MAX_PIECES:
        return None
    runs = []
    for first, last in zip(firsts, [*firsts[1:], positions.size], strict=True):
        tensor, start = tensors[owners[first]][0], starts[owners[first]]
        begin = int(positions[first]) - start
        runs.append(Run(tensor, begin, begin + last - first))
    return runs


class Columns:
    """The columns of the tensors of a graph, where tensors are rewritten as pieces side by side.

    All cuts of the columns of a tensor must be announced before it is read, so that it is split
    once.
    """

    def __init__(self, analysis: Analysis):
        self._analysis = analysis
        self._cuts = collections.defaultdict(set)
        self._made = {}  # The pieces that a tensor was rewritten as, by its id.
        self._split = {}  # The (starts, pieces) of a tensor after its cuts, by its id.
        self._whole = {}
        self._of_floats = {}

    def shape_of(self, tensor, row_axis=0) -> tuple | None:
        """The shape of a row of floats, or of booleans as masks, if known and not empty.

        Args:
          tensor: A tensor of the graph.
          row_axis: Where the axis of rows must be; None: anywhere.
        """
        known = self._analysis.known(tensor)
        if not self._is_made_of_floats(tensor) or known.kind is not Kind.ROWS or known.axes is None:
            return None
        own = self.row_axis_of(tensor)
        sizes = [size(axis).constant for i, axis in enumerate(known.axes) if i != own]
        if own is None or row_axis not in (own, None) or None in sizes or 0 in sizes:
            return None
        return tuple(sizes)

    def _is_made_of_floats(self, tensor) -> bool:
        """Whether it has floats, or booleans that are pulled or computed from floats alone."""
        if tensor.dtype != tf.bool:
            return tensor.dtype.is_floating
        if tensor.op.type == "Placeholder":
            return True
        if id(tensor) not in self._of_floats:
            self._of_floats[id(tensor)] = bool(tensor.op.inputs) and all(
                self._is_made_of_floats(operand) or self._known_for_rows(operand)
                for operand in tensor.op.inputs
            )
        return self._of_floats[id(tensor)]

    def _known_for_rows(self, tensor) -> bool:
        """Whether it is integers that do not come from inputs, and only say how rows move."""
        return tensor.dtype.is_integer and self.constants_for_one_row(tensor) is not None

    def row_axis_of(self, tensor) -> int | None:
        """The axis that has one element per row, if there is such an axis."""
        axes = self._analysis.known(tensor).axes
        return axes.index((ROWS,)) if axes is not None and (ROWS,) in axes else None

    def width_of(self, tensor) -> int:
        return math.prod(self.shape_of(tensor, row_axis=None))

    def last_size_of(self, tensor) -> int | None:
        """The size of the last axis, if it is known."""
        axes = self._analysis.known(tensor).axes
        return size(axes[-1]).constant if axes else None

    def is_invariant(self, tensor) -> bool:
        known = self._analysis.known(tensor)
        return known.kind is Kind.INVARIANT and tensor.shape.is_fully_defined()

    def constants_for_one_row(self, tensor) -> np.ndarray | None:
        """The integers of a tensor as they are for one row; None if they are not known."""
        known = self._analysis.known(tensor)
        if known.is_constant:
            return known.value
        elements = known.integers()
        affine = [None] if elements is None else [element.affine for element in elements]
        if None in affine:
            return None
        return np.array([sum(pair) for pair in affine], np.int64).reshape(known.value.shape)

    def announce(self, run: Run) -> None:
        self._cuts[id(run.tensor)] |= {run.begin, run.end}

    def make(self, tensor, pieces) -> None:
        """Says that `tensor` has the columns of `pieces`, each [None, columns]."""
        self._made[id(tensor)] = pieces

    def replace(self, tensor, whole) -> None:
        """Says that `tensor`, which has no rows, is `whole`."""
        self._made[id(tensor)], self._whole[id(tensor)] = [whole], whole

    def is_made(self, tensor) -> bool:
        return id(tensor) in self._made

    def alias(self, tensor, source) -> None:
        """Says that `tensor` has the columns of `source`."""
        if self.is_made(source):
            self._made[id(tensor)] = self._made[id(source)]

    def read(self, run: Run) -> tf.Tensor:
        """The columns of a run, [None, run.width]."""
        starts, pieces = self._pieces(run.tensor)
        first, last = starts.index(run.begin), bisect.bisect_left(starts, run.end)
        return _joined(pieces[first:last])

    def whole(self, tensor) -> tf.Tensor:
        """The tensor itself, or the pieces in its place, in the same shape."""
        if not self.is_made(tensor):
            return tensor
        if id(tensor) not in self._whole:
            shape, axis = self.shape_of(tensor, row_axis=None), self.row_axis_of(tensor)
            joined = _joined(self._made[id(tensor)])
            joined = joined if len(shape) == 1 else _reshaped(joined, shape)
            order = [*range(1, axis + 1), 0, *range(axis + 1, len(shape) + 1)]
            self._whole[id(tensor)] = tf.transpose(joined, order) if axis else joined
        return self._whole[id(tensor)]

    def _pieces(self, tensor):
        if id(tensor) not in self._split:
            self._split[id(tensor)] = self._cut(tensor)
        return self._split[id(tensor)]

    def _cut(self, tensor):
        whole = self._made.get(id(tensor), None) or [self._flat(tensor)]
        begin, starts, pieces = 0, [], []
        for piece in whole:
            end = begin + piece.shape[1]
            inner = sorted(cut for cut in self._cuts[id(tensor)] if begin < cut < end)
            bounds = [begin, *inner, end]
            starts += bounds[:-1]
            pieces += tf.split(piece, np.diff(bounds), axis=1) if inner else [piece]
            begin = end
        return starts, pieces

    def _flat(self, tensor):
        """A tensor of the graph as [None, columns]."""
        axis, rank = self.row_axis_of(tensor), 1 + len(self.shape_of(tensor, row_axis=None))
        if axis:
            tensor_first = tf.transpose(tensor, [axis, *(i for i in range(rank) if i != axis)])
            return _reshaped(tensor_first, (self.width_of(tensor),))
        if rank != 2:
            return _reshaped(tensor, (self.width_of(tensor),))
        tensor.set_shape([None, self.width_of(tensor)])
        return tensor


def _joined(pieces):
    return pieces[0] if len(pieces) == 1 else tf.concat(pieces, axis=1)


def _reshaped(tensor, shape):
    return tf.reshape(tensor, [-1, *shape])
