"""Sums of numbers of 16 bits: formed in float32 and rounded once, forward and backward."""

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._inputs.edges import PlainEdges
from cavs_tf.inspect import reference
from tests.differential.test_narrow_floats import NARROW

TERMS = 10_000
# A root that all others gather, and a root that gathers all others.
FAN = cavs.GraphBatch.from_children([[[], *([[0]] * TERMS)]])
SMALLEST = 2.0**-24  # Of float16.
FEW = 400  # Terms for the reference executor, which takes 1 ms for each: enough for a sum to stall.


def terms(dtype, *shape, seed=0):
    """Positive numbers, so that no term cancels another."""
    x = np.random.default_rng(seed).uniform(0.02, 0.1, shape)
    return tf.cast(tf.constant(x), dtype)


def exact(x) -> np.ndarray:
    return np.asarray(tf.convert_to_tensor(x), np.float64)


def check(got, want, roundings=1):
    """Compares with float64: `got` may be a number of roundings away."""
    eps = float(ml_dtypes.finfo(got.dtype.as_numpy_dtype).eps)
    np.testing.assert_allclose(exact(got), want, rtol=roundings * eps, atol=SMALLEST / 2)


def gradient(function, x, dy):
    """The function's result and its gradient by `x`."""
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    return y, tf.convert_to_tensor(tape.gradient(y, x, output_gradients=dy))


# --- gradients of states ------------------------------------------------------------------


class Path(cavs.GraphSupport):
    """Adds its input to the state of its child."""

    arity = 1

    def __init__(self, dtype, **kwargs):
        super().__init__(state_size=3, dtype=dtype, **kwargs)

    def vertex(self):
        total = self.pull() + self.gather(0)
        self.scatter(total)
        self.push(total)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "options",
    [cavs.Options(), cavs.Options(disable=["eager", "lazy", "fuse"]), cavs.Options(streams=2)],
    ids=str,
)
def test_the_gradient_of_a_state_with_many_parents(options, dtype):
    dy = terms(dtype, TERMS + 1, 3)
    _, dx = gradient(lambda x: Path(dtype, options=options)(FAN, x), tf.zeros_like(dy), dy)
    check(dx[0], exact(dy).sum(0))
    np.testing.assert_array_equal(exact(dx[1:]), exact(dy[1:]))


@pytest.mark.parametrize("dtype", NARROW)
def test_the_gradient_of_an_initial_state(dtype):
    graphs, dy = cavs.GraphBatch.from_children([[[]] * TERMS, [[]]]), terms(dtype, TERMS + 1, 3)
    cell, x = Path(dtype), tf.zeros_like(dy)
    _, state = gradient(
        lambda state: cell(graphs, x, initial_state=state), tf.zeros([2, 3], dtype), dy
    )
    check(state[0], exact(dy[:-1]).sum(0))
    np.testing.assert_array_equal(exact(state[1]), exact(dy[-1]))


class OfChildren(cavs.GraphSupport):
    """Reduces the children's states in each way."""

    arity = None

    def vertex(self):
        self.scatter(self.pull())
        for way in ("sum", "mean", "max"):
            self.push(getattr(self, f"{way}_children")(self.children()), way)


def star(count):
    """A root that gathers all others."""
    return cavs.GraphBatch.from_children([[*([[]] * count), list(range(count))]])


RUNS = [("op", TERMS), ("reference", FEW)]


def call(run, cell, *arguments):
    return cell(*arguments) if run == "op" else reference.run(cell, *arguments)


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("run, count", RUNS)
def test_reductions_of_children(run, count, dtype):
    x = terms(dtype, count + 1, 2)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        outputs = call(run, OfChildren(2, dtype=dtype), star(count), x)
    children = exact(x[:-1])
    is_max = children == children.max(0)
    share = {"sum": 1, "mean": 1 / count, "max": is_max / is_max.sum(0)}
    for way, y in outputs.items():
        check(y[-1], getattr(children, way)(0))
        dx = tf.convert_to_tensor(tape.gradient(y, x))
        check(dx[:-1], np.broadcast_to(share.pop(way), children.shape))
    assert not share


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("run, count", RUNS)
def test_softmax_of_many_children_adds_up_to_one(run, count, dtype):
    class Attention(cavs.GraphSupport):
        arity = None

        def vertex(self):
            self.scatter(self.pull())
            weights = self.softmax_children(self.children())
            self.push(self.sum_children(tf.cast(weights, tf.float32)))

    x = terms(dtype, count + 1, 2)
    total = call(run, Attention(state_size=2, dtype=dtype), star(count), x)[-1]
    np.testing.assert_allclose(total, 1, rtol=float(ml_dtypes.finfo(dtype).eps))


