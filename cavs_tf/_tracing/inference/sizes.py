"""Sizes of tensors as polynomials in the number of rows, and axes that know their rows.

A *size* is an exact integer polynomial in `ROWS`, the number of rows of a task, and in
sizes that are known only when a function runs. An *axis* of a tensor is a tuple of
*factors* whose product is its size; the last factor varies fastest. `ROWS` as a factor
says where the rows are: an axis `(ROWS, 3)` holds three numbers of the first row, then
three of the second, and `(3, ROWS)` one number of every row, then the next one.
"""

from __future__ import annotations

import dataclasses
import itertools
import math

_numbers = itertools.count()


@dataclasses.dataclass(frozen=True)
class Unknown:
    """A size that is known only when the function runs. It equals itself alone."""

    number: int = dataclasses.field(default_factory=lambda: next(_numbers))

    def __repr__(self):
        return f"u{self.number}"


class _Rows:
    """The number of rows of a task."""

    def __repr__(self):
        return "rows"


ROWS = _Rows()


def _key(factor):
    return -1 if factor is ROWS else factor.number


class Size:
    """An integer polynomial in `ROWS` and in `Unknown` sizes, which is immutable.

    Example:
    >>> 3 * Size.of(ROWS) + 1
    3*rows + 1
    """

    __slots__ = ("terms",)

    def __init__(self, terms):
        self.terms = {product: scale for product, scale in terms.items() if scale}

    @staticmethod
    def of(value) -> Size:
        """Converts an integer or a factor of an axis to a size; returns a size as it is."""
        if isinstance(value, Size):
            return value
        if value is ROWS or isinstance(value, Unknown):
            return Size({(value,): 1})
        return Size({(): int(value)})

    @property
    def constant(self) -> int | None:
        """Its integer value if it does not depend on the number of rows; else None."""
        if not self.terms:
            return 0
        return self.terms[()] if list(self.terms) == [()] else None

    @property
    def affine(self) -> tuple[int, int] | None:
        """(scale, bias) if it is scale * rows + bias; else None."""
        if set(self.terms) <= {(), (ROWS,)}:
            return self.terms.get((ROWS,), 0), self.terms.get((), 0)
        return None

    def __add__(self, other):
        other = Size.of(other)
        products = {**self.terms, **other.terms}
        return Size({p: self.terms.get(p, 0) + other.terms.get(p, 0) for p in products})

    def __mul__(self, other):
        terms = {}
        for p, a in self.terms.items():
            for q, b in Size.of(other).terms.items():
                product = tuple(sorted((*p, *q), key=_key))
                terms[product] = terms.get(product, 0) + a * b
        return Size(terms)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -Size.of(other)

    __radd__, __rmul__ = __add__, __mul__

    def __rsub__(self, other):
        return Size.of(other) - self

    def __eq__(self, other):
        return isinstance(other, (Size, int)) and self.terms == Size.of(other).terms

    def __hash__(self):
        return hash(frozenset(self.terms.items()))

    def divided_by(self, other) -> Size | None:
        """The quotient, if it is exact for every number of rows; else None."""
        other = Size.of(other)
        if len(other.terms) != 1:
            return Size.of(1) if self == other else None
        ((divisor, scale),) = other.terms.items()
        terms = {}
        for product, own in self.terms.items():
            rest = list(product)
            for factor in divisor:
                if factor not in rest:
                    return None
                rest.remove(factor)
            if own % scale:
                return None
            terms[tuple(rest)] = own // scale
        return Size(terms)

    def is_at_least(self, other) -> bool:
        """Whether it is known to be so for every number of rows, from one on."""
        difference = self - other
        if difference.affine is None:
            return False
        scale, bias = difference.affine
        return scale >= 0 and scale + bias >= 0

    def factors(self) -> tuple | None:
        """An axis of this size with rows outermost; None if it is not a product of factors."""
        if self.constant is not None:
            return () if self.constant == 1 else (self.constant,)
        if len(self.terms) != 1:
            return None
        ((product, scale),) = self.terms.items()
        if scale < 1 or product.count(ROWS) > 1:
            return None
        return (*product, *(() if scale == 1 else (scale,)))

    def __repr__(self):
        def term(product, scale):
            names = [repr(factor) for factor in product]
            return "*".join([str(scale), *names] if scale != 1 or not names else names)

        return " + ".join(term(p, s) for p, s in self.terms.items()) or "0"


def size(axis) -> Size:
    """The number of elements along an axis."""
    number = math.prod(factor for factor in axis if isinstance(factor, int))
    others = (Size.of(factor) for factor in axis if not isinstance(factor, int))
    return math.prod(others, start=Size.of(number))


