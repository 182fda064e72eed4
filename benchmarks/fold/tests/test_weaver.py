"""The schedule of TensorFlow Fold: what runs at which depth, and which rows it takes."""

import numpy as np
import pytest
import tensorflow as tf

from benchmarks.fold import td, wiring
from benchmarks.fold.loom import Loom
from benchmarks.fold.tests.models import Model, random_trees

NUMBER = td.TensorType((), "int32")


def sum_of_tree():
    """The vertex's own number, plus twice the sum of the children's values."""
    tree = td.ForwardDeclaration(NUMBER)
    add = td.Function(lambda a, b: a + b)
    twice = td.Function(lambda a, b: a + 2 * b)
    below = td.GetItem("children") >> td.Map(tree()) >> td.Reduce(add, td.Zeros(NUMBER))
    own = td.GetItem("number") >> td.Scalar()
    inner = td.AllOf(own, below) >> twice
    tree.resolve_to(td.OneOf(td.GetItem("many"), {0: own, 1: inner}))
    return tree()


def by_recursion(fields, vertex):
    splits, flat = fields["children"]
    below = flat[splits[vertex] : splits[vertex + 1]]
    return fields["number"][vertex] + 2 * sum(by_recursion(fields, child) for child in below)


@pytest.fixture(params=[0, 1, *(pytest.param(i, marks=pytest.mark.long) for i in range(2, 5))])
def trees(request):
    return random_trees(np.random.default_rng(request.param), count=9, arity=4)


def test_the_loop_computes_what_plain_recursion_does(trees):
    fields, roots = trees
    (values,) = Model(sum_of_tree(), fields).run(roots)
    assert values.tolist() == [by_recursion(fields, root) for root in roots]


def test_merged_examples_are_those_scheduled_together(trees):
    fields, roots = trees
    model = Model(sum_of_tree(), fields)
    together, apart = model.wiring(roots), model.wiring(roots[:2], roots[2:3], roots[3:])
    for part, expected in zip(apart, together, strict=True):
        np.testing.assert_array_equal(part, expected)
    (values,) = model.run(roots[4:], roots[:2])
    assert values.tolist() == [by_recursion(fields, root) for root in roots[4:] + roots[:2]]


@pytest.mark.parametrize("threads", [2, 3, 16])
def test_threads_make_the_same_schedule(trees, threads):
    fields, roots = trees
    one, many = (Model(sum_of_tree(), fields, n).wiring(roots) for n in (1, threads))
    np.testing.assert_array_equal(one[0], many[0])
    np.testing.assert_array_equal(one[1], many[1])


def chain(length, *more):
    """x and `length` steps from it, joined at the end."""
    step = td.Function(lambda x: x + 1)
    steps = td.Identity()
    for _ in range(length):
        steps = steps >> step
    return td.GetItem("number") >> td.Scalar() >> td.AllOf(td.Identity(), steps, *more)


def test_depth_is_one_more_than_that_of_the_deepest_argument():
    join = td.Function(lambda x, y: 10 * x + y)
    model = Model(chain(3) >> join, {"number": np.array([5, 6])})
    steps, joined, *_ = model.rows([0, 1])[NUMBER].T
    assert steps.tolist() == [2, 2, 2, 0]
    assert joined.tolist() == [0, 0, 0, 2]
    assert model.run([0, 1])[0].tolist() == [58, 69]


def test_a_value_passes_through_once_however_many_take_it_later():
    join = td.Function(lambda x, y: x + y)
    late = td.AllOf(
        td.GetItem(0),
        td.AllOf(td.GetItem(0), td.GetItem(1)) >> join,
        td.AllOf(td.GetItem(0), td.GetItem(1)) >> join >> td.Function(lambda x: x),
    )
    model = Model(chain(3) >> late >> td.Function(lambda a, b, c: a + b + c), {"number": [1]})
    passing = model.rows([0])[NUMBER][:, -1]
    # x until the last operation takes it at depth 6, and the result of the first join.
    assert passing.tolist() == [1, 1, 1, 1, 2, 0]
    assert model.run([0])[0].tolist() == [1 + 5 + 5]


def test_an_operation_runs_at_every_depth_even_on_nothing():
    calls = []

    def counted(x):
        tf.numpy_function(calls.append, [tf.shape(x)[0]], [])
        return x + 1

    block = td.GetItem("number") >> td.Scalar() >> td.Function(counted)
    block = block >> td.Function(lambda x: x * 2) >> td.Function(lambda x: x * 3)
    model = Model(block, {"number": np.array([1, 2])})
    assert model.run([0, 1])[0].tolist() == [12, 18]
    assert calls == [2, 0, 0]


