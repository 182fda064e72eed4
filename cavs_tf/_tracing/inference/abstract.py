"""Abstract values: the facts that are known of a traced tensor before it has a value."""

from __future__ import annotations

import dataclasses
import enum
import math

import numpy as np
import tensorflow as tf

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.sizes import ROWS, Size, Unknown

MAX_INTEGERS = 64  # Larger integer tensors are not followed element by element.


class Space(enum.Enum):
    """The things that rows stand for."""

    VERTICES = "vertices"
    EDGES = "edges"


class Kind(enum.Enum):
    """How a tensor depends on the rows of a task."""

    INVARIANT = "the same whatever the rows"
    COUNT = "determined by the number of rows"
    ROWS = "a part for every row, computed from that row alone"
    SUM = "a sum over rows"
    COUPLED = "depends on several rows"


@dataclasses.dataclass(frozen=True)
class Position:
    """Integers that are positions of rows: `stride * row + own`, 0 <= own < bound.

    Attributes:
      stride: The difference between positions of consecutive rows.
      bound: The exclusive bound of `own`, which each row computes for itself; None if unknown.
      column: Whether the last axis has several columns, of which only the first is a position.
    """

    stride: int
    bound: int | None
    column: bool = False

    @property
    def stays_in_row(self) -> bool:
        return self.bound is not None and self.bound <= self.stride

    @property
    def is_row(self) -> bool:
        return self.stride == 1 and self.stays_in_row


@dataclasses.dataclass(frozen=True, eq=False)
class Abstract:
    """The abstract value of one tensor.

    Attributes:
      kind: A `Kind`.
      axes: The axes, see `sizes`; None if not even the rank is known.
      value: The value of integers and constants, if it is known: an array of numbers, or an
        array of `Size`s.
      position: A `Position` if the tensor holds positions of rows.
      bound: Its integers are in [0, bound), if that is known; the bound of a list is its length.
      element: The abstract value of the elements of a list, or of the value of a variable.
      fill: The number that all of its elements equal, if it is known.
      space: The things that its rows, or the rows that it counts, stand for; None without rows.
      owners: Whether it holds for each edge which row its vertex has.
      cause: The operator that made it COUPLED.
      hint: A proposal how to avoid that.
      open: Whether it is COUPLED because of something that only the number of rows determines,
        such as an order of axes, so that values computed from it may be valid again.
    """

    kind: Kind
    axes: tuple | None
    value: np.ndarray | None = None
    position: Position | None = None
    bound: int | None = None
    element: Abstract | None = None
    fill: float | None = None
    space: Space | None = None
    owners: bool = False
    cause: tf.Operation | None = None
    hint: str = ""
    open: bool = False

    @property
    def zero(self) -> bool:
        """Whether all of its elements are known to be zero."""
        return self.fill == 0

    @property
    def is_constant(self) -> bool:
        return self.value is not None and self.value.dtype != object

    @property
    def rank(self) -> int | None:
        return None if self.axes is None else len(self.axes)

    @property
    def row_axis(self) -> int | None:
        return None if self.axes is None else sizes.row_axis(self.axes)

    def integers(self) -> list | None:
        """Its elements as a list of `Size`s, if it holds integers that are followed; else None."""
        if self.value is None:
            return None
        if self.value.dtype != object and self.value.dtype.kind not in "iub":
            return None
        return [Size.of(element) for element in self.value.ravel()]

    def constants(self) -> list | None:
        """Its elements as Python integers; None if one of them is not known."""
        integers = self.integers()
        if integers is None or any(element.constant is None for element in integers):
            return None
        return [element.constant for element in integers]

    def scalar(self) -> int | None:
        known = self.constants()
        return known[0] if known is not None and len(known) == 1 else None

    def declared_shape(self, dtype) -> tf.TensorShape:
        """The shape for the C++ side: [None, ...] for rows; sizes that vary by task are unknown."""
        unknown = tf.TensorShape(None)
        if self.axes is None or not is_numeric(dtype) or self.position is not None:
            return unknown
        known = [sizes.size(axis).constant for axis in self.axes]
        if self.kind is Kind.ROWS:
            if self.axes[0] != (ROWS,) or None in known[1:]:
                return unknown
            return tf.TensorShape([None, *known[1:]])
        if self.kind in (Kind.INVARIANT, Kind.SUM) and None not in known:
            return tf.TensorShape(known)
        return unknown


def is_numeric(dtype) -> bool:
    return dtype.is_floating or dtype.is_integer or dtype.is_bool or dtype.is_complex


def rows(axes, **known) -> Abstract:
    return Abstract(Kind.ROWS, _canonical(axes), **known)


def invariant(axes=None, **known) -> Abstract:
    return Abstract(Kind.INVARIANT, _canonical(axes), **known)


def summed(axes, **known) -> Abstract:
    return Abstract(Kind.SUM, _canonical(axes), **known)


def with_layout(axes, **known) -> Abstract:
    """Makes a tensor that is ROWS if the axes have rows, else INVARIANT."""
    if axes is not None and sizes.row_axis(axes) is not None:
        return rows(axes, **known)
    return invariant(axes, **known)


def _canonical(axes):
    return None if axes is None else tuple(sizes.canonical(axis) for axis in axes)


