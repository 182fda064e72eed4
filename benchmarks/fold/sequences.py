"""Blocks that take sequences."""

from benchmarks.fold.blocks import AllOf, Block, Identity, expect
from benchmarks.fold.program import Kind
from benchmarks.fold.result_types import SequenceType, TupleType


class Map(Block):
    """The sequence of the results of a block for every item."""

    def __init__(self, block: Block):
        self._block = block

    def compile(self, program, in_type):
        expect(self, in_type, SequenceType)
        number, made = self._block.compile(program, in_type.item)
        out_type = SequenceType(made)
        return program.add(Kind.MAP, in_type, out_type, number), out_type


class Fold(Block):
    """The last state of a block that takes a state and the items, one after the other.

    Args:
      block: From (state, item) to the next state.
      start: Makes the first state, of the same input.
    """

    def __init__(self, block: Block, start: Block):
        self._block = block
        self._start = start

    def compile(self, program, in_type):
        expect(self, in_type, SequenceType)
        both, pair = AllOf(self._start, Identity()).compile(program, in_type)
        state = pair.items[0]
        number, made = self._block.compile(program, TupleType((state, in_type.item)))
        _expect_state(self, made, state)
        fold = program.add(Kind.FOLD, pair, state, number)
        return program.add(Kind.CHAIN, in_type, state, both, fold), state


class RNN(Block):
    """The sequence of outputs of a cell, and its last state.

    Args:
      cell: From (item, state) to (output, next state).
      initial_state: Makes the first state, of the same input; without, the input is a pair of
        the sequence and the first state.
    """

    def __init__(self, cell: Block, initial_state: Block | None = None):
        self._cell = cell
        self._initial_state = initial_state

    def compile(self, program, in_type):
        if self._initial_state is None:
            return self._scan(program, in_type)
        both = AllOf(Identity(), self._initial_state)
        first, pair = both.compile(program, in_type)
        scan, out_type = self._scan(program, pair)
        return program.add(Kind.CHAIN, in_type, out_type, first, scan), out_type

    def _scan(self, program, pair):
        expect(self, pair, TupleType)
        sequence, state = pair.items
        expect(self, sequence, SequenceType)
        number, made = self._cell.compile(program, TupleType((sequence.item, state)))
        output, next_state = made.items
        _expect_state(self, next_state, state)
        out_type = TupleType((SequenceType(output), state))
        return program.add(Kind.SCAN, pair, out_type, number), out_type


class Reduce(Block):
    """Reduces a sequence by a block that makes one value of two; n items take log2(n) depths.

    Args:
      block: From (left, right) to a value of the same type.
      default: Makes that of an empty sequence.
    """

    def __init__(self, block: Block, default: Block):
        self._block = block
        self._default = default

    def compile(self, program, in_type):
        expect(self, in_type, SequenceType)
        item = in_type.item
        number, made = self._block.compile(program, TupleType((item, item)))
        default, empty = self._default.compile(program, in_type)
        _expect_state(self, made, item)
        _expect_state(self, empty, item)
        return program.add(Kind.REDUCE, in_type, item, number, default), item


class Zip(Block):
    """A sequence of tuples, from a tuple of sequences of equal length."""

    def compile(self, program, in_type):
        expect(self, in_type, TupleType)
        for sequence in in_type.items:
            expect(self, sequence, SequenceType)
        items = tuple(sequence.item for sequence in in_type.items)
        out_type = SequenceType(TupleType(items))
        widths = (item.width for item in items)
        return program.add(Kind.ZIP, in_type, out_type, *widths), out_type


class Broadcast(Block):
    """The sequence of pairs (item, value), from a tuple of a sequence and a value."""

    def compile(self, program, in_type):
        expect(self, in_type, TupleType)
        sequence, value = in_type.items
        expect(self, sequence, SequenceType)
        out_type = SequenceType(TupleType((sequence.item, value)))
        return program.add(Kind.BROADCAST, in_type, out_type, sequence.item.width), out_type


class Reverse(Block):
    """A sequence in reverse order."""

    def compile(self, program, in_type):
        expect(self, in_type, SequenceType)
        return program.add(Kind.REVERSE, in_type, in_type, in_type.item.width), in_type


def _expect_state(block, made, state) -> None:
    if made != state:
        raise TypeError(
            f"{type(block).__name__}: got a block that makes {made} but expected {state}"
        )
