"""Checks the op's outputs and gradients against those of the reference executor."""

import contextlib
import dataclasses

import ml_dtypes
import numpy as np
import tensorflow as tf

from cavs_tf._inputs.inputs import VertexRows, as_graph_batch
from cavs_tf._tracing.decomposition.wide_sums import in_a_graph_with_wide_sums
from cavs_tf._values import wide_sums as _wide_sums
from cavs_tf._values.arguments import checked_size
from cavs_tf._values.wide_sums import NARROW
from cavs_tf.graph_support._graph_support import GraphSupport
from cavs_tf.graphs._graph_batch import GraphBatch
from cavs_tf.inspect import reference
from cavs_tf.inspect._pieces import Pieces
from cavs_tf.inspect._resolve import arguments_of, cells_of, check_at

_TOLERANCE = {tf.float64: 1e-9, tf.float32: 1e-5, tf.bfloat16: 2e-2, tf.float16: 5e-3}
_NUDGES = 3  # The number of measurements of rounding errors.


@dataclasses.dataclass(frozen=True)
class Difference:
    """How one tensor differs from the reference.

    Attributes:
      name: "output", `gradient of <weight>`, ...
      absolute: Largest absolute difference.
      largest: Largest absolute value of the reference.
      tolerance: The largest `relative` difference that is accepted.
      terms: The size of the terms that the tensor was summed from, estimated from its rounding
        errors; 0 if it was not measured.
    """

    name: str
    absolute: float
    largest: float
    tolerance: float
    terms: float = 0.0

    @property
    def relative(self) -> float:
        """The largest absolute difference over the largest value, of the terms if they cancel."""
        scale = max(self.largest, self.terms, 1e-30)
        return self.absolute / scale if self.absolute > 0 else self.absolute

    @property
    def ok(self) -> bool:
        return self.relative <= self.tolerance  # False for NaN.


@dataclasses.dataclass(frozen=True)
class EquivalenceReport:
    """The result of `check_equivalence`, to be printed. It is true if all is equal, as `ok` is."""

    differences: tuple

    @property
    def ok(self) -> bool:
        return all(d.ok for d in self.differences)

    def __bool__(self):
        return self.ok

    def __str__(self):
        width = max([len(d.name) for d in self.differences], default=0)
        lines = [
            f"{'ok  ' if d.ok else 'FAIL'}  {d.name:{width}}  relative {d.relative:.1e} "
            f"(tolerance {d.tolerance:.0e})  absolute {d.absolute:.1e}"
            for d in self.differences
        ]
        verdict = "equal to the reference" if self.ok else "DIFFERENT from the reference"
        return "\n".join([*lines, verdict])


@contextlib.contextmanager
def _without_tf32():
    """Products of float32 on a GPU keep their precision, here and in TensorFlow's operators."""
    switch = tf.config.experimental
    enabled = switch.tensor_float_32_execution_enabled()
    switch.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        switch.enable_tensor_float_32_execution(enabled)


