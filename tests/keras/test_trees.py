"""TreeLSTM and TreeGRU, compared with their equations in plain NumPy, vertex by vertex."""

import functools
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect._explain import describe
from cavs_tf.keras import GRU, LSTM, TreeGRU, TreeLSTM
from tests.helpers import batches as make
from tests.helpers.pairwise import parametrize_pairs

UNITS = 4
SIZES = (5, 1, 9, 0, 2)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def column(weight, block, width=UNITS):
    return weight[..., block * width : (block + 1) * width]


class LSTMEquations:
    """The equations of arXiv:1503.00075 for one vertex; children are (h, c) pairs."""

    def __init__(self, layer):
        apart = len(layer.get_weights()) > 3
        self.w, self.u, self.b = (
            self._by_gate(*layer.get_weights()[k : k + 1 + apart])
            for k in range(0, len(layer.get_weights()), 1 + apart)
        )
        self.missing = (np.zeros(UNITS), np.zeros(UNITS))

    @staticmethod
    def _by_gate(weight, of_f=None):
        """The columns of a weight by gate. With several children f has a weight of its own."""
        if of_f is None:
            return {gate: column(weight, k) for k, gate in enumerate("ifuo")}
        return {gate: column(weight, k) for k, gate in enumerate("iuo")} | {"f": of_f}

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
        kernel, self.w_r, *recurrent_kernels, bias, self.b_r = layer.get_weights()
        (self.w_z, self.w_n), (self.b_z, self.b_n) = (np.split(w, 2, -1) for w in (kernel, bias))
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


@parametrize_pairs(
    name=LAYERS, mode=["child_sum", "n_ary"], arity=[2, 1, 5], dtype=["float64", "float32"]
)
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


@pytest.mark.in_turns
@parametrize_pairs(make_layer=[TreeLSTM, TreeGRU], mode=["child_sum", "n_ary"], kind=GRAPHS)
def test_outputs_and_gradients_equal_the_reference(make_layer, mode, kind):
    graphs = GRAPHS[kind]
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


def side_by_side(layer, weight):
    """The weights of all gates whose names begin so, as one matrix or vector."""
    parts = [w.numpy() for w in layer.cell.weights if w.name.split("_")[0] == weight]
    return np.concatenate(parts, axis=-1)


@pytest.mark.parametrize("make_layer, gates", [(TreeLSTM, 4), (TreeGRU, 3)])
def test_weights_start_as_one_matrix(make_layer, gates):
    """So no two gates start equal, and their size is that of Keras's layers."""
    initializers = {
        "kernel_initializer": keras.initializers.GlorotUniform(seed=1),
        "recurrent_initializer": keras.initializers.Orthogonal(seed=2),
        "bias_initializer": keras.initializers.RandomNormal(seed=3),
    }
    layer = make_layer(UNITS, **initializers)
    graphs = make.random_trees([3])
    layer(graphs, make.random_rows(graphs))
    shapes = (make.FEATURES, gates * UNITS), (UNITS, gates * UNITS), (gates * UNITS,)
    bias = side_by_side(layer, "bias")
    if make_layer is TreeLSTM:
        np.testing.assert_array_equal(bias[-UNITS:], 1)  # Of f.
        bias[-UNITS:] = initializers["bias_initializer"](shapes[2])[-UNITS:]
    found = side_by_side(layer, "kernel"), side_by_side(layer, "recurrent"), bias
    for start, initializer, shape in zip(found, initializers.values(), shapes, strict=True):
        np.testing.assert_array_equal(start, initializer(shape))


@pytest.mark.in_turns
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
        other.set_weights(in_one(one.cell))
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


@each_mode
@pytest.mark.parametrize("make_layer, gates", [(TreeLSTM, 3), (TreeGRU, 2)])
def test_leaves_multiply_for_no_gate_that_they_do_not_need(make_layer, gates, mode):
    layer, graphs = make_layer(32, mode=mode), GRAPHS["trees"]
    rows = make.random_rows(graphs)
    layer(graphs, rows)
    function, _ = describe(layer.cell, graphs, rows)
    (leaves,) = (v["program"] for v in function["variants"] if "(leaves)" in v["program"])
    assert re.findall(r" = matmul .*?rows<(\d+)xf32>", leaves) == [str(32 * gates)]


def in_one(cell) -> list:
    """The weights of a cell as those of `LSTM` or `GRU` have them."""
    if isinstance(cell, cavs.keras.TreeLSTMCell):
        return cell.get_weights()  # Of arity 1.
    kernel, kernel_r, *others = cell.get_weights()
    recurrent, biases = others[:3], others[3:]

    def in_order(zn, r):
        z, n = np.split(zn, 2, axis=-1)
        return np.concatenate([z, r, n], axis=-1)

    recurrent = np.concatenate(recurrent, axis=1)
    return [in_order(kernel, kernel_r), recurrent] + ([in_order(*biases)] if biases else [])


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
