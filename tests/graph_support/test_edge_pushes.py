"""Outputs with a row for each edge, and attention weights that come out of layers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.differential.test_differential import SWITCHES, check_options
from tests.helpers.pairwise import each_in_one_of
from tests.inputs.test_edges import (
    TOLERANCES,
    UNITS,
    Attention,
    TwoTypes,
    given,
    graphs_of_all_kinds,
    inputs_for,
    make,
)


class Scores(Attention):
    """Pushes weights of edges, and what is computed from nothing but them, beside rows."""

    def vertex(self):
        super().vertex()
        keys = self.key(self.children()) + self.relation(self.pull_edge("relation"))
        own = self.to_children(self.query(self.pull("x")))
        weights = self.softmax_children(tf.reduce_sum(own * keys, axis=1, keepdims=True))
        self.push_edge(weights, "weights")
        self.push_edge(self.pull_edge("relation") * 2.0, "relations")
        self.push_edge(self.children(), "states")


class TwoTypesOfScores(TwoTypes):
    """Vertices of one type push edges, the others' are zeros."""

    def hub(self):
        super().hub()
        self.push_edge(tf.sigmoid(self.u(self.children())), "gates")


CELLS = [Scores, TwoTypesOfScores]


def inputs_of(cell, graphs, dtype="float64"):
    return given(cell, graphs, dtype)


@pytest.mark.in_turns
@pytest.mark.parametrize("cell_class", CELLS)
def test_every_switch_gives_the_same_numbers_and_gradients(cell_class):
    cell = make(cell_class)
    graphs = graphs_of_all_kinds(len(cell.vertex_types))
    check_options(cell, graphs, SWITCHES, inputs=inputs_of(cell, graphs))


@pytest.mark.in_turns
@pytest.mark.parametrize(("cell_class", "dtype"), each_in_one_of(CELLS, TOLERANCES))
def test_narrower_types(cell_class, dtype):
    cell = make(cell_class, dtype)
    graphs = graphs_of_all_kinds(len(cell.vertex_types))
    inputs = inputs_of(cell, graphs, dtype)
    report = cavs.check_equivalence(cell, graphs, inputs, TOLERANCES[dtype])
    assert report.ok, report


def test_rows_are_in_the_order_of_edges():
    @cavs.vertex_function(state_size=2, arity=None)
    def cell(v):
        v.scatter(v.pull())
        v.push_edge(tf.concat([v.children(), v.to_children(v.pull())], axis=1), "ends")

    graphs = graphs_of_all_kinds()
    numbers = tf.range(graphs.num_vertices)
    rows = tf.cast(tf.stack([numbers, -numbers], axis=1), tf.float32)
    ends = cell(graphs, rows)["ends"].numpy()
    assert len(graphs.edges) == graphs.num_edges
    np.testing.assert_array_equal(ends[:, 0], graphs.edges[:, 0])
    np.testing.assert_array_equal(ends[:, 2], graphs.edges[:, 1])
    flat = [
        (first + child, first + v)
        for first, graph in zip(graphs.graph_splits.numpy(), graphs_as_lists(graphs), strict=False)
        for v, own in enumerate(graph)
        for child in own
        if child >= 0
    ]
    np.testing.assert_array_equal(graphs.edges, flat)


def graphs_as_lists(graphs):
    from tests.inputs.test_edges import GRAPHS

    assert graphs.num_graphs == len(GRAPHS)
    return GRAPHS


@pytest.mark.in_turns
def test_all_edges_are_returned_whatever_vertices_are_wanted():
    cell, graphs = make(Scores), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs)
    all_of, some = cell(graphs, inputs), cell(graphs, inputs, at=graphs.roots)
    assert some["default"].shape[0] == len(graphs.roots)
    np.testing.assert_array_equal(some["weights"], all_of["weights"])
    report = cavs.check_equivalence(cell, graphs, inputs, at=graphs.roots)
    assert report.ok, report


@pytest.mark.in_turns
def test_pushes_that_are_not_wanted_are_not_returned_and_not_computed():
    cell, graphs = make(Scores), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs)
    every = cell(graphs, inputs)
    assert set(every) == {"default", "weights", "relations", "states"}
    np.testing.assert_array_equal(cell(graphs, inputs, pushes=["default"]), every["default"])
    some = cell(graphs, inputs, pushes=["weights", "default"])
    assert set(some) == {"default", "weights"}
    np.testing.assert_array_equal(some["weights"], every["weights"])
    cell(graphs, inputs, pushes=["default"])
    assert cell._cache.last.push_names == ["default"]