@_without_tf32()
def check_equivalence(
    model, graphs, inputs=None, tolerance=None, seed=0, at=None, pieces=None
) -> EquivalenceReport:
    """Compares outputs and all gradients of a model with the reference executor's.

    A gradient is a sum, and where its terms cancel, as for a bias before a softmax, nothing is
    left of them but rounding errors. So where something differs, both are evaluated again with
    inputs and loss changed in their last bit. The change of the results shows how large the terms
    are, and the tolerance is relative to the terms. Changes of the op itself count up to the
    largest number among inputs, outputs and gradients.

    On a GPU, products of float32 are computed in full precision meanwhile, whatever
    `tf.config.experimental.enable_tensor_float_32_execution` was set to.

    Where results of 16 bits differ, the reference executor runs again as a graph in which sums are
    float32, as they are in calls: a sum of float16 may be infinite where its terms and their mean
    are not.

    Args:
      model: A `GraphSupport`, or any layer or model that calls some; all of it is compared.
      graphs, inputs: The arguments of the model; a functional model takes one dict.
      tolerance: Relative to the largest value of each tensor, or of the terms it is a sum of;
        by default 1e-9 for float64, 1e-5 for float32, 5e-3 for float16 and 2e-2 for bfloat16: the
        largest of the tensor's type and those in which the model's vertices are computed.
      seed: The seed of the random loss whose gradients are compared.
      at: The vertices whose outputs are compared, as in a call of a `GraphSupport`.
      pieces: A number of calls of `GraphSupport.extend` to compare instead of one call: the
        minibatch is cut at random. None: one call.

    Returns:
      A report: one line per output, per gradient of an input, and per gradient of a
      weight. `report.ok` says whether all are equal.

    Example:
    >>> import cavs_tf as cavs
    >>> @cavs.vertex_function(state_size=2, arity=1)
    ... def cell(v):
    ...     v.scatter(tf.tanh(v.pull() + v.gather(0)))
    ...     v.push(tf.square(v.gather(0)))
    >>> check_equivalence(cell, cavs.GraphBatch.chain([3, 1]), tf.ones([4, 2])).ok
    True
    """
    check_at(model, at)
    arguments = [_as_tensors(value) for value in arguments_of(model, graphs, inputs)]
    chosen = {} if at is None else {"at": at}
    run = model if pieces is None else _in_pieces(model, arguments[0], pieces, seed, at)
    dtypes = {tf.as_dtype(cell.compute_dtype) for cell in cells_of(model)}

    def evaluate(nudge, wide):
        nudged = [nudge(value) for value in arguments]
        watched = _floating(_tensors("input", nudged[-1]))

        def oracle():
            return reference.run(model, *nudged, **chosen)

        calls = (
            lambda: run(*nudged, **chosen),
            lambda: in_a_graph_with_wide_sums(oracle) if wide else oracle(),
        )
        return [_evaluate(call, model, watched, seed, nudge) for call in calls]

    for wide in (False, True):
        fast, slow = evaluate(lambda value: value, wide)
        found = [_compare(name, fast[name], slow[name], tolerance, dtypes) for name in slow]
        if all(d.ok for d in found) or dtypes.isdisjoint(NARROW):
            break
    most = _largest([*_tensors("input", arguments[-1]).values(), *slow.values()])
    for i in range(_NUDGES):
        if not all(d.ok for d in found):
            fast_now, slow_now = evaluate(_Nudge(seed + i), wide)
            terms = [
                # The op's own results may be anything, if it is wrong.
                max(_terms(slow_now[k], slow[k]), min(_terms(fast_now[k], fast[k]), most))
                for k in slow
            ]
            found = [_with_terms(d, of_d) for d, of_d in zip(found, terms, strict=True)]
    return EquivalenceReport(tuple(found))


def _in_pieces(model, graphs, pieces, seed, at):
    """A function that calls `model.extend` for each piece, in place of `model`."""
    if not isinstance(model, GraphSupport) or at is not None:
        what = type(model).__name__ if at is None else f"at={at}"
        raise ValueError(
            f"pieces: got {pieces} with {what} but expected a GraphSupport, and all outputs. Pass "
            "the layer's cell and leave out `at`."
        )
    cut = Pieces(as_graph_batch(graphs), checked_size("pieces", pieces), seed)
    return lambda graphs, inputs=None: cut.run(model, inputs)


class _Nudge:
    """Changes floating-point numbers by one unit in their last place, up or down."""

    def __init__(self, seed):
        self._random = np.random.default_rng(seed)

    def __call__(self, value):
        return tf.nest.map_structure(self._of_tensor, value)

    def _of_tensor(self, value):
        if not isinstance(value, tf.Tensor) or not value.dtype.is_floating:
            return value
        change = self._random.choice([-_eps(value), _eps(value)], value.shape)
        return value + value * tf.constant(change, value.dtype)


