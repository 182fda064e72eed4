"""Weights that vertex functions take apart, and the gradients of their parts."""

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

UNITS = 4
GRAPHS = cavs.GraphBatch.from_children([[[], [0], [], [1, 2]], [[]], [[], [], [0, 1]]])
X = tf.random.stateless_normal([int(GRAPHS.num_vertices), UNITS], [1, 2])


def of_rows(x, h, w):
    first, second = tf.unstack(w)
    return x * first + h * second


def of_products(x, h, w):
    first, second = tf.unstack(w)
    return tf.matmul(x, first) + tf.matmul(h, second)


def of_blocks(x, h, w):
    first, second = tf.split(w, [UNITS, UNITS])
    return tf.matmul(x, second) + tf.matmul(h, first)


def of_nested(x, h, w):
    first, second = tf.unstack(tf.reshape(w, [2, 2, UNITS]))
    return x * first[1] + h * second[-1] + first[0] - second[0]


# The functions, and the shape of the weight.
PARTS = {
    "unstack": (lambda x, h, w: x * tf.unstack(w)[0] + h * tf.unstack(w)[1], [2, UNITS]),
    "unstack once": (of_rows, [2, UNITS]),
    "unstack, some": (lambda x, h, w: x + h * tf.unstack(w)[1], [3, UNITS]),
    "indices": (lambda x, h, w: x * w[0] + h * w[1], [2, UNITS]),
    "indices, some": (lambda x, h, w: x * w[-1] + h * w[1], [4, UNITS]),
    "ranges": (lambda x, h, w: x + w[:UNITS] + h * w[UNITS : 2 * UNITS], [3 * UNITS]),
    "ellipsis": (lambda x, h, w: x + h * w[..., 1 : 1 + UNITS], [2 * UNITS]),
    "new axis": (lambda x, h, w: x + h * w[tf.newaxis, UNITS:], [2 * UNITS]),
    "slices": (lambda x, h, w: x * tf.slice(w, [0], [4]) + h * tf.slice(w, [6], [-1]), [10]),
    "split": (lambda x, h, w: x * tf.split(w, 2)[0] + h * tf.split(w, 2)[1], [2 * UNITS]),
    "split of one row": (lambda x, h, w: x + h * tf.split(w, 2, axis=1)[1], [1, 2 * UNITS]),
    "matrices": (of_products, [2, UNITS, UNITS]),
    "blocks": (of_blocks, [2 * UNITS, UNITS]),
    "nested": (of_nested, [4, UNITS]),
    "columns": (lambda x, h, w: x + h * w[:, 1], [UNITS, 3]),
    "steps": (lambda x, h, w: x + h * w[::2], [2 * UNITS]),
    "overlapping": (lambda x, h, w: x * w[:UNITS] + h * w[1 : 1 + UNITS], [2 * UNITS]),
    "the same twice": (lambda x, h, w: x * w[1] + h * w[1], [2, UNITS]),
}


class Cell(cavs.GraphSupport):
    """h = tanh(compute(x, sum of h, w))."""

    def __init__(self, compute, shape, dtype="float32"):
        super().__init__(state_size=UNITS, arity=2, dtype=dtype)
        self.compute, self.shape = compute, shape

    def build(self, inputs_shape=None):
        self.w = self.add_weight(shape=self.shape, initializer="glorot_uniform", name="w")

    def vertex(self):
        h = self.gather(0) + self.gather(1)
        h = tf.tanh(self.compute(self.pull(), h, self.w))
        self.scatter(h)
        self.push(h)


def results(cell, call):
    with tf.GradientTape() as tape:
        tape.watch(X)
        loss = tf.reduce_sum(tf.sin(call()))
    return [loss, *tape.gradient(loss, [X, *cell.trainable_variables])]


@pytest.mark.parametrize("case", PARTS)
def test_parts_of_weights_have_the_values_and_gradients_of_the_reference(case):
    cell = Cell(*PARTS[case])
    for found in (results(cell, lambda: cell(GRAPHS, X)),) * 2:
        wanted = results(cell, lambda: cavs.reference.run(cell, GRAPHS, X))
        for got, want in zip(found, wanted, strict=True):
            np.testing.assert_allclose(got, tf.convert_to_tensor(want), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", PARTS)
def test_no_kernel_of_tensorflow_runs_in_the_program(case):
    cell = Cell(*PARTS[case])
    cell(GRAPHS, X)
    program = str(cavs.explain(cell, program=True))
    assert "foreign" not in program
    assert program.count("by TensorFlow's own kernels: none") == 2


def test_sums_of_narrow_numbers_lie_side_by_side_until_they_are_rounded():
    found, weights = [], None
    for dtype in ("float32", "bfloat16"):
        cell = Cell(*PARTS["indices, some"], dtype=dtype)
        x = tf.cast(X, dtype)
        cell(GRAPHS, x)
        weights = weights or cell.get_weights()
        cell.set_weights(weights)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(cell(GRAPHS, x))
        found.append(tf.cast(tape.gradient(loss, cell.w.value), "float32"))
    np.testing.assert_allclose(*found, rtol=0.1, atol=0.1)
    np.testing.assert_array_equal(found[1][::2], tf.zeros([2, UNITS]))
