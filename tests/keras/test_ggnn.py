"""GGNN: compares it with its equations in NumPy, and tests what Keras asks of a layer."""

import doctest
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import GraphBatch
from cavs_tf.keras import GGNN, _ggnn
from tests.helpers.pairwise import parametrize_pairs

UNITS, FEATURES, TYPES, ROUNDS = 5, 3, 3, 4
SIZES = [4, 1, 0, 6, 2]


def minibatch(seed=0, sizes=SIZES, rounds=ROUNDS):
    """Random graphs with cycles and loops: (graphs, edges by graph, types of these, types, x)."""
    random = np.random.default_rng(seed)
    edges = [random.integers(0, max(n, 1), [2 * n if n > 2 else 0, 2]) for n in sizes]
    types = [random.integers(0, TYPES, len(graph)) for graph in edges]
    graphs, _, edge_type = GraphBatch.from_rounds(
        sizes, edges, rounds, layout="pairs", edge_features=types
    )
    x = random.normal(size=[sum(sizes), FEATURES])
    return graphs, edges, types, edge_type, x


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gru(layer, message, h):
    """The GRU of Keras, in NumPy."""
    kernel, recurrent = (np.asarray(w) for w in (layer.cell.kernel, layer.cell.recurrent_kernel))
    bias = np.asarray(layer.cell.bias)
    own = bias if layer.cell.reset_after else (bias, np.zeros_like(bias))
    of_m = np.split(message @ kernel + own[0], 3, axis=-1)
    u = np.split(recurrent, 3, axis=1)
    b = np.split(own[1], 3)
    z = sigmoid(of_m[0] + h @ u[0] + b[0])
    r = sigmoid(of_m[1] + h @ u[1] + b[1])
    new = r * (h @ u[2] + b[2]) if layer.cell.reset_after else (r * h) @ u[2]
    return z * h + (1 - z) * np.tanh(of_m[2] + new)


def by_equations(layer, edges, types, x, sizes=SIZES, rounds=ROUNDS):
    """[N, units]: the states after the last round."""
    weights = np.split(np.asarray(layer.cell.message_kernel), layer.edge_types or 1)
    results, first = [], 0
    for size, pairs, of_pairs in zip(sizes, edges, types, strict=True):
        h = np.zeros([size, layer.units])
        h[:, :FEATURES] = x[first : first + size]
        for _ in range(rounds):
            message = np.zeros_like(h)
            for (source, target), kind in zip(pairs, of_pairs, strict=True):
                message[target] += h[source] @ weights[kind if layer.edge_types else 0]
            h = np.array([gru(layer, m, own) for m, own in zip(message, h, strict=True)])
            h = h.reshape(size, layer.units)
        results.append(h)
        first += size
    return np.concatenate(results)


def make(edge_types=None, **kwargs):
    keras.utils.set_random_seed(1)
    kwargs = {"dtype": "float64", "bias_initializer": "random_normal"} | kwargs
    return GGNN(UNITS, edge_types=edge_types, **kwargs)


def of_types(layer, edge_type):
    return {} if layer.edge_types is None else {"edge_type": edge_type}


@pytest.mark.in_turns
def test_docstring_examples_run():
    assert doctest.testmod(_ggnn).failed == 0


@pytest.mark.in_turns
@parametrize_pairs(rounds=[0, 1, ROUNDS], reset_after=[True, False], edge_types=[None, TYPES])
def test_states_are_those_of_the_equations(edge_types, reset_after, rounds):
    layer = make(edge_types, reset_after=reset_after, return_vertices=True)
    for seed in range(2):
        graphs, edges, types, edge_type, x = minibatch(seed, rounds=rounds)
        found = layer(graphs, x, **of_types(layer, edge_type))
        expected = by_equations(layer, edges, types, x, rounds=rounds)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("first", [[], [0]], ids=str)
