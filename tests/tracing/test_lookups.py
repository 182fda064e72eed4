"""Embeddings looked up inside of vertex functions: read and differentiated row by row."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import VertexRows
from tests.helpers import cells

# Not every cell here uses all the layers of its base class.
pytestmark = pytest.mark.filterwarnings("ignore:`build\\(\\)` was called on layer")

WORDS, UNITS = 11, 3
GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1], [2]], [[]], [[], [0]]])
IDS = tf.constant([3, 5, 0, 3, 10, 5, 3])
WAYS = ("keras", "cavs", "gather", "embedding_lookup", "look_up")


class Words(cavs.GraphSupport):
    """A sum over trees of rows that are looked up, multiplied."""

    arity = 2

    def __init__(self, way="keras", ids=lambda ids: ids, **kwargs):
        super().__init__(state_size=UNITS, **kwargs)
        self.way, self.ids = way, ids
        layers = {"keras": keras.layers.Embedding, "cavs": cavs.keras.Embedding}
        if way in layers:
            self.table = layers[way](WORDS, UNITS, dtype=self.dtype_policy)
        else:
            self.table = tf.Variable(tf.random.stateless_normal([WORDS, UNITS], [1, 2]))
        self.dense = keras.layers.Dense(UNITS, dtype=self.dtype_policy)

    def look_up(self, ids):
        ways = {"gather": tf.gather, "embedding_lookup": tf.nn.embedding_lookup}
        ways["look_up"] = cavs.ops.look_up
        return ways[self.way](self.table, ids) if self.way in ways else self.table(ids)

    def vertex(self):
        rows = self.look_up(self.ids(self.pull()))
        h = tf.tanh(self.dense(rows) + self.gather(0) - self.gather(1))
        self.scatter(h)
        self.push(h)


def gradients(cell, ids=IDS, graphs=GRAPHS):
    """Of a loss, by every variable."""
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.sin(tf.cast(cell(graphs, ids), tf.float32)))
    return tape.gradient(loss, [v.value for v in cell.trainable_variables])


def of_table(cell, *arguments):
    found = gradients(cell, *arguments)
    (gradient,) = [
        g for g, v in zip(found, cell.trainable_variables, strict=True) if v.shape[0] == WORDS
    ]
    return gradient


def check(cell, ids=IDS, graphs=GRAPHS, **kwargs):
    report = cavs.check_equivalence(cell, graphs, ids, **kwargs)
    assert report.ok, str(report)


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("way", WAYS)
def test_gradients_of_tables_name_each_row_once(way, compiled):
    cell = Words(way)
    check(cell)
    run = tf.function(of_table) if compiled else of_table
    gradient = run(cell)
    assert isinstance(gradient, tf.IndexedSlices)
    np.testing.assert_array_equal(gradient.indices, [0, 3, 5, 10])


@pytest.mark.parametrize("way", WAYS)
def test_tables_are_not_read_as_a_whole(way):
    cell = Words(way)
    cell(GRAPHS, IDS)
    table = next(v.value for v in cell.trainable_variables if v.shape[0] == WORDS)

    def step(ids):
        table.scatter_sub(of_table(cell, ids))

    graph = tf.function(step).get_concrete_function(IDS).graph
    reads = [op for op in graph.get_operations() if op.type == "ReadVariableOp"]
    assert not any(op.outputs[0].shape[0] == WORDS for op in reads)


@pytest.mark.parametrize(
    "ids",
    [
        lambda ids: tf.maximum(ids - 1, 0),
        lambda ids: tf.where(ids > 4, ids, 1),
        lambda ids: tf.cast(ids, tf.int64) % 7,
        lambda ids: ids - 1,
    ],
)
def test_ids_may_be_computed_from_what_is_pulled(ids):
    cell = Words("keras", ids)  # Keras looks up the last row for -1.
    check(cell)
    assert isinstance(of_table(cell), tf.IndexedSlices)


@pytest.mark.parametrize("way", WAYS)
def test_a_vertex_may_have_several_ids(way):
    class Several(Words):
        def vertex(self):
            rows = tf.reduce_sum(self.look_up(self.pull()), axis=1)
            self.scatter(rows + self.gather(0))
            self.push(rows * self.gather(1))

    cell = Several(way)
    ids = tf.stack([IDS, IDS[::-1]], axis=1)
    check(cell, ids)
    assert isinstance(of_table(cell, ids), tf.IndexedSlices)


def test_other_ways_to_the_ids_are_left_alone():
    """Rows of ids that are mixed by an operator of another kind, and ids that states give."""

    class OfStates(Words):
        def vertex(self):
            ids = tf.cast(tf.abs(self.gather(0)[:, 0]) * 5, tf.int32) + self.pull()[:, 0]
            h = tf.tanh(self.look_up(ids % WORDS) + self.gather(1))
            self.scatter(h)
            self.push(h)

    for cell in (OfStates("gather"), OfStates("keras")):
        check(cell, tf.stack([IDS, IDS], axis=1))


def test_a_table_that_is_also_multiplied():
    class Tied(Words):
        def vertex(self):
            h = tf.tanh(self.look_up(self.pull()) + self.gather(0))
            self.scatter(h)
            self.push(tf.matmul(h, tf.convert_to_tensor(self.table), transpose_b=True))

    check(Tied("gather"))


@pytest.mark.parametrize("way", WAYS)
def test_ids_of_some_vertices(way):
    """Others pull zero, which is an id."""
    check(Words(way), VertexRows(tf.constant([3, 7]), tf.constant([4, 0])))


@pytest.mark.parametrize("rows", ["of leaves", "of all"])
@pytest.mark.parametrize("way", WAYS)
def test_one_vertex_type_looks_up(way, rows):
    class Typed(Words):
        vertex_types = ("leaf", "inner")

        def leaf(self):
            h = tf.tanh(self.look_up(self.pull()))
            self.scatter(h)
            self.push(h)

        def inner(self):
            h = tf.tanh(self.dense(self.gather(0)) + self.gather(1))
            self.scatter(h)
            self.push(h)

    children = [[[], [], [0, 1], [2]], [[]], [[], [0]]]
    graphs = cavs.GraphBatch.from_children(children, vertex_type=[[0, 0, 1, 1], [0], [0, 1]])
    ids = IDS if rows == "of all" else IDS[:4]
    cell = Typed(way)
    check(cell, ids, graphs)
    assert isinstance(of_table(cell, ids, graphs), tf.IndexedSlices)


@pytest.mark.parametrize("rows", ["of two types", "of all"])
def test_one_of_the_types_that_pull_looks_up(rows):
    class Typed(Words):
        vertex_types = ("word", "number", "nothing")

        def finish(self, h):
            h = tf.tanh(h + self.gather(0) + self.gather(1))
            self.scatter(h)
            self.push(h)

        def word(self):
            self.finish(self.look_up(self.pull()))

        def number(self):
            self.finish(tf.cast(self.pull(), tf.float32)[:, tf.newaxis] * [[1.0, 2.0, 3.0]])

        def nothing(self):
            self.finish(tf.zeros_like(self.gather(0)))

    graphs = cavs.GraphBatch.from_children(
        [[[], [], [0, 1], [2]], [[]], [[], [0]]], vertex_type=[[0, 1, 2, 0], [1], [0, 2]]
    )
    check(Typed("keras"), IDS if rows == "of all" else IDS[:5], graphs)


@pytest.mark.in_turns
def test_features_of_edges_are_looked_up():
    class Relations(Words):
        arity = None

        def vertex(self):
            rows = self.look_up(self.pull_edge("relation"))
            h = tf.tanh(self.pull("x") + self.sum_children(rows * self.children()))
            self.scatter(h)
            self.push(h)

    x = tf.random.stateless_normal([7, UNITS], [3, 4])
    inputs = {"relation": IDS[:4], "x": x}
    for way in WAYS:
        cell = Relations(way)
        check(cell, inputs)
        gradient = of_table(cell, inputs)
        assert isinstance(gradient, tf.IndexedSlices)
        np.testing.assert_array_equal(gradient.indices, [0, 3, 5])


@pytest.mark.parametrize("way", ["keras", "cavs"])
@pytest.mark.parametrize("dtype", ["float64", "mixed_bfloat16"])
def test_tables_of_other_types(way, dtype):
    cell = Words(way, dtype=dtype)
    check(cell)
    assert isinstance(of_table(cell), tf.IndexedSlices)


def test_a_switch_leaves_lookups_where_they_are():
    cell = Words("cavs", options=cavs.Options(disable=["look_up"]))
    cell(GRAPHS, IDS)
    check(cell)
    assert not isinstance(of_table(cell), tf.IndexedSlices)
    cell.options = cavs.Options()
    assert isinstance(of_table(cell), tf.IndexedSlices)


def test_ids_without_a_row_are_named():
    for way in ("cavs", "gather", "look_up"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"ids\[1\]: got {WORDS} but"):
            Words(way)(GRAPHS, tf.constant([0, WORDS, 0, 0, 0, 0, 0]))


@pytest.mark.parametrize(
    "options", [{}, {"streams": 2}, {"micro_batch": 2}, {"micro_batch": "auto"}]
)
def test_options(options):
    cell = Words(options=cavs.Options(**options))
    cell(GRAPHS, IDS)
    check(cell)


@pytest.mark.parametrize(
    "masks", [{"mask_negative": True}, {"mask_id": 5}, {"mask_id": 5, "mask_negative": True}]
)
def test_ids_without_a_row_are_zeros(masks):
    cell = Words("cavs")
    cell.table = cavs.keras.Embedding(WORDS, UNITS, **masks)
    ids = tf.where(IDS == 3, -1, IDS) if "mask_negative" in masks else IDS
    check(cell, ids)
    present = ~np.isin(ids, [-1, masks.get("mask_id", -1)])
    given = cavs.VertexRows(tf.boolean_mask(ids, present), np.flatnonzero(present))

    class Outside(Words):
        def vertex(self):
            h = tf.tanh(self.dense(self.pull()) + self.gather(0) - self.gather(1))
            self.scatter(h)
            self.push(h)

    outside = Outside("cavs")
    outside.dense = cell.dense
    rows = VertexRows(tf.gather(cell.table.embeddings, given.rows), given.vertices)
    np.testing.assert_allclose(cell(GRAPHS, ids), outside(GRAPHS, rows), rtol=1e-6)
    assert isinstance(of_table(cell, ids), tf.IndexedSlices)


@pytest.mark.in_turns
def test_random_graphs():
    graphs = cells.random_graphs(3, 12, 9)
    ids = tf.random.stateless_uniform([graphs.num_vertices], [1, 1], 0, WORDS, tf.int32)
    for way in WAYS:
        check(Words(way), ids, graphs)


def test_tools_take_such_cells():
    cell = Words()
    assert "by TensorFlow's own kernels: none" in cavs.explain(cell, GRAPHS, IDS)
    assert cavs.predict_memory(cell, GRAPHS, IDS).forward.state > 0


@pytest.mark.in_turns
@pytest.mark.parametrize("optimizer", [cavs.keras.LazyAdam, cavs.keras.SGD])
@pytest.mark.parametrize("where", ["inside", "before"])
def test_a_plain_embedding_trains_as_ours(where, optimizer):
    """Before a layer, TensorFlow's gradient names a row as often as it is looked up."""

    class After(Words):
        def vertex(self):
            h = tf.tanh(self.dense(self.pull()) + self.gather(0) - self.gather(1))
            self.scatter(h)
            self.push(h)

    results = []
    for way in ("keras", "cavs"):
        keras.utils.set_random_seed(1)
        cell = (Words if where == "inside" else After)(way)
        call = cell if where == "inside" else lambda graphs, ids, c=cell: c(graphs, c.table(ids))
        call(GRAPHS, IDS)
        weights, made = cell.trainable_variables, optimizer(0.1)
        for _ in range(3):
            with tf.GradientTape() as tape:
                loss = tf.reduce_sum(tf.sin(call(GRAPHS, IDS)))
            found = tape.gradient(loss, [v.value for v in weights])
            sparse = [g for g in found if isinstance(g, tf.IndexedSlices)]
            assert len(sparse) == 1
            made.apply(found, weights)
        results.append({v.name: v.numpy() for v in weights})
        twice = where == "before" and way == "keras"
        assert len(sparse[0].indices) == (len(IDS) if twice else 4)
    for name, value in results[0].items():
        np.testing.assert_allclose(value, results[1][name], rtol=1e-5, atol=1e-6)


