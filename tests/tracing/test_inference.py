"""The meaning of a vertex function is inferred from its operators."""

import re

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._tracing import inference as _inference
from tests.helpers import cells

GRAPHS = cells.random_graphs(seed=3, num_graphs=6, largest=7)
UNITS = 6


def cell_of(function, state_size=UNITS, arity=2, **kwargs):
    """A cell whose state and output are what `function(cell, x, h)` returns.

    `x` is the row that is pulled and `h` the sum of the children's states.
    """

    def vertex(v):
        state = function(v, v.pull(), v.gather(0) + v.gather(1))
        v.scatter(state)
        v.push(state)

    return cavs.vertex_function(state_size=state_size, arity=arity, **kwargs)(vertex)


def rows(width=UNITS, dtype="float32", seed=0):
    numbers = np.random.default_rng(seed).standard_normal((GRAPHS.num_vertices, width))
    return tf.constant(numbers, dtype)


def check(cell, inputs=None, gradients=True, **kwargs):
    """Expects outputs and all gradients to equal those of the reference executor."""
    inputs = rows() if inputs is None else inputs
    if gradients:
        report = cavs.check_equivalence(cell, GRAPHS, inputs, **kwargs)
        assert report.ok, str(report)
        return
    expected = cavs.reference.run(cell, GRAPHS, inputs)
    np.testing.assert_allclose(cell(GRAPHS, inputs), expected, rtol=1e-5, atol=1e-5)


# --- integers that are captured are values of the moment ---------------------------------


CAPTURED_SIZES = {
    "slice": lambda x, k: x + tf.reduce_sum(x[:, :k], 1, keepdims=True),
    "slice_op": lambda x, k: (
        x + tf.reduce_sum(tf.slice(x, [0, 0], tf.stack([-1, k])), 1, keepdims=True)
    ),
    "rest": lambda x, k: x + tf.reduce_sum(x[:, k:], 1, keepdims=True),
    "one_hot": lambda x, k: (
        x * tf.reduce_sum(tf.one_hot(tf.cast(x > 0, tf.int32), k, axis=-1), [1, 2])[:, None]
    ),
    "tile": lambda x, k: x + tf.reduce_sum(tf.tile(x, tf.stack([1, k])), 1, keepdims=True),
    "range": lambda x, k: x + 0.1 * tf.reduce_sum(tf.cast(tf.range(k), x.dtype)),
    "scaled": lambda x, k: x * tf.cast(k, x.dtype),
    "column": lambda x, k: x + tf.gather(x, k, axis=1)[:, None],
    "branch": lambda x, k: tf.cond(k > 2, lambda: x, lambda: tf.tanh(x)),
}


@pytest.mark.in_turns
@pytest.mark.parametrize("kind", ["variable", "eager", "outer"])
@pytest.mark.parametrize("use", CAPTURED_SIZES)
def test_captured_integers_are_read_when_the_function_runs(use, kind):
    function, x, variable = CAPTURED_SIZES[use], rows(), tf.Variable(0)

    def with_size(k):
        return cell_of(lambda v, x, h: tf.tanh(function(x, k) + h))

    of_variable, run = with_size(variable), tf.function(lambda k: with_size(k)(GRAPHS, x))
    for number in (2, 4):
        if kind == "variable":
            variable.assign(number)
            check(of_variable)
        elif kind == "eager":
            check(with_size(tf.constant(number)))
        else:
            expected = cavs.reference.run(with_size(tf.constant(number)), GRAPHS, x)
            found = run(tf.constant(number))
            np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_sizes_computed_from_captured_values():
    mask = tf.Variable([True, False, True, True])
    ids = tf.Variable([3, 3, 1, 2])

    def function(v, x, h):
        count = tf.cast(tf.size(tf.where(mask)), x.dtype)
        distinct = tf.cast(tf.shape(tf.unique(ids).y)[0], x.dtype)
        return tf.tanh(x / count + h * distinct)

    check(cell_of(function))


@pytest.mark.parametrize(
    "function",
    [
        lambda x, k: tf.reshape(x, tf.stack([-1, k])),
        lambda x, k: tf.transpose(x, tf.stack([0, k])),
    ],
)
def test_a_layout_that_depends_on_a_captured_integer_is_refused(function):
    k = tf.Variable(1)
    with pytest.raises(ValueError, match=r"got rows that depend on each other|has no row per"):
        cell_of(lambda v, x, h: tf.tanh(function(x, k) + h))(GRAPHS, rows())


