"""External inputs that only some vertices have."""

import functools
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import VertexRows
from tests.helpers import cells

FEATURES, UNITS = 3, 4


class Readme(cavs.GraphSupport):
    """Products with concatenations of an input and states."""

    arity = 2

    def __init__(self, **kwargs):
        super().__init__(state_size=2 * UNITS, **kwargs)
        self.iou = keras.layers.Dense(3 * UNITS, dtype=self.dtype_policy)
        self.f = keras.layers.Dense(UNITS, dtype=self.dtype_policy)

    def vertex(self):
        cs, hs = zip(*(tf.split(self.gather(k), 2, axis=1) for k in range(2)), strict=True)
        x = self.pull()
        i, o, u = tf.split(self.iou(tf.concat([x, hs[0] + hs[1]], 1)), 3, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u)
        for c_k, h_k in zip(cs, hs, strict=True):
            c += tf.sigmoid(self.f(tf.concat([x, h_k], 1))) * c_k
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], 1))
        self.push(h)


class Scaled(cavs.GraphSupport):
    """An input that multiplies states, is divided, and passes TensorFlow's kernels."""

    arity = 2

    def __init__(self, **kwargs):
        super().__init__(state_size=FEATURES, **kwargs)

    def vertex(self):
        x, h = self.pull(), self.gather(0) + self.gather(1)
        self.scatter(tf.tanh(tf.exp(x) * h + x / (1 + h * h) + tf.cumsum(x, axis=1)))
        self.push(x * h + tf.nn.softmax(x))


CELLS = {
    "readme": Readme,
    "scaled": Scaled,
    "child_sum": lambda **kwargs: cavs.keras.TreeLSTM(UNITS, return_vertices=True, **kwargs),
    "n_ary": lambda **k: cavs.keras.TreeLSTM(UNITS, mode="n_ary", return_vertices=True, **k),
    "gru": lambda **kwargs: cavs.keras.TreeGRU(UNITS, return_vertices=True, **kwargs),
}
OPTIONS = [
    {},
    {"disable": ["specialize"]},
    {"disable": ["views", "skip_zeros"]},
    {"disable": ["eager", "lazy"]},
    {"streams": 2},
    {"micro_batch": 2},
    {"policy": "serial"},
    {"disable": ["fuse", "merge", "split", "share"]},
]


def leaves_of(graphs):
    splits = np.asarray(graphs.child_splits)
    return np.flatnonzero(splits[1:] == splits[:-1])