@pytest.mark.parametrize("edge_types", [None, TYPES])
def test_minibatches_of_few_vertices(first, edge_types):
    layer = make(edge_types, return_vertices=True)
    for sizes in (first, [1], [3]):
        graphs, edges, types, edge_type, x = minibatch(0, sizes)
        if not sizes:
            graphs, edge_type = GraphBatch.from_rounds([], [], ROUNDS)[0], np.zeros(0, int)
        found = layer(graphs, x, **of_types(layer, edge_type))
        assert found.shape == (sum(sizes), UNITS)
        if sum(sizes):
            expected = by_equations(layer, edges, types, x, sizes)
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


COMBINED = {"sum": np.sum, "mean": np.mean, "max": np.max}


@pytest.mark.parametrize("combine", COMBINED)
def test_a_row_per_graph_combines_its_vertices(combine):
    graphs, edges, types, _, x = minibatch()
    layer = make(combine=combine)
    found = layer(graphs, x)
    rows = np.split(by_equations(layer, edges, types, x), np.cumsum(SIZES)[:-1])
    expected = [COMBINED[combine](own, axis=0) if len(own) else np.zeros(UNITS) for own in rows]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_rows_of_all_rounds_and_of_some_vertices_are_inputs_too():
    graphs, edges, *_, x = minibatch()
    _, origin = GraphBatch.from_rounds(SIZES, edges, ROUNDS, layout="pairs")
    layer = make()
    expected = layer(graphs, x)
    np.testing.assert_array_equal(layer(graphs, tf.gather(x, origin)), expected)
    call = tf.function(layer, input_signature=None)
    np.testing.assert_allclose(call(graphs, tf.gather(x, origin)), expected, 1e-12)
    first = np.flatnonzero(graphs.num_children.numpy() == 0)
    some = cavs.VertexRows(x[2:], first[2:])
    zeroed = x * (np.arange(len(x)) >= 2)[:, None]
    np.testing.assert_allclose(layer(graphs, some), layer(graphs, zeroed), 1e-12)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "edge_types, reset_after, dtype", [(None, True, "float32"), (TYPES, False, "float64")]
)
def test_outputs_and_gradients_are_those_of_the_reference(edge_types, reset_after, dtype):
    graphs, _, _, edge_type, x = minibatch()
    layer = make(edge_types, reset_after=reset_after, dtype=dtype)
    layer(graphs, x, **of_types(layer, edge_type))
    pulls = {"default": _ggnn._in_round_0(graphs, tf.cast(x, dtype))}
    if edge_types is not None:
        pulls["edge_weights"] = layer._edge_weights(graphs, edge_type)
    report = cavs.check_equivalence(layer.cell, graphs, pulls)
    assert report.ok, report


def test_gradients_reach_the_inputs():
    graphs, edges, types, _, x = minibatch()
    layer = make()
    x = tf.Variable(x)
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(layer(graphs, x) ** 2)
    gradient = tf.convert_to_tensor(tape.gradient(loss, x)).numpy()
    step = np.zeros(x.shape)
    step[3, 1] = 1e-6
    losses = [
        np.sum([own.sum(axis=0) ** 2 for own in np.split(rows, np.cumsum(SIZES)[:-1])])
        for rows in (by_equations(layer, edges, types, x.numpy() + s) for s in (step, -step))
    ]
    assert gradient[3, 1] == pytest.approx((losses[0] - losses[1]) / 2e-6, rel=1e-5)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "policy, edge_types",
    [("mixed_bfloat16", TYPES), ("mixed_float16", None), ("bfloat16", TYPES)],
)
def test_narrow_floats(policy, edge_types):
    graphs, edges, types, edge_type, x = minibatch()
    layer = make(edge_types, dtype=policy, return_vertices=True)
    with tf.GradientTape() as tape:
        found = layer(graphs, x, **of_types(layer, edge_type))
        loss = tf.reduce_sum(tf.cast(found, tf.float32))
    assert found.dtype == policy.removeprefix("mixed_")
    if policy != "bfloat16":
        assert layer.cell.kernel.dtype == "float32"
    assert all(tf.reduce_all(tf.math.is_finite(g)) for g in tape.gradient(loss, layer.weights))
    wide = make(edge_types, return_vertices=True)
    wide(graphs, x, **of_types(wide, edge_type))
    wide.set_weights([np.asarray(w, "float64") for w in layer.get_weights()])
    expected = by_equations(wide, edges, types, x)
    np.testing.assert_allclose(np.asarray(found, "float64"), expected, atol=0.05)


