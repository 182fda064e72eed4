"""Blocks whose results are tensors."""

import tensorflow as tf

from benchmarks.fold import result_types
from benchmarks.fold.blocks import AllOf, Block, expect
from benchmarks.fold.program import Kind, Operation
from benchmarks.fold.result_types import TensorType, TupleType


class Function(Block):
    """A function of tensors, one for each item of the input, each with a row for every vertex.

    All its calls at one depth are one.
    """

    def __init__(self, function):
        self._function = function

    def compile(self, program, in_type):
        number = program.once((self, in_type), lambda: self._operation(program, in_type))
        out_type = program.operations[number].out_type
        return program.add(Kind.CALL, in_type, out_type, number), out_type

    def _operation(self, program, in_type):
        def call(*tensors):
            packed = result_types.pack(in_type, tensors)
            many = isinstance(in_type, TupleType)
            return self._function(*packed) if many else self._function(packed)

        arguments = result_types.tensors_in(in_type)
        rows = [a.row if isinstance(a, result_types.RowType) else a for a in arguments]
        specs = [tf.TensorSpec((None, *row.shape), row.dtype) for row in rows]
        made = tf.function(call).get_concrete_function(*specs).structured_outputs
        out_type = result_types.type_of(
            tf.nest.map_structure(lambda t: TensorType(tuple(t.shape[1:]), t.dtype.name), made)
        )
        return program.add_operation(Operation(call, in_type, out_type))


class Scalar(Block):
    """The number that is its input, as a constant."""

    def compile(self, program, in_type):
        expect(self, in_type, result_types.ObjectType)
        kind = TensorType((), "int32")
        source = program.once(Scalar, lambda: program.add_source(lambda numbers: numbers, kind))
        return program.add(Kind.SOURCE, in_type, kind, source, 0), kind


class BatchInput(Block):
    """A row of a tensor; the rows of a minibatch are read before the loop.

    Args:
      table: [N, *shape], or a variable.
    """

    def __init__(self, table):
        self._table = table

    def compile(self, program, in_type):
        expect(self, in_type, result_types.ObjectType)
        kind = TensorType(tuple(self._table.shape[1:]), self._table.dtype.name)
        source = program.once(
            (BatchInput, id(self._table)),
            lambda: program.add_source(lambda numbers: tf.gather(self._table, numbers), kind),
        )
        return program.add(Kind.SOURCE, in_type, kind, source, 0), kind


class Embedding(Block):
    """A row of a table, looked up by the operation that takes it.

    Only its number is passed on, so it suits what is taken at great depths.

    Args:
      table: [N, *shape], or a variable.
    """

    def __init__(self, table):
        self._table = table

    def compile(self, program, in_type):
        number, _ = Scalar().compile(program, in_type)
        row = TensorType(tuple(self._table.shape[1:]), self._table.dtype.name)
        table = program.once(id(self._table), lambda: program.add_table(self._table))
        return number, result_types.RowType(table, row)


class Zeros(Block):
    """Zeros of a type, or of a tuple of types, for any input."""

    def __init__(self, spec):
        self._type = result_types.type_of(spec)

    def compile(self, program, in_type):
        if isinstance(self._type, TupleType):
            return AllOf(*map(Zeros, self._type.items)).compile(program, in_type)
        kind = self._type

        def rows(numbers):
            return tf.zeros([tf.size(numbers), *kind.shape], kind.dtype)

        source = program.once((Zeros, kind), lambda: program.add_source(rows, kind))
        return program.add(Kind.SOURCE, in_type, kind, source, 1), kind
