"""The blocks of TensorFlow Fold's language do what their names say."""

import numpy as np
import pytest
import tensorflow as tf

from benchmarks.fold import td
from benchmarks.fold.tests.models import Model

NUMBER = td.TensorType((), "int32")
# Two examples with lists of words; a word has a number and a kind.
FIELDS = {
    "words": (np.array([0, 3, 4, 4]), np.array([2, 0, 1, 3])),
    "more": (np.array([0, 3, 4, 4]), np.array([3, 3, 3, 0])),
    "number": np.array([10, 20, 30, 40]),
    "kind": np.array([0, 1, 1, 7]),
}


def number():
    return td.GetItem("number") >> td.Scalar()


def words():
    return td.GetItem("words") >> td.Map(number())


def run(block, *roots) -> list[list]:
    return [output.tolist() for output in Model(block, FIELDS).run(list(roots))]


ADD = td.Function(lambda a, b: a + b)


@pytest.mark.in_turns
def test_map_keeps_the_order_of_the_items():
    assert run(words(), 0, 1, 2) == [[30, 10, 20, 40]]


def test_fold_takes_item_by_item():
    digits = td.Function(lambda state, x: 7 * state + x)
    block = words() >> td.Fold(digits, td.Zeros(NUMBER))
    assert run(block, 0, 1, 2) == [[(30 * 7 + 10) * 7 + 20, 40, 0]]


def test_rnn_gives_every_output_and_the_last_state():
    cell = td.Function(lambda x, state: (x - state, x + state))
    outputs, states = run(words() >> td.RNN(cell, td.Zeros(NUMBER)), 0, 2)
    assert outputs == [30, 10 - 30, 20 - 40] and states == [60, 0]


def test_rnn_may_start_from_a_state_that_is_given():
    cell = td.Function(lambda x, state: (x * state, state + 1))
    outputs, states = run(td.AllOf(words(), number()) >> td.RNN(cell), 0)
    assert outputs == [30 * 10, 10 * 11, 20 * 12] and states == [13]


def test_reduce_is_balanced():
    depth = td.Function(lambda a, b: tf.maximum(a, b) + 1)
    fields = {"words": (np.array([0, 5]), np.zeros(5)), "number": np.zeros(1)}
    block = words() >> td.Reduce(depth, td.Zeros(NUMBER))
    assert Model(block, fields).run([0])[0].tolist() == [3]


def test_reduce_keeps_the_order_and_has_a_default():
    block = words() >> td.Reduce(td.Function(lambda a, b: 3 * a + b), td.Zeros(NUMBER))
    assert run(block, 0, 1, 2) == [[3 * 30 + (3 * 10 + 20), 40, 0]]


def test_zip_and_reverse():
    more = td.GetItem("more") >> td.Map(number())
    pairs = td.AllOf(words() >> td.Reverse(), more) >> td.Zip()
    assert run(pairs >> td.Map(td.Function(lambda a, b: a - b)), 0, 1) == [[-20, -30, -10, 30]]


def test_broadcast_gives_every_item_the_value():
    pairs = td.AllOf(words(), td.AllOf(number(), number())) >> td.Broadcast()
    made = pairs >> td.Map(td.Function(lambda item, both: 100 * item + both[0] + both[1]))
    assert run(made, 0, 1) == [[3020, 1020, 2020, 4040]]


def test_get_item_of_a_tuple_of_tuples():
    pair = td.AllOf(number(), td.GetItem("kind") >> td.Scalar())
    block = td.AllOf(number(), pair, number()) >> td.GetItem(1) >> td.GetItem(1)
    assert run(block, 3, 1) == [[7, 1]]


def test_one_of_takes_the_block_of_the_key():
    negative = number() >> td.Function(lambda x: -x)
    cases = {0: number(), 1: negative, 7: td.GetItem("kind") >> td.Scalar()}
    assert run(td.OneOf(td.GetItem("kind"), cases), 0, 1, 2, 3) == [[10, -20, -30, 7]]


