"""Compiles a block to a program."""

from benchmarks.fold import result_types
from benchmarks.fold.blocks import AllOf, Block, GetItem
from benchmarks.fold.program import Kind, Program
from benchmarks.fold.result_types import SequenceType, TupleType
from benchmarks.fold.sequences import Map


def compile_block(block: Block, fields: dict) -> Program:
    """Compiles a model to what the weaver and the loop need to know of it.

    Args:
      block: Takes an example; the tensors of its result are the outputs.
      fields: The names of the fields of objects; True for a list.

    Raises:
      KeyError: If an object has no field of that name.
      TypeError: If a block is given what it cannot take.
    """
    columns: dict[str, tuple[int, ...]] = {}
    for name, is_list in fields.items():
        first = sum(map(len, columns.values()))
        columns[name] = (first, first + 1) if is_list else (first,)
    program = Program(columns)
    made, out_type = block.compile(program, result_types.ObjectType())
    marked, _ = _Mark().compile(program, out_type)
    program.root = program.add(
        Kind.CHAIN, result_types.ObjectType(), result_types.VOID, made, marked
    )
    return program


class _Mark(Block):
    """Makes outputs of all tensors in a value."""

    def compile(self, program, in_type):
        if isinstance(in_type, TupleType):
            items = range(len(in_type.items))
            return AllOf(*(GetItem(i) >> _Mark() for i in items)).compile(program, in_type)
        if isinstance(in_type, SequenceType):
            return Map(_Mark()).compile(program, in_type)
        if isinstance(in_type, result_types.RowType):
            raise TypeError("outputs: got a row that nobody takes. Use BatchInput.")
        tag = program.once(self, lambda: program.add_tag(in_type))
        return program.add(Kind.OUTPUT, in_type, result_types.VOID, tag), result_types.VOID
