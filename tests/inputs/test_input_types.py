"""Floating-point inputs are cast to the type of the states, as the inputs of Keras layers are."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

TREES = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])
POLICIES = ["float32", "float64", "bfloat16", "mixed_bfloat16", "mixed_float16"]


@keras.saving.register_keras_serializable("tests")
class TreeSum(cavs.GraphSupport):
    """A cell as users write them: it adds what it pulls to what it gathers."""

    arity = 2

    def __init__(self, **kwargs):
        super().__init__(state_size=1, **kwargs)

    def vertex(self):
        total = self.pull() + self.gather(0) + self.gather(1)
        self.scatter(total)
        self.push(total)

    def get_config(self):
        return {"dtype": self.dtype_policy.name}


LAYERS = {
    "TreeSum": TreeSum,
    "Graph": lambda: cavs.keras.Graph(TreeSum()),
    "TreeLSTM": lambda: cavs.keras.TreeLSTM(2),
    "Pool": cavs.keras.Pool,
    "Roots": cavs.keras.Roots,
    "Split": cavs.keras.Split,
}


@pytest.mark.parametrize("name", LAYERS)
def test_lists_of_numbers_are_inputs(name):
    layer, rows = LAYERS[name](), [[1.0], [2.0], [3.0], [4.0]]
    np.testing.assert_array_equal(layer(TREES, rows), layer(TREES, tf.constant(rows)))


def test_lists_of_numbers_are_sequences_and_ids():
    for layer in (cavs.keras.LSTM(2), cavs.keras.GRU(2)):
        rows = [[[1.0], [2.0]]]
        np.testing.assert_array_equal(layer(rows), layer(tf.constant(rows)))
    table = cavs.keras.Embedding(3, 2)
    np.testing.assert_array_equal(table([[1, 2]]), table(tf.constant([[1, 2]])))


def test_a_dict_of_inputs_may_have_lists():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        v.scatter(v.pull("x"))
        v.push(v.pull("x") + tf.cast(v.pull("n")[:, None], tf.float32))

    got = cell(TREES, {"x": tf.ones([4, 1]), "n": [1, 2, 3, 4]})
    np.testing.assert_array_equal(got, [[2], [3], [4], [5]])


@pytest.mark.parametrize("given", ["float16", "float32", "float64"])
@pytest.mark.parametrize("policy", POLICIES)
def test_a_cell_of_ones_own_takes_floats_of_any_type(policy, given):
    cell, x = TreeSum(dtype=policy), tf.constant([[1.0], [2.0], [3.0], [4.0]], given)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cell(TREES, x)
    assert y.dtype == cell.compute_dtype
    np.testing.assert_array_equal(tf.cast(y, tf.float32), [[1], [2], [6], [4]])
    dx = tape.gradient(y, x)
    assert dx.dtype == given
    np.testing.assert_array_equal(dx, [[2], [2], [1], [1]])
    assert cavs.check_equivalence(cell, TREES, x).ok
    assert str(cavs.predict_memory(cell, TREES, x))
    assert cavs.explain(cell, TREES, x)


@pytest.mark.parametrize("policy", POLICIES)
def test_arrays_and_lists_are_cast(policy):
    cell = TreeSum(dtype=policy)
    for x in (np.ones([4, 1]), np.ones([4, 1], np.float32), [[1.0]] * 4):
        np.testing.assert_array_equal(tf.cast(cell(TREES, x), tf.float32), [[1], [1], [3], [1]])


@pytest.mark.parametrize("policy", POLICIES)
def test_inputs_of_some_vertices_are_cast(policy):
    leaves = cavs.VertexRows(tf.constant([[1.0], [2.0], [4.0]]), tf.constant([0, 1, 3]))
    y = TreeSum(dtype=policy)(TREES, leaves)
    np.testing.assert_array_equal(tf.cast(y, tf.float32), [[1], [2], [3], [4]])


@pytest.mark.parametrize("policy", POLICIES)
def test_integers_and_booleans_are_not_cast(policy):
    seen = {}

    @cavs.vertex_function(state_size=1, arity=2, dtype=policy)
    def cell(v):
        seen.update(id=v.pull("id").dtype, word=v.pull("word").dtype, x=v.pull("x").dtype)
        v.scatter(v.pull("x"))
        v.push(v.pull("id"))

    x, numbers = tf.ones([4, 1]), tf.constant([300, 1, 2, 257])
    y = cell(TREES, {"id": numbers, "word": tf.cast(numbers, tf.int64), "x": x})
    np.testing.assert_array_equal(y, numbers)
    assert seen == {"id": tf.int32, "word": tf.int64, "x": tf.as_dtype(cell.compute_dtype)}


def test_a_cell_may_cast_by_itself():
    @cavs.vertex_function(state_size=1, arity=2, dtype="mixed_bfloat16", autocast=False)
    def cell(v):
        v.scatter(tf.cast(v.pull(), v.compute_dtype))
        v.push(v.pull())

    x = tf.constant([[1.0], [2.0], [257.0], [4.0]])
    known = {"cell": cell}  # As from a file.
    for own in (cell, type(cell).from_config(cell.get_config(), known)):
        assert own(TREES, x).dtype == tf.float32
        np.testing.assert_array_equal(own(TREES, x), x)


@pytest.mark.parametrize("policy", ["float64", "mixed_bfloat16"])
def test_functional_models_train_and_are_saved(policy, tmp_path):
    x = keras.Input([1], name="x")
    inputs = cavs.keras.graph_inputs() | {"x": x}
    outputs = keras.layers.Dense(1, dtype=policy)(TreeSum(dtype=policy)(inputs, x))
    model = keras.Model(inputs, outputs)
    model.compile("sgd", "mse")
    data = TREES.to_dict() | {"x": tf.constant([[1.0], [2.0], [3.0], [4.0]])}
    data = {name: data[name] for name in inputs}
    model.train_on_batch(data, tf.zeros([4, 1]))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        tf.cast(loaded(data), tf.float32), tf.cast(model(data), tf.float32)
    )