@pytest.mark.in_turns
def test_gradients_of_some_pushes_are_those_of_all():
    cell, graphs = make(Scores), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs)

    def gradients(pushes):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.square(cell(graphs, inputs, pushes=pushes)["weights"]))
        return tape.gradient(loss, cell.trainable_weights, unconnected_gradients="zero")

    for some, every in zip(gradients(["weights", "default"]), gradients(None), strict=True):
        np.testing.assert_allclose(some, every, rtol=1e-12, atol=1e-14)


@pytest.mark.in_turns
def test_a_function_of_tensorflow_and_one_schedule_give_the_same():
    cell, graphs = make(Scores), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs)
    scheduled = graphs.with_schedule(1, edges=True)

    @tf.function
    def step(graphs, inputs):
        with tf.GradientTape() as tape:
            outputs = cell(graphs, inputs)
            loss = tf.add_n([tf.reduce_sum(tf.sin(value)) for value in outputs.values()])
        return outputs, tape.gradient(loss, cell.trainable_weights)

    for given_graphs in (graphs, scheduled):
        outputs, gradients = step(given_graphs, inputs)
        for name, value in cell(graphs, inputs).items():
            np.testing.assert_allclose(outputs[name], value, rtol=1e-12)
        assert len(gradients) == len(cell.trainable_weights)


@pytest.mark.in_turns
def test_a_portable_model_returns_edges(tmp_path):
    cell, graphs = make(Scores, "float32"), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs, "float32")
    cavs.export_portable(cell, str(tmp_path), graphs, inputs)
    loaded = tf.saved_model.load(str(tmp_path))
    names = ("child_splits", "child_ids", "graph_splits")
    found = loaded({name: getattr(graphs, name) for name in names} | inputs)
    for name, value in cell(graphs, inputs).items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-5)


@pytest.mark.in_turns
def test_the_reference_runs_in_a_graph_too():
    cell, graphs = make(Scores), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs)
    found = tf.function(lambda: cavs.reference.run(cell, graphs, inputs))()
    for name, value in cell(graphs, inputs).items():
        np.testing.assert_allclose(found[name], value, rtol=1e-9, atol=1e-12)


def test_memory_counts_the_rows_of_edges():
    cell, graphs = make(Scores), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs)
    results = cavs.predict_memory(cell, graphs, inputs).inference.results
    outputs = cell(graphs, inputs)
    assert results == sum(value.numpy().nbytes for value in outputs.values())


@pytest.mark.in_turns
@pytest.mark.parametrize("return_vertices", [True, False])
def test_a_functional_model_returns_rows_of_edges(return_vertices):
    cell, graphs = make(Scores, "float32"), graphs_of_all_kinds()
    inputs = inputs_of(cell, graphs, "float32")
    names = {
        **cavs.keras.graph_inputs(),
        "x": keras.Input((3,), name="x"),
        "relation": keras.Input((2,), name="relation"),
    }
    rows = {name: names[name] for name in ("x", "relation")}
    layer = cavs.keras.Graph(cell, return_vertices=return_vertices)
    model = keras.Model(names, layer(names, rows))
    outputs = model({**graphs.to_dict(), **inputs})
    assert outputs["weights"].shape == (graphs.num_edges, 1)
    assert len(outputs["default"]) == (
        graphs.num_vertices if return_vertices else graphs.num_graphs
    )
    np.testing.assert_allclose(outputs["weights"], cell(graphs, inputs)["weights"], rtol=1e-6)


def cell_that(pushes):
    @cavs.vertex_function(state_size=3, arity=None, name="cell")
    def cell(v):
        v.scatter(v.pull("x"))
        pushes(v)

    return cell


@pytest.mark.parametrize(
    ("pushes", "message"),
    [
        (
            lambda v: v.push_edge(v.pull("x"), "a"),
            "push_edge 'a' got rows of vertices but expected a row per edge. Compute it from "
            r"children\(\) or pull_edge",
        ),
        (
            lambda v: v.push(v.children(), "a"),
            "push 'a' got rows of edges but expected a row per vertex. .* push_edge",
        ),
        (
            lambda v: (v.push_edge(v.children(), "a"), v.push_edge(v.children(), "a")),
            "push: got 'a' a second time but expected every output once",
        ),
    ],
)
def test_rejections(pushes, message):
    graphs = graphs_of_all_kinds()
    with pytest.raises(ValueError, match=message):
        cell_that(pushes)(graphs, {"x": inputs_for(graphs, "float32")["x"]})


class BySome(cavs.GraphSupport):
    """Vertices of one type push an output for themselves, those of the other for their edges."""

    arity = None
    vertex_types = ("inner", "hub")

    def inner(self):
        self.scatter(self.pull("x"))
        self.push(self.pull("x"), "a")

    def hub(self):
        self.scatter(self.pull("x"))
        self.push_edge(self.children(), "a")


