"""The argument of a transfer rule: an operator and the abstract values of its operands."""

import functools

import tensorflow as tf
from tensorflow.core.framework import attr_value_pb2

from cavs_tf._tracing.inference import sizes
from cavs_tf._tracing.inference.abstract import Abstract, Kind, axes_of_shape, with_layout
from cavs_tf._tracing.inference.sizes import Unknown

CUT = "Keep the first axis, which holds the rows, as it is."


class Couples(Exception):
    """An operator makes rows depend on each other, or on how many there are."""

    def __init__(self, hint: str = ""):
        super().__init__(hint)
        self.hint = hint


class NotKnown(Exception):
    """No rule says how an operator treats rows, so it must be tried."""


class Call:
    """An operator of a traced graph, with the abstract values of its operands.

    Attributes:
      op: The operator.
      inputs: A list of `Abstract`, one per operand.
      inside: Whether it is part of a function that runs as one operator, so that sums
        over rows are not finished when it runs.
    """

    def __init__(self, op: tf.Operation, inputs: list[Abstract], inside: bool):
        self.op = op
        self.inputs = inputs
        self.inside = inside

    @property
    def type(self) -> str:
        return self.op.type

    def attr(self, name):
        value = self.op.get_attr(name)
        return value.decode() if isinstance(value, bytes) else value

    def axes(self, i: int) -> tuple:
        """The axes of operand `i`.

        Raises:
          NotKnown: If not even its rank is known.
        """
        if self.inputs[i].axes is None:
            raise NotKnown
        return self.inputs[i].axes

    def all_axes(self) -> list:
        return [self.axes(i) for i in range(len(self.inputs))]

    def rows_in(self, i: int) -> int | None:
        """The number of the axis of operand `i` that holds rows."""
        return sizes.row_axis(self.axes(i))

    def constants(self, i: int) -> list[int]:
        """The integers that operand `i` holds.

        Raises:
          Couples: If they are captured, so that they may change.
          NotKnown: If they depend on the number of rows.
        """
        known = self.inputs[i].constants()
        if known is None:
            if self.inputs[i].kind is Kind.INVARIANT:
                raise Couples("Use axes that are known when the vertex function is traced.")
            raise NotKnown
        return known

    def axis(self, i: int, rank: int) -> int:
        """The axis of a tensor of `rank` that operand `i` names."""
        return self.constants(i)[0] % max(rank, 1)

    def result_axes(self, i: int = 0) -> tuple:
        """The axes of result `i` without its rows, by TensorFlow's own shape functions.

        Raises:
          NotKnown: If those do not know its rank.
        """
        axes = axes_of_shape(self._shapes[i])
        if axes is None:
            raise NotKnown
        return axes

    def any_result_axes(self, i: int = 0) -> tuple | None:
        """As `result_axes`, but None if not even the rank is known."""
        return axes_of_shape(self._shapes[i])

    @functools.cached_property
    def _shapes(self):
        shapes = [tensor.shape for tensor in self.op.outputs]
        if all(shape.is_fully_defined() for shape in shapes) or _calls_functions(self.op):
            return shapes
        try:
            inferred = _infer_shapes(self.op, self.inputs)
        except (ValueError, TypeError):
            return shapes
        return [
            shape.merge_with(new) if shape.is_compatible_with(new) else shape
            for shape, new in zip(shapes, inferred, strict=True)
        ]


def _calls_functions(op):
    return any("func" in definition.type for definition in op.op_def.attr)


def _infer_shapes(op, inputs):
    """TensorFlow's shapes of the results, given the abstract values of the operands."""
    graph = tf.Graph()
    with graph.as_default():
        operands = [
            _operand(tensor, known) for tensor, known in zip(op.inputs, inputs, strict=True)
        ]
        attributes = {d.name: op.node_def.attr[d.name] for d in op.op_def.attr}
        attributes = {
            k: attr_value_pb2.AttrValue.FromString(v.SerializeToString())
            for k, v in attributes.items()
        }
        new = graph._create_op_internal(
            op.type, operands, [t.dtype for t in op.outputs], attrs=attributes, op_def=op.op_def
        )
    return [tensor.shape for tensor in new.outputs]


def _operand(tensor, known):
    if known.is_constant and known.value.size <= 4096:
        return tf.constant(known.value, tensor.dtype)
    if known.axes is None:
        return tf.compat.v1.placeholder(tensor.dtype)
    shape = [sizes.size(axis).constant for axis in known.axes]
    integers = known.integers()
    if integers is not None and known.rank == 1 and tensor.dtype in (tf.int32, tf.int64):
        # Some sizes of the shape are known.
        dims = [
            tf.constant(d.constant, tensor.dtype)
            if d.constant is not None
            else tf.compat.v1.placeholder(tensor.dtype, [])
            for d in integers
        ]
        if dims:
            return tf.stack(dims)
    return tf.compat.v1.placeholder(tensor.dtype, shape)


def unknown_axis() -> tuple:
    return (Unknown(),)


def moved(x: Abstract, axes) -> Abstract:
    """`x` with its elements elsewhere, but with the same rows."""
    if axes is None:
        raise Couples(CUT)
    if x.kind in (Kind.SUM, Kind.COUNT):
        return Abstract(x.kind, tuple(map(sizes.canonical, axes)), fill=x.fill)
    if x.position is not None and x.position.column and axes[-1] != x.axes[-1]:
        raise Couples(CUT)
    return with_layout(axes, position=x.position, bound=x.bound, fill=x.fill)
