"""Products of rows with weights, and of rows with rows, given as an einsum of two operands."""

import dataclasses
import math
import string

import numpy as np
import tensorflow as tf

from cavs_tf._tracing.decomposition.columns import MAX_PIECES, Columns, Run, runs_of
from cavs_tf._tracing.decomposition.plan import Plan


@dataclasses.dataclass(frozen=True)
class _Factor:
    """A tensor and the labels of the axes of its rows, or of all its axes if it is invariant."""

    tensor: tf.Tensor
    labels: str

    def positions(self, sizes, order) -> np.ndarray:
        """Where in a row the element for each combination of the labels in `order` is."""
        own = np.arange(math.prod(sizes[label] for label in self.labels))
        own = own.reshape([sizes[label] for label in self.labels])
        present = [label for label in order if label in self.labels]
        own = own.transpose([self.labels.index(label) for label in present])
        shape = [sizes[label] if label in self.labels else 1 for label in order]
        return np.broadcast_to(own.reshape(shape), [sizes[label] for label in order])


def _contract(op, columns: Columns, first, second, result: str) -> Plan | None:
    """The einsum `first, second -> result`; labels are the labels of `_Factor`s, without rows."""
    sizes = {}
    for factor in (first, second):
        shape = columns.shape_of(factor.tensor, row_axis=None)
        shape = tuple(factor.tensor.shape.as_list()) if shape is None else shape
        if len(shape) != len(factor.labels) or len(set(factor.labels)) != len(shape):
            return None
        for label, size in zip(factor.labels, shape, strict=True):
            if sizes.setdefault(label, size) != size:
                return None
    both = first.labels + second.labels
    if len(set(result)) != len(result) or not set(result) <= set(both):
        return None
    if any(both.count(label) == 1 and label not in result for label in both):
        return None  # A sum over an axis of one operand alone.
    has_rows = [not columns.is_invariant(factor.tensor) for factor in (first, second)]
    if all(has_rows):
        return _rows_times_rows(columns, first, second, result, sizes)
    rows, weights = (first, second) if has_rows[0] else (second, first)
    return _rows_times_weights(columns, rows, weights, result, sizes)


def _rows_times_weights(columns, rows, weights, result, sizes) -> Plan | None:
    """A matrix product for every combination of labels that are not only contracted or new."""
    contracted = [label for label in rows.labels if label not in result]
    new = [label for label in result if label not in rows.labels]
    outer = [label for label in result if label in rows.labels]
    if not set(outer + contracted + new) >= set(weights.labels) or not contracted + new:
        return None
    count, depth = _product(sizes, outer), _product(sizes, contracted)
    width = _product(sizes, new)
    places = _positions_of_results(result, [*outer, *new], sizes)
    reads = rows.positions(sizes, [*outer, *contracted]).reshape(count, depth)
    width_of_rows = [(rows.tensor, columns.width_of(rows.tensor))]
    runs = [runs_of(width_of_rows, row) for row in reads]
    if places is None or None in runs or sum(map(len, runs)) > MAX_PIECES:
        return None
    shared = [label for label in outer if label in weights.labels]
    order = [*shared, *contracted, *new]

    def compute(parts):
        parts = iter(parts)
        operands = [_joined([next(parts) for _ in of_product]) for of_product in runs]
        matrices = _matrices(weights, order, [_product(sizes, shared), depth, width])
        which = _which(sizes, outer, shared)
        products = [tf.matmul(x, matrices[i]) for x, i in zip(operands, which, strict=True)]
        return [_moved(products, places)]

    return Plan([run for of_product in runs for run in of_product], compute)


def _matrices(weights, order, shape) -> list:
    """The weights as matrices [contracted, new], one for each combination of shared labels."""
    tensor = weights.tensor
    permutation = [weights.labels.index(label) for label in order]
    if permutation != sorted(permutation):
        tensor = tf.transpose(tensor, permutation)
    if shape[0] == 1:
        is_matrix = tensor.shape.as_list() == shape[1:]
        return [tensor if is_matrix else tf.reshape(tensor, shape[1:])]
    return tf.unstack(tf.reshape(tensor, shape))