# --- rows that depend on each other -----------------------------------------------------


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("If", lambda x: tf.cond(tf.reduce_any(x > 5), lambda: x, lambda: -x)),
        ("Sum", lambda x: tf.clip_by_norm(x, 1.0)),
        ("Sum", lambda x: x / tf.reduce_sum(x)),
        ("RealDiv", lambda x: x / tf.cast(tf.shape(x)[0], x.dtype)),
        ("Range", lambda x: x + tf.cast(tf.range(tf.shape(x)[0]), x.dtype)[:, None]),
        ("Where", lambda x: tf.gather(x, tf.where(x[:, 0] > 0)[:, 0])),
        ("Unique", lambda x: x + tf.cast(tf.size(tf.unique(x[:, 0]).y), x.dtype)),
        ("Reshape", lambda x: tf.reshape(x, [UNITS, -1])),
        ("Squeeze", lambda x: tf.squeeze(x)),
        ("MatMul", lambda x: tf.matmul(x, x, transpose_b=True) @ x),
    ],
)
def test_coupled_rows_are_refused(op, function):
    with pytest.raises(ValueError, match=r"got rows that depend on each other at operator") as e:
        cell_of(lambda v, x, h: tf.tanh(function(x) + h))(GRAPHS, rows())
    assert "test_inference.py" in str(e.value)  # The traceback shows the user's line.
    named = re.search(r"\((\w+)\)", str(e.value)).group(1)
    assert named in (op, f"Stateless{op}", "AddV2", "Any", "Cast", "Mul")


