"""gather, scatter, pull and push by themselves."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import cavs_tf as cavs
from cavs_tf._native.library import ops
from tests.helpers.pairwise import parametrize_pairs

ORDER = [2, 0, 3, 1]


def numeric(dtype):
    return np.arange(12).reshape(4, 3).astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_gather_takes_rows_and_zeros_for_missing_children(dtype):
    state = numeric(dtype)
    gathered = cavs.ops.gather(state, [3, -1, 0, 3])
    np.testing.assert_array_equal(gathered, np.stack([state[3], 0 * state[0], state[0], state[3]]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_scatter_adds_rows_of_the_same_child(dtype):
    values = numeric(dtype)
    state = cavs.ops.scatter(values, [1, -1, 1, 0], num_rows=3)
    np.testing.assert_array_equal(
        state, np.stack([values[3], values[0] + values[2], 0 * values[0]])
    )


@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "bfloat16", "float16", "uint8"])
@pytest.mark.parametrize("shape", [(4,), (4, 3), (4, 2, 3), (4, 0)])
def test_push_undoes_pull(dtype, shape):
    x = tf.cast(np.random.default_rng(0).integers(0, 2, shape), dtype)
    rows = cavs.ops.pull(x, ORDER)
    np.testing.assert_array_equal(rows, x.numpy()[ORDER])
    np.testing.assert_array_equal(cavs.ops.push(rows, ORDER), x)


def test_no_rows():
    assert cavs.ops.gather(tf.ones([0, 3]), [-1, -1]).numpy().tolist() == [[0.0] * 3] * 2
    assert cavs.ops.gather(tf.ones([2, 3]), []).shape == [0, 3]
    assert cavs.ops.scatter(tf.ones([0, 3]), [], 2).numpy().tolist() == [[0.0] * 3] * 2
    assert cavs.ops.pull(tf.ones([0, 3]), []).shape == [0, 3]


@pytest.mark.in_turns
@settings(derandomize=True, deadline=None, max_examples=20, print_blob=True)
@given(seed=st.integers(0, 10**6))
def test_gradients_are_the_reverse_op(seed):
    generator = np.random.default_rng(seed)
    num_rows, count = generator.integers(1, 6, 2)
    rows = tf.constant(generator.integers(-1, num_rows, count), tf.int32)
    order = tf.constant(generator.permutation(num_rows), tf.int32)
    state = tf.constant(generator.standard_normal((num_rows, 2)))
    values = tf.constant(generator.standard_normal((count, 2)))
    calls = [
        (lambda x: cavs.ops.gather(x, rows), state),
        (lambda x: cavs.ops.scatter(x, rows, num_rows), values),
        (lambda x: cavs.ops.pull(x, order), state),
        (lambda x: cavs.ops.push(x, order), state),
    ]
    for call, x in calls:
        analytic, numeric_gradient = tf.test.compute_gradient(call, [x])
        np.testing.assert_allclose(analytic, numeric_gradient, atol=1e-8)


def test_second_derivatives_of_the_single_ops():
    x = tf.constant([[1.0], [2.0]])
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y = tf.reduce_sum(cavs.ops.gather(x, [1, 1, 0, -1]) ** 3)
        gradient = inner.gradient(y, x)
    np.testing.assert_allclose(outer.gradient(gradient, x), [[6.0], [24.0]])


def test_shapes_are_known_before_running():
    @tf.function(input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([7], tf.int32)])
    def shapes(x, rows):
        assert cavs.ops.gather(x, rows).shape == [7, 3]
        assert cavs.ops.scatter(cavs.ops.gather(x, rows), rows, 5).shape == [5, 3]
        assert cavs.ops.pull(x, rows).shape == [7, 3]
        assert cavs.ops.push(x, rows).shape == [7, 3]
        return x

    shapes.get_concrete_function()


def test_a_vertex_function_may_use_them():
    table = tf.constant([[1.0, 2.0], [3.0, 4.0]])

    @cavs.vertex_function(state_size=2, arity=1)
    def cell(v):
        state = cavs.ops.gather(table, v.pull()) + v.gather(0)
        v.scatter(state)
        v.push(state)

    outputs = cell(cavs.GraphBatch.chain([3]), tf.constant([0, 1, -1]))
    np.testing.assert_allclose(outputs, [[1, 2], [4, 6], [4, 6]])


SIZES = ((0, 3), (1, 1), (700, 5), (33, 64), (5, 100))


@parametrize_pairs(size=SIZES, dtype=("float32", "float64", "bfloat16"), is_mean=(False, True))
def test_cross_entropy_and_both_derivatives_are_those_of_tensorflow(size, dtype, is_mean):
    rows, classes = size
    generator = np.random.default_rng(rows)
    logits = tf.cast(generator.normal(size=[rows, classes], scale=5), dtype)
    labels = tf.constant(generator.integers(classes, size=rows))
    weights = tf.cast(np.full(rows, 0.3) if is_mean else generator.normal(size=rows), dtype)

    def derivatives(cross_entropy):
        with tf.GradientTape() as second:
            second.watch(logits)
            with tf.GradientTape() as first:
                first.watch(logits)
                loss = cross_entropy(labels, logits)
                total = tf.reduce_sum(loss * weights)
            gradient = first.gradient(total, logits)
            squares = tf.reduce_sum(gradient**2)
        return [tf.cast(x, tf.float64) for x in (loss, gradient, second.gradient(squares, logits))]

    theirs = derivatives(tf.nn.sparse_softmax_cross_entropy_with_logits)
    for call in (derivatives, tf.function(derivatives)):
        ours = call(cavs.ops.sparse_softmax_cross_entropy)
        for got, expected in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("shape", [(9, 5), (400, 5), (None, 5)])
def test_second_derivatives_of_a_cross_entropy_are_made_only_where_asked_for(shape):
    def gradient(logits):
        labels = tf.zeros([tf.shape(logits)[0]], tf.int32)
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = cavs.ops.sparse_softmax_cross_entropy(labels, logits)
        return tape.gradient(losses, logits)

    signature = tf.TensorSpec(shape, tf.float32)
    graph = tf.function(gradient).get_concrete_function(signature).graph
    made = {op.type for op in graph.get_operations()}
    assert "CavsCrossEntropyGrad" in made and "Softmax" not in made


def test_malformed_cross_entropies():
    for message, labels, logits in [
        (r"labels\[1\]: got 2 but expected a class in \[0, 2\)", [0, 2], tf.zeros([2, 2])),
        (r"labels\[0\]: got -1 but expected a class", [-1], tf.zeros([1, 2])),
        (r"got shapes \[2,2\] and \[1\] but expected", [0], tf.zeros([2, 2])),
        (r"got shapes \[2,2\] and \[2,1\] but expected", [[0], [0]], tf.zeros([2, 2])),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            cavs.ops.sparse_softmax_cross_entropy(labels, logits)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_gradient_of_a_cross_entropy_multiplies_rows(dtype):
    gradient = tf.cast(np.random.default_rng(0).normal(size=[9, 5]), dtype)
    for factors in (np.arange(9.0), np.full(9, -2.0), np.where(np.arange(9) == 8, 1.0, 3.0)):
        factors = tf.cast(factors, dtype)
        product = ops.cavs_cross_entropy_grad(gradient, factors)
        np.testing.assert_array_equal(product, gradient * factors[:, tf.newaxis])
    for wrong in (tf.ones([8], dtype), tf.ones([9, 1], dtype)):
        with pytest.raises(tf.errors.InvalidArgumentError, match="gradient, grad: got shapes"):
            ops.cavs_cross_entropy_grad(gradient, wrong)


def test_a_cross_entropy_gradient_that_is_not_a_number_stays_one():
    factors = tf.constant([np.nan, np.nan, np.nan])
    product = ops.cavs_cross_entropy_grad(tf.ones([3, 2]), factors)
    assert np.isnan(product).all()


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    "mask_negative, mask_id", [(True, None), (False, 0), (True, 3), (False, None)]
)
@pytest.mark.parametrize("size", [0, 1, 700])
def test_present_ids_are_those_that_are_not_masked(dtype, mask_negative, mask_id, size):
    ids = np.random.default_rng(size).integers(-2, 5, size=size).astype(dtype)
    is_present = np.full(size, True)
    if mask_negative:
        is_present &= ids >= 0
    if mask_id is not None:
        is_present &= ids != mask_id
    found = cavs.ops.present_ids(ids, mask_negative, mask_id)
    assert isinstance(found, cavs.VertexRows) and found.vertices.dtype == tf.int32
    np.testing.assert_array_equal(found.vertices, np.flatnonzero(is_present))
    np.testing.assert_array_equal(found.rows, ids[is_present])


def test_present_ids_have_one_dimension():
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"ids: got shape \[1,2\] but expected"
    ):
        cavs.ops.present_ids([[1, 2]])
    with pytest.raises(ValueError, match="rank 1"):
        tf.function(cavs.ops.present_ids).get_concrete_function(tf.TensorSpec([2, 2], tf.int32))


def test_cross_entropy_in_xla():
    compiled = tf.function(cavs.ops.sparse_softmax_cross_entropy, jit_compile=True)
    np.testing.assert_allclose(compiled([1], tf.zeros([1, 2])), [np.log(2)], rtol=1e-6)
