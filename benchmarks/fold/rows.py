"""How operations get rows and pass them on, and how gradients return.

TensorFlow's own gradients are right but slow in a loop: that of a gather adds row by row into
zeros, that of a concatenation keeps all its inputs to know their sizes, that of an item of a
list makes a list of all items. The weaver knows who takes a row, and how many rows there are,
so gradients are gathered and split as values are.
"""

import tensorflow as tf

from benchmarks.fold.program import Program
from benchmarks.fold.result_types import TensorType
from benchmarks.fold.wiring import TypeWiring


class TypeRows:
    """The values of one type in the loop.

    Args:
      program: Of the loop.
      kind: The type.
      given: Its wiring, in tensors.
      shared: Whether a row may be taken twice at a depth; its gradients are then added.
    """

    def __init__(self, program: Program, kind: TensorType, given: TypeWiring, shared: bool):
        self._row_of_zeros = tf.zeros((1, *kind.shape), kind.dtype)
        self._taken = by_depth(given.taken, given.num_taken)
        self._takers = by_depth(given.takers, given.num_takers)
        self._pieces = tf.reshape(given.pieces, [-1, len(program.pieces(kind)) + 1])
        self._made = tf.reshape(given.made, [-1, program.num_results(kind) + 1])
        self._has_gradient = tf.as_dtype(kind.dtype).is_floating
        self._shared = shared

    def take(self, values: tf.Tensor, depth: tf.Tensor) -> list[tf.Tensor]:
        """The rows that arguments take, argument by argument, then those that pass through."""

        def pieces(values):
            return tf.split(tf.gather(values, self._taken.read(depth)), self._pieces[depth])

        @tf.custom_gradient
        def pieces_that_nobody_shares(values):
            def gradient(*by_piece):
                padded = tf.concat([*by_piece, self._row_of_zeros], 0)
                return tf.gather(padded, self._takers.read(depth))

            return pieces(values), gradient

        by_default = self._shared or not self._has_gradient
        return pieces(values) if by_default else list(pieces_that_nobody_shares(values))

    def join(self, parts: list[tf.Tensor], depth: tf.Tensor) -> tf.Tensor:
        """The values of this depth: the results of operations, then the rows that pass through."""

        @tf.custom_gradient
        def joined(*parts):
            return tf.concat(parts, 0), lambda by_row: tf.split(by_row, self._made[depth])

        if len(parts) == 1:
            return parts[0]
        return joined(*parts) if self._has_gradient else tf.concat(parts, 0)


def by_depth(rows: tf.Tensor, lengths: tf.Tensor) -> tf.TensorArray:
    """Divides rows by depth, `counts` of them for each."""
    array = tf.TensorArray(
        rows.dtype,
        tf.size(lengths),
        infer_shape=False,
        element_shape=(None, *rows.shape[1:]),
    )
    return array.split(rows, lengths)


def pop(rows: tf.Tensor, table) -> tuple[tf.Tensor, tf.Tensor]:
    """(the list of a table's rows without its last item, the last item)."""
    return tf.raw_ops.TensorListPopBack(
        input_handle=rows, element_shape=(-1, *table.shape[1:]), element_dtype=table.dtype
    )