def _eps(tensor) -> float:
    return float(ml_dtypes.finfo(tensor.dtype.as_numpy_dtype).eps)


def _terms(now, then) -> float:
    """The size of the terms of a sum, estimated from a change of one unit in the last place."""
    x, y = (np.asarray(value, np.float64) for value in (now, then))
    if not now.dtype.is_floating or x.shape != y.shape or not x.size:
        return 0.0
    change = np.max(np.abs(x - y))
    return float(change / _eps(now)) if np.isfinite(change) else 0.0


def _largest(tensors) -> float:
    """The largest magnitude of finite floating-point numbers in any of the tensors."""
    values = [np.asarray(x, np.float64) for x in tensors if x.dtype.is_floating]
    return max((np.max(np.abs(x), where=np.isfinite(x), initial=0) for x in values), default=0.0)


def _with_terms(difference, terms) -> Difference:
    return dataclasses.replace(difference, terms=max(difference.terms, terms))


def _floating(tensors) -> dict:
    return {name: value for name, value in tensors.items() if value.dtype.is_floating}


def _as_tensors(value):
    """Converts all values in a structure to tensors, so that a tape can watch them."""
    if isinstance(value, dict):
        return {name: _as_tensors(part) for name, part in value.items()}
    if isinstance(value, VertexRows):
        return VertexRows(*map(tf.convert_to_tensor, value))
    if isinstance(value, (list, tuple)) and any(map(tf.is_tensor, value)):
        return [_as_tensors(part) for part in value]
    if value is None or isinstance(value, (GraphBatch, tf.RaggedTensor)):
        return value
    return tf.convert_to_tensor(value)


def _tensors(name, value) -> dict:
    """All tensors in a structure by name; the values of ragged ones."""
    if isinstance(value, dict):
        parts = [_tensors(key, part) for key, part in value.items()]
    elif isinstance(value, (list, tuple)):
        parts = [_tensors(f"{name}[{i}]", part) for i, part in enumerate(value)]
    else:
        value = value.flat_values if isinstance(value, tf.RaggedTensor) else value
        return {name: value} if tf.is_tensor(value) else {}
    return {key: tensor for part in parts for key, tensor in part.items()}


def _evaluate(call, model, watched, seed, nudge) -> dict:
    """Outputs, and gradients of a random loss, by name."""
    with tf.GradientTape() as tape:
        for value in watched.values():
            tape.watch(value)
        outputs = _tensors("output", call())
        seeds = nudge(reference.random_seeds(outputs, seed))
        losses = [tf.reduce_sum(tf.cast(seeds[k] * outputs[k], tf.float64)) for k in seeds]
        loss = tf.add_n(losses) if losses else None
    results = dict(outputs)
    if loss is not None:
        weights = {v.path if hasattr(v, "path") else v.name: v for v in model.trainable_variables}
        values = {name: v.value if hasattr(v, "path") else v for name, v in weights.items()}
        sources = {**watched, **values}
        gradients = tape.gradient(loss, list(sources.values()), unconnected_gradients="zero")
        for name, gradient in zip(sources, gradients, strict=True):
            results[f"gradient of {name}"] = _wide_sums.dense(gradient)
    return results


def _compare(name, fast, slow, tolerance, dtypes) -> Difference:
    allowed = tolerance
    if tolerance is None:
        dtypes = {slow.dtype, *dtypes} if slow.dtype.is_floating else ()
        allowed = max([_TOLERANCE.get(dtype, 0.0) for dtype in dtypes], default=0.0)
    x, y = np.asarray(fast, np.float64), np.asarray(slow, np.float64)
    if x.shape != y.shape:
        return Difference(f"{name} (shapes {x.shape}, {y.shape})", np.inf, 0.0, allowed)
    if x.size == 0:
        return Difference(name, 0.0, 0.0, allowed)
    absolute, largest = np.max(np.abs(x - y)), np.max(np.abs(y))
    return Difference(name, float(absolute), float(largest), allowed)
