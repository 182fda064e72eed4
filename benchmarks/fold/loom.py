"""Runs a schedule: one `tf.while_loop` over depths."""

import tensorflow as tf

from benchmarks.fold import result_types, rows, wiring
from benchmarks.fold.program import Program


class Loom:
    """The loop of a program.

    The values of one type at one depth are the rows of one tensor. In every iteration each type
    gives rows of the depth before, each operation is called once on some of them, even if on
    none, and its results and the rows that pass through are the values of this depth.

    Args:
      program: What a model was compiled to.
      shared: Types of which a row may be taken twice at a depth; None: all.
    """

    def __init__(self, program: Program, shared=None):
        self._program = program
        self._pieces = [program.pieces(kind) for kind in program.types]
        self._shared = frozenset(program.types if shared is None else shared)

    def run(self, ints: tf.Tensor, sections: tf.Tensor) -> list[tf.Tensor]:
        """The outputs for the weaver's merged wiring, in the order of the program's tags."""
        program = self._program
        parts = tf.split(ints, sections, num=wiring.num_sections(program))
        given = wiring.from_sections(program, parts)
        num_depths = tf.size(given.types[0].num_taken)
        of_types = [
            rows.TypeRows(program, kind, own, kind in self._shared)
            for kind, own in zip(program.types, given.types, strict=True)
        ]
        looked_up = tuple(
            rows.by_depth(tf.gather(program.tables[table], numbers), lengths).flow
            for (_, table), (numbers, lengths) in zip(program.lookups(), given.lookups, strict=True)
        )

        def body(depth, values, looked_up):
            taken = [own.take(value, depth) for own, value in zip(of_types, values, strict=True)]
            popped = [
                rows.pop(left, program.tables[table])
                for left, (_, table) in zip(looked_up, program.lookups(), strict=True)
            ]
            made = self._results(taken, [row for _, row in popped])
            values = tuple(
                own.join([*results, parts[-1]], depth)
                for own, results, parts in zip(of_types, made, taken, strict=True)
            )
            return depth + 1, values, tuple(left for left, _ in popped)

        values = tuple(self._first_values(kind, given.literals) for kind in program.types)
        shapes = tuple(tf.TensorShape((None, *kind.shape)) for kind in program.types)
        scalar = tf.TensorShape([])
        _, values, _ = tf.while_loop(
            lambda depth, *_: depth < num_depths,
            body,
            (0, values, looked_up),
            shape_invariants=(scalar, shapes, tuple(scalar for _ in looked_up)),
        )
        last = [values[program.type_number(tag)] for tag in program.tags]
        return [tf.gather(value, taken) for value, taken in zip(last, given.outputs, strict=True)]

    def _first_values(self, kind, literals):
        sources = zip(self._program.sources, literals, strict=True)
        made = [source.rows(numbers) for source, numbers in sources if source.type == kind]
        return tf.concat(made, 0) if made else tf.zeros((0, *kind.shape), kind.dtype)

    def _results(self, taken, looked_up) -> list[list[tf.Tensor]]:
        """The results of each type, from the rows of its pieces and rows that are looked up."""
        program = self._program
        arguments = {
            key: piece
            for keys, pieces in zip(self._pieces, taken, strict=True)
            for key, piece in zip(keys, pieces, strict=False)
        }
        made = [[] for _ in program.types]
        lookups = iter(looked_up)
        for number, operation in enumerate(program.operations):
            kinds = result_types.tensors_in(operation.in_type)
            given = [
                next(lookups)
                if isinstance(kind, result_types.RowType)
                else arguments[number, index]
                for index, kind in enumerate(kinds)
            ]
            results = tf.nest.flatten(operation.function(*given))
            for kind, result in zip(
                result_types.tensors_in(operation.out_type), results, strict=True
            ):
                made[program.type_number(kind)].append(result)
        return made