@pytest.mark.parametrize("run", ["op", "reference"])
def test_a_mean_of_children_does_not_overflow(run):
    cell, x = OfChildren(2, dtype="float16"), tf.fill([65, 2], tf.constant(2000, tf.float16))
    np.testing.assert_array_equal(call(run, cell, star(64), x)["mean"][-1], [2000, 2000])


# --- TensorFlow's operators in vertex functions -------------------------------------------------


class OfSlots(cavs.GraphSupport):
    """Computes something of what it pulls: slots, [None, terms, 2]."""

    def __init__(self, function, dtype, **kwargs):
        super().__init__(state_size=2, dtype=dtype, **kwargs)
        self.function = function

    def vertex(self):
        y = self.function(self.pull())
        self.scatter(tf.zeros_like(self.pull()[:, 0]))
        self.push(y)


REDUCTIONS = {
    "sum": (lambda x: tf.reduce_sum(x, axis=1), lambda x: x.sum(1)),
    "mean": (lambda x: tf.reduce_mean(x, axis=1), lambda x: x.mean(1)),
    "all": (lambda x: tf.reduce_sum(x, axis=[1, 2]), lambda x: x.sum((1, 2))),
    "einsum": (lambda x: tf.einsum("rsc->rc", x), lambda x: x.sum(1)),
    "cumsum": (lambda x: tf.cumsum(x, axis=1)[:, -1], lambda x: x.sum(1)),
    "norm": (lambda x: tf.math.reduce_euclidean_norm(x, axis=1), lambda x: (x**2).sum(1) ** 0.5),
}


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("disable", [(), ("decompose", "fuse")])
@pytest.mark.parametrize("count", [3, 64, TERMS])
def test_sums_over_slots(count, disable, dtype):
    class Reductions(OfSlots):
        def push(self, rows):
            for name, (function, _) in REDUCTIONS.items():
                super().push(function(rows), name)

    x, graphs = terms(dtype, 2, count, 2), cavs.GraphBatch.chain([1, 1])
    cell = Reductions(tf.identity, dtype, options=cavs.Options(disable=disable))
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        outputs = cell(graphs, x)
    for name, (_, right) in REDUCTIONS.items():
        assert outputs[name].dtype == dtype
        check(outputs[name], right(exact(x)), roundings=2)
        assert np.all(np.isfinite(exact(tape.gradient(outputs[name], x)))), name


@pytest.mark.parametrize("count", [64, 1000])
def test_a_mean_over_slots_does_not_overflow(count):
    cell = OfSlots(lambda x: tf.reduce_mean(x, axis=1), "float16")
    x = tf.fill([2, count, 2], tf.constant(2000, tf.float16))
    np.testing.assert_array_equal(cell(cavs.GraphBatch.chain([1, 1]), x), np.full([2, 2], 2000))


@pytest.mark.in_turns
@pytest.mark.parametrize("reduce", [tf.reduce_mean, tf.math.reduce_euclidean_norm])
def test_check_equivalence_takes_no_overflow_of_the_oracle_for_a_mistake(reduce):
    cell = OfSlots(lambda x: reduce(x, axis=1), "float16")
    x = tf.fill([2, 64, 2], tf.constant(2000, tf.float16))
    chain = cavs.GraphBatch.chain([1, 1])
    assert not np.all(np.isfinite(reference.run(cell, chain, x)))
    assert cavs.check_equivalence(cell, chain, x).ok


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", ["float16", "mixed_float16"])
def test_check_equivalence_of_a_model_that_has_16_bits_within(dtype):
    graphs, x = cavs.keras.graph_inputs(arity=1), keras.Input((64, 2), name="x")
    cell = OfSlots(lambda x: tf.reduce_mean(x, axis=1), dtype)
    model = keras.Model({**graphs, "x": x}, keras.layers.Dense(3)(cell(graphs, x)))
    chain = cavs.GraphBatch.chain([1, 1]).with_schedule(arity=1)
    rows = tf.random.stateless_uniform([2, 64, 2], [1, 2], 1000, 2000)
    report = cavs.check_equivalence(model, {**chain.to_dict(), "x": rows})
    assert report.ok, report


