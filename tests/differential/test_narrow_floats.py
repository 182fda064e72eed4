"""bfloat16 and float16 in native kernels: what they round, and how little TensorFlow computes."""

import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect._description import describe
from cavs_tf.keras import GRU, LSTM, Graph, TreeGRU, TreeLSTM
from tests.differential.test_differential import SWITCHES
from tests.helpers import cells

NARROW = ["bfloat16", "float16"]


def step(call, cell, *arguments):
    """The outputs, and the gradients by everything that a step depends on, as float64."""
    x = arguments[-1]
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = call(*arguments)
        loss = tf.reduce_sum(tf.cast(outputs, tf.float32) ** 2)
    gradients = tape.gradient(loss, [x, *cell.trainable_variables])
    return [np.asarray(tf.convert_to_tensor(v), np.float64) for v in [outputs, *gradients]]


def mean_error(values, right):
    """The mean error of some tensors, each relative to its norm."""
    errors = [np.linalg.norm(x - y) / np.linalg.norm(y) for x, y in zip(values, right, strict=True)]
    return np.mean(errors)


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("cell_class", [cells.Linear, cells.TreeLSTM])
def test_no_further_from_float32_than_tensorflow_is(cell_class, dtype):
    tf.keras.utils.set_random_seed(5)
    graphs = cells.random_graphs(1, 60, 5)
    cell, exact = cell_class(dtype=dtype), cell_class(dtype="float32")
    x = cells.inputs_for(cell, graphs.num_vertices, dtype, 0)
    for model in (cell, exact):  # The calls create the weights.
        model(graphs, tf.cast(x, model.dtype))
    for low, high in zip(cell.trainable_variables, exact.trainable_variables, strict=True):
        high.assign(tf.cast(low, tf.float32))
    want = step(exact, exact, graphs, tf.cast(x, tf.float32))
    native = step(cell, cell, graphs, x)
    slow = step(lambda graphs, x: cavs.reference.run(cell, graphs, x), cell, graphs, x)
    assert mean_error(native, want) <= mean_error(slow, want) < 0.02


class Affine(cavs.GraphSupport):
    """Its gradients are sums of the incoming gradients over all vertices."""

    arity = 1

    def __init__(self, dtype, **kwargs):
        super().__init__(state_size=2, dtype=dtype, **kwargs)
        self.dense = tf.keras.layers.Dense(2, dtype=dtype)

    def vertex(self):
        y = self.dense(self.pull())
        self.scatter(y + self.gather(0))
        self.push(y)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize(
    "options",
    [
        cavs.Options(),
        cavs.Options(disable=["eager", "lazy"]),
        cavs.Options(micro_batch=1),
        cavs.Options(streams=2),
    ],
    ids=str,
)
def test_gradients_of_weights_are_added_up_in_float32(options, dtype):
    # In bfloat16, 256 + 1 is 256; in float16, 2048 + 1 is 2048.
    graphs = cavs.GraphBatch.chain([2900, 100])
    cell = Affine(dtype, options=options)
    x = tf.ones([3000, 2], dtype)
    with tf.GradientTape() as tape:
        outputs = cell(graphs, x)
    ones = tf.ones_like(outputs)
    for gradient in tape.gradient(outputs, cell.trainable_variables, ones):
        rounded = tf.cast(tf.fill(gradient.shape, 3000), dtype)
        np.testing.assert_array_equal(gradient, rounded)


@pytest.mark.parametrize("dtype", NARROW)
def test_no_vertices_give_zero_gradients(dtype):
    graphs = cavs.GraphBatch.chain([])
    cell = Affine(dtype)
    with tf.GradientTape() as tape:
        outputs = cell(graphs, tf.ones([0, 2], dtype))
    for gradient in tape.gradient(outputs, cell.trainable_variables):
        np.testing.assert_array_equal(tf.cast(gradient, tf.float32), np.zeros(gradient.shape))


LAYERS = {
    "TreeLSTM": lambda dtype: TreeLSTM(16, return_vertices=True, dtype=dtype),
    "TreeLSTM n-ary": lambda dtype: TreeLSTM(16, mode="n_ary", return_vertices=True, dtype=dtype),
    "TreeGRU": lambda dtype: TreeGRU(16, return_vertices=True, dtype=dtype),
    "TreeGRU n-ary": lambda dtype: TreeGRU(16, mode="n_ary", return_vertices=True, dtype=dtype),
    "LSTM": lambda dtype: LSTM(16, return_sequences=True, dtype=dtype),
    "GRU": lambda dtype: GRU(16, return_sequences=True, dtype=dtype),
    "Graph": lambda dtype: Graph(cells.Linear(dtype=dtype), return_vertices=True, dtype=dtype),
    "GraphSupport": lambda dtype: cells.Linear(dtype=dtype),
}
# Each layer with one of the types, alternately; with the other one in long runs.
LAYERS_AND_TYPES = [
    pytest.param(name, dtype, marks=[pytest.mark.long] * ((i + k) % 2))
    for i, name in enumerate(LAYERS)
    for k, dtype in enumerate(NARROW)
]


