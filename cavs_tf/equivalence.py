"""Does the fast path give the right numbers? Compared with the reference executor."""

import dataclasses

import numpy as np
import tensorflow as tf

from cavs_tf import reference
from cavs_tf._resolve import arguments_of, check_at
from cavs_tf.graphs import GraphBatch

_TOLERANCE = {tf.float64: 1e-9, tf.float32: 1e-5, tf.bfloat16: 2e-2, tf.float16: 5e-3}
_LOSSES = 3


@dataclasses.dataclass(frozen=True)
class Difference:
    """How one tensor differs from the reference.

    Attributes:
      name: "output", "gradient of <weight>", ...
      absolute: Largest absolute difference.
      largest: Largest absolute value of the reference.
      tolerance: What `relative` may be.
    """

    name: str
    absolute: float
    largest: float
    tolerance: float

    @property
    def relative(self) -> float:
        """The largest absolute difference over the largest absolute value."""
        return self.absolute / max(self.largest, 1e-30) if self.absolute > 0 else self.absolute

    @property
    def ok(self) -> bool:
        return self.relative <= self.tolerance  # False for nan.

    def worst(self, other: "Difference") -> "Difference":
        """Of the same tensor under two losses, as if it were one tensor."""
        absolute = float(np.maximum(self.absolute, other.absolute))  # nan if either is.
        largest = max(self.largest, other.largest)
        return dataclasses.replace(self, absolute=absolute, largest=largest)


@dataclasses.dataclass(frozen=True)
class EquivalenceReport:
    """What `check_equivalence` found; print it."""

    differences: tuple

    @property
    def ok(self) -> bool:
        return all(d.ok for d in self.differences)

    def __str__(self):
        width = max([len(d.name) for d in self.differences], default=0)
        lines = [
            f"{'ok  ' if d.ok else 'FAIL'}  {d.name:{width}}  relative {d.relative:.1e} "
            f"(tolerance {d.tolerance:.0e})  absolute {d.absolute:.1e}"
            for d in self.differences
        ]
        verdict = "equal to the reference" if self.ok else "DIFFERENT from the reference"
        return "\n".join([*lines, verdict])


def check_equivalence(
    model, graphs, inputs=None, tolerance=None, seed=0, at=None
) -> EquivalenceReport:
    """Compares outputs and all gradients of a model with the reference executor's.

    A gradient is a sum, and where its terms cancel few digits are right. So what differs
    under one random loss is compared under two more, all three seen as one tensor.

    Args:
      model: A `GraphSupport`, or any layer or model that calls some; all of it is compared.
      graphs, inputs: What the model is called with; a functional model with one dict.
      tolerance: Relative to the largest value of each tensor; by default 1e-9 for
        float64, 1e-5 for float32 and 2e-2 for bfloat16.
      seed: Of the random loss whose gradients are compared.
      at: As for calling a `GraphSupport`.

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
    tensors = _tensors("input", arguments[-1])
    watched = {name: value for name, value in tensors.items() if value.dtype.is_floating}
    chosen = {} if at is None else {"at": at}

    def differences(seed):
        fast = _evaluate(lambda: model(*arguments, **chosen), model, watched, seed)
        slow = _evaluate(lambda: reference.run(model, *arguments, **chosen), model, watched, seed)
        return [_compare(name, fast[name], slow[name], tolerance) for name in slow]

    found = differences(seed)
    for another in range(seed + 1, seed + _LOSSES):
        if not all(d.ok for d in found):
            found = [d.worst(e) for d, e in zip(found, differences(another), strict=True)]
    return EquivalenceReport(tuple(found))


def _as_tensors(value):
    """The same with everything in it that is no tensor yet as one, so that it can be watched."""
    if isinstance(value, dict):
        return {name: _as_tensors(part) for name, part in value.items()}
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


def _evaluate(call, model, watched, seed) -> dict:
    """Outputs, and gradients of a random loss, by name."""
    with tf.GradientTape(persistent=True) as tape:
        for value in watched.values():
            tape.watch(value)
        outputs = _tensors("output", call())
        seeds = reference.random_seeds(outputs, seed)
        loss = tf.add_n([tf.reduce_sum(seeds[k] * outputs[k]) for k in seeds]) if seeds else None
    results = dict(outputs)
    if loss is not None:
        weights = {v.path if hasattr(v, "path") else v.name: v for v in model.trainable_variables}
        for name, source in [*watched.items(), *weights.items()]:
            value = source.value if hasattr(source, "path") else source
            gradient = tape.gradient(loss, value, unconnected_gradients="zero")
            results[f"gradient of {name}"] = tf.convert_to_tensor(gradient)
    return results


def _compare(name, fast, slow, tolerance) -> Difference:
    allowed = _TOLERANCE.get(slow.dtype, 0.0) if tolerance is None else tolerance
    x, y = np.asarray(fast, np.float64), np.asarray(slow, np.float64)
    if x.shape != y.shape:
        return Difference(f"{name} (shapes {x.shape}, {y.shape})", np.inf, 0.0, allowed)
    if x.size == 0:
        return Difference(name, 0.0, 0.0, allowed)
    absolute, largest = np.max(np.abs(x - y)), np.max(np.abs(y))
    return Difference(name, float(absolute), float(largest), allowed)
