"""Saved models of plain TensorFlow operators."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells
from tests.helpers.processes import environment

STRUCTURE = ("child_splits", "child_ids", "graph_splits")
PLAIN = """
import sys
import numpy as np
import tensorflow as tf
folder, *files = sys.argv[1:]
loaded = tf.saved_model.load(folder)
for arrays in files:
    given = dict(np.load(arrays))
    found = loaded.signatures["serving_default"](**{k: tf.constant(v) for k, v in given.items()})
    np.savez(arrays, **{name: value.numpy() for name, value in found.items()})
assert not [name for name in sys.modules if name.startswith("cavs_tf")]
"""


def structure(graphs):
    return {name: getattr(graphs, name) for name in STRUCTURE}


def minibatches(seeds=range(3)):
    return [cells.random_graphs(seed, 4 + seed, 9) for seed in seeds]


def functional(tokens=10):
    graphs = cavs.keras.graph_inputs(2)
    token = keras.Input((), dtype="int32", name="token")
    words = cavs.keras.Embedding(tokens, 3, mask_negative=True)(token)
    hidden = cavs.keras.TreeLSTM(4, return_vertices=True, dropout=0.5)(graphs, words)
    pooled = cavs.keras.Pool("attention")(graphs, hidden)
    roots = cavs.keras.Roots()(graphs, hidden)
    outputs = {"pooled": keras.layers.Dense(2)(pooled), "roots": roots}
    return keras.Model({**graphs, "token": token}, outputs)


@pytest.mark.in_turns
def test_runs_where_this_package_is_not_loaded(tmp_path):
    model, random = functional(), np.random.default_rng(0)
    batches = []
    for graphs in [*minibatches(), cavs.GraphBatch.from_parents([])]:
        token = random.integers(-1, 10, graphs.num_vertices).astype(np.int32)
        batches.append((graphs, tf.constant(token)))

    def inputs(graphs, token):
        return {**graphs.with_schedule(2).to_dict(), "token": token}

    cavs.export_portable(model, tmp_path / "saved", inputs(*batches[0]))
    assert b"Cavs" not in (tmp_path / "saved/saved_model.pb").read_bytes()
    files = [tmp_path / f"arrays_{number}.npz" for number in range(len(batches))]
    for file, (graphs, token) in zip(files, batches, strict=True):
        np.savez(file, **structure(graphs), token=token)
    command = [sys.executable, "-c", PLAIN, tmp_path / "saved", *files]
    subprocess.run(command, env=environment(), cwd=tmp_path, check=True)
    for file, (graphs, token) in zip(files, batches, strict=True):
        found, wanted = np.load(file), model(inputs(graphs, token))
        assert set(found) == set(wanted)
        for name, value in wanted.items():
            np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)


@pytest.mark.in_turns
@pytest.mark.parametrize("cell", [cells.TreeLSTM, cells.Linear, cells.Fallback])
def test_cells_of_graphs_of_other_sizes(cell, tmp_path):
    cell = cell()
    first, *others = minibatches()
    x = cells.inputs_for(cell, first.num_vertices, "float32", 0)
    cavs.export_portable(cell, tmp_path, first, x)
    loaded = tf.saved_model.load(tmp_path)
    for graphs in (first, *others):
        x = cells.inputs_for(cell, graphs.num_vertices, "float32", 1)
        inputs = x if isinstance(x, dict) else {"inputs": x}
        found, wanted = loaded({**structure(graphs), **inputs}), cell(graphs, x)
        for one, other in zip(tf.nest.flatten(found), tf.nest.flatten(wanted), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@pytest.mark.in_turns
def test_vertex_types(tmp_path):
    class Typed(cavs.GraphSupport):
        arity, vertex_types = 2, ("leaf", "inner")

        def leaf(self):
            self.scatter(self.pull("x"))
            self.push(self.pull("x"))

        def inner(self):
            state = self.gather(0) - 2 * self.gather(1)
            self.scatter(state)
            self.push(state)
            self.push(self.vertex_ids(), "number")

    children, types = [[[], [], [0, 1]], [[], [0], [1, 0]]], [[0, 0, 1], [0, 1, 1]]
    graphs = cavs.GraphBatch.from_children(children, types)
    cell, x = Typed(state_size=2), tf.random.stateless_normal([3, 2], [1, 2])
    cavs.export_portable(cell, tmp_path, graphs, {"x": x})
    given = {**structure(graphs), "vertex_type": graphs.vertex_type, "x": x}
    found, wanted = tf.saved_model.load(tmp_path)(given), cell(graphs, {"x": x})
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value)


@pytest.mark.in_turns
def test_several_structures(tmp_path):
    encode, inputs, roots = cavs.keras.TreeGRU(4), {}, []
    for side in ("left", "right"):
        graphs = cavs.keras.graph_inputs(name=side)
        x = keras.Input((3,), name=f"{side}_x")
        inputs[side] = {**graphs, "x": x}
        roots.append(encode(graphs, x))
    model = keras.Model(inputs, keras.ops.abs(roots[0] - roots[1]))
    given = {
        side: {**graphs.to_dict(), "x": tf.ones([graphs.num_vertices, 3])}
        for side, graphs in zip(inputs, minibatches([1, 1]), strict=True)
    }
    given["right"]["x"] *= 0.5
    cavs.export_portable(model, tmp_path, given)
    names = (*STRUCTURE, "x")
    flat = {f"{side}_{name}": given[side][name] for side in given for name in names}
    found = tf.saved_model.load(tmp_path).signatures["serving_default"](**flat)["output"]
    np.testing.assert_allclose(found, model(given), rtol=1e-5, atol=1e-6)


@pytest.mark.in_turns
def test_rows_of_some_vertices(tmp_path):
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])
    rows = cavs.VertexRows(tf.random.normal([3, 2]), [3, 0, 1])
    layer = cavs.keras.TreeLSTM(4)
    cavs.export_portable(layer, str(tmp_path), graphs, rows)
    loaded, expected = tf.saved_model.load(str(tmp_path)), layer(graphs, rows)
    given = {"rows": rows.rows, "vertices": tf.constant(rows.vertices)}
    found = loaded(structure(graphs) | {"inputs": given})
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    flat = {f"inputs_{name}": value for name, value in given.items()}
    (found,) = loaded.signatures["serving_default"](**structure(graphs), **flat).values()
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_a_model_with_ops_of_ours_is_refused(tmp_path):
    class Own(keras.Model):
        def __init__(self):
            super().__init__()
            self.tree = cavs.keras.TreeLSTM(4)

        def call(self, inputs):
            rows = cavs.ops.pull(inputs["x"], tf.range(3))
            return self.tree(inputs, rows)

    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    with pytest.raises(ValueError, match=r"CavsPull\) but expected those of TensorFlow alone"):
        cavs.export_portable(Own(), tmp_path, {**graphs.to_dict(), "x": tf.ones([3, 2])})


def test_sequences_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"graphs: got .*Tensor but expected a GraphBatch, or a d"):
        cavs.export_portable(cavs.keras.LSTM(4), tmp_path, tf.ones([2, 3, 4]))
