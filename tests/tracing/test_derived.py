"""Values that vertex functions compute from weights alone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect._memory import functions_of

UNITS = 4
GRAPHS = cavs.GraphBatch.from_children([[[], [0], [], [1, 2]], [[]], [[], [], [0, 1]]])
X = tf.random.stateless_normal([int(GRAPHS.num_vertices), UNITS], [1, 2])


@tf.custom_gradient
def signs(w):
    """Its gradient reads a tensor of the graph in which it was traced."""
    return tf.sign(w), lambda dy: dy * tf.cast(tf.abs(w) < 1, w.dtype)


@tf.function
def normalised(w):
    return w / tf.norm(w, axis=0)


def loop(w):
    return tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, tf.matmul(y, w)), (0, w))[1]


def twice(x, w):
    """Reads one value two times, and the weight itself."""
    return tf.matmul(tf.matmul(x, tf.nn.softmax(w)), tf.nn.softmax(w)) + tf.matmul(x, w)


# Functions of rows and a weight [UNITS, UNITS].
OURS = {
    "cast": lambda x, w: tf.cast(tf.matmul(tf.cast(x, w.dtype), w), x.dtype),
    "normalised": lambda x, w: tf.matmul(x, w / tf.norm(w, axis=0)),
    "softmax": lambda x, w: tf.matmul(x, tf.nn.softmax(w)),
    "transposed": lambda x, w: tf.matmul(x, tf.transpose(w) + 1),
    "columns": lambda x, w: x * w[:, 1] + w[::2, 0][1],
    "stopped": lambda x, w: tf.matmul(x, tf.stop_gradient(2 * w)) + w[0],
    "constants": lambda x, w: tf.matmul(x, w) + tf.sin(tf.linspace(0.0, 1.0, UNITS)),
    "integers": lambda x, w: tf.matmul(x, tf.gather(w, tf.argsort(w[0]))),
    "twice": twice,
}
# TensorFlow's kernels run some of their operators in the compiled program.
THEIRS = {
    "custom gradient": lambda x, w: tf.matmul(x, signs(2 * w)),
    "silu": lambda x, w: tf.matmul(x, tf.nn.silu(w)),
    "exponential": lambda x, w: tf.matmul(x, tf.linalg.expm(w / 4)),
    "function": lambda x, w: tf.matmul(x, normalised(w + 1)),
    "loop": lambda x, w: tf.matmul(x, loop(w)),
    "unknown shape": lambda x, w: x + tf.reduce_sum(tf.boolean_mask(w, w > 0)),
}


def of_blocks(x, w):
    first, second = tf.split(w, [UNITS, UNITS])
    return tf.matmul(x, second) + tf.matmul(tf.tanh(x), first)


def of_matrices(x, w):
    first, second = tf.unstack(w)
    return tf.matmul(x, first) + tf.matmul(tf.tanh(x), second)


def of_nested(x, w):
    first, second = tf.unstack(tf.reshape(w, [2, 2, UNITS]))
    return x * first[1] + tf.tanh(x) * second[-1] + first[0] - second[0]


# Functions that take weights apart, and the shapes of the weights.
PARTS = {
    "unstack": (lambda x, w: x * tf.unstack(w)[0] + tf.tanh(x) * tf.unstack(w)[1], [2, UNITS]),
    "unstack, some": (lambda x, w: x * tf.unstack(w)[1], [3, UNITS]),
    "indices": (lambda x, w: x * w[0] + tf.tanh(x) * w[1], [2, UNITS]),
    "indices, some": (lambda x, w: x * w[-1] + tf.tanh(x) * w[1], [4, UNITS]),
    "ranges": (lambda x, w: x * w[:UNITS] + w[UNITS : 2 * UNITS], [3 * UNITS]),
    "ellipsis": (lambda x, w: x * w[..., 1 : 1 + UNITS], [2 * UNITS]),
    "new axis": (lambda x, w: x * w[tf.newaxis, UNITS:], [2 * UNITS]),
    "slices": (lambda x, w: x * tf.slice(w, [0], [4]) + tf.slice(w, [6], [-1]), [10]),
    "split": (lambda x, w: x * tf.split(w, 2)[0] + tf.split(w, 2)[1], [2 * UNITS]),
    "split of one row": (lambda x, w: x * tf.split(w, 2, axis=1)[1], [1, 2 * UNITS]),
    "matrices": (of_matrices, [2, UNITS, UNITS]),
    "blocks": (of_blocks, [2 * UNITS, UNITS]),
    "nested": (of_nested, [4, UNITS]),
    "one column": (lambda x, w: x * w[:, 1], [UNITS, 3]),
    "steps": (lambda x, w: x * w[::2], [2 * UNITS]),
    "overlapping": (lambda x, w: x * w[:UNITS] + tf.tanh(x) * w[1 : 1 + UNITS], [2 * UNITS]),
    "the same twice": (lambda x, w: x * w[1] + tf.tanh(x) * w[1], [2, UNITS]),
}
CASES = PARTS | {name: (compute, [UNITS, UNITS]) for name, compute in (OURS | THEIRS).items()}


class Cell(cavs.GraphSupport):
    """h = tanh(compute(x + sum of h, w))."""

    def __init__(self, compute, shape=(UNITS, UNITS), **kwargs):
        super().__init__(state_size=UNITS, arity=2, **kwargs)
        self.compute, self.shape = compute, shape

    def build(self, inputs_shape=None):
        self.w = self.add_weight(shape=self.shape, initializer="glorot_uniform", name="w")

    def vertex(self):
        h = tf.tanh(self.compute(self.pull() + self.gather(0) + self.gather(1), self.w))
        self.scatter(h)
        self.push(h)


def results(cell, call):
    with tf.GradientTape() as tape:
        tape.watch(X)
        loss = tf.reduce_sum(tf.sin(call()))
    return [loss, *tape.gradient(loss, [X, *cell.trainable_variables])]


def assert_near(found, wanted, tolerance=1e-5):
    for got, want in zip(found, wanted, strict=True):
        got, want = (tf.cast(tf.convert_to_tensor(value), "float32") for value in (got, want))
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=tolerance)


@pytest.mark.in_turns
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_the_reference(case):
    cell = Cell(*CASES[case])
    found = results(cell, lambda: cell(GRAPHS, X))
    assert_near(found, results(cell, lambda: cavs.reference.run(cell, GRAPHS, X)))
    assert_near(found, tf.function(lambda: results(cell, lambda: cell(GRAPHS, X)))())
    if case not in THEIRS:  # No kernel of TensorFlow runs in the program.
        assert "foreign" not in cavs.explain(cell, program=True)


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@pytest.mark.parametrize("layer", [cavs.keras.TreeLSTM, cavs.keras.TreeGRU])
def test_mixed_precision_casts_each_weight_outside(policy, layer):
    layer = layer(UNITS, dtype=policy)
    layer(GRAPHS, X)
    assert "foreign" not in cavs.explain(layer, program=True)


def test_a_value_that_is_computed_twice_is_one_capture():
    cell = Cell(twice)
    cell(GRAPHS, X)
    functions = functions_of(cell)
    assert [capture.derived for capture in functions.captures] == [False, True]


def test_a_weight_that_only_a_value_is_computed_from_is_not_passed():
    cell = Cell(OURS["softmax"])
    cell(GRAPHS, X)
    functions = functions_of(cell)
    assert [capture.derived for capture in functions.captures] == [True]
    assert [source.source for source in functions.derived.sources] == [cell.w.value]


def test_a_value_without_a_gradient_has_none_computed():
    cell = Cell(lambda x, w: tf.matmul(x, tf.stop_gradient(2 * w)))
    cell(GRAPHS, X)
    shown = cavs.explain(cell, program=True)
    assert "weight_grad" not in shown


def test_vertex_types_share_the_weight_that_their_values_are_computed_from():
    class Typed(Cell):
        vertex_types = ("vertex", "other")

        def other(self):
            h = tf.tanh(tf.matmul(self.pull(), tf.nn.softmax(self.w)))
            self.scatter(h)
            self.push(h)

    cell = Typed(lambda x, w: tf.matmul(x, tf.nn.softmax(w)))
    lists = [[[], [], [0, 1]], [[]]]
    graphs = cavs.GraphBatch.from_children(lists, [[1, 0, 0], [1]])
    x = X[:4]

    def run(call):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(call()))
        return [loss, tape.gradient(loss, cell.w.value)]

    found = run(lambda: cell(graphs, x))
    assert_near(found, run(lambda: cavs.reference.run(cell, graphs, x)))
    assert len(functions_of(cell).derived.sources) == 1


def test_an_operator_without_a_gradient_is_named_when_the_gradient_is_asked_for():
    def logarithm(x, w):
        return x * tf.math.real(tf.linalg.logm(tf.cast(w, tf.complex64)))[0]

    cell = Cell(logarithm)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(cell(GRAPHS, X))
    with pytest.raises(
        LookupError, match=r"Cell\.vertex: an operator of the vertex function has no"
    ):
        tape.gradient(loss, cell.w.value)


def test_a_model_that_was_exported_has_the_gradient(tmp_path):
    module = tf.Module()
    module.cell = cell = Cell(OURS["normalised"])
    cell(GRAPHS, X)
    module.run = tf.function(lambda x: cell(GRAPHS, x), [tf.TensorSpec(X.shape)])
    tf.saved_model.save(module, str(tmp_path))
    loaded = tf.saved_model.load(str(tmp_path))
    with tf.GradientTape() as tape:
        tape.watch(X)
        loss = tf.reduce_sum(tf.sin(loaded.run(X)))
    found = tape.gradient(loss, [X, *tape.watched_variables()])
    assert_near([loss, *found], results(cell, lambda: cell(GRAPHS, X)))


def test_an_output_without_a_gradient_leaves_the_others_as_they_are():
    class Two(Cell):
        def vertex(self):
            h = tf.tanh(tf.matmul(self.pull() + self.gather(0), tf.nn.softmax(self.w)))
            self.scatter(h)
            self.push(h, "h")
            self.push(tf.sqrt(h * 0) * tf.exp(self.w[0]), "infinite")

    cell = Two(None)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(cell(GRAPHS, X)["h"])
    assert np.isfinite(tape.gradient(loss, cell.w.value)).all()


def test_keras_trains_a_layer_of_mixed_precision_that_normalises_its_weights():
    structure = cavs.keras.graph_inputs()
    rows = keras.Input([UNITS], name="rows")
    cell = Cell(OURS["normalised"], dtype="mixed_bfloat16")
    root = cavs.keras.Graph(cell)(structure, rows)
    model = keras.Model({**structure, "rows": rows}, keras.layers.Dense(1)(root))
    model.compile("sgd", "mse")
    data = {**GRAPHS.to_dict(), "rows": X}
    before = cell.w.numpy()
    model.train_on_batch(data, np.ones([3, 1], "float32"))
    assert (cell.w.numpy() != before).all()


def test_gradients_of_narrow_parts_are_near_and_those_of_parts_that_nothing_reads_are_zero():
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
