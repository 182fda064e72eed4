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
import pathlib
library, *folders = sys.argv[1:]
try:
    tf.saved_model.load(pathlib.Path(folders[0]) / "saved")
except Exception as error:
    print(error)
tf.load_op_library(library)
for folder in map(pathlib.Path, folders):
    given = {name: tf.constant(value) for name, value in np.load(folder / "arrays.npz").items()}
    loaded = tf.saved_model.load(folder / "saved")
    np.savez(folder / "output.npz", output=loaded.serve(given))
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
    """Saves a functional model and its arguments; returns what it returns."""
    path.mkdir()
    graphs, x = cavs.keras.graph_inputs(2), keras.Input((3,), name="x")
    model = keras.Model({**graphs, "x": x}, layer(graphs, x))
    given = {**TREES.with_schedule(2).to_dict(), "x": X}
    output = model(given)
    model.export(path / "saved", verbose=False)
    np.savez(path / "arrays.npz", **given)
    return output


@pytest.mark.in_turns
def test_the_library_suffices_and_tensorflow_names_an_op_without(tmp_path):
    outputs = {tmp_path / name: exported(LAYERS[name], tmp_path / name) for name in LAYERS}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, LIBRARY, *outputs],
        env=environment(),
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Op type not registered 'Cavs" in done.stdout
    for folder, output in outputs.items():
        found = np.load(folder / "output.npz")["output"]
        np.testing.assert_allclose(found, output, rtol=1e-6, err_msg=folder.name)
