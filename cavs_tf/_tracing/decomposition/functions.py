"""Functions of each number that have no native kernel, written with operators that have one."""

import math

import numpy as np
import tensorflow as tf

from cavs_tf._tracing.decomposition.columns import Columns, Run
from cavs_tf._tracing.decomposition.plan import Plan

_LARGEST_POWER = 4


def _power(op, columns: Columns) -> Plan | None:
    """A power that is a small multiple of one half, as products of the number or of its root.

    TensorFlow replaces such powers as well, when it optimises a graph.
    """
    base, exponent = op.inputs
    power = tf.get_static_value(exponent)
    if power is None or exponent.shape.rank != 0:
        return None
    power = float(power)
    if not (2 * power).is_integer() or not 0 < abs(power) <= _LARGEST_POWER:
        return None
    return _of_each(lambda x: _power_of(x, power), base, columns)


def _power_of(x, power: float):
    """`x**power`, whose gradient at zero and below is the gradient of TensorFlow's Pow."""
    if power == 1:
        return x

    @tf.custom_gradient
    def run(x):
        return _product_of(x, power), lambda dy: dy * (power * _power_of(x, power - 1))

    return run(x)


def _product_of(x, power: float):
    if power.is_integer():
        factor, count = (x if power > 0 else tf.math.reciprocal(x)), abs(power)
    else:
        factor, count = (tf.sqrt(x) if power > 0 else tf.math.rsqrt(x)), abs(2 * power)
    return _product_of_equals(factor, int(count))


def _product_of_equals(x, count: int):
    if count == 1:
        return x
    half = tf.square(_product_of_equals(x, count // 2))
    return half * x if count % 2 else half


def _sign(x):
    """1, 0 or -1, and NaN for NaN. It has no gradient."""
    x = tf.stop_gradient(x)
    sign = tf.cast(x > 0, x.dtype) - tf.cast(x < 0, x.dtype)
    return tf.where(tf.equal(x, x), sign, x)


_FUNCTIONS = {
    "IsFinite": lambda x: tf.abs(x) < np.inf,
    "IsInf": lambda x: tf.equal(tf.abs(x), np.inf),
    "IsNan": lambda x: tf.not_equal(x, x),
    "OnesLike": lambda x: tf.zeros_like(x) + 1,
    "Sign": _sign,
}


def _function(op, columns: Columns) -> Plan | None:
    (x,) = op.inputs
    return _of_each(_FUNCTIONS[op.type], x, columns) if x.dtype.is_floating else None


def _fill(op, columns: Columns) -> Plan | None:
    """Rows of one number, as a sum of zeros and that number."""
    sizes, number = op.inputs
    shape = columns.shape_of(op.outputs[0])
    is_zero = number.dtype.is_floating and tf.get_static_value(number) == 0
    if shape is None or is_zero or not columns.is_invariant(number):
        return None
    return Plan([], lambda _: [[tf.zeros([sizes[0], math.prod(shape)], number.dtype) + number]])


def _of_each(function, x, columns: Columns) -> Plan | None:
    """Applies `function` to rows of any rank, as vectors."""
    shape = columns.shape_of(x)
    if shape is None:
        return None
    return Plan([Run(x, 0, math.prod(shape))], lambda parts: [[function(*parts)]])


FUNCTIONS = dict.fromkeys(_FUNCTIONS, _function) | {"Fill": _fill, "Pow": _power}
