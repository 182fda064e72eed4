"""Operators on rows of rank 2 and more run by native kernels, with the numbers of the reference."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.differential.test_differential import SWITCHES, check_options
from tests.helpers import cells

ARITY, UNITS, HEADS = 3, 8, 2
STATES = {
    # Sums and means over any axes of a row.
    "sum_last": lambda s, x: tf.reduce_sum(s * x, 3),
    "sum_first": lambda s, x: tf.reduce_sum(s * x, 1),
    "sum_middle": lambda s, x: tf.reduce_sum(s * x, 2),
    "sum_kept": lambda s, x: tf.reduce_sum(s * x, [1, 3], keepdims=True),
    "sum_ends": lambda s, x: tf.reduce_sum(s * x, [1, 3]),
    "sum_all": lambda s, x: tf.reduce_sum(s * x, [1, 2, 3]),
    "sum_negative": lambda s, x: tf.reduce_sum(s * x, [-1, -2]),
    "mean_last": lambda s, x: tf.reduce_mean(s * x, -1),
    "mean_first": lambda s, x: tf.reduce_mean(s * x, [1, 2]),
    "mean_of_vectors": lambda s, x: tf.reduce_mean(tf.reshape(s * x, [-1, 24]), 1),
    # Broadcasts.
    "over_first": lambda s, x: s * x[:, :1],
    "over_last": lambda s, x: s - x[:, :, :, :1],
    "over_middle": lambda s, x: s / (2.0 + x[:, :, 1:2]),
    "both": lambda s, x: s[:, :, :1] + x[:, :1],
    "numbers": lambda s, x: s[:, :1, :, :1] * x[:, :, :1],
    "invariant": lambda s, x: s * x + np.arange(6.0).reshape(2, 3, 1),
    "vector": lambda s, x: tf.math.squared_difference(s * x, [1.0, 2.0, 3.0, 4.0]),
    "matrix": lambda s, x: s * x * np.arange(12.0).reshape(1, 3, 4),
    "broadcast_to": lambda s, x: s * tf.broadcast_to(x[:, :1, :1], tf.shape(s)),
    "broadcast_number": lambda s, x: s * tf.broadcast_to(x[:, :, :, 1:2], tf.shape(s)),
    # Movements.
    "slices": lambda s, x: s[:, 1, :, 1:3] * x[:, 0, ::-1, ::2],
    "new_axes": lambda s, x: s[:, :, None, 1] * x[:, :, None, -1],
    "transpose": lambda s, x: tf.transpose(s, [0, 3, 1, 2]) * tf.transpose(x, [0, 3, 1, 2]),
    "tile": lambda s, x: tf.tile(s[:, :, :1], [1, 1, 3, 1]) * x,
    "take": lambda s, x: tf.gather(s, [2, 0, 0], axis=2) * tf.gather(x, [1, 1, 2], axis=2),
    "reverse": lambda s, x: tf.reverse(s, [2]) + tf.roll(x, 1, axis=3),
    "parts": lambda s, x: tf.concat(tf.split(s * x, 2, axis=3)[::-1], axis=2),
    "columns_of_two": lambda s, x: tf.concat([s[:, :1, 2], x[:, :1, 0]], axis=2),
    "stack": lambda s, x: tf.stack([s[:, 0], x[:, 1]], axis=2),
    "unstack": lambda s, x: tf.add_n(tf.unstack(s * x, axis=3)),
    "reflect": lambda s, x: tf.pad(s * x, [[0, 0], [0, 0], [1, 1], [0, 0]], "REFLECT"),
    # Products.
    "einsum_inner": lambda s, x: tf.einsum("nabc,nabc->nab", s, x),
    "einsum_outer": lambda s, x: tf.einsum("na,nb->nab", s[:, 0, 0], x[:, 1, 1]),
    "einsum_matrices": lambda s, x: tf.einsum("nabc,nadc->nabd", s, x),
    "einsum_of_one": lambda s, x: tf.einsum("nabc->ncab", s * x) + tf.einsum("nabc->ncab", x),
    "einsum_moved": lambda s, x: tf.einsum("nabc,nadc->nbad", s, x),
    "einsum_weights": lambda s, x: tf.einsum("nabc,abcd->nd", s * x, weights(2, 3, 4, 5)),
    "einsum_each": lambda s, x: tf.einsum("nabc,acd->nabd", s * x, weights(2, 4, 5)),
    "einsum_weights_first": lambda s, x: tf.einsum("cd,nabc->nadb", weights(4, 5), s * x),
    "einsum_scores": lambda s, x: tf.einsum("nabc,bc->nba", s * x, weights(3, 4)),
    "einsum_of_all": lambda s, x: tf.einsum("nabc,abc->n", s * x, weights(2, 3, 4)),
    "einsum_ellipsis": lambda s, x: tf.einsum("...c,cd->...d", s * x, weights(4, 5)),
    "einsum_bilinear": lambda s, x: tf.einsum(
        "na,abc,nb->nc", s[:, 0, 0], weights(4, 4, 5), x[:, 0, 0]
    ),
    "matmul": lambda s, x: tf.matmul(s, x, transpose_b=True),
    "matmul_adjoint": lambda s, x: tf.matmul(s, x, transpose_a=True),
    "matmul_weights": lambda s, x: tf.matmul(s * x, weights(4, 5)),
    "tensordot": lambda s, x: tf.tensordot(s * x, weights(4, 5), 1),
    # Softmax and powers.
    "softmax": lambda s, x: tf.nn.softmax(3.0 * s * x),
    "softmax_axis": lambda s, x: tf.nn.softmax(3.0 * s * x, axis=1),
    "log_softmax": lambda s, x: tf.nn.log_softmax(3.0 * s * x, axis=2),
    "large": lambda s, x: tf.nn.softmax(1e4 * s * x),
    "leaky_relu": lambda s, x: tf.nn.leaky_relu(tf.nn.relu(s * x) - 0.1),
    "softmax_long": lambda s, x: tf.nn.softmax(tf.reshape(3.0 * s * x, [-1, 24])),
    "cumsum": lambda s, x: tf.cumsum(tf.reshape(s * x, [-1, 24]), axis=1),
    "cumsum_reverse": lambda s, x: tf.cumsum(
        tf.reshape(s * x, [-1, 12, 2])[:, :, 1], 1, reverse=True
    ),
    "pad": lambda s, x: tf.pad(tf.reshape(s * x, [-1, 24]), [[0, 0], [1, 2]]),
    "pad_children": lambda s, x: tf.pad(s * x, [[0, 0], [0, 1], [2, 0], [0, 0]]),
    "pad_number": lambda s, x: tf.pad(s * x, [[0, 0], [1, 0], [0, 1], [1, 1]], constant_values=2.0),
    # Maxima, of which equal ones share the gradient.
    "max_last": lambda s, x: tf.reduce_max(s * x, 3),
    "max_first": lambda s, x: tf.reduce_max(s * x, 1, keepdims=True),
    "max_middle": lambda s, x: tf.reduce_max(s * x, 2),
    "max_all": lambda s, x: tf.reduce_max(s * x, [1, 2, 3]),
    "max_of_equals": lambda s, x: tf.reduce_max(tf.nn.relu(s * x - 0.1), [1, 3]),
    "max_of_vector": lambda s, x: tf.reduce_max(tf.reshape(s * x, [-1, 24])[:, :23], 1),
    "min_ends": lambda s, x: tf.reduce_min(s * x, [1, 3]),
    "maximum": lambda s, x: tf.maximum(s, x[:, :1]) * tf.minimum(s[..., :1], 0.1 * x),
    "clip": lambda s, x: tf.clip_by_value(s * x, -0.1, 0.2),
    # Conditions.
    "where": lambda s, x: tf.where(s > x, s * x, x),
    "where_number": lambda s, x: tf.where(s[:, :, :1] >= 0.1, s * x, -1.0),
    "where_numbers": lambda s, x: tf.where(s > 0.1, x[:, :1], -2.0) * s,
    "where_row": lambda s, x: tf.where(s[:, :1, :1, :1] <= x[:, :1], s, tf.tanh(x)),
    "where_logic": lambda s, x: tf.where(~((s > 0) & (x < 0.5)) | (s == x), s, 2.0 * x),
    "where_moved": lambda s, x: tf.where(
        tf.transpose(s != x, [0, 2, 1, 3])[:, :2, :1], s[:, :, :2], 0.0
    ),
    "where_joined": lambda s, x: tf.where(tf.concat([s[:, :1] > 0, x[:, :1] < 0], 1), s, x),
    "where_cast": lambda s, x: s * tf.cast(s > x, s.dtype) * tf.cast(tf.cast(x, tf.bool), s.dtype),
    "where_any": lambda s, x: tf.where(tf.reduce_any(s > x, 3, keepdims=True), s, x),
    "where_all": lambda s, x: tf.where(tf.reduce_all(s < 0.5, 1, keepdims=True), s, x),
    "where_not_finite": lambda s, x: tf.where(s > 2.0, s / 0.0, tf.where(s < 2.0, x, np.nan)),
    "standard_deviation": lambda s, x: (
        tf.math.reduce_std(s * x, 3, keepdims=True) + tf.math.rsqrt(2.0 + s)
    ),
    "power": lambda s, x: (s * x) ** 3 + s**2 + x**1,
    "powers": lambda s, x: tf.add_n([(2 + s * x) ** (c / 2) for c in range(-8, 9) if c]),
    "product_last": lambda s, x: tf.reduce_prod(s * x, 3),
    "product_first": lambda s, x: tf.reduce_prod(s * x, 1, keepdims=True),
    "product_with_zeros": lambda s, x: tf.reduce_prod(tf.nn.relu(1 + s * x), [2, 3]),
    "product_of_vector": lambda s, x: tf.reduce_prod(tf.reshape(1 + s * x, [-1, 24])[:, :23], 1),
    "logsumexp_last": lambda s, x: tf.reduce_logsumexp(s * x, 3),
    "logsumexp_ends": lambda s, x: tf.reduce_logsumexp(9 * s * x, [1, 3], keepdims=True),
    "logsumexp_of_none": lambda s, x: tf.exp(tf.reduce_logsumexp(s + tf.math.log(x * 0), 3)),
    # Functions without a kernel.
    "abs": lambda s, x: tf.abs(s * x),
    "sign": lambda s, x: tf.sign(s - 0.1) * x + tf.sign(x * 0),
    "finite": lambda s, x: tf.where(tf.math.is_finite(s / tf.nn.relu(x)), s, x),
    "infinite": lambda s, x: tf.where(tf.math.is_inf(s / tf.nn.relu(x)), s, x),
    "not_a_number": lambda s, x: tf.where(tf.math.is_nan(x[:, :1] * 0 + s), s, x),
    "divide_no_nan": lambda s, x: tf.math.divide_no_nan(s, tf.nn.relu(x[:, :1])),
    "divide_rows": lambda s, x: (
        s * tf.math.divide_no_nan(x[:, 0, 0], tf.nn.relu(x[:, 0, 0, :1]))[:, None, None]
    ),
    "clip_norm": lambda s, x: tf.clip_by_norm(s * x, 0.5, axes=[3]),
    "same_numbers": lambda s, x: (
        s * tf.concat([tf.ones_like(x[:, :1]), tf.fill(tf.shape(x[:, :1]), np.float64(2))], 1)
    ),
}


def weights(*shape):
    size = np.prod(shape)
    return tf.reshape(tf.cos(tf.range(size, dtype=tf.float64)), shape)


class OfTensors(cavs.GraphSupport):
    """States of rank 3, and several expressions of them."""

    def __init__(self, *names):
        super().__init__(state_size=(2, 3, 4), arity=1, dtype="float64")
        self.names = names
        self.w = self.add_weight(shape=(4, 4), initializer="orthogonal")

    def vertex(self):
        x = self.pull()
        state = tf.tanh(x + tf.reshape(tf.reshape(self.gather(0), [-1, 4]) @ self.w, tf.shape(x)))
        for name in self.names:
            result = STATES[name](state, x)
            rest = result.shape[1:].num_elements()
            total = tf.reduce_sum(tf.reshape(result, [-1, rest]), 1)
            state += 0.1 * tf.tanh(total)[:, None, None, None]
            self.push(result, name)
        self.scatter(state)


# Most of the time goes into what is around an expression, so a cell has several of them. These two
# have gradients that are not finite, and would hide those of others.
ALONE = ("where_not_finite", "logsumexp_of_none")
FINITE = [name for name in STATES if name not in ALONE]
GROUPS = [FINITE[i : i + 6] for i in range(0, len(FINITE), 6)] + [[name] for name in ALONE]


@pytest.mark.in_turns
@pytest.mark.parametrize("names", GROUPS, ids="-".join)
def test_rows_of_any_rank(names):
    cell = OfTensors(*names)
    graphs = cavs.GraphBatch.from_children([[[], [0], [1]], [[]], [[], []]])
    inputs = tf.constant(np.random.default_rng(1).uniform(-1, 1, [6, 2, 3, 4]))
    check_options(cell, graphs, [cavs.Options()], inputs=inputs)
    assert_native(cell, graphs, inputs)


def assert_native(cell, graphs, inputs):
    text = cavs.explain(cell, graphs, inputs)
    found = [line for line in text.splitlines() if "TensorFlow's own kernels" in line]
    assert [line.split(": ")[1] for line in found] == ["none"] * len(found) != []


EXTREMES = [0.0, -0.0, 1e-300, -1e-300, 1.0, -1.0, 3.0, 1e200, -1e200, np.inf, np.nan, -np.inf]
OF_EXTREMES = {
    "sign": tf.sign,
    "abs": tf.abs,
    "finite": lambda x: tf.where(tf.math.is_finite(x), x, 0.0),
    "infinite": lambda x: tf.where(~tf.math.is_inf(x), x, 0.0),
    "not_a_number": lambda x: tf.where(~tf.math.is_nan(x), x, 0.0),
    "divide_no_nan": lambda x: tf.math.divide_no_nan(x, x[:, ::-1]),
    "product": lambda x: tf.reduce_prod(tf.reshape(x, [-1, 6, 2]), 2),
    "logsumexp": lambda x: tf.reduce_logsumexp(tf.reshape(x, [-1, 6, 2]), 2),
    **{f"power_{c}": lambda x, c=c: x**c for c in np.arange(-4, 4.5, 0.5) if c},
}


class OfExtremes(cavs.GraphSupport):
    def __init__(self, function):
        super().__init__(state_size=len(EXTREMES), arity=1, dtype="float64")
        self.function = function

    def vertex(self):
        x = self.pull()
        self.scatter(x + self.gather(0))
        self.push(self.function(x))


@pytest.mark.parametrize("name", OF_EXTREMES)
def test_extreme_numbers(name):
    """Infinities and NaN, in gradients too, are those of TensorFlow's kernels."""
    cell, graphs = OfExtremes(OF_EXTREMES[name]), cavs.GraphBatch.chain([2])
    x = np.array([EXTREMES, EXTREMES[::-1]])
    if name.endswith(".5"):  # TensorFlow optimises such a power to a root, which is not exact here.
        x[(x == 0) | (x == -np.inf)] = 0.0
    x = tf.constant(x)
    assert_native(cell, graphs, x)
    results = []
    for call in (cell, lambda *args: cavs.reference.run(cell, *args)):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = call(graphs, x)
            weight = tf.constant(np.arange(y.shape[1]) % 4, tf.float64)  # Zero for some.
        gradient = tape.gradient(y, x, weight * tf.ones_like(y), unconnected_gradients="zero")
        results.append((y, tf.convert_to_tensor(gradient)))
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)