@pytest.mark.in_turns
@pytest.mark.parametrize("edge_types", [TYPES, pytest.param(None, marks=pytest.mark.long)])
def test_a_model_is_trained_on_minibatches_and_saved(edge_types, tmp_path):
    random = np.random.default_rng(2)
    neighbours = [random.integers(0, n, [random.integers(0, 3)]) for n in SIZES for _ in range(n)]
    slots = tf.ragged.constant([own.tolist() for own in neighbours], tf.int32)
    kinds = random.integers(0, TYPES, sum(map(len, neighbours)))
    x = random.normal(size=[sum(SIZES), FEATURES]).astype("float32")
    dataset = cavs.data.from_arrays(
        np.cumsum([0, *SIZES]),
        {"children": slots, "x": x},
        {"label": np.arange(len(SIZES), dtype="float32")},
        {"kind": kinds},
    )
    options = {"rounds": 2, "arity": 1, "edges": True, "per_edge": ["kind"]}
    batches = cavs.data.batch(dataset, 3, as_dict=True, **options)
    graphs = cavs.keras.graph_inputs(arity=1, edges=True)
    inputs = {"x": keras.Input([FEATURES], name="x")}
    call = {}
    if edge_types is not None:
        inputs["kind"] = keras.Input([], dtype="int32", name="kind")
        call["edge_type"] = inputs["kind"]
    rows = GGNN(UNITS, edge_types=edge_types)(graphs, inputs["x"], **call)
    model = keras.Model({**graphs, **inputs}, keras.layers.Dense(1)(rows))
    model.compile("adam", "mse")
    fitted = cavs.keras.for_fit(batches, model, "label")
    history = model.fit(fitted, epochs=3, shuffle=False, verbose=0)
    assert history.history["loss"][-1] < history.history["loss"][0]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    some = next(iter(cavs.keras.for_fit(batches, model)))
    np.testing.assert_array_equal(loaded(some), model(some))


def test_labels_of_vertices_have_a_row_for_each_vertex():
    dataset = cavs.data.from_arrays(
        [0, 2, 3],
        {"children": tf.ragged.constant([[1], [0], []], tf.int32), "x": np.ones([3, FEATURES])},
        {},
    )
    batches = cavs.data.batch(dataset, 2, rounds=2, arity=1, edges=True, as_dict=True)
    graphs, x = cavs.keras.graph_inputs(arity=1, edges=True), keras.Input([FEATURES], name="x")
    rows = GGNN(UNITS, return_vertices=True)(graphs, x)
    assert rows.shape == (None, UNITS)
    model = keras.Model({**graphs, "x": x}, rows)
    assert model.predict(cavs.keras.for_fit(batches, model), verbose=0).shape == (3, UNITS)


def test_a_config_has_all_arguments():
    layer = GGNN(4, edge_types=2, combine="max", reset_after=False, dropout=0.25, seed=3)
    again = GGNN.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    given = {"edge_types": 2, "combine": "max", "reset_after": False, "dropout": 0.25, "seed": 3}
    assert layer.get_config().items() >= given.items()
    assert "return_state" not in layer.get_config()


@pytest.mark.in_turns
def test_messages_and_states_are_dropped_in_training_only():
    graphs, *_, x = minibatch()
    for rate in ({"dropout": 0.5}, {"recurrent_dropout": 0.5}):
        layer = make(seed=1, **rate)
        np.testing.assert_array_equal(layer(graphs, x), layer(graphs, x, training=False))
        assert not np.array_equal(layer(graphs, x, training=True), layer(graphs, x))


@pytest.mark.in_turns
def test_minibatches_of_all_sizes_cause_one_trace():
    layer, traces = make(TYPES), []

    @tf.function(
        input_signature=[
            GraphBatch.Spec(),
            tf.TensorSpec([None, FEATURES], tf.float64),
            tf.TensorSpec([None], tf.int64),
        ]
    )
    def call(graphs, x, edge_type):
        traces.append(1)
        return layer(graphs, x, edge_type=edge_type)

    for seed in range(3):
        graphs, _, _, edge_type, x = minibatch(seed, SIZES[seed:], seed)
        np.testing.assert_allclose(
            call(graphs, x, edge_type), layer(graphs, x, edge_type=edge_type), 1e-12
        )
    assert len(traces) == 1


