"""Tries operators without a rule, on the same rows alone and together.

Each operator is run by itself, on invented values, so that rounding of earlier operators is
not amplified. Several kinds of values are tried: of both signs, zeros, large and small. If
an operator accepts none of them, the rows of the first minibatch are used.
"""

import dataclasses
import math

import ml_dtypes
import numpy as np
import tensorflow as tf

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.abstract import Abstract, Kind, axes_of_shape, is_numeric
from cavs_tf._tracing.inference.call import Couples
from cavs_tf._tracing.inference.execution import function_of
from cavs_tf._tracing.inference.sizes import ROWS, Unknown

NUM_ROWS = 4
_SIZE = 3  # The size used for sizes that are not known.
NUM_STYLES = 6  # The kinds of numbers that `invent` makes.
# The tolerated rounding of an operator, in units in the last place of its largest result. It may
# add many numbers; numbers of 16 bits it adds in float32.
_ROUNDING = 256
_ROUNDING_OF_16_BITS = 4


@dataclasses.dataclass
class Tried:
    """The outcome of a trial.

    Attributes:
      results: The abstract values of the operator's results; None if it accepted no values.
      failure: The operator's message if it accepted no values.
    """

    results: list[Abstract] | None
    failure: str = ""


class Sample:
    """Values for the tensors of a graph, for any choice of `NUM_ROWS` rows.

    Args:
      known: A function from a tensor of the graph to its abstract value.
      given: Values of tensors, by id of the tensor.
      style: The number of the kind of values to invent.
      functions: A cache of functions of subgraphs, shared by samples.
      forward: For a derivative: (its placeholders of forward tensors by id, the `Sample`
        of the forward graph).
    """

    def __init__(self, graph, known, given, style, functions, forward=None):
        self._graph = graph
        self._known = known
        self._given = given
        self._style = style
        self._functions = functions
        self._captured, self._forward = forward or ({}, None)
        self._invented = {}

    def values(self, tensors, rows) -> list:
        """Values of tensors for these rows, given, invented or computed."""
        plain = {id(t): self._plain(t, rows) for t in tensors}
        computed = [t for t in tensors if plain[id(t)] is None]
        if computed:
            plain |= dict(zip(map(id, computed), self.run(computed, rows), strict=True))
        return [plain[id(t)] for t in tensors]

    def run(self, tensors, rows) -> list:
        """Computes tensors from the nearest ones whose values can be invented."""
        key = tuple(map(id, tensors))
        if key not in self._functions:
            frontier = self._frontier(tensors)
            self._functions[key] = frontier, function_of(self._graph, frontier, tensors)
        frontier, function = self._functions[key]
        values = [self._plain(t, rows) for t in frontier]
        for i, tensor in enumerate(frontier):
            if values[i] is None:
                external = self._captured[id(tensor)]
                (values[i],) = self._forward.values([external], rows)
        return function(values)

    def _frontier(self, tensors):
        found, seen, stack = {}, set(), [t for x in tensors for t in x.op.inputs]
        while stack:
            tensor = stack.pop()
            if id(tensor) in seen:
                continue
            seen.add(id(tensor))
            # A function takes all results of an operator, or computes all of them.
            if all(self._is_given(t) for t in tensor.op.outputs):
                found |= {id(t): t for t in tensor.op.outputs}
            elif tensor.op.type == "Placeholder":
                raise LookupError(f"no value for {tensor.name}")
            else:
                stack.extend(tensor.op.inputs)
        return list(found.values())

    def _is_given(self, tensor):
        return self._plain(tensor, [0]) is not None or id(tensor) in self._captured

    def _plain(self, tensor, rows):
        """The value of a tensor if it need not be computed; else None."""
        if id(tensor) in self._given:
            value = self._given[id(tensor)]
            return value(rows) if callable(value) else value
        known = self._known(tensor)
        if known is None or known.axes is None or not is_numeric(tensor.dtype):
            return None
        if known.position is not None or known.kind is Kind.COUPLED:
            return None
        integers = known.integers()
        if integers is not None:
            numbers = [_at(s, len(rows)) for s in integers]
            if None in numbers:
                return None if known.kind is Kind.COUNT else self._invent(tensor, known, rows)
            return np.array(numbers).reshape(known.value.shape).astype(tensor.dtype.as_numpy_dtype)
        if known.is_constant:
            return known.value
        if known.kind not in (Kind.ROWS, Kind.INVARIANT):
            return None
        return self._invent(tensor, known, rows)

    def _invent(self, tensor, known, rows):
        if any(isinstance(f, Unknown) for axis in known.axes for f in axis):
            return None
        factors = [f for axis in known.axes for f in axis]
        if id(tensor) not in self._invented:
            shape = [NUM_ROWS if f is ROWS else f for f in factors]
            seed = len(self._invented)
            self._invented[id(tensor)] = invent(tensor.dtype, shape, seed, self._style)
        value = self._invented[id(tensor)]
        if ROWS in factors:
            value = np.take(value, rows, axis=factors.index(ROWS))
        shape = [math.prod(len(rows) if f is ROWS else f for f in axis) for axis in known.axes]
        return value.reshape(shape)


def _at(size, num_rows):
    """The integer value of a size for so many rows; None if it is not known."""
    if size.affine is None:
        return None
    scale, bias = size.affine
    return scale * num_rows + bias