def dense(units):
    return keras.layers.Dense(units, dtype="float64")


class OverChildren(cavs.GraphSupport):
    """A cell that combines its input with all children at once."""

    def __init__(self):
        super().__init__(state_size=UNITS, arity=ARITY, dtype="float64")
        self.make()

    def vertex(self):
        children = tf.stack([self.gather(k) for k in range(ARITY)], axis=1)
        state = tf.tanh(self.combine(self.pull(), children))
        self.scatter(state)
        self.push(state)


class AdditiveAttention(OverChildren):  # Bahdanau, Cho and Bengio 2015, arXiv:1409.0473.
    def make(self):
        self.query, self.key, self.score = dense(UNITS), dense(UNITS), dense(1)

    def combine(self, x, children):
        scores = self.score(tf.tanh(self.key(children) + self.query(x)[:, None]))
        return x + tf.reduce_sum(tf.nn.softmax(scores, axis=1) * children, axis=1)


class DotProductAttention(OverChildren):  # Vaswani et al. 2017, arXiv:1706.03762, section 3.2.1.
    def make(self):
        self.query, self.key, self.value = dense(UNITS), dense(UNITS), dense(UNITS)

    def combine(self, x, children):
        scores = tf.matmul(self.query(x)[:, None], self.key(children), transpose_b=True)
        weights = tf.nn.softmax(scores / UNITS**0.5)
        return x + tf.matmul(weights, self.value(children))[:, 0]