@pytest.mark.in_turns
@pytest.mark.parametrize(("name", "dtype"), LAYERS_AND_TYPES)
def test_keras_mixed_precision_is_near_float32(name, dtype):
    tf.keras.utils.set_random_seed(6)
    random = np.random.default_rng(2)
    graphs = cells.random_graphs(1, 40, 2)
    if name in ("LSTM", "GRU"):
        arguments = [tf.constant(random.standard_normal([4, 9, 8]), tf.float32)]
    else:
        rows = random.standard_normal([graphs.num_vertices, 8])
        arguments = [graphs, tf.constant(rows, tf.float32)]
    mixed, exact = (LAYERS[name](policy) for policy in (f"mixed_{dtype}", "float32"))
    for layer in (mixed, exact):  # The calls create the weights.
        layer(*arguments)
    exact.set_weights(mixed.get_weights())
    got, want = (step(layer, layer, *arguments) for layer in (mixed, exact))
    assert mixed(*arguments).dtype == dtype
    assert {v.dtype for v in mixed.trainable_variables} == {"float32"}
    eps = float(ml_dtypes.finfo(dtype).eps)
    for x, y in zip(got, want, strict=True):
        assert np.max(np.abs(x - y)) <= 3 * eps * np.max(np.abs(y))


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("layer_class", [TreeLSTM, LSTM, TreeGRU, GRU])
def test_keras_mixed_precision_leaves_nothing_to_tensorflow(layer_class, dtype):
    layer = layer_class(32, dtype=f"mixed_{dtype}")
    graphs = cavs.GraphBatch.chain([5, 5])
    if layer_class in (LSTM, GRU):
        layer(tf.zeros([2, 5, 8]))
    else:
        layer(graphs, tf.zeros([10, 8]))
    rows = tf.zeros([10, 8], dtype)
    for program in describe(layer.cell, graphs, rows):
        assert all(node["native"] for node in program["nodes"]), program["title"]


class Columns(cavs.GraphSupport):
    """Pushes the results of `function` for rows of two columns."""

    arity = 1

    def __init__(self, function, dtype):
        super().__init__(state_size=1, dtype=dtype)
        self.function = function

    def vertex(self):
        x = self.pull()
        self.scatter(self.gather(0))
        self.push(self.function(x[:, :1], x[:, 1:]))


def rows_of_columns(function, x, y):
    """The results of native kernels for rows of two columns; checks that nothing else runs."""
    rows = tf.stack([x, y], axis=1)
    graphs = cavs.GraphBatch.from_children([[[]] * len(x)])
    cell = Columns(function, rows.dtype)
    assert all(node["native"] for node in describe(cell, graphs, rows)[0]["nodes"])
    return np.squeeze(cell(graphs, rows).numpy())


def every_number(dtype):
    return np.arange(1 << 16, dtype=np.uint16).view(tf.as_dtype(dtype).as_numpy_dtype)


@pytest.mark.parametrize("dtype", NARROW)
def test_every_number_is_widened_and_rounded_to_itself(dtype):
    x = every_number(dtype)
    negative = rows_of_columns(lambda x, y: -x, tf.constant(x), tf.constant(x))
    number = ~np.isnan(np.float32(x))
    np.testing.assert_array_equal(np.isnan(np.float32(negative)), ~number)
    np.testing.assert_array_equal(
        negative[number].view(np.uint16), x[number].view(np.uint16) ^ 0x8000
    )


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("function", [np.multiply, np.add])
def test_results_are_rounded_as_numpy_rounds_them(function, dtype):
    generator = np.random.default_rng(0)
    x, y = (generator.permutation(every_number(dtype)) for _ in range(2))
    operator = {np.multiply: tf.multiply, np.add: tf.add}[function]
    got = rows_of_columns(operator, tf.constant(x), tf.constant(y))
    with np.errstate(all="ignore"):
        want = function(np.float32(x), np.float32(y)).astype(got.dtype)
    values = [np.abs(np.float32(value)) for value in (x, y, want, got)]
    np.testing.assert_array_equal(np.isnan(values[3]), np.isnan(values[2]))
    # TensorFlow's threads flush subnormal numbers of float32 to zero.
    normal = np.all([value >= np.finfo(np.float32).tiny for value in values], axis=0)
    assert normal.mean() > 0.4
    np.testing.assert_array_equal(got[normal].view(np.uint16), want[normal].view(np.uint16))


