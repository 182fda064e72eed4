"""Saved models that TensorFlow runs with the op library, without this package."""

import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells
from tests.helpers.processes import environment

LIBRARY = pathlib.Path(cavs.__file__).parent / "_cavs_ops.so"
TREES = cells.random_graphs(0, 5, 9)
X = tf.random.stateless_normal([TREES.num_vertices, 3], [1, 2])
PROGRAM = """
import sys
import numpy as np
import tensorflow as tf
folder, arrays, *library = sys.argv[1:]
for path in library:
    tf.load_op_library(path)
given = {name: tf.constant(value) for name, value in np.load(arrays).items()}
loaded = tf.saved_model.load(folder)
np.savez(arrays, output=loaded.serve(given))
assert not [name for name in sys.modules if name.startswith("cavs_tf")]
"""
LAYERS = {
    "child_sum": cavs.keras.TreeLSTM(4),
    "n_ary": cavs.keras.TreeLSTM(4, mode="n_ary"),
    "vertices": cavs.keras.TreeLSTM(4, return_vertices=True),
    "gru": cavs.keras.TreeGRU(4),
    "linear": cavs.keras.Graph(cells.Linear()),
}


def exported(layer, path):
    """Saves a functional model; returns its arguments and what it returns."""
    graphs, x = cavs.keras.graph_inputs(2), keras.Input((3,), name="x")
    model = keras.Model({**graphs, "x": x}, layer(graphs, x))
    given = {**TREES.with_schedule(2).to_dict(), "x": X}
    output = model(given)
    model.export(path / "saved", verbose=False)
    np.savez(path / "arrays.npz", **given)
    return output


def run(path, *library):
    arguments = [path / "saved", path / "arrays.npz", *library]
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments],
        env=environment(),
        cwd=path,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("name", LAYERS)
def test_the_library_suffices(name, tmp_path):
    output = exported(LAYERS[name], tmp_path)
    done = run(tmp_path, LIBRARY)
    assert done.returncode == 0, done.stderr[-2000:]
    np.testing.assert_allclose(np.load(tmp_path / "arrays.npz")["output"], output, rtol=1e-6)


def test_without_the_library_tensorflow_names_an_op(tmp_path):
    exported(cavs.keras.TreeLSTM(4), tmp_path)
    assert "Op type not registered 'Cavs" in run(tmp_path).stderr
