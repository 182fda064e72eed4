"""Runs a schedule: one `tf.while_loop` over depths."""

import tensorflow as tf

from benchmarks.peers.fold import result_types
from benchmarks.peers.fold.program import Program


class Loom:
    """The loop of a program.

    The values of one type at one depth are the rows of one tensor. In every iteration each type
    gives rows of the depth before, each operation is called once on some of them, even if on
    none, and its results and the rows that pass through are the values of this depth.
    """

    def __init__(self, program: Program):
        self._program = program
        self._pieces = [program.pieces(kind) for kind in program.types]
        self._lookups = program.lookups()

    def run(self, ints: tf.Tensor, sections: tf.Tensor) -> list[tf.Tensor]:
        """The outputs, in the order of the program's tags, of what the weaver merged."""
        program = self._program
        count = 3 * len(program.types) + 2 * len(self._lookups)
        count += len(program.sources) + len(program.tags)
        parts = iter(tf.split(ints, sections, num=count))
        wirings, sizes = [], []
        for pieces in self._pieces:
            wiring, lengths = next(parts), next(parts)
            wirings.append(_by_depth(wiring, lengths))
            sizes.append(tf.reshape(next(parts), [-1, len(pieces) + 1]))
            num_depths = tf.size(lengths)
        looked_up = []
        for _, table in self._lookups:
            numbers, lengths = next(parts), next(parts)
            looked_up.append(_by_depth(tf.gather(program.tables[table], numbers), lengths))
        literals = [next(parts) for _ in program.sources]
        outputs = [next(parts) for _ in program.tags]

        def body(depth, values):
            given = [
                tf.split(tf.gather(value, wiring.read(depth)), size[depth])
                for value, wiring, size in zip(values, wirings, sizes, strict=True)
            ]
            rows = [array.read(depth) for array in looked_up]
            return depth + 1, self._next_values(given, rows)

        values = tuple(self._first_values(kind, literals) for kind in program.types)
        shapes = tuple(tf.TensorShape((None, *kind.shape)) for kind in program.types)
        _, values = tf.while_loop(
            lambda depth, _: depth < num_depths,
            body,
            (0, values),
            shape_invariants=(tf.TensorShape([]), shapes),
        )
        last = [values[program.type_number(tag)] for tag in program.tags]
        return [tf.gather(value, rows) for value, rows in zip(last, outputs, strict=True)]

    def _first_values(self, kind, literals):
        sources = zip(self._program.sources, literals, strict=True)
        rows = [source.rows(numbers) for source, numbers in sources if source.type == kind]
        return tf.concat(rows, 0) if rows else tf.zeros((0, *kind.shape), kind.dtype)

    def _next_values(self, given, looked_up):
        """Of each type, of its rows piece by piece, and of what operations look up."""
        program = self._program
        arguments = {
            key: rows
            for pieces, parts in zip(self._pieces, given, strict=True)
            for key, rows in zip(pieces, parts, strict=False)
        }
        made = [[] for _ in program.types]
        lookups = iter(looked_up)
        for number, operation in enumerate(program.operations):
            kinds = result_types.tensors_in(operation.in_type)
            taken = [
                next(lookups)
                if isinstance(kind, result_types.RowType)
                else arguments[number, index]
                for index, kind in enumerate(kinds)
            ]
            results = tf.nest.flatten(operation.function(*taken))
            for kind, result in zip(
                result_types.tensors_in(operation.out_type), results, strict=True
            ):
                made[program.type_number(kind)].append(result)
        # The last piece of every type is what passes through.
        return tuple(
            tf.concat([*results, parts[-1]], 0) if results else parts[-1]
            for results, parts in zip(made, given, strict=True)
        )


def _by_depth(rows: tf.Tensor, lengths: tf.Tensor) -> tf.TensorArray:
    """So many of the rows for every depth."""
    array = tf.TensorArray(
        rows.dtype,
        tf.size(lengths),
        infer_shape=False,
        element_shape=(None, *rows.shape[1:]),
    )
    return array.split(rows, lengths)