class MultiHeadAttention(OverChildren):  # arXiv:1706.03762, section 3.2.2, as Keras has it.
    def make(self):
        self.heads = keras.layers.MultiHeadAttention(HEADS, UNITS // HEADS, dtype="float64")

    def combine(self, x, children):
        return x + self.heads(x[:, None], children)[:, 0]


class MaskedHeads(OverChildren):
    """Attention of all children to those there are, as Keras masks it."""

    def make(self):
        self.heads = keras.layers.MultiHeadAttention(HEADS, UNITS // HEADS, dtype="float64")

    def combine(self, x, children):
        mask = self.child_mask()[:, tf.newaxis]
        return x + tf.reduce_sum(self.heads(children, children, attention_mask=mask), axis=1)


class MaskedScores(OverChildren):
    """The same of one query, in the way that Keras takes where scores are returned."""

    def make(self):
        self.heads = keras.layers.MultiHeadAttention(HEADS, UNITS // HEADS, dtype="float64")

    def combine(self, x, children):
        mask = self.child_mask()[:, tf.newaxis] & self.has_child(0)[:, tf.newaxis, tf.newaxis]
        found, scores = self.heads(
            x[:, tf.newaxis], children, attention_mask=mask, return_attention_scores=True
        )
        return x + found[:, 0] * tf.reduce_max(scores, [1, 2, 3])[:, tf.newaxis]


class TensorNetwork(OverChildren):  # Socher et al. 2013, the neural tensor layer.
    def make(self):
        self.linear = dense(UNITS)
        self.tensor = self.add_weight(shape=(UNITS, UNITS, UNITS))

    def combine(self, x, children):
        first, second = children[:, 0], children[:, 1]
        return self.linear(first + x) + tf.einsum("ni,ijk,nj->nk", first, self.tensor, second)


class SharedNumbers(OverChildren):
    """Numbers that all rows share, as a temperature or the weight of a residual are."""

    def make(self):
        for name, shape in (("own", ()), ("scale", (1,)), ("temperature", (1, 1, 1))):
            setattr(self, name, self.add_weight(shape=shape, initializer="ones", name=name))

    def combine(self, x, children):
        weights = tf.nn.softmax(children * self.temperature, axis=1)
        return self.own * x + self.scale * tf.reduce_sum(weights * children, axis=1)


class UsedBothWays(OverChildren):
    """A weight that a concatenation is multiplied by, and its transpose."""

    def make(self):
        self.weight = self.add_weight(shape=(2 * UNITS, 2 * UNITS))

    def combine(self, x, children):
        both = tf.concat([x, children[:, 0]], axis=1)
        back = tf.matmul(tf.tanh(both @ self.weight), self.weight, transpose_b=True)
        back += tf.matmul(both, self.weight, transpose_b=True)
        return tf.add_n(tf.split(back, 2, axis=1))


class WeightsForEachChild(OverChildren):
    def make(self):
        self.weight = self.add_weight(shape=(ARITY, UNITS, UNITS))

    def combine(self, x, children):
        return x + tf.einsum("nkd,kde->ne", children, self.weight)


class NormalisedChildren(OverChildren):  # Ba, Kiros and Hinton 2016, arXiv:1607.06450.
    def make(self):
        self.matrix = self.add_weight(shape=(UNITS, UNITS))
        self.norm = keras.layers.LayerNormalization(dtype="float64")

    def combine(self, x, children):
        return x + tf.reduce_mean(self.norm(children @ self.matrix), axis=1)


@pytest.mark.in_turns
@pytest.mark.parametrize("cell", OverChildren.__subclasses__())
def test_cells_over_children(cell):
    cell = cell()
    for graphs in (1, 0):
        graphs = cells.random_graphs(1, graphs, 7, arity=ARITY)
        inputs = np.random.default_rng(1).normal(size=[graphs.num_vertices, UNITS])
        report = cavs.check_equivalence(cell, graphs, inputs)
        assert report.ok, report
    graphs = cells.random_graphs(1, 4, 12, arity=ARITY)
    inputs = np.random.default_rng(3).normal(size=[graphs.num_vertices, UNITS])
    assert_native(cell, graphs, inputs)
    check_options(cell, graphs, SWITCHES[::3], inputs=tf.constant(inputs))
    cell.options = cavs.Options(disable=["decompose"])
    assert "TensorFlow's own kernels: none" not in cavs.explain(cell, graphs, inputs)
