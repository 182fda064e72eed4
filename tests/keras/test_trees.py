"""TreeLSTM and TreeGRU, compared with their equations in plain NumPy, vertex by vertex."""

import functools

import graphs as make
import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.explain import describe
from cavs_tf.keras import GRU, LSTM, TreeGRU, TreeLSTM

UNITS = 4
SIZES = (5, 1, 9, 0, 2)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def column(weight, block, width=UNITS):
    return weight[..., block * width : (block + 1) * width]


class LSTMEquations:
    """The equations of arXiv:1503.00075 for one vertex; children are (h, c) pairs."""

    def __init__(self, layer):
        kernel, recurrent, *recurrent_f, bias = (np.asarray(w) for w in layer.get_weights())
        order = "fiuo" if recurrent_f else "ifuo"
        self.w, self.b = (
            {gate: column(weight, k) for k, gate in enumerate(order)} for weight in (kernel, bias)
        )
        self.u = {g: column(recurrent, k) for k, g in enumerate("iuo" if recurrent_f else "ifuo")}
        if recurrent_f:
            (self.u["f"],) = recurrent_f
        self.missing = (np.zeros(UNITS), np.zeros(UNITS))

    def child_sum(self, x, children):
        """Equations 2-8."""
        h_sum = sum((h for h, _ in children), np.zeros(UNITS))
        return self.finish(x, h_sum, [h @ self.u["f"] for h, _ in children], children)

    def n_ary(self, x, children):
        """Equations 9-14. U has a block of rows for each child, and U_f also a block of columns."""
        hs = np.concatenate([h for h, _ in children])
        return self.finish(x, hs, np.split(hs @ self.u["f"], len(children)), children)

    def finish(self, x, h, fs, children):
        i, u, o = (x @ self.w[gate] + h @ self.u[gate] + self.b[gate] for gate in "iuo")
        c = sigmoid(i) * np.tanh(u)
        for f_k, (_, c_k) in zip(fs, children, strict=True):
            c = c + sigmoid(x @ self.w["f"] + f_k + self.b["f"]) * c_k
        return sigmoid(o) * np.tanh(c), c