def with_types(values, edge_types=TYPES):
    graphs, _, _, _, x = minibatch()
    return make(edge_types)(graphs, x, edge_type=values)


def call_with(x, **kwargs):
    graphs, *_ = minibatch()
    return make(**kwargs)(graphs, x)


def wrong_type(value):
    graphs, _, _, edge_type, _ = minibatch()
    wrong = np.flatnonzero(np.diff(graphs.child_splits) > 1)[0]
    edge_type[graphs.child_splits[wrong] + 1] = value
    return edge_type


REJECTED = [
    (
        lambda: GGNN(4, edge_types=0),
        "edge_types: got 0 but expected an int of at least 1. Pass one.",
    ),
    (
        lambda: GGNN(4, combine="product"),
        "combine: got 'product' but expected one of 'sum', 'mean', 'max'. Choose one of them.",
    ),
    (
        lambda: call_with(np.ones([13, UNITS + 1])),
        f"inputs: got {UNITS + 1} features but expected at most {UNITS}, the units, as they are "
        "the first state, padded with zeros. Raise units, or map them by a Dense layer before.",
    ),
    (
        lambda: call_with(np.ones([5, FEATURES])),
        "inputs: got 5 rows but expected 13, one per vertex, or 65, one per vertex and round. "
        "Check that both belong to the same minibatch.",
    ),
    (
        lambda: call_with(None),
        "inputs: got none but expected [V, features], one row per vertex. Call the layer with "
        "(graphs, inputs).",
    ),
    (
        lambda: call_with(np.ones([13, FEATURES]), edge_types=TYPES),
        f"edge_type: got none but expected integers in [0, {TYPES}), a type for each edge. Pass "
        "them, or leave edge_types out.",
    ),
    (
        lambda: with_types(minibatch()[3], None),
        "edge_type: got some but expected none, as edge_types is None. Say how many types there "
        "are.",
    ),
    (
        lambda: with_types(np.ones(3)),
        "edge_type: got float64 of shape (3,) but expected integers of shape [E], a type for each "
        "edge. Convert or reshape them.",
    ),
    (
        lambda: with_types([0, 1]),
        "edge_type: got 2 values but expected 132, one per edge of all rounds. Pass what "
        "from_rounds(..., edge_features=...) or batch(..., per_edge=...) returns.",
    ),
    (
        lambda: with_types(wrong_type(TYPES)),
        f"]: got {TYPES} but expected a type in [0, {TYPES}). Raise edge_types, or correct it.",
    ),
    (
        lambda: with_types(wrong_type(-1)),
        f"]: got -1 but expected a type in [0, {TYPES}). Raise edge_types, or correct it.",
    ),
]


@pytest.mark.parametrize("call, message", REJECTED)
def test_rejects(call, message):
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=re.escape(message)):
        call()


def test_a_message_does_not_drown_in_the_vertex_itself():
    """In bfloat16 256 + 1 is 256: a rounded sum with the vertex itself would lose the other."""
    graphs, _ = GraphBatch.from_rounds([2], [[(1, 0)]], rounds=1)
    layer = GGNN(1, return_vertices=True, dtype="bfloat16")
    x = tf.constant([[256.0], [1.0]])
    layer(graphs, x)
    # The update gate is closed, so that the state becomes tanh of half the message.
    kernel, bias = np.array([[0.0, 0.0, 0.5]]), np.array([[-30.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    layer.cell.message_kernel.assign([[1.0]])
    layer.cell.kernel.assign(kernel)
    layer.cell.recurrent_kernel.assign(0 * kernel)
    layer.cell.bias.assign(bias)
    np.testing.assert_allclose(tf.cast(layer(graphs, x)[0], tf.float32), [np.tanh(0.5)], rtol=0.01)
