import graphs as make
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import TreeLSTM

UNITS = 4
SIZES = (5, 1, 9, 0, 2)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def column(weight, block, width=UNITS):
    return weight[..., block * width : (block + 1) * width]


def child_sum(x, children, weights):
    """Equations 2-8 of arXiv:1503.00075, for one vertex. children: (h, c) pairs."""
    (w_i, w_f, w_u, w_o), (u_i, u_f, u_u, u_o), (b_i, b_f, b_u, b_o) = (
        [column(weight, block) for block in range(4)] for weight in weights
    )
    h_sum = sum((h for h, _ in children), np.zeros(UNITS))
    i = sigmoid(x @ w_i + h_sum @ u_i + b_i)
    f = [sigmoid(x @ w_f + h @ u_f + b_f) for h, _ in children]
    o = sigmoid(x @ w_o + h_sum @ u_o + b_o)
    u = np.tanh(x @ w_u + h_sum @ u_u + b_u)
    c = i * u + sum((f_k * c_k for f_k, (_, c_k) in zip(f, children, strict=True)), 0)
    return o * np.tanh(c), c


def n_ary(x, children, weights, arity):
    """Equations 9-14 of arXiv:1503.00075, for one vertex."""
    (w_i, w_f, w_u, w_o), (b_i, b_f, b_u, b_o) = (
        [column(weight, block) for block in range(4)] for weight in (weights[0], weights[2])
    )

    def recur(block):
        rows = [column(weights[1].T, child).T for child in range(arity)]
        return sum(h @ column(rows[k], block) for k, (h, _) in enumerate(children))

    i = sigmoid(x @ w_i + recur(0) + b_i)
    f = [sigmoid(x @ w_f + recur(1 + k) + b_f) for k in range(len(children))]
    u = np.tanh(x @ w_u + recur(arity + 1) + b_u)
    o = sigmoid(x @ w_o + recur(arity + 2) + b_o)
    c = i * u + sum(f_k * c_k for f_k, (_, c_k) in zip(f, children, strict=True))
    return o * np.tanh(c), c


def expected(layer, graphs, rows):
    weights = [w + 0.0 for w in layer.get_weights()]
    splits, ids = graphs.child_splits.numpy(), graphs.child_ids.numpy()
    states = {}
    order = graphs.schedule(layer.cell.arity).order.numpy()
    for v in order:
        children = [states[k] for k in ids[splits[v] : splits[v + 1]]]
        if layer.cell.mode == "child_sum":
            states[v] = child_sum(rows[v], children, weights)
        else:
            missing = layer.cell.arity - len(children)
            children += [(np.zeros(UNITS), np.zeros(UNITS))] * missing
            states[v] = n_ary(rows[v], children, weights, layer.cell.arity)
    return np.array([states[v][0] for v in range(graphs.num_vertices)])


def shuffle_weights(layer, seed=3):
    """Away from the initial values, where many terms are zero."""
    random = np.random.default_rng(seed)
    layer.set_weights([random.normal(size=w.shape) for w in layer.get_weights()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("mode", ["child_sum", "n_ary"])
@pytest.mark.parametrize("arity", [1, 2, 5])
def test_equations_of_the_paper_hold(mode, arity, dtype):
    graphs = make.random_trees(SIZES, arity)
    rows = make.random_rows(graphs, dtype=dtype)
    layer = TreeLSTM(UNITS, arity, mode, return_vertices=True, dtype=dtype)
    layer(graphs, rows)
    shuffle_weights(layer)
    outputs = layer(graphs, rows)
    assert outputs.dtype == dtype
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(
        outputs, expected(layer, graphs, rows.numpy()), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("mode", ["child_sum", "n_ary"])
def test_gradients_equal_the_reference(mode):
    graphs = make.random_trees(SIZES)
    layer = TreeLSTM(UNITS, 2, mode, return_vertices=True, dtype="float64")
    rows = make.random_rows(graphs, dtype="float64")
    layer(graphs, rows)
    shuffle_weights(layer)
    assert cavs.check_equivalence(layer.cell, graphs, rows).ok


def test_modes_differ_in_the_order_of_children():
    one = cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    other = cavs.GraphBatch.from_children([[[], [], [1, 0]]])
    rows = make.random_rows(one)
    for mode, same in (("child_sum", True), ("n_ary", False)):
        layer = TreeLSTM(UNITS, 2, mode)
        assert np.allclose(layer(one, rows), layer(other, rows), atol=1e-6) == same


def test_weights_start_as_those_of_the_keras_lstm():
    layer = TreeLSTM(UNITS, bias_initializer="zeros")
    graphs = make.random_trees([3])
    layer(graphs, make.random_rows(graphs))
    kernel, recurrent_kernel, bias = layer.get_weights()
    limit = np.sqrt(6 / (make.FEATURES + 4 * UNITS))
    assert 0 < np.abs(kernel).max() <= limit
    np.testing.assert_allclose(recurrent_kernel @ recurrent_kernel.T, np.eye(UNITS), atol=1e-5)
    np.testing.assert_array_equal(bias, [0] * UNITS + [1] * UNITS + [0] * 2 * UNITS)


def test_roots_are_the_rows_of_the_roots():
    graphs = make.random_trees(SIZES)
    rows = make.random_rows(graphs)
    layer = TreeLSTM(UNITS)
    vertices = TreeLSTM(UNITS, return_vertices=True)
    vertices(graphs, rows)
    roots = layer(graphs, rows)
    vertices.set_weights(layer.get_weights())
    every = vertices(graphs, rows).numpy()
    assert roots.shape == (len(SIZES), UNITS)
    last = np.cumsum(SIZES) - 1
    for graph, size in enumerate(SIZES):
        want = every[last[graph]] if size else np.zeros(UNITS)
        np.testing.assert_array_equal(roots[graph], want)


def test_several_roots_are_added():
    forest = cavs.GraphBatch.from_parents([[-1, -1], [-1]])
    rows = tf.constant([[1.0], [2.0], [4.0]])
    np.testing.assert_array_equal(cavs.keras.Roots()(forest, rows), [[3.0], [4.0]])


def test_empty_minibatch_has_no_roots():
    graphs = cavs.GraphBatch.from_parents([])
    assert TreeLSTM(UNITS)(graphs, tf.zeros([0, 3])).shape == (0, UNITS)


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"units": 0}, "units: got 0 but expected an int of at least 1"),
        ({"units": 2, "arity": 0}, "arity: got 0 but expected an int of at least 1"),
        ({"units": 2, "mode": "sum"}, "mode: got 'sum' but expected one of"),
    ],
)
def test_wrong_arguments_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=message):
        TreeLSTM(**arguments)


def test_missing_input_is_rejected():
    with pytest.raises(ValueError, match=r"inputs: got none but expected \[V, features\]"):
        TreeLSTM(UNITS)(make.random_trees([3]))


def test_more_children_than_arity_are_rejected():
    graphs = make.random_trees([6], arity=5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="children"):
        TreeLSTM(UNITS, arity=1)(graphs, make.random_rows(graphs))