@pytest.mark.in_turns
@pytest.mark.parametrize("way", ["keras", "cavs"])
def test_models_train_as_with_the_embedding_outside(way, tmp_path):
    @keras.saving.register_keras_serializable("test_lookups")
    class Saved(Words):
        def get_config(self):
            return super().get_config() | {"way": self.way}

    @keras.saving.register_keras_serializable("test_lookups")
    class Outside(Saved):
        def vertex(self):
            h = tf.tanh(self.dense(self.pull()) + self.gather(0) - self.gather(1))
            self.scatter(h)
            self.push(h)

    def model_of(inside):
        keras.utils.set_random_seed(1)
        graphs = cavs.keras.graph_inputs(2)
        token = keras.Input((), dtype="int32", name="token")
        cell = (Saved if inside else Outside)(way)
        x = token if inside else cell.table(token)
        root = cavs.keras.Graph(cell)(graphs, x)
        model = keras.Model({**graphs, "token": token}, root)
        model.compile(cavs.keras.LazyAdam(0.01), "mse")
        return model

    tree = {"children": [[-1, -1], [-1, -1], [0, 1]], "token": [3, 7, 3], "y": 0.5}
    trees = tf.data.Dataset.from_tensors(tree).repeat(6)
    results = []
    for inside in (True, False):
        model = model_of(inside)
        batches = cavs.data.batch(trees, 3, arity=2, as_dict=True)
        pairs = cavs.keras.for_fit(batches, model.input, "y")
        losses = model.fit(pairs, epochs=3, shuffle=False, verbose=0).history["loss"]
        inputs, _ = next(iter(pairs))
        results.append((losses, model(inputs)))
        if inside:
            model.save(tmp_path / "model.keras")
            loaded = keras.models.load_model(tmp_path / "model.keras")
            np.testing.assert_allclose(loaded(inputs), results[-1][1], rtol=1e-6)
            model.export(tmp_path / "exported", verbose=False)
    for got, want in zip(*results, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)