OPERATORS = {
    "add": tf.add,
    "sub": tf.subtract,
    "mul": tf.multiply,
    "div": tf.divide,
    "maximum": tf.maximum,
    "minimum": tf.minimum,
    "squared_difference": tf.math.squared_difference,
    "abs": lambda x, y: tf.abs(x),
    "square": lambda x, y: tf.square(x),
    "sqrt": lambda x, y: tf.sqrt(tf.abs(x)),
    "rsqrt": lambda x, y: tf.math.rsqrt(tf.abs(x)),
    "reciprocal": lambda x, y: tf.math.reciprocal(x),
    "exp": lambda x, y: tf.exp(x),
    "log": lambda x, y: tf.math.log(tf.abs(x)),
    "sigmoid": lambda x, y: tf.sigmoid(x),
    "tanh": lambda x, y: tf.tanh(x),
    "softplus": lambda x, y: tf.math.softplus(x),
    "relu": lambda x, y: tf.nn.relu(x),
}


@pytest.mark.numeric
@pytest.mark.parametrize("dtype", NARROW)
def test_operators_are_computed_in_float32_and_rounded(dtype):
    generator = np.random.default_rng(1)
    x, y = (tf.cast(generator.uniform(-6, 6, 500), dtype) for _ in range(2))
    found = rows_of_columns(
        lambda x, y: tf.concat([operator(x, y) for operator in OPERATORS.values()], 1), x, y
    )
    limits = ml_dtypes.finfo(dtype)
    for got, (name, operator) in zip(found.T, OPERATORS.items(), strict=True):
        want = operator(tf.cast(x, tf.float32), tf.cast(y, tf.float32))
        ulps = float(limits.eps) * np.maximum(np.abs(want), float(limits.tiny))
        assert np.all(np.abs(np.float64(got) - np.float64(want)) <= 0.502 * ulps), name


def test_numbers_that_float16_cannot_hold_are_infinite():
    x = tf.constant([60000.0, -60000.0, 32752.0, 3e-8], tf.float16)
    doubled = rows_of_columns(lambda x, y: x + y, x, x)
    np.testing.assert_array_equal(doubled, np.float16([np.inf, -np.inf, 65504.0, 2**-23]))


class Growing(cavs.GraphSupport):
    """States, outputs and gradients grow along a chain until they overflow."""

    arity = 1

    def __init__(self, **kwargs):
        super().__init__(state_size=2, dtype="float16", **kwargs)
        self.dense = tf.keras.layers.Dense(2, kernel_initializer="ones", dtype="float16")

    def vertex(self):
        h = self.gather(0)
        state = 64 * self.dense(self.pull() + h)
        self.scatter(state)
        self.push(state - h)


def test_overflow_spreads_as_in_tensorflow():
    graphs = cavs.GraphBatch.chain([6, 1])
    cell = Growing()
    x = tf.ones([7, 2], tf.float16)
    cell(graphs, x)
    want = step(lambda *args: cavs.reference.run(cell, *args), cell, graphs, x)
    assert all(fate(want[0]).any() for fate in (np.isfinite, np.isinf, np.isnan))
    for options in SWITCHES:
        cell.options = options
        for one, other in zip(step(cell, cell, graphs, x), want, strict=True):
            # Infinities and NaN must be in the same places too.
            np.testing.assert_allclose(one, other, rtol=2e-3, err_msg=str(options))


@pytest.mark.in_turns
@pytest.mark.parametrize("cell_class", [cells.Linear, cells.TreeLSTM])
def test_prediction_of_memory_knows_that_rows_are_narrow(cell_class):
    graphs = cells.random_graphs(1, 60, 5)
    need = {}
    for name in (*NARROW, "float32"):
        # Leaves have programs of their own in float32 alone.
        cell = cell_class(dtype=name, options=cavs.Options(disable=["specialize"]))
        x = cells.inputs_for(cell, graphs.num_vertices, name, 0)
        cell(graphs, x)
        need[name] = cavs.predict_memory(cell, graphs)
    for dtype in NARROW:
        assert need[dtype].forward.tape <= 0.55 * need["float32"].forward.tape