def test_what_is_finished_waits_for_the_deepest_example():
    fields = {
        "number": np.array([1, 2, 3, 4]),
        "many": np.array([0, 1, 1, 0]),
        "children": (np.array([0, 0, 1, 2, 2]), np.array([0, 1])),
    }
    model = Model(sum_of_tree(), fields)
    # A single vertex, and a chain of three: one row waits, and so do two constants of the chain.
    passing = model.rows([3], [2])[NUMBER][:, -1]
    assert passing.tolist() == [2, 1]
    assert model.run([3], [2])[0].tolist() == [4, 3 + 2 * (2 + 2 * 1)]


def test_an_example_without_operations_has_no_depths():
    model = Model(td.GetItem("number") >> td.Scalar(), {"number": np.array([7, 8])})
    assert model.rows([1, 0])[NUMBER].shape == (0, 1)
    assert model.run([1, 0])[0].tolist() == [8, 7]


@pytest.mark.in_turns
def test_rows_of_a_table_are_looked_up_by_who_takes_them():
    table = tf.Variable(np.arange(12.0, dtype=np.float32).reshape(4, 3))
    token = td.GetItem("number") >> td.Embedding(table)
    state = td.TensorType((3,))
    cell = td.Function(lambda state, x: 10 * state + x)
    words = td.GetItem("words") >> td.Map(token) >> td.Fold(cell, td.Zeros(state))
    fields = {"number": np.array([3, 0, 2]), "words": (np.array([0, 3, 4]), np.array([0, 1, 2, 2]))}
    model = Model(words, fields)
    rows = table.numpy()
    np.testing.assert_array_equal(
        model.run([0, 1])[0], [100 * rows[3] + 10 * rows[0] + rows[2], rows[2]]
    )
    inputs = model.inputs([0, 1])

    @tf.function
    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(model.loop(*inputs)[0])
        return tape.gradient(loss, table)

    # By rows: a dense gradient would be as large as the table at every depth.
    by_rows = gradient()
    assert isinstance(by_rows, tf.IndexedSlices)
    dense = tf.convert_to_tensor(by_rows).numpy()
    np.testing.assert_array_equal(dense[:, 0], [10, 0, 2, 100])


@pytest.mark.parametrize(
    ("block", "expected"),
    [(td.AllOf(td.Identity()), 0), (td.AllOf(td.Identity(), td.Identity()), 1)],
)
def test_it_is_known_whether_a_row_is_taken_twice_at_a_depth(block, expected):
    total = td.Function(lambda *parts: tf.add_n(list(parts)))
    numbers = td.GetItem("number") >> td.Scalar() >> td.Function(lambda x: x + 1)
    model = Model(numbers >> block >> total, {"number": np.array([3, 4])})
    assert wiring.of_arrays(model.program, *model.wiring([0, 1])).shared.tolist() == [expected]


@pytest.mark.parametrize("shared", [None, ()])
def test_a_row_that_nobody_takes_has_no_gradient(shared):
    table = tf.Variable([[1.0], [2.0], [3.0]])
    row = td.GetItem("number") >> td.BatchInput(table)
    twice, thrice = (row >> td.Function(lambda x: (x * 2, x * 3)) >> td.GetItem(i) for i in (0, 1))
    block = td.AllOf(twice, thrice) >> td.Function(lambda a, b: a + b)
    model = Model(block, {"number": np.array([2, 0])})
    inputs = model.inputs([0, 1])

    @tf.function
    def gradient():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(Loom(model.program, shared).run(*inputs)[0])
        return tf.convert_to_tensor(tape.gradient(loss, table))

    assert gradient().numpy()[:, 0].tolist() == [5, 0, 5]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        (
            {"number": [1, 2], "many": [0, 1], "children": ([0, 0, 1], [7])},
            r"field 'many': got object 7 but expected one in \[0, 2\)",
        ),
        (
            {"number": [1, 2], "many": [0, 3], "children": ([0, 0, 1], [0])},
            "OneOf: got the key 3 but expected that of a case",
        ),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_examples_that_the_model_does_not_describe_are_named(fields, message, threads):
    with pytest.raises(ValueError, match=message):
        Model(sum_of_tree(), fields, threads).run([0, 1])


def test_an_output_passes_through_to_the_last_depth_of_its_example():
    model = Model(chain(3), {"number": np.array([5])})
    assert model.rows([0])[NUMBER][:, -1].tolist() == [1, 1, 1]
    assert [output.tolist() for output in model.run([0])] == [[5], [8]]


def test_an_example_has_each_constant_of_the_model_once():
    add = td.Function(lambda x, zero: x + zero)
    block = td.GetItem("words") >> td.Map(
        td.AllOf(td.GetItem("number") >> td.Scalar(), td.Zeros(NUMBER)) >> add
    )
    fields = {"number": np.array([4, 5]), "words": (np.array([0, 3]), np.array([0, 1, 1]))}
    model = Model(block, fields)
    given = wiring.of_arrays(model.program, *model.wiring([0]))
    numbers, zeros = given.literals
    assert numbers.tolist() == [4, 5, 5] and zeros.tolist() == [0]
    assert model.run([0])[0].tolist() == [4, 5, 5]