def constant(array) -> Abstract:
    array = np.asarray(array)
    axes = tuple(() if d == 1 else (d,) for d in array.shape)
    numbers = array.dtype.kind in "fiubV" and array.size > 0  # V is the kind of bfloat16.
    fill = float(array.flat[0]) if numbers and (array == array.flat[0]).all() else None
    fill = 0 if array.size == 0 else fill
    bound = None
    if array.dtype.kind in "iu" and array.size and array.min() >= 0:
        bound = int(array.max()) + 1
    return Abstract(Kind.INVARIANT, axes, value=array, fill=fill, bound=bound)


def of_integers(elements, shape) -> Abstract:
    """Makes an abstract value of known integers, each a `Size`."""
    elements = [Size.of(element) for element in elements]
    axes = tuple(() if d == 1 else (d,) for d in shape)
    known = [element.constant for element in elements]
    if None not in known:
        return constant(np.array(known, np.int64).reshape(shape))
    array = np.empty(len(elements), object)
    array[:] = elements
    counts = any(ROWS in product for element in elements for product in element.terms)
    kind = Kind.COUNT if counts else Kind.INVARIANT
    return Abstract(kind, axes, value=array.reshape(shape))


def unknown_integers(shape) -> Abstract | None:
    """Makes an abstract value of integers that are not known yet; None if they are too many."""
    if math.prod(shape) > MAX_INTEGERS:
        return None
    return of_integers([Unknown() for _ in range(math.prod(shape))], shape)


def axes_of_shape(shape, row_dimension=None):
    """Axes of a static shape; sizes that it leaves open are unknown."""
    if shape.rank is None:
        return None
    axes = [() if d == 1 else ((Unknown(),) if d is None else (d,)) for d in shape.as_list()]
    if row_dimension is not None:
        axes[row_dimension] = (ROWS,)
    return tuple(axes)


def refined(x: Abstract, shape) -> Abstract:
    """`x` with the sizes that TensorFlow inferred when it traced the operator."""
    if x.axes is None or shape.rank != len(x.axes) or x.value is not None:
        return x
    axes = tuple(
        sizes.axis_of(d) if d is not None and not sizes.is_known(axis) else axis
        for axis, d in zip(x.axes, shape.as_list(), strict=True)
    )
    return x if axes == x.axes else dataclasses.replace(x, axes=axes)


def is_same(first: Abstract | None, second: Abstract | None) -> bool:
    """Whether the same is known of both."""
    if first is second or first is None or second is None:
        return first is second
    plain = ("kind", "axes", "position", "bound", "fill", "space", "owners", "cause")
    return (
        all(getattr(first, name) == getattr(second, name) for name in plain)
        and is_same(first.element, second.element)
        and _equal_values(first.value, second.value)
    )


def _equal_values(first, second):
    if first is None or second is None:
        return first is second
    return first.shape == second.shape and bool((first == second).all())


def join(first: Abstract, second: Abstract) -> Abstract | None:
    """The abstract value that holds for both; None if there is none.

    Unknown sizes of `first` stay the same unknowns, so that repeated joins terminate.
    """
    if is_same(first, second):
        return first
    for x in (first, second):
        if x.kind is Kind.COUPLED:
            return x
    kind = _join_kinds(first, second)
    axes = _join_axes(first.axes, second.axes)
    if kind is None or axes is _DIFFERENT or first.position != second.position:
        return None
    if None not in (first.space, second.space) and first.space is not second.space:
        return None
    element = first.element or second.element
    if first.element is not None and second.element is not None:
        element = join(first.element, second.element)
        if element is None:
            return None
    return Abstract(
        kind,
        axes,
        value=_join_values(first, second, kind),
        position=first.position,
        bound=first.bound if first.bound == second.bound else None,
        element=element,
        fill=first.fill if first.fill == second.fill else None,
        space=first.space or second.space,
    )


def _join_kinds(first, second):
    kinds = {first.kind, second.kind}
    if len(kinds) == 1:
        return first.kind
    if Kind.SUM in kinds:
        # A sum over no rows is zero; any other initial value would be added once per task.
        other = first if second.kind is Kind.SUM else second
        return Kind.SUM if other.kind is Kind.INVARIANT and _is_nothing(other) else None
    return Kind.ROWS if Kind.ROWS in kinds else Kind.COUNT


def _is_nothing(x):
    """Whether it is zeros, or a list without elements."""
    return x.zero or (x.axes is None and x.element is None)


_DIFFERENT = object()


def _join_axes(first, second):
    if first is None or second is None or len(first) != len(second):
        rows_known = any(axes and sizes.row_axis(axes) is not None for axes in (first, second))
        return _DIFFERENT if rows_known else None
    result = []
    for a, b in zip(first, second, strict=True):
        if a != b and (sizes.has_rows(a) or sizes.has_rows(b)):
            return _DIFFERENT
        result.append(a if a == b or not sizes.is_known(a) else (Unknown(),))
    return tuple(result)


def _join_values(first, second, kind):
    if first.value is None or second.value is None or first.value.size > MAX_INTEGERS:
        return None
    if _equal_values(first.value, second.value):
        return first.value
    if kind is not Kind.INVARIANT or first.value.shape != second.value.shape:
        return None
    if first.integers() is None or second.integers() is None:
        return None
    if all(s.constant is None for s in first.integers()):
        return first.value
    return unknown_integers(first.value.shape).value