def invent(dtype, shape, seed, style) -> np.ndarray:
    """Makes numbers of the kind `style`."""
    generator = np.random.default_rng([seed, style])
    kind = dtype.as_numpy_dtype
    if dtype.is_bool:
        return generator.integers(0, 2, shape).astype(bool)
    if dtype.is_integer:
        low, high = [(0, 2), (1, 4), (0, 1), (-2, 3), (1, 2), (0, 50)][style]
        return generator.integers(low if dtype.min < 0 else max(low, 0), high, shape).astype(kind)
    normal = generator.standard_normal(shape)
    makers = [
        lambda: normal,
        lambda: generator.uniform(0.1, 0.9, shape),
        lambda: normal * generator.integers(0, 2, shape),
        lambda: normal * 1e3,
        lambda: normal * 1e-3,
        lambda: _matrices(normal),
    ]
    numbers = makers[style]()
    if dtype.is_complex:
        numbers = numbers + 1j * generator.standard_normal(shape)
    return numbers.astype(kind)


def _matrices(normal):
    """Makes the last two axes positive definite matrices if they are square."""
    if normal.ndim >= 2 and normal.shape[-1] == normal.shape[-2]:
        eye = np.eye(normal.shape[-1])
        return normal @ np.swapaxes(normal, -1, -2) / normal.shape[-1] + eye
    return np.abs(normal) + 1


def try_operator(op, samples, sums_allowed: bool) -> Tried:
    """Runs an operator on rows alone and together.

    Args:
      op: The operator.
      samples: The `Sample`s to try one after the other.
      sums_allowed: Whether results may be sums over rows.

    """
    results, failure = None, ""
    for sample in samples:
        try:
            new = _try_sample(op, sample, sums_allowed)
        except (tf.errors.OpError, LookupError, TypeError, ValueError) as error:
            failure = _main_line(getattr(error, "message", None) or str(error))
            continue
        if results is not None and [(x.kind, x.axes) for x in new] != [
            (x.kind, x.axes) for x in results
        ]:
            new = [_agreed(x, y, op) for x, y in zip(results, new, strict=True)]
        results = new
    return Tried(results, failure)


def _main_line(message: str) -> str:
    """The line of a TensorFlow error that says what is wrong."""
    frames = ("Graph execution error", "Detected at", "Traceback", "\t", " ", "[[")
    lines = [line for line in message.splitlines() if line.strip() and not line.startswith(frames)]
    return lines[0] if lines else message


def _agreed(first, second, op):
    if (first.kind, first.axes) == (second.kind, second.axes):
        return first
    return Abstract(Kind.COUPLED, None, cause=op)


def _try_sample(op, sample, sums_allowed):
    together = sample.run(list(op.outputs), list(range(NUM_ROWS)))
    fewer = sample.run(list(op.outputs), list(range(NUM_ROWS - 1)))
    alone = [sample.run(list(op.outputs), [row]) for row in range(NUM_ROWS)]
    results = []
    for i, tensor in enumerate(op.outputs):
        try:
            runs = [run[i] for run in alone]
            results.append(_compare(tensor, together[i], fewer[i], runs, sums_allowed))
        except Couples:
            results.append(Abstract(Kind.COUPLED, None, cause=op))
    return results


def _compare(tensor, together, fewer, alone, sums_allowed) -> Abstract:
    if not is_numeric(tensor.dtype):
        return Abstract(Kind.ROWS, None)
    together, fewer = together.numpy(), fewer.numpy()
    alone = [value.numpy() for value in alone]
    if len({value.shape for value in alone}) > 1 or together.ndim != alone[0].ndim:
        raise Couples
    one = alone[0].shape
    grown = [d for d in range(together.ndim) if together.shape[d] != one[d]]
    expected = [
        tuple(n * s if d in grown else s for d, s in enumerate(one))
        for n in (NUM_ROWS, NUM_ROWS - 1)
    ]
    if len(grown) > 1 or [together.shape, fewer.shape] != expected:
        raise Couples
    if grown:
        return Abstract(Kind.ROWS, _layout(grown[0], together, alone))
    if sums_allowed and tensor.dtype.is_floating and _same(together, sum(alone)):
        return Abstract(Kind.SUM, axes_of_shape(tf.TensorShape(one)))
    if all(_same(value, alone[0]) for value in alone[1:]):
        return Abstract(Kind.COUNT, axes_of_shape(tf.TensorShape(one)))
    raise Couples


def _layout(axis, together, alone):
    """The axes of a result whose rows lie along `axis`, outermost or innermost in it."""
    width = alone[0].shape[axis]
    axes = list(axes_of_shape(tf.TensorShape(alone[0].shape)))
    outermost = np.concatenate(alone, axis)
    if _same(together, outermost):
        axes[axis] = sizes.canonical((ROWS, width))
        return tuple(axes)
    innermost = np.stack(alone, axis + 1).reshape(together.shape)
    if _same(together, innermost):
        axes[axis] = sizes.canonical((width, ROWS))
        return tuple(axes)
    raise Couples


def _same(x, y) -> bool:
    """Whether values are equal up to the rounding of one operator."""
    if x.shape != y.shape:
        return False
    if x.dtype == bool or np.issubdtype(x.dtype, np.integer):
        return np.array_equal(x, y)
    units = _ROUNDING_OF_16_BITS if x.dtype.itemsize == 2 else _ROUNDING
    allowed = units * float(ml_dtypes.finfo(x.dtype).eps)
    wide = np.complex128 if x.dtype.kind == "c" else np.float64
    x, y = x.astype(wide), y.astype(wide)
    finite = np.isfinite(x) & np.isfinite(y)
    scale = float(np.abs(np.where(finite, x, 0)).max(initial=0))
    return np.allclose(x, y, rtol=0, atol=allowed * scale, equal_nan=True)