def test_an_output_of_vertices_and_of_edges_is_rejected():
    graphs = graphs_of_all_kinds(2)
    message = "push_edge: got 'a', which is pushed by vertices too, but expected an output with a"
    with pytest.raises(ValueError, match=message):
        BySome(3)(graphs, {"x": inputs_for(graphs, "float32")["x"]})


@pytest.mark.in_turns
def test_names_that_are_not_pushed_are_rejected():
    cell, graphs = make(Scores), graphs_of_all_kinds()
    cell(graphs, inputs_of(cell, graphs))
    message = r"pushes: got 'wights' but expected some of \['default', 'relations', 'states', 'w"
    with pytest.raises(ValueError, match=message):
        cell(graphs, inputs_of(cell, graphs), pushes=["wights"])


DAGS = graphs_of_all_kinds()
ROWS = tf.constant(np.random.default_rng(3).uniform(-1, 1, (DAGS.num_vertices, 3)))


def by_numpy(layer, graphs, rows):
    """The attention weights of a `DAGNN`: `layer` and its states as they are, by vertex."""
    cell = layer.cell
    w, u = cell.attention_kernel.numpy(), cell.recurrent_attention_kernel.numpy()
    states = layer.cell(graphs, rows).numpy()
    edges, weights = graphs.edges.numpy(), np.zeros(graphs.num_edges)
    for vertex in range(graphs.num_vertices):
        own = np.flatnonzero(edges[:, 1] == vertex)
        scores = (rows.numpy()[vertex] @ w + states[edges[own, 0]] @ u)[:, 0]
        powers = np.exp(scores - scores.max(initial=-np.inf))
        weights[own] = powers / powers.sum()
    return weights


@pytest.mark.parametrize("go_backwards", [False, True])
@pytest.mark.parametrize("return_vertices", [False, True])
def test_dagnn_returns_its_attention_weights(return_vertices, go_backwards):
    layer = cavs.keras.DAGNN(
        UNITS, return_vertices=return_vertices, go_backwards=go_backwards, dtype="float64"
    )
    output, weights = layer(DAGS, ROWS, return_attention_scores=True)
    np.testing.assert_allclose(output, layer(DAGS, ROWS), rtol=1e-12)
    graphs = DAGS.reverse() if go_backwards else DAGS
    np.testing.assert_allclose(weights, by_numpy(layer, graphs, ROWS), rtol=1e-10)


def test_dagnn_returns_states_before_the_weights():
    layer = cavs.keras.DAGNN(UNITS, return_state=True, dtype="float64")
    output, state, weights = layer(DAGS, ROWS, return_attention_scores=True)
    for found, wanted in zip((output, state), layer(DAGS, ROWS), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    assert weights.shape == (DAGS.num_edges,)


@pytest.mark.in_turns
def test_weights_of_dagnn_have_gradients():
    layer = cavs.keras.DAGNN(UNITS, dtype="float64")

    def entropy(rows):
        _, weights = layer(DAGS, rows, return_attention_scores=True)
        return tf.reduce_sum(weights * tf.math.log(weights))

    found, wanted = tf.test.compute_gradient(entropy, [ROWS])
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    layer.cell.recurrent_attention_kernel.assign(0.1 * tf.ones([UNITS, 1], tf.float64))
    with tf.GradientTape() as tape:
        loss = entropy(ROWS)
    gradient = tape.gradient(loss, layer.cell.recurrent_attention_kernel)
    assert np.abs(gradient).max() > 1e-6


@pytest.mark.in_turns
def test_a_functional_model_that_is_trained_shows_its_weights(tmp_path):
    names = {**cavs.keras.graph_inputs(), "x": keras.Input((3,), name="x")}
    layer = cavs.keras.DAGNN(UNITS)
    root, weights = layer(names, names["x"], return_attention_scores=True)
    assert tuple(root.shape) == (None, UNITS) and tuple(weights.shape) == (None,)
    model = keras.Model(names, keras.layers.Dense(1)(root))
    teller = keras.Model(names, weights)
    model.compile("sgd", "mse")
    features = {**DAGS.to_dict(), "x": tf.cast(ROWS, tf.float32)}
    before = teller(features)
    for _ in range(3):
        model.train_on_batch(features, np.ones([DAGS.num_graphs, 1], "float32"))
    assert np.abs(teller(features) - before).max() > 1e-6
    plain = layer(DAGS, features["x"], return_attention_scores=True)[1]
    np.testing.assert_allclose(teller(features), plain, rtol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_allclose(loaded(features), model(features), rtol=1e-6)