def test_record_names_fields_and_parts():
    block = td.Record([("number", td.Scalar()), ("kind", td.Scalar())])
    swapped = td.Record([(1, td.Identity()), (0, td.Function(lambda x: x + 1))])
    assert run(block >> swapped, 2, 3) == [[1, 7], [31, 41]]


def test_a_function_gets_nested_tuples_and_may_give_them():
    @td.Function
    def swap(pair, c):
        a, b = pair
        return c, (b, a)

    kind = td.GetItem("kind") >> td.Scalar()
    block = td.AllOf(td.AllOf(number(), kind), number()) >> swap
    assert run(block, 3) == [[40], [7], [40]]
    assert run(block >> td.GetItem(1) >> ADD, 3) == [[47]]


def test_functions_see_tensors_of_their_types():
    table = tf.constant(np.arange(8, dtype=np.float32).reshape(4, 2))
    shapes = []

    def concat(x, y, n):
        shapes.append((x.shape, y.shape, n.dtype))
        return tf.concat([x, y], axis=1)

    x = td.GetItem("kind") >> td.BatchInput(tf.Variable(table[::-1]))
    y = td.Identity() >> td.Embedding(tf.Variable(table))
    model = Model(td.AllOf(x, y, number()) >> td.Function(concat), FIELDS)
    assert model.run([0, 1])[0].tolist() == [[6, 7, 0, 1], [4, 5, 2, 3]]
    assert set(shapes) == {((None, 2), (None, 2), tf.int32)}
    assert model.program.tags == [td.TensorType((4,))]


def test_an_operation_is_one_wherever_its_block_is_used():
    twice = td.Function(lambda x: 2 * x)
    kind = td.GetItem("kind") >> td.Scalar() >> twice
    model = Model(td.AllOf(number() >> twice, kind) >> ADD, FIELDS)
    assert len(model.program.operations) == 2
    assert model.run([3])[0].tolist() == [94]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (words() >> td.Scalar(), "Scalar: got SequenceType.* but expected ObjectType"),
        (number() >> td.Map(ADD), "Map: got TensorType.* but expected SequenceType"),
        (words() >> ADD, "got SequenceType.* but expected tensors, or tuples of them"),
        (
            words() >> td.Fold(td.GetItem(1), td.Zeros(td.TensorType())),
            "Fold: got a block that makes .*int32.* but expected .*float32",
        ),
        (
            td.OneOf(td.GetItem("kind"), {0: number(), 1: td.Zeros(td.TensorType())}),
            "OneOf: got .* but expected blocks that make the same type",
        ),
        (
            td.ForwardDeclaration(NUMBER)(),
            "ForwardDeclaration: got no block. Call resolve_to before compiling.",
        ),
        (
            td.GetItem("number") >> td.Embedding(tf.Variable([[1.0]])),
            "outputs: got a row that nobody takes",
        ),
    ],
)
def test_blocks_refuse_what_they_cannot_take(block, message):
    with pytest.raises(TypeError, match=message):
        Model(block, FIELDS)


def test_a_declaration_must_be_kept():
    declared = td.ForwardDeclaration(td.TensorType((3,)))
    declared.resolve_to(number())
    with pytest.raises(TypeError, match=r"got a block that makes .* but expected the declared"):
        Model(declared(), FIELDS)


def test_sequences_that_do_not_match_are_named():
    fields = FIELDS | {"more": (np.array([0, 1, 2]), np.array([0, 0]))}
    more = td.GetItem("more") >> td.Map(number())
    model = Model(td.AllOf(words(), more) >> td.Zip() >> td.Map(ADD), fields)
    with pytest.raises(ValueError, match="Zip: got sequences of 3 and 1 items but expected"):
        model.run([0])


def test_a_tuple_has_a_greatest_width():
    with pytest.raises(ValueError, match="tuple: got 17 values but expected at most 16"):
        Model(td.AllOf(*(number() for _ in range(17))), FIELDS)