def test_the_line_of_a_derivative_is_that_of_the_function():
    @tf.custom_gradient
    def divided(x):
        return tf.identity(x), lambda grad: grad / tf.cast(tf.shape(grad)[0], grad.dtype)

    cell = cell_of(lambda v, x, h: tf.tanh(divided(x) + h))
    x = rows()
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(cell(GRAPHS, x))
    with pytest.raises(
        LookupError, match=r"in its derivative: got rows .*test_inference\.py:\d+, `cell = "
    ):
        tape.gradient(loss, x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
def test_a_condition_on_how_many_rows_there_are_is_refused(dtype):
    def function(v, x, h):
        return tf.cond(tf.shape(x)[0] > 1, lambda: x * 1.25, lambda: x) + h

    with pytest.raises(ValueError, match="got rows that depend on each other"):
        cell_of(function, dtype=dtype)(GRAPHS, rows(dtype=dtype))


def test_random_operators_are_refused():
    with pytest.raises(ValueError, match=r"For dropout, call self\.dropout"):
        cell_of(lambda v, x, h: x * tf.random.uniform([1, UNITS]) + h)(GRAPHS, rows())


# --- functions that are right -----------------------------------------------------------


def deep(width):
    layers = [tf.keras.layers.Dense(width, activation="relu") for _ in range(3)]
    norm = tf.keras.layers.LayerNormalization()

    def function(v, x, h):
        for layer in layers:
            x = layer(x)
        return norm(x)[:, :UNITS] + h

    return function


def centred(v, x, h):
    wide = tf.tile(x, [1, 512 // UNITS + 1])
    return (wide - tf.reduce_mean(wide, axis=1, keepdims=True))[:, :UNITS] + h


@pytest.mark.in_turns
def test_rounding_that_later_operators_amplify():
    check(cell_of(deep(512)), gradients=False)
    check(cell_of(centred), gradients=False)


def matrices_of(x):
    square = tf.reshape(x[:, :4], [-1, 2, 2])
    return tf.matmul(square, square, transpose_b=True) + tf.eye(2)


def distinct(x):
    """A symmetric matrix for each row, with eigenvalues that are not near each other."""
    return tf.einsum("bi,bj->bij", x, x) + tf.linalg.diag(tf.range(1.0, UNITS + 1))


def attention(v, x, h):
    heads = tf.reshape(x, [-1, 3, 2])
    weights = tf.nn.softmax(tf.einsum("bid,bjd->bij", heads, heads), axis=-1)
    return tf.tanh(tf.reshape(tf.einsum("bij,bjd->bid", weights, heads), [-1, UNITS]) + h)


def asserted(v, x, h):
    with tf.control_dependencies([tf.debugging.assert_greater(tf.abs(x), -1.0)]):
        return tf.tanh(x + h)


def sparsemax(z):
    ordered = tf.sort(z, direction="DESCENDING", axis=1)
    sums = tf.cumsum(ordered, axis=1)
    k = tf.range(1, UNITS + 1, dtype=z.dtype)
    support = tf.cast(1 + k * ordered > sums, z.dtype)
    count = tf.reduce_sum(support, axis=1, keepdims=True)
    last = tf.cast(count, tf.int32) - 1
    tau = (tf.gather(sums, last, axis=1, batch_dims=1) - 1) / count
    return tf.nn.relu(z - tau)


def positions():
    angles = np.arange(100)[:, None] / 10000 ** (np.arange(64)[None] / 64)
    return np.sin(angles).astype(np.float32)


def positional(v, x, h):
    return tf.tanh(x @ tf.constant(positions()[:UNITS, :UNITS]) + h) + tf.reduce_mean(
        x[:, :1] * tf.constant(positions().reshape([1, -1])), axis=1, keepdims=True
    )


def wide_product(matrix):
    def function(v, x, h):
        wide = tf.tile(x, [1, 11])[:, :65]
        return tf.tanh((wide @ matrix)[:, :UNITS] + h)

    return function


RIGHT = {
    "attention": attention,
    "asserted": asserted,
    "cholesky": lambda v, x, h: tf.tanh(
        tf.reshape(tf.linalg.cholesky(matrices_of(x)), [-1, 4])[:, :1] + h
    ),
    "inverse": lambda v, x, h: tf.tanh(
        tf.reshape(tf.linalg.inv(matrices_of(x)), [-1, 4])[:, :1] + h
    ),
    "eigenvalues": lambda v, x, h: tf.tanh(tf.linalg.eigvalsh(distinct(x + h))),
    "singular_values": lambda v, x, h: tf.tanh(tf.linalg.svd(distinct(x + h), compute_uv=False)),
    "vectorized_map": lambda v, x, h: tf.vectorized_map(lambda r: tf.tanh(r[0] + r[1]), (x, h)),
    "gather_nd": lambda v, x, h: tf.tanh(
        h + tf.gather_nd(x, tf.argsort(x, axis=1)[:, :1], batch_dims=1)[:, None]
    ),
    "top_k": lambda v, x, h: tf.tanh(tf.math.top_k(x + h, UNITS).values),
    "sort": lambda v, x, h: tf.tanh(tf.sort(x + h, axis=1)),
    "batch_gather": lambda v, x, h: tf.tanh(
        tf.gather(x + h, tf.argsort(x, axis=1), axis=1, batch_dims=1)
    ),
    "take_along_axis": lambda v, x, h: tf.tanh(
        tf.experimental.numpy.take_along_axis(x + h, tf.argsort(x, axis=1), axis=1)
    ),
    "take_along_axis_of_reshaped_rows": lambda v, x, h: tf.experimental.numpy.take_along_axis(
        tf.reshape(tf.tanh(tf.reshape(x + h, [-1, 2, 3])), [-1, 6]), tf.argsort(x, axis=1), axis=1
    ),
    "other_factors": lambda v, x, h: tf.tanh(
        tf.reshape(tf.reshape(tf.concat([x, h], 1), [-1, 4, 3]), [-1, 6, 2])[:, :, 0]
    ),
    "sparsemax": lambda v, x, h: sparsemax(x + h),
    "tril": wide_product(np.tril(np.ones([65, 65], np.float32))),
    "eye": wide_product(tf.eye(65)),
    "positions": positional,
    "segments": lambda v, x, h: tf.tanh(
        tf.repeat(
            tf.transpose(tf.math.unsorted_segment_sum(tf.transpose(x + h), [0, 1, 0, 1, 2, 2], 3)),
            2,
            axis=1,
        )
    ),
    "sort_in_a_row_of_rank_3": lambda v, x, h: tf.tanh(
        tf.reshape(tf.sort(tf.reshape(x + h, [-1, 3, 1, 2]), axis=1), [-1, UNITS])
        + tf.reshape(tf.sort(tf.reshape(x, [-1, 2, 3, 1]), axis=3), [-1, UNITS])
    ),
    "sorted_segments": lambda v, x, h: tf.tanh(
        h + tf.tile(tf.transpose(tf.math.segment_sum(tf.transpose(x), [0, 0, 1, 1, 1, 1])), [1, 3])
    ),
    "chosen_columns": lambda v, x, h: tf.tanh(
        tf.tile(tf.boolean_mask(x + h, np.arange(UNITS) % 2 == 0, axis=1), [1, 2])
    ),
    "rows_of_nothing": lambda v, x, h: tf.tanh(
        x + h + tf.matmul(tf.reshape(x[:, :0], [-1, 0]), tf.ones([0, UNITS]))
    ),
    "nothing_chosen": lambda v, x, h: tf.tanh(
        x
        + h
        + tf.matmul(
            tf.gather(x[:, :0], tf.math.top_k(x[:, :0], 0).indices, batch_dims=1),
            tf.ones([0, UNITS]),
        )
    ),
    "searchsorted": lambda v, x, h: tf.tanh(
        h + x * tf.cast(tf.searchsorted([-1.0, 0.0, 1.0], x[:, 0]), x.dtype)[:, None]
    ),
    "map_over_rows": lambda v, x, h: tf.map_fn(lambda r: tf.tanh(2.0 * r), x + h),
    "stacked_map_over_rows": lambda v, x, h: tf.sin(
        tf.reduce_sum(tf.stack([h, tf.map_fn(lambda r: r * tf.reduce_sum(r), x)], 1), 1)
    ),
    "loop_of_slices": lambda v, x, h: tf.tanh(
        tf.transpose(tf.map_fn(lambda column: tf.sin(column), tf.transpose(x + h)))
    ),
}


@pytest.mark.in_turns
@pytest.mark.parametrize("name", RIGHT)
def test_a_right_function_is_accepted_with_a_first_minibatch_of_no_rows(name):
    # test_rules_and_trials.py has the others, without this option, which decides when it runs.
    cell = cell_of(RIGHT[name], options=cavs.Options(disable=["eager"]))
    nothing = cavs.GraphBatch.from_children([])
    with tf.GradientTape() as tape:
        tape.watch(inputs := tf.zeros([0, UNITS]))
        loss = tf.reduce_sum(cell(nothing, inputs))
    assert tape.gradient(loss, inputs).shape == [0, UNITS]
    check(cell)


@pytest.mark.parametrize("width", [0, 3])
def test_the_gradient_of_a_weight_that_multiplies_nothing_is_zero(width):
    weight = tf.Variable(tf.ones([2, 4]))

    @cavs.vertex_function(state_size=UNITS, arity=2)
    def cell(v):
        product = tf.tensordot(v.pull(), weight, 1) * tf.tensordot(2.0 * v.pull(), weight, 1)
        state = tf.reduce_sum(product, [1, 2])[:, None] + v.gather(0) + v.gather(1)
        v.scatter(state)
        v.push(state)

    check(cell, tf.ones([GRAPHS.num_vertices, width, 2]))


def test_integers_that_are_pulled():
    table = tf.Variable(tf.random.stateless_normal([4, UNITS], [1, 2]))

    def function(v):
        ids = v.pull("id")
        state = tf.gather(table, ids - 2) + v.pull("x") * tf.cast(12 // ids, tf.float32)[:, None]
        state = tf.tanh(state + v.gather(0) + v.gather(1))
        v.scatter(state)
        v.push(state)

    cell = cavs.vertex_function(state_size=UNITS, arity=2)(function)
    ids = tf.constant(np.random.default_rng(0).integers(2, 6, GRAPHS.num_vertices), tf.int32)
    check(cell, {"id": ids, "x": rows()})


class WithLoop(cavs.GraphSupport):
    """Loops, and layers with loops, that read a weight."""

    def __init__(self, kind):
        super().__init__(state_size=UNITS, arity=2)
        self.kind = kind
        self.w = self.add_weight(shape=(UNITS, UNITS), initializer="orthogonal", name="w")
        self.lstm = tf.keras.layers.LSTM(UNITS) if kind == "lstm" else None

    def vertex(self):
        x = self.pull() + self.gather(0) + self.gather(1)
        state = tf.tanh(getattr(self, f"_{self.kind}")(x))
        self.scatter(state)
        self.push(state)

    def _while(self, x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, y: (i + 1, tf.tanh(y @ self.w)), (0, x))[
            1
        ]

    def _passing(self, x):
        """Its gradient passes lists of weights through identities."""
        later = tf.while_loop(lambda i, _: i < 2, lambda i, y: (i + 1, tf.tanh(y @ self.w)), (0, x))
        return later[1] + tf.identity(x)

    def _map(self, x):
        parts = tf.transpose(tf.reshape(x, [-1, 3, 2]), [1, 0, 2])
        parts = tf.map_fn(lambda p: p @ self.w[:2, :2], parts)
        return tf.reshape(tf.transpose(parts, [1, 0, 2]), [-1, UNITS])

    def _lstm(self, x):
        return self.lstm(tf.reshape(x, [-1, 3, 2]))

    def _recompute(self, x):
        return tf.recompute_grad(lambda y: tf.tanh(y @ self.w))(x)

    def _expm(self, x):
        return x @ tf.linalg.expm(self.w * 0.1)


@pytest.mark.in_turns
def test_a_loop_that_reads_a_weight_in_bfloat16():
    w = tf.Variable(tf.cast(tf.random.stateless_normal([2, 2], [1, 2]), tf.bfloat16))
    parts = cell_of(
        lambda v, x, h: tf.tanh(
            h + tf.reshape(tf.map_fn(lambda p: p @ w, tf.reshape(x, [-1, 3, 2])), [-1, UNITS])
        ),
        dtype="bfloat16",
    )
    x = rows(dtype="bfloat16")
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(parts(GRAPHS, x))
    assert np.abs(np.float32(tape.gradient(loss, w))).max() > 0


@pytest.mark.in_turns
@pytest.mark.parametrize("kind", ["while", "passing", "map", "lstm", "recompute", "expm"])
def test_loops_and_functions_that_read_weights(kind):
    check(WithLoop(kind))


def pooled(x, **kwargs):
    """The maxima of pairs, and where they are."""
    images = tf.reshape(x, [-1, 2, 3, 1])
    return tf.nn.max_pool_with_argmax(images, [1, 3], [1, 3], "VALID", **kwargs)


def test_pooling_that_says_where_the_maxima_are():
    def function(v, x, h):
        maxima, places = pooled(x + h)
        places = tf.cast(places, x.dtype)
        return tf.tanh(tf.tile(tf.reshape(tf.concat([maxima, places], 1), [-1, 4])[:, :2], [1, 3]))

    check(cell_of(function))


def test_places_among_all_rows_are_refused():
    def function(v, x, h):
        return (
            x
            + h
            + tf.cast(tf.reshape(pooled(x, include_batch_in_index=True)[1], [-1, 2]), x.dtype)[
                :, :1
            ]
        )

    with pytest.raises(ValueError, match="Leave include_batch_in_index False"):
        cell_of(function)(GRAPHS, rows())


# --- the rules themselves ----------------------------------------------------------------


def test_most_operators_in_common_use_have_a_rule():
    known = [name for name in dir(tf.raw_ops) if name[0].isupper() and _inference.has_rule(name)]
    assert len(known) > 350  # docs/how/tensorflow.md says so.


# --- operators without a rule -----------------------------------------------------------


def with_numpy(function, **kwargs):
    """A cell with an operator that has no rule, so that only trying it shows what it does."""

    def compute(v, x, h):
        y = tf.ensure_shape(tf.numpy_function(function, [x], tf.float32), [None, UNITS])
        return tf.tanh(y + h)

    return cell_of(compute, **kwargs)


def test_an_operator_without_a_rule_is_tried():
    cell = with_numpy(lambda x: np.sort(x, axis=1))
    np.testing.assert_allclose(cell(GRAPHS, rows()), cavs.reference.run(cell, GRAPHS, rows()), 1e-5)
    with pytest.raises(ValueError, match=r"got rows that depend on each other.*\(PyFunc\)"):
        with_numpy(lambda x: x - x.mean(axis=0, keepdims=True))(GRAPHS, rows())


def only_large(x):
    if (x < 5e6).any():
        raise ValueError("too small")
    return x / 1e7


def test_the_first_minibatch_is_used_where_no_invented_values_are_accepted():
    large = 1e7 + 1e5 * rows()
    with pytest.raises(ValueError, match=r"could not be tried \(.*too small.*Call the layer once"):
        tf.function(with_numpy(only_large))(GRAPHS, large)
    cell = with_numpy(only_large)
    np.testing.assert_allclose(cell(GRAPHS, large), cavs.reference.run(cell, GRAPHS, large), 1e-5)