def which(kind, graphs, random):
    """The vertices that have an input."""
    count = int(graphs.num_vertices)
    return {
        "leaves": leaves_of(graphs),
        "some": random.permutation(count)[: count // 2],
        "inner": np.setdiff1d(np.arange(count), leaves_of(graphs)),
        "none": np.zeros([0], np.int32),
        "all": random.permutation(count),
    }[kind]


def dense(rows, vertices, graphs):
    return tf.scatter_nd(vertices[:, None], rows, [graphs.num_vertices, rows.shape[1]])


def results(model, graphs, rows, inputs):
    """Outputs, and gradients by the rows and the weights."""
    with tf.GradientTape() as tape:
        tape.watch(rows)
        output = model(graphs, inputs(rows))
        loss = tf.reduce_sum(tf.sin(output) * tf.range(1.0, output.shape[1] + 1.0, dtype="float64"))
    weights = [v.value for v in model.trainable_variables]
    zero = tf.UnconnectedGradients.ZERO
    return [output, *tape.gradient(loss, [rows, *weights], unconnected_gradients=zero)]


def assert_same(got, want):
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(tf.convert_to_tensor(a), tf.convert_to_tensor(b), atol=1e-10)


@pytest.fixture(scope="module")
def model_and_step():
    """A function that makes a model and its step in a function of TensorFlow, each once."""

    @functools.cache
    def make(name, seed):
        keras.utils.set_random_seed(seed)
        graphs = cells.random_graphs(seed, 7, 12)
        model = CELLS[name](dtype="float64", options=cavs.Options(**OPTIONS[seed]))
        step = tf.function(
            lambda rows, vertices: results(model, graphs, rows, lambda r: VertexRows(r, vertices)),
            input_signature=[
                tf.TensorSpec([None, FEATURES], tf.float64),
                tf.TensorSpec([None], tf.int32),
            ],
        )
        return graphs, model, step

    return make


@pytest.mark.in_turns
@pytest.mark.parametrize("kind", ["leaves", "some", "inner", "none", "all"])
@pytest.mark.parametrize("name", CELLS)
def test_other_vertices_pull_zeros(name, kind, model_and_step):
    random = np.random.default_rng(sum(map(ord, name + kind)))
    for seed in range(2):
        graphs, model, step = model_and_step(name, seed)
        vertices = which(kind, graphs, random).astype(np.int32)
        rows = tf.constant(random.normal(size=[len(vertices), FEATURES]))
        want = results(model, graphs, rows, lambda r, v=vertices, g=graphs: dense(r, v, g))
        assert_same(results(model, graphs, rows, lambda r, v=vertices: VertexRows(r, v)), want)
        assert_same(step(rows, vertices), want)


@pytest.mark.in_turns
@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_switches_change_no_numbers(options):
    random = np.random.default_rng(3)
    graphs = cells.random_graphs(5, 9, 14)
    model = Readme(dtype="float64", options=cavs.Options(**options))
    for kind in ("leaves", "some"):
        vertices = which(kind, graphs, random).astype(np.int64)
        rows = tf.constant(random.normal(size=[len(vertices), FEATURES]))
        want = results(model, graphs, rows, lambda r, v=vertices: dense(r, v, graphs))
        assert_same(results(model, graphs, rows, lambda r, v=vertices: VertexRows(r, v)), want)


@pytest.mark.in_turns
@pytest.mark.parametrize("name", CELLS)
def test_equals_the_reference_executor(name):
    graphs = cells.random_graphs(2, 5, 9)
    vertices = leaves_of(graphs)
    rows = tf.constant(np.random.default_rng(0).normal(size=[len(vertices), FEATURES]))
    cell = CELLS[name](dtype="float64")
    assert cavs.check_equivalence(cell, graphs, VertexRows(rows, vertices)).ok


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
@pytest.mark.parametrize("name", CELLS)
def test_bitwise_equal_from_run_to_run(name, dtype):
    graphs = cells.random_graphs(4, 64, 30)
    ids = np.random.default_rng(1).integers(0, 50, int(graphs.num_vertices))
    ids = tf.constant(np.where(np.isin(np.arange(len(ids)), leaves_of(graphs)), ids, -1))
    table = cavs.keras.Embedding(50, FEATURES, mask_negative=True, dtype=dtype)
    model = CELLS[name](dtype=dtype)

    def run():
        with tf.GradientTape() as tape:
            output = model(graphs, table(ids))
            loss = tf.reduce_sum(tf.sin(tf.cast(output, tf.float32)))
        weights = [v.value for v in (*table.trainable_variables, *model.trainable_variables)]
        of_table, *gradients = tape.gradient(loss, weights)
        return [output, of_table.indices, of_table.values, *gradients]

    first = run()
    for _ in range(3):
        for x, y in zip(first, run(), strict=True):
            np.testing.assert_array_equal(x, y)


def test_one_of_several_inputs_and_integers():
    class Words(cavs.GraphSupport):
        arity = 2

        def __init__(self):
            super().__init__(state_size=UNITS, dtype="float64")
            self.table = self.add_weight(shape=(5, UNITS), initializer="glorot_uniform")

        def vertex(self):
            word = tf.gather(tf.cast(self.table, tf.float64), self.pull("word"))
            state = tf.tanh(word + self.pull("x") + self.gather(0) - self.gather(1))
            self.scatter(state)
            self.push(state)

    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[], [0]]])
    x, cell = tf.ones([5, UNITS], tf.float64), Words()
    want = cell(graphs, {"word": tf.constant([4, 0, 0, 2, 0]), "x": x})
    word = VertexRows(tf.constant([2, 4]), tf.constant([3, 0]))
    np.testing.assert_allclose(cell(graphs, {"word": word, "x": x}), want)
    want = cell(graphs, {"word": tf.zeros([5], tf.int32), "x": x * [[1], [0], [0], [1], [0]]})
    x = VertexRows(x[:2], tf.constant([0, 3]))
    np.testing.assert_allclose(cell(graphs, {"word": tf.zeros([5], tf.int32), "x": x}), want)


def test_vertex_types_and_an_initial_state():
    class Typed(cavs.GraphSupport):
        arity, vertex_types = 1, ("add", "multiply")

        def add(self):
            self.finish(self.gather(0) + self.pull())

        def multiply(self):
            self.finish(self.gather(0) * (1 + self.pull()))

        def finish(self, state):
            self.scatter(state)
            self.push(state)

    graphs = cavs.GraphBatch.from_children([[[], [0], [1], [2]]], vertex_type=[[0, 1, 1, 0]])
    x = VertexRows(tf.constant([[2.0], [3.0]]), tf.constant([1, 3]))
    output = Typed(state_size=1)(graphs, x, initial_state=[[5.0]])
    np.testing.assert_array_equal(output, [[5], [15], [15], [18]])