@pytest.mark.in_turns
def test_check_equivalence_of_16_bits_finds_a_mistake(monkeypatch):
    cell = OfSlots(lambda x: tf.reduce_mean(x, axis=1), "float16")
    x = tf.fill([2, 64, 2], tf.constant(2000, tf.float16))
    right = cell.call
    monkeypatch.setattr(cell, "call", lambda *args, **kwargs: right(*args, **kwargs) * 1.02)
    assert not cavs.check_equivalence(cell, cavs.GraphBatch.chain([1, 1]), x).ok


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("disable", [(), ("decompose",)])
@pytest.mark.parametrize("slots", [4, 80])
def test_gradients_of_what_all_slots_share(slots, disable, dtype):
    class Shared(cavs.GraphSupport):
        def __init__(self):
            super().__init__(state_size=1, dtype=dtype, options=cavs.Options(disable=disable))
            self.dense = keras.layers.Dense(2, dtype=dtype)
            self.scale = self.add_weight(shape=(), initializer="ones", dtype=dtype)

        def vertex(self):
            self.scatter(self.pull()[:, 0, :1])
            self.push(self.dense(self.pull()) * self.scale)

    rows = TERMS // slots
    cell, graphs = Shared(), cavs.GraphBatch.chain([1] * rows)
    x, dy = terms(dtype, rows, slots, 3), terms(dtype, rows, slots, 2, seed=1)
    with tf.GradientTape() as tape:
        y = cell(graphs, x)
    grads = dict(
        zip(
            (v.name for v in cell.trainable_variables),
            tape.gradient(y, cell.trainable_variables, output_gradients=dy),
            strict=True,
        )
    )
    check(grads["bias"], exact(dy).sum((0, 1)), roundings=2)
    check(grads["kernel"], np.einsum("rsi,rso->io", exact(x), exact(dy)), roundings=2)


@pytest.mark.parametrize("dtype", NARROW)
def test_a_long_sum_of_tensors(dtype):
    options = cavs.Options(disable=["fuse"])
    cell = OfSlots(lambda x: tf.add_n(tf.unstack(x, axis=1) * 100), dtype, options=options)
    x = terms(dtype, 2, 7, 2)
    want = sum(exact(x)[:, i % 7] for i in range(700))
    check(cell(cavs.GraphBatch.chain([1, 1]), x), want, roundings=2)


# --- readouts, ops and optimizers ---------------------------------------------------------


def graphs_of(count):
    return cavs.GraphBatch.from_children([[[]] * count, [], [[]]])


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("policy", ["", "mixed_"])
@pytest.mark.parametrize("layer", ["Pool", "Roots"])
@pytest.mark.parametrize("mode", ["sum", "mean", "max"])
def test_readouts_of_many_rows(mode, layer, policy, dtype):
    readout = getattr(cavs.keras, layer)(mode, dtype=f"{policy}{dtype}")
    x, dy = terms(dtype, TERMS + 1, 3), terms(dtype, 3, 3, seed=1)
    y, dx = gradient(lambda x: readout(graphs_of(TERMS), x), x, dy)
    assert y.dtype == dtype
    rows = exact(x[:-1])
    check(y[0], {"sum": rows.sum, "mean": rows.mean, "max": rows.max}[mode](0))
    is_largest = rows == rows.max(0)
    share = {"sum": 1, "mean": 1 / TERMS, "max": is_largest / is_largest.sum(0)}[mode]
    check(dx[:-1], np.broadcast_to(share * exact(dy)[0], rows.shape), roundings=2)


@pytest.mark.parametrize("dtype", NARROW)
def test_the_largest_of_many_equal_rows_share_its_gradient(dtype):
    x = tf.ones([TERMS, 1], dtype)
    graphs = cavs.GraphBatch.from_children([[[]] * TERMS])
    pool = cavs.keras.Pool("max", dtype=dtype)
    _, dx = gradient(lambda x: pool(graphs, x), x, tf.ones([1, 1], dtype))
    check(dx, np.full([TERMS, 1], 1 / TERMS))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("policy", ["", "mixed_"])
def test_attention_over_many_rows(policy, dtype):
    tf.keras.utils.set_random_seed(3)
    narrow = cavs.keras.Pool("attention", dtype=f"{policy}{dtype}")
    right = cavs.keras.Pool("attention", dtype="float64")
    graphs, x = graphs_of(TERMS), terms(dtype, TERMS + 1, 3)
    dy = 1000 * terms(dtype, 3, 3, seed=1)  # Its parts are not subnormal in float16.
    narrow(graphs, x), right(graphs, tf.cast(x, tf.float64))
    weights = [tf.cast(tf.cast(w, dtype), tf.float64) for w in narrow.weights]
    right.set_weights(weights)
    narrow.set_weights(weights)
    results = []
    for pool, cast in ((narrow, dtype), (right, tf.float64)):
        with tf.GradientTape() as tape:
            y = pool(graphs, tf.cast(x, cast))
        grads = tape.gradient(y, pool.trainable_variables, output_gradients=tf.cast(dy, cast))
        results.append([y, *grads])
    eps = float(ml_dtypes.finfo(dtype).eps)
    for got, want in zip(*results, strict=True):
        # Terms as large as dy cancel each other in the gradient of the bias.
        allowed = 2 * eps * np.max(np.abs(want)) + 1e-6 * np.max(exact(dy))
        np.testing.assert_allclose(exact(got), exact(want), rtol=0, atol=allowed)