def _which(sizes, outer, shared):
    """For each combination of outer labels, the number of its combination of shared labels."""
    count = _product(sizes, shared)
    numbers = _Factor(None, "".join(shared)).positions(sizes, outer)
    return numbers.ravel() if count > 1 else [0] * _product(sizes, outer)


def _rows_times_rows(columns, first, second, result, sizes) -> Plan | None:
    """Products of vectors, or of a number and a vector, that are added up."""
    plans = [
        plan
        for label in dict.fromkeys(first.labels + second.labels)
        if (plan := _along(label, first, second, result, sizes)) is not None
    ]
    if not plans:
        return None
    along, outer, contracted = min(plans, key=lambda plan: _product(sizes, plan[1] + plan[2]))
    if _product(sizes, outer + contracted) > MAX_PIECES:
        return None
    within = bool(along) and along[0] not in result
    order = [*outer, *contracted, *along]
    places = _positions_of_results(result, [*outer, *(along if not within else [])], sizes)
    if places is None:
        return None
    terms = _product(sizes, contracted)
    reads = []
    for factor in (first, second):
        width = _product(sizes, along) if set(along) <= set(factor.labels) else 1
        begins = factor.positions(sizes, order).reshape(-1, _product(sizes, along))[:, 0]
        reads += [Run(factor.tensor, int(b), int(b) + width) for b in begins]

    def compute(parts):
        half = len(parts) // 2
        products = [x * y for x, y in zip(parts[:half], parts[half:], strict=True)]
        pieces = [products[i : i + terms] for i in range(0, half, terms)]
        pieces = [piece[0] if terms == 1 else tf.add_n(piece) for piece in pieces]
        if within:
            pieces = [tf.reduce_sum(piece, axis=1, keepdims=True) for piece in pieces]
        return [_moved(pieces, places)]

    return Plan(reads, compute)


def _along(label, first, second, result, sizes):
    """(vector labels, outer labels, contracted labels) if vectors along `label` can be read."""
    for factor in (first, second):
        if label in factor.labels and not factor.labels.endswith(label):
            return None
    if label in result and not result.endswith(label):
        return None
    if label not in result and not (label in first.labels and label in second.labels):
        return None
    others = [other for other in dict.fromkeys(first.labels + second.labels) if other != label]
    outer = [other for other in result if other != label]
    return [label], outer, [other for other in others if other not in result]


def _positions_of_results(result, order, sizes):
    """Where in the results, in `order`, each column is; None if there are too many pieces."""
    places = _Factor(None, "".join(order)).positions(sizes, list(result)).ravel()
    breaks = np.count_nonzero(np.diff(places) != 1)
    return None if breaks >= MAX_PIECES else places


def _moved(pieces, places):
    """The pieces, whose columns are put into the order of `places`."""
    if np.array_equal(places, np.arange(len(places))):
        return pieces
    if all(piece.shape[1] == 1 for piece in pieces):
        return [pieces[place] for place in places]
    whole = _joined(pieces)
    breaks = [0, *(np.flatnonzero(np.diff(places) != 1) + 1), len(places)]
    sizes = np.diff(breaks)
    order = np.argsort(places[breaks[:-1]])
    parts = tf.split(whole, sizes[order], axis=1)
    return [parts[i] for i in np.argsort(order)]


def _joined(pieces):
    return pieces[0] if len(pieces) == 1 else tf.concat(pieces, axis=1)


def _product(sizes, labels) -> int:
    return math.prod(sizes[label] for label in labels)


def _einsum(op, columns: Columns) -> Plan | None:
    axis = columns.row_axis_of(op.outputs[0])
    if len(op.inputs) > 2 or columns.shape_of(op.outputs[0], row_axis=None) is None:
        return None
    operands, result = _labels(op)
    if result is None:
        return None
    if len(operands) == 1:
        return _permutation(op.inputs[0], columns, operands[0], result)
    factors, row = [], result[axis]
    for tensor, labels in zip(op.inputs, operands, strict=True):
        if columns.shape_of(tensor, row_axis=None) is None:
            is_factor = columns.is_invariant(tensor) and row not in labels
        else:
            is_factor = labels.index(row) == columns.row_axis_of(tensor) if row in labels else False
        if not is_factor or labels.count(row) > 1:
            return None
        factors.append(_Factor(tensor, labels.replace(row, "")))
    return _contract(op, columns, *factors, result.replace(row, ""))