class Masked(cavs.GraphSupport):
    """Leaves are their input, and inner vertices computed: one function with a condition."""

    arity = 2

    def __init__(self, **kwargs):
        super().__init__(state_size=UNITS, **kwargs)
        self.inner = keras.layers.Dense(UNITS, activation="tanh")

    def vertex(self):
        inner = self.inner(tf.concat([self.gather(0), self.gather(1)], axis=1))
        h = tf.where(self.has_child(0)[:, tf.newaxis], inner, self.pull())
        self.scatter(h)
        self.push(h)


class NegatedMask(Masked):
    def vertex(self):
        inner = self.inner(tf.concat([self.gather(0), self.gather(1)], axis=1))
        h = tf.where(~self.has_child(0)[:, tf.newaxis], self.pull(), inner)
        self.scatter(h)
        self.push(h)


class PulledMask(Masked):
    def vertex(self):
        inner = self.inner(tf.concat([self.gather(0), self.gather(1)], axis=1))
        is_leaf = self.pull("is_leaf")[..., tf.newaxis]
        h = tf.where(is_leaf, self.pull("x"), inner)
        self.scatter(h)
        self.push(h)


@pytest.mark.parametrize("model_class", [Masked, NegatedMask])
def test_conditions_on_children_make_programs_of_their_own(model_class):
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1], [2]], [[]], [[-1, -1], [0, -1]]])
    vertices = np.array([0, 1, 4, 5])
    x = np.random.default_rng(0).normal(size=[4, UNITS]).astype("float32")
    model, inputs = model_class(), VertexRows(tf.constant(x), tf.constant(vertices))
    assert cavs.check_equivalence(model, graphs, inputs).ok
    np.testing.assert_array_equal(tf.gather(model(graphs, inputs), vertices), x)
    text = cavs.explain(model, graphs, inputs, program=True)
    assert text.count("by TensorFlow's own kernels: none") == 2
    leaves, parents = (programs_for(name, text) for name in ("leaves", "all children"))
    assert len(leaves) == len(parents) == 2
    for operator in ("matmul", "tanh", " = keep", " = drop", " = equal", "to_mask", "weight_grad"):
        assert not any(operator in program for program in leaves), operator
        assert operator in text or operator == " = equal"
    for operator in (" = keep", " = drop", " = equal", "to_mask", "pull_grad"):
        assert not any(operator in program for program in parents), operator
    assert len(programs_for("all children, no input", text)) == 2
    both = "every vertex has all children and no vertex has a row of the inputs that not all have"
    assert text.count(f", in tasks in which {both}\n") == 2


def programs_for(name, text):
    of_programs = rf'^  (?:program|derivative) ".* \({name}\)"\n((?:    .*\n)*)'
    return re.findall(of_programs, text, re.M)


def test_booleans_that_are_pulled_need_no_kernel_of_tensorflow():
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1], [2]], [[]]])
    x = tf.random.stateless_normal([5, UNITS], [1, 2])
    for is_leaf in ([True, True, False, False, True], [False, True, True, False, False]):
        model, inputs = PulledMask(), {"x": x, "is_leaf": tf.constant(is_leaf)}
        assert cavs.check_equivalence(model, graphs, inputs).ok
        text = cavs.explain(model, graphs, inputs)
        assert text.count("by TensorFlow's own kernels: none") == 2


def test_rows_that_are_missing_take_no_memory():
    graphs = cavs.GraphBatch.complete_tree(depth=6)
    vertices = leaves_of(graphs)
    rows = tf.ones([len(vertices), FEATURES])
    model = Readme()
    need = [
        cavs.predict_memory(model, graphs, inputs).forward
        for inputs in (tf.ones([graphs.num_vertices, FEATURES]), VertexRows(rows, vertices))
    ]
    assert need[1].tape + need[1].temporaries < need[0].tape + need[0].temporaries


@pytest.mark.in_turns
def test_tokens_of_inner_nodes_in_a_functional_model(tmp_path):
    graphs = cavs.keras.graph_inputs(2)
    token = keras.Input((), dtype="int32", name="token")
    words = cavs.keras.Embedding(10, FEATURES, mask_negative=True)(token)
    words = VertexRows(keras.layers.Dropout(0.1)(words.rows), words.vertices)
    root = cavs.keras.TreeLSTM(UNITS)(graphs, words)
    model = keras.Model({**graphs, "token": token}, keras.layers.Dense(1)(root))
    examples = tf.data.Dataset.from_tensors(
        {"children": [[-1, -1], [-1, -1], [0, 1]], "token": [3, 7, -1], "label": 1.0}
    ).repeat(6)
    batches = cavs.data.batch(examples, 3, arity=2, as_dict=True)
    model.compile("sgd", "mse")
    pairs = cavs.keras.for_fit(batches, model.input, "label")
    fitted = model.fit(pairs, epochs=2, shuffle=False, verbose=0)
    assert np.isfinite(fitted.history["loss"]).all()
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    (batch,) = batches.take(1)
    inputs = {name: batch[name] for name in model.input}
    np.testing.assert_allclose(loaded(inputs), model(inputs), rtol=1e-6)