@pytest.mark.parametrize("dtype", NARROW)
def test_the_op_scatter_and_the_gradient_of_gather(dtype):
    rows, values = tf.concat([tf.ones([TERMS], tf.int32), [-1, 0]], 0), terms(dtype, TERMS + 2, 3)
    want = np.stack([exact(values)[-1], exact(values)[:TERMS].sum(0)])
    check(cavs.ops.scatter(values, rows, 2), want)
    _, dx = gradient(lambda x: cavs.ops.gather(x, rows), tf.zeros([2, 3], dtype), values)
    check(dx, want)


@pytest.mark.parametrize("dtype", NARROW)
def test_gradients_of_one_row_of_a_table(dtype):
    table = tf.Variable(tf.zeros([3, 2], dtype))
    ids, dy = tf.fill([TERMS], 1), terms(dtype, TERMS, 2)
    with tf.GradientTape() as tape:
        y = cavs.ops.look_up(table, ids)
    check(tape.gradient(y, table, output_gradients=dy).values[0], exact(dy).sum(0))


@pytest.mark.parametrize("dtype", NARROW)
def test_clipped_gradients_of_one_row_of_a_table(dtype):
    table = keras.Variable(tf.zeros([3, 2], dtype), dtype=dtype)
    optimizer = cavs.keras.LazyAdam(1.0, beta_1=0.0, clipvalue=1e9)
    optimizer.build([table])
    dy = terms(dtype, TERMS, 2)
    slices = tf.IndexedSlices(dy, tf.fill([TERMS], 1), tf.constant([3, 2]))
    optimizer.apply([slices], [table])
    momentum = next(v for v in optimizer.variables if "momentum" in v.path)
    check(momentum.value[1], exact(dy).sum(0), roundings=2)


@pytest.mark.parametrize("dtype", NARROW)
def test_edges_in_plain_tensorflow(dtype):
    zeros, states = tf.zeros([TERMS], tf.int32), terms(dtype, TERMS, 3)
    edges = PlainEdges(states, zeros, tf.zeros([1], tf.int32))
    check(edges.sum(states), exact(states).sum(0, keepdims=True))
    _, dx = gradient(edges.spread, tf.zeros([1, 3], dtype), states)
    check(dx, exact(states).sum(0, keepdims=True))
    _, dx = gradient(edges.max, tf.ones([TERMS, 1], dtype), tf.ones([1, 1], dtype))
    check(dx, np.full([TERMS, 1], 1 / TERMS))


# --- the reference executor ---------------------------------------------------------------


class Weighted(cavs.GraphSupport):
    """A state, a weight and a bias that many vertices share."""

    arity = 1

    def __init__(self, dtype):
        super().__init__(state_size=2, dtype=dtype)
        self.scale = self.add_weight(shape=(2,), initializer="ones", dtype=dtype)

    def vertex(self):
        total = self.pull() * self.scale + self.gather(0)
        self.scatter(total)
        self.push(total)


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("compiled", [False, True])
def test_the_reference_rounds_gradients_once(compiled, dtype):
    graphs = cavs.GraphBatch.from_children([[[], *([[0]] * FEW)]])
    x, dy = terms(dtype, FEW + 1, 2), terms(dtype, FEW + 1, 2, seed=1)
    cell = Weighted(dtype)
    cell(graphs, x)

    def gradients(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = reference.run(cell, graphs, x)
        scale = cell.trainable_variables[0].value
        gradients = tape.gradient(y, [x, scale], output_gradients=dy)
        return [tf.convert_to_tensor(gradient) for gradient in gradients]

    dx, scale = (tf.function(gradients) if compiled else gradients)(x)
    check(dx[0], exact(dy).sum(0))
    of_each = exact(dy) * exact(x)
    of_each[0] = exact(dx)[0] * exact(x)[0]
    check(scale, of_each.sum(0), roundings=2)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "dtype",
    [
        "bfloat16",
        "mixed_float16",
        pytest.param("float16", marks=pytest.mark.long),
        pytest.param("mixed_bfloat16", marks=pytest.mark.long),
    ],
)
def test_check_equivalence_calls_right_results_right(dtype):
    graphs = cavs.GraphBatch.from_children([[[], *([[0]] * FEW)]])
    layer = cavs.keras.TreeLSTM(
        4,
        arity=1,
        return_vertices=True,
        dtype=dtype,
        recurrent_initializer="glorot_uniform",
    )
    tf.keras.utils.set_random_seed(2)
    report = cavs.check_equivalence(layer, graphs, terms(dtype.removeprefix("mixed_"), FEW + 1, 2))
    assert report.ok, report