class GRUEquations:
    """The equations of arXiv:1701.01811 for one vertex; children are (h,) tuples."""

    def __init__(self, layer):
        kernel, *recurrent_kernels, bias = (np.asarray(w) for w in layer.get_weights())
        (self.w_z, self.w_r, self.w_n), (self.b_z, self.b_r, self.b_n) = (
            [column(weight, block) for block in range(3)] for weight in (kernel, bias)
        )
        # Indexed by gate, then by child.
        self.u_z, self.u_r, self.u_n = (
            [column(u.T, k).T for k in range(len(u) // UNITS)] for u in recurrent_kernels
        )
        self.missing = (np.zeros(UNITS),)

    def child_sum(self, x, children):
        (u_z,), (u_r,), (u_n,) = self.u_z, self.u_r, self.u_n
        h_sum = sum((h for (h,) in children), np.zeros(UNITS))
        z = sigmoid(x @ self.w_z + h_sum @ u_z + self.b_z)
        reset = [sigmoid(x @ self.w_r + h @ u_r + self.b_r) * h for (h,) in children]
        n = np.tanh(x @ self.w_n + sum(reset, np.zeros(UNITS)) @ u_n + self.b_n)
        return (z * h_sum + (1 - z) * n,)

    def n_ary(self, x, children):
        hs = [h for (h,) in children]

        def recur(weights):
            return sum(h @ u for h, u in zip(hs, weights, strict=True))

        z = sigmoid(x @ self.w_z + recur(self.u_z) + self.b_z)
        r = sigmoid(x @ self.w_r + recur(self.u_r) + self.b_r)
        n = np.tanh(x @ self.w_n + recur([np.diag(r) @ u for u in self.u_n]) + self.b_n)
        return (z * sum(hs) + (1 - z) * n,)


LAYERS = {"TreeLSTM": (TreeLSTM, LSTMEquations), "TreeGRU": (TreeGRU, GRUEquations)}
each_layer = pytest.mark.parametrize("make_layer", [TreeLSTM, TreeGRU])
each_mode = pytest.mark.parametrize("mode", ["child_sum", "n_ary"])


def expected(layer, equations, graphs, rows):
    of_vertex = equations(layer)
    splits, ids = graphs.child_splits.numpy(), graphs.child_ids.numpy()
    states = {}
    for v in graphs.schedule(layer.cell.arity).order.numpy():
        slots = ids[splits[v] : splits[v + 1]]
        children = [states[k] if k >= 0 else of_vertex.missing for k in slots]
        if layer.cell.mode == "n_ary":
            children += [of_vertex.missing] * (layer.cell.arity - len(children))
        states[v] = getattr(of_vertex, layer.cell.mode)(rows[v], children)
    return np.array([states[v][0] for v in range(graphs.num_vertices)])


def shuffle_weights(layer, seed=3):
    """Sets random weights: with the initial ones, many terms are zero."""
    random = np.random.default_rng(seed)
    layer.set_weights([random.normal(size=w.shape) for w in layer.get_weights()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@each_mode
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("arity", [1, 2, 5])
def test_equations_of_the_paper_hold(name, mode, arity, dtype):
    make_layer, equations = LAYERS[name]
    missing_children = cavs.GraphBatch.from_children([[[], [-1] * (arity - 1) + [0], [-1]]])
    graphs = cavs.GraphBatch.concat([make.random_trees(SIZES, arity), missing_children])
    rows = make.random_rows(graphs, dtype=dtype)
    layer = make_layer(UNITS, arity, mode, return_vertices=True, dtype=dtype)
    layer(graphs, rows)
    shuffle_weights(layer)
    outputs = layer(graphs, rows)
    assert outputs.dtype == dtype
    tolerance = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(
        outputs, expected(layer, equations, graphs, rows.numpy()), rtol=tolerance, atol=tolerance
    )


GRAPHS = {
    "trees": make.random_trees(SIZES),
    "chains": cavs.GraphBatch.chain([4, 0, 1, 3]),
    "one vertex": cavs.GraphBatch.chain([1]),
    "a child in the second slot": cavs.GraphBatch.from_children([[[], [], [0, 1], [-1, 2]]]),
    "a vertex with two parents": cavs.GraphBatch.from_children([[[], [0], [0], [1, 2]]]),
    "no graphs": cavs.GraphBatch.from_parents([]),
}


@each_layer
@each_mode
@pytest.mark.parametrize("graphs", GRAPHS.values(), ids=GRAPHS)
def test_outputs_and_gradients_equal_the_reference(make_layer, mode, graphs):
    layer = make_layer(UNITS, 2, mode, return_vertices=True, dtype="float64")
    rows = make.random_rows(graphs, dtype="float64")
    layer(graphs, rows)
    shuffle_weights(layer)
    assert cavs.check_equivalence(layer.cell, graphs, rows).ok


@each_layer
def test_modes_differ_in_the_order_of_children(make_layer):
    one = cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    other = cavs.GraphBatch.from_children([[[], [], [1, 0]]])
    rows = make.random_rows(one)
    for mode, same in (("child_sum", True), ("n_ary", False)):
        layer = make_layer(UNITS, 2, mode)
        assert np.allclose(layer(one, rows), layer(other, rows), atol=1e-6) == same


def test_weights_start_as_those_of_the_keras_lstm():
    layer = TreeLSTM(UNITS, bias_initializer="zeros")
    graphs = make.random_trees([3])
    layer(graphs, make.random_rows(graphs))
    kernel, recurrent_kernel, recurrent_kernel_f, bias = layer.get_weights()
    limit = np.sqrt(6 / (make.FEATURES + 4 * UNITS))
    assert 0 < np.abs(kernel).max() <= limit
    np.testing.assert_allclose(recurrent_kernel @ recurrent_kernel.T, np.eye(UNITS), atol=1e-5)
    np.testing.assert_allclose(recurrent_kernel_f @ recurrent_kernel_f.T, np.eye(UNITS), atol=1e-5)
    np.testing.assert_array_equal(bias, [1] * UNITS + [0] * 3 * UNITS)


@pytest.mark.parametrize("mode", ["child_sum", "n_ary"])
@pytest.mark.parametrize("bias", [False, True])
def test_a_chain_of_either_mode_is_the_layer_over_sequences(mode, bias):
    chains = cavs.GraphBatch.chain([3, 1, 4])
    rows = make.random_rows(chains)
    for tree, chain in ((TreeLSTM, LSTM), (TreeGRU, functools.partial(GRU, reset_after=False))):
        one, other = (
            tree(UNITS, 1, mode, use_bias=bias, bias_initializer="ones"),
            chain(UNITS, use_bias=bias),
        )
        one(chains, rows), other(chains, rows)
        kernel, *recurrent = one.get_weights()
        last = [recurrent.pop()] if bias else []
        other.set_weights([kernel, np.concatenate(recurrent, axis=1), *last])
        np.testing.assert_allclose(one(chains, rows), other(chains, rows), atol=1e-6)


@pytest.mark.parametrize(
    "make_layer, mode, operators",
    [
        (TreeGRU, "child_sum", {"foreign", "copy"}),
        (TreeGRU, "n_ary", {"foreign", "copy"}),
        (TreeLSTM, "child_sum", {"foreign", "copy"}),
        (TreeLSTM, "n_ary", {"foreign"}),  # The states h of all children are concatenated.
        (functools.partial(TreeLSTM, arity=1), "n_ary", {"foreign", "copy"}),
    ],
)
def test_nothing_is_left_to_tensorflow_or_copied(make_layer, mode, operators):
    layer, graphs = make_layer(32, mode=mode), GRAPHS["chains"]
    rows = make.random_rows(graphs)
    layer(graphs, rows)
    for program in describe(layer.cell, graphs, rows):
        for operator in operators:
            assert f"= {operator} " not in program["program"], program["title"]


def save_as_before(cell, store):
    """Saves a TreeLSTMCell in the old format, in which all gates have one recurrent kernel."""
    kernel, recurrent, recurrent_f, *bias = cell.get_weights()

    def f_second(columns):
        f, i, u, o = np.split(columns, 4, axis=-1)
        return np.concatenate([i, f, u, o], axis=-1)

    i, u, o = np.split(recurrent, 3, axis=1)
    recurrent = np.concatenate([i, recurrent_f, u, o], axis=1)
    for k, weight in enumerate([f_second(kernel), recurrent, *map(f_second, bias)]):
        store[str(k)] = weight


@each_mode
@pytest.mark.parametrize("arity", [2, 3])
@pytest.mark.parametrize("use_bias", [False, True])
def test_files_with_one_recurrent_kernel_are_loaded(mode, arity, use_bias, tmp_path, monkeypatch):
    trees = make.random_trees(SIZES, arity)
    inputs = {**trees.to_dict(), "rows": make.random_rows(trees)}

    def build(seed):
        graphs, rows = cavs.keras.graph_inputs(), keras.Input((make.FEATURES,), name="rows")
        layer = TreeLSTM(UNITS, arity, mode, use_bias=use_bias)
        model = keras.Model({**graphs, "rows": rows}, layer(graphs, rows))
        shuffle_weights(layer, seed)
        return model

    model, other = build(1), build(2)
    with monkeypatch.context() as patch:
        patch.setattr(cavs.keras.TreeLSTMCell, "save_own_variables", save_as_before)
        model.save(tmp_path / "model.keras")
        model.save_weights(tmp_path / "model.weights.h5")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert not np.array_equal(other(inputs), model(inputs))
    other.load_weights(tmp_path / "model.weights.h5")
    for again in (loaded, other):
        np.testing.assert_array_equal(again(inputs), model(inputs))


@each_layer
def test_roots_are_the_rows_of_the_roots(make_layer):
    graphs = make.random_trees(SIZES)
    rows = make.random_rows(graphs)
    layer = make_layer(UNITS)
    vertices = make_layer(UNITS, return_vertices=True)
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


@each_layer
@each_mode
def test_empty_minibatch_has_no_roots(make_layer, mode):
    graphs = cavs.GraphBatch.from_parents([])
    assert make_layer(UNITS, mode=mode)(graphs, tf.zeros([0, 3])).shape == (0, UNITS)


@pytest.mark.parametrize(
    "make_cell", [cavs.keras.TreeLSTMCell, cavs.keras.TreeGRUCell, cavs.keras.GRUCell]
)
@pytest.mark.parametrize("dtype", ["mixed_bfloat16", "float64"])
def test_cells_alone_cast_their_inputs(make_cell, dtype):
    cell = make_cell(UNITS, dtype=dtype)
    outputs = cell(GRAPHS["one vertex"], tf.ones([1, 3], tf.int32))
    assert outputs.dtype == cell.compute_dtype
    assert {v.dtype for v in cell.trainable_variables} == {cell.variable_dtype}


@pytest.mark.parametrize(
    "arguments, message",
    [
        ({"units": 0}, "units: got 0 but expected an int of at least 1"),
        ({"units": 2, "arity": 0}, "arity: got 0 but expected an int of at least 1"),
        ({"units": 2, "mode": "sum"}, "mode: got 'sum' but expected one of"),
    ],
)
@each_layer
def test_wrong_arguments_are_rejected(make_layer, arguments, message):
    with pytest.raises(ValueError, match=message):
        make_layer(**arguments)


@each_layer
def test_missing_input_is_rejected(make_layer):
    with pytest.raises(ValueError, match=r"inputs: got none but expected \[V, features\]"):
        make_layer(UNITS)(make.random_trees([3]))


@each_layer
def test_more_children_than_arity_are_rejected(make_layer):
    graphs = make.random_trees([6], arity=5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="children"):
        make_layer(UNITS, arity=1)(graphs, make.random_rows(graphs))