@pytest.mark.parametrize(
    ("rows", "vertices", "message"),
    [
        (tf.ones([2, 3]), [0], r"inputs\['default'\]: got 2 rows for 1 vertices but expected one"),
        (tf.ones([1, 3]), [0.0], r"inputs\['default'\].vertices: got float32 of shape \(1,\)"),
        (tf.ones([1, 3]), [[0]], r"vertices: got int32 of shape \(1, 1\) but expected integers"),
        (tf.ones([2, 3]), [1, 1], r"partial_vertices\[0\]\[1\]: got vertex 1, as in"),
        (tf.ones([1, 3]), [3], r"partial_vertices\[0\]\[0\]: got 3 but expected a vertex of the"),
        (tf.ones([1, 3]), [-1], r"partial_vertices\[0\]\[0\]: got -1 but expected a vertex"),
    ],
)
def test_what_is_rejected(rows, vertices, message):
    graphs, model = cavs.GraphBatch.from_children([[[], [], [0, 1]]]), Readme()
    model(graphs, tf.ones([3, 3]))
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        model(graphs, VertexRows(rows, tf.constant(vertices)))


@pytest.mark.parametrize(
    ("masks", "ids", "vertices"),
    [
        ({"mask_negative": True}, [3, -1, 1, -5, 2], [0, 2, 4]),
        ({"mask_negative": True, "mask_id": 1}, [3, -1, 1, -5, 2], [0, 4]),
        ({"mask_id": 9}, [3, 9, 1], [0, 2]),
    ],
    ids=str,
)
def test_which_ids_have_no_row(masks, ids, vertices):
    layer = cavs.keras.Embedding(10, 2, **masks)
    rows = layer(tf.constant(ids))
    np.testing.assert_array_equal(rows.vertices, vertices)
    np.testing.assert_array_equal(rows.rows, layer.embeddings.numpy()[np.take(ids, vertices)])
    assert cavs.keras.Embedding.from_config(layer.get_config()).get_config() == layer.get_config()


def test_ids_of_another_rank_have_no_vertices():
    for masks in ({"mask_negative": True}, {"mask_id": 0}):
        with pytest.raises(ValueError, match=r"inputs: got shape \(1, 2\) but expected \[V\]"):
            cavs.keras.Embedding(3, 2, **masks)(tf.constant([[1, 2]]))


@pytest.mark.in_turns
def test_lists_become_tensors():
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    rows = np.ones([2, FEATURES], np.float32)
    for model in (Readme(), cavs.keras.TreeLSTM(UNITS), cavs.keras.Graph(Readme())):
        want = model(graphs, VertexRows(tf.constant(rows), tf.constant([0, 1])))
        for vertices in ([0, 1], (0, 1), np.array([0, 1])):
            np.testing.assert_array_equal(model(graphs, VertexRows(rows, vertices)), want)
            listed = VertexRows(rows.tolist(), vertices)
            np.testing.assert_array_equal(model(graphs, listed), want)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match=r"\[0\]\[1\]: got vertex 1, as in"
        ):
            model(graphs, VertexRows(rows, [1, 1]))
        nothing = model(graphs, VertexRows(rows[:0], []))
        zeros = model(graphs, tf.zeros([3, FEATURES]))
        np.testing.assert_array_equal(nothing, zeros)
    named = {"default": VertexRows(rows, [0, 1])}
    model = Readme()
    np.testing.assert_array_equal(model(graphs, named), model(graphs, named["default"]))


def test_embeddings_of_some_ids():
    layer = cavs.keras.Embedding(10, 2, mask_negative=True, mask_id=9)
    rows = layer(VertexRows([3, 9, 1, -1], [7, 5, 4, 0]))
    np.testing.assert_array_equal(rows.vertices, [7, 4])
    np.testing.assert_array_equal(rows.rows, layer.embeddings.numpy()[[3, 1]])
    plain = cavs.keras.Embedding(10, 2)(VertexRows([3, 9], [7, 5]))
    np.testing.assert_array_equal(plain.vertices, [7, 5])


def test_the_reference_rejects_a_vertex_with_two_rows():
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    message = r"inputs\['default'\].vertices: got a vertex more than once but expected each once"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        cavs.reference.run(Readme(), graphs, VertexRows(tf.ones([2, FEATURES]), [1, 1]))