def axis_of(value) -> tuple:
    """An axis of a size; of an unknown size if it is not a product of factors."""
    factors = None if value is None else Size.of(value).factors()
    return (Unknown(),) if factors is None else factors


def has_rows(axis) -> bool:
    return any(factor is ROWS for factor in axis)


def row_axis(axes) -> int | None:
    """The number of the axis that holds the rows; None if none does."""
    return next((i for i, axis in enumerate(axes) if has_rows(axis)), None)


def is_known(axis) -> bool:
    return not any(isinstance(factor, Unknown) for factor in axis)


def num_elements(axes) -> Size:
    return math.prod((size(axis) for axis in axes), start=Size.of(1))


def broadcast(*shapes):
    """The axes that tensors of these axes are broadcast to; None if they would couple rows.

    Rows are coupled if one tensor's rows lie along an axis where another has other elements, or
    if the result would have a row for every pair of rows.
    """
    rank = max(len(axes) for axes in shapes)
    padded = [((),) * (rank - len(axes)) + tuple(axes) for axes in shapes]
    result = tuple(_broadcast_axis(axes) for axes in zip(*padded, strict=True))
    if None in result or sum(map(has_rows, result)) > 1:
        return None
    return result


def _broadcast_axis(axes):
    longer = [axis for axis in axes if axis != ()]
    if not longer:
        return ()
    first = next((axis for axis in longer if is_known(axis)), longer[0])
    for axis in longer:
        if axis == first or (not has_rows(axis) and not has_rows(first)):
            continue  # TensorFlow checks that two sizes without rows fit.
        return None
    return first


def canonical(axis) -> tuple:
    """The axis with adjacent numbers multiplied, so that equal layouts compare equal."""
    result = []
    for factor in axis:
        if result and isinstance(factor, int) and isinstance(result[-1], int):
            result[-1] *= factor
        else:
            result.append(factor)
        if result[-1] == 1:
            result.pop()
    return tuple(result)


def reshape(axes, sizes):
    """The axes of a tensor of `axes` after a reshape to `sizes`; None if rows are cut apart."""
    sizes = [Size.of(wanted) for wanted in sizes]
    if any(0 in axis for axis in axes):
        return tuple(canonical(axis_of(wanted)) for wanted in sizes)
    left = [factor for axis in axes for factor in axis]
    front, back = [], []
    while sizes:
        axis = _take(left, sizes[0])
        if axis is None:
            break
        front.append(axis)
        sizes.pop(0)
    left.reverse()
    while sizes:
        axis = _take(left, sizes[-1])
        if axis is None:
            break
        back.append(axis[::-1])
        sizes.pop()
    if sizes and not _are_unknown(left, sizes) and not _are_as_many(left, sizes):
        return None
    middle = [axis_of(wanted) for wanted in sizes]
    if not sizes and any(not isinstance(factor, Unknown) for factor in left):
        return None  # Unknown sizes that are left can only be one.
    return tuple(canonical(axis) for axis in (*front, *middle, *back[::-1]))


def _are_unknown(factors, sizes) -> bool:
    """Whether these factors and sizes have no rows, and are not all known."""
    rows = has_rows(factors) or any(ROWS in product for s in sizes for product in s.terms)
    known = all(s.constant is not None for s in sizes) and is_known(factors)
    return not rows and not known


def _are_as_many(factors, sizes) -> bool:
    """Whether these factors, all within a row, and these sizes have the same product."""
    if has_rows(factors):
        return False
    return math.prod(map(Size.of, factors), start=Size.of(1)) == math.prod(sizes, start=Size.of(1))


def _take(left, wanted):
    """Moves factors of product `wanted` from the front of `left` into one axis.

    Returns None, and leaves `left` as it is, if there are none.
    """
    rest, axis, remaining = wanted, [], list(left)
    while rest != Size.of(1):
        if not remaining:
            return None
        factor = remaining.pop(0)
        quotient = rest.divided_by(factor)
        if quotient is not None:
            axis.append(factor)
            rest = quotient
            continue
        number = rest.constant
        if not isinstance(factor, int) or number is None or factor % number:
            return None
        axis.append(number)
        remaining.insert(0, factor // number)
        rest = Size.of(1)
    left[:] = remaining
    return tuple(axis)


def part_of(axis, count):
    """The axis of each of `count` equal ranges of `axis`; None if rows would be cut apart."""
    left = list(axis)
    outer = _take(left, Size.of(count))
    return None if outer is None or has_rows(outer) else canonical(left)
