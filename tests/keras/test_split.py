"""Rows of vertices by graph: ragged, and padded with a mask that layers of Keras read."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

GRAPHS = cavs.GraphBatch.from_parents([[2, 2, -1], [], [-1], [1, -1]])
ROWS = np.arange(12, dtype=np.float32).reshape(6, 2)


def test_rows_by_graph():
    want = [ROWS[:3].tolist(), [], ROWS[3:4].tolist(), ROWS[4:].tolist()]
    assert GRAPHS.split(ROWS).to_list() == want
    assert tf.function(lambda g, x: g.split(x))(GRAPHS, tf.constant(ROWS)).to_list() == want
    assert GRAPHS.split(list("abcdef")).to_list()[3] == [b"e", b"f"]
    assert cavs.GraphBatch.chain([]).split(np.zeros([0, 2])).shape == (0, None, 2)


def test_gradients_go_to_the_rows_of_each_graph():
    rows = tf.Variable(ROWS)
    with tf.GradientTape() as tape:
        total = tf.reduce_sum(GRAPHS.split(rows).to_tensor() * [[[2.0, 3.0]]])
    gradient = tf.convert_to_tensor(tape.gradient(total, rows))
    np.testing.assert_array_equal(gradient, np.tile([[2.0, 3.0]], [6, 1]))


def test_another_number_of_rows_is_rejected():
    message = "rows: got 5 rows but expected 6, one per vertex of the graphs. Check that both"
    with pytest.raises(ValueError, match=f"^{message}"):
        GRAPHS.split(ROWS[:5])
    with pytest.raises(ValueError, match=r"^rows: got no rows but expected 6"):
        GRAPHS.split(3.0)
    spec = [cavs.GraphBatch.Spec(), tf.TensorSpec([None, 2])]
    split = tf.function(lambda g, x: g.split(x).to_tensor(), input_signature=spec)
    assert split(GRAPHS, ROWS).shape == (4, 3, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        split(GRAPHS, ROWS[:5])


@pytest.mark.parametrize("graphs", [GRAPHS, GRAPHS.to_dict()])
def test_padded_rows_and_their_mask(graphs):
    layer = cavs.keras.Split()
    padded = layer(graphs, tf.constant(ROWS))
    np.testing.assert_array_equal(padded[0], ROWS[:3])
    np.testing.assert_array_equal(padded[3], [*ROWS[4:], [0, 0]])
    want = [[True] * 3, [False] * 3, [True, False, False], [True, True, False]]
    assert layer.compute_mask(graphs, None).numpy().tolist() == want


def attending(attend):
    """A model whose queries attend to the vertices of their graphs."""
    graphs = cavs.keras.graph_inputs()
    rows, query = keras.Input((2,), name="rows"), keras.Input((1, 2), name="query")
    padded = cavs.keras.Split()(graphs, rows)
    assert padded.shape == (None, None, 2)
    return keras.Model({**graphs, "rows": rows, "query": query}, attend(query, padded))


@pytest.mark.parametrize(
    "attend",
    [
        lambda query, value: keras.layers.Attention()([query, value]),
        lambda query, value: keras.layers.MultiHeadAttention(1, 2)(query, value),
    ],
)
def test_a_query_attends_to_the_vertices_of_its_graph_alone(tmp_path, attend):
    keras.utils.set_random_seed(0)
    graphs = cavs.GraphBatch.from_parents([[2, 2, -1], [1, -1]])
    model = attending(attend)
    rows, query = tf.constant(ROWS[:5]), tf.random.stateless_normal([2, 1, 2], [0, 0])
    given = {**graphs.to_dict(), "rows": rows, "query": query}
    got = model(given)
    for i, graph in enumerate(graphs):
        alone = {**graph.to_dict(), "rows": graphs.split(rows)[i], "query": query[i : i + 1]}
        np.testing.assert_allclose(got[i], model(alone)[0], atol=1e-6)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(given), got)