def _labels(op):
    """(labels of each operand, labels of the result) of an einsum, with letters for ellipses."""
    equation = op.get_attr("equation").decode().replace(" ", "")
    operands, arrow, result = equation.partition("->")
    operands = operands.split(",")
    ranks = [tensor.shape.rank for tensor in op.inputs]
    if not arrow or None in ranks:
        return operands, None
    unused = "".join(letter for letter in string.ascii_letters if letter not in equation)
    hidden = [
        rank - len(labels.replace("...", "")) for labels, rank in zip(operands, ranks, strict=True)
    ]
    letters = unused[: max(hidden)]
    operands = [
        labels.replace("...", letters[len(letters) - count :])
        for labels, count in zip(operands, hidden, strict=True)
    ]
    return operands, result.replace("...", letters)


def _permutation(tensor, columns, labels, result) -> Plan | None:
    """An einsum of one operand that moves its axes."""
    shape, axis = columns.shape_of(tensor, row_axis=None), columns.row_axis_of(tensor)
    if shape is None or sorted(labels) != sorted(result) or len(set(labels)) < len(labels):
        return None
    row, positions = labels[axis], np.arange(math.prod(shape)).reshape(shape)
    labels, result = labels.replace(row, ""), result.replace(row, "")
    moved = positions.transpose([labels.index(label) for label in result])
    runs = runs_of([(tensor, moved.size)], moved.ravel())
    return None if runs is None else Plan(runs, lambda parts: [parts])


def _batch_matmul(op, columns: Columns) -> Plan | None:
    x, y = op.inputs
    shape = columns.shape_of(op.outputs[0])
    if shape is None:
        return None
    factors, letters = [], string.ascii_letters
    batch = letters[3 : 3 + len(shape) - 2]
    for tensor, adjoint, axes in ((x, "adj_x", "ab"), (y, "adj_y", "bc")):
        axes = axes[::-1] if op.get_attr(adjoint) else axes
        own = columns.shape_of(tensor)
        if own is not None and len(own) == len(shape):
            factors.append(_Factor(tensor, batch + axes))
        elif own is None and columns.is_invariant(tensor) and tensor.shape.rank == 2:
            factors.append(_Factor(tensor, axes))
        else:
            return None
    return _contract(op, columns, *factors, batch + "ac")


def _product_of_flat_rows(op, columns: Columns) -> Plan | None:
    """`reshape(matmul(reshape(x, [-1, n]), w), shape)`: tf.tensordot, and so a Dense layer."""
    product = op.inputs[0].op
    shape = columns.shape_of(op.outputs[0])
    if product.type != "MatMul" or shape is None or len(shape) < 2:
        return None
    if columns.shape_of(product.outputs[0]) is not None:
        return None  # It has one row per vertex.
    weights, source = product.inputs[1], _flattened(product.inputs[0], columns)
    if source is None or product.get_attr("transpose_a") or not columns.is_invariant(weights):
        return None
    own, axes = columns.shape_of(source), "yx" if product.get_attr("transpose_b") else "xy"
    if weights.shape[axes.index("x")] != own[-1] or shape[:-1] != own[:-1]:
        return None
    outer = string.ascii_letters[: len(own) - 1]
    factors = _Factor(source, outer + "x"), _Factor(weights, axes)
    return _contract(op, columns, *factors, outer + "y")


def _flattened(tensor, columns):
    """The rows of rank 2 or more that were reshaped into this matrix; None if there are none."""
    if tensor.op.type != "Reshape":
        return None
    source = tensor.op.inputs[0]
    if source.op.type == "Transpose":
        permutation = columns.constants_for_one_row(source.op.inputs[1])
        if permutation is None or list(permutation) != sorted(permutation):
            return None
        source = source.op.inputs[0]
    own = columns.shape_of(source)
    is_flat = own is not None and len(own) >= 2 and columns.last_size_of(tensor) == own[-1]
    return source if is_flat else None


CONTRACTIONS = {
    "BatchMatMulV2": _batch_matmul,
    "Einsum": _einsum,
    "Reshape": _product_of_flat_rows,
}
