"""The rows of a model's outputs and labels: one per graph, or one per vertex."""

import keras
import tensorflow as tf

from cavs_tf._inputs.features import feature_at
from cavs_tf._values.integers import rejected_unless

_SPLITS = {"graph_splits": "graph", "child_splits": "vertex"}
_ROWS = 1_000_003  # The first of the numbers of rows by which they are told apart.


def rows_of_outputs(model: keras.Model) -> dict[tuple, tuple]:
    """Finds whether outputs of a functional model have a row per graph or vertex, by shapes.

    Returns:
      By the path of an output, () or ("label",), the path of the input that numbers its rows:
      ("graph_splits",) or ("left", "child_splits"). Outputs of which it is not known are left out.
    """
    splits, inputs = {}, []
    for path, tensor in keras.tree.flatten_with_path(model.input):
        if path and path[-1] in _SPLITS:
            splits[_ROWS + len(splits)] = path
            tensor = keras.KerasTensor((_ROWS + len(splits),), tensor.dtype)
        inputs.append(tensor)
    try:
        outputs = model.compute_output_spec(keras.tree.pack_sequence_as(model.input, inputs))
    except Exception:  # Layers of the user need not accept so many rows.
        return {}
    rows = {path: output.shape[:1] for path, output in keras.tree.flatten_with_path(outputs)}
    return {path: splits[n[0]] for path, n in rows.items() if n and n[0] in splits}


class LabelRows:
    """Checks that labels have as many rows as the outputs of a model.

    Args:
      model: A functional model; other values that `for_fit` takes for inputs are not checked.
      labels: Names of features, as for `for_fit`.
    """

    def __init__(self, model, labels):
        known = rows_of_outputs(model) if isinstance(model, keras.Model) else {}
        names = {} if labels is None else dict(keras.tree.flatten_with_path(labels))
        self._pairs = [(names[path], known[path]) for path in names if path in known]

    def checks(self, features: dict) -> list:
        """Operators that fail if the labels of a minibatch have another number of rows."""
        return [check for name, path in self._pairs for check in _checks(features, name, path)]


def _checks(features, name, path) -> list:
    label = feature_at(features, name, "batches")
    ragged = isinstance(label, tf.RaggedTensor)
    if not ragged and label.shape.rank == 0:
        return []
    got = label.nrows(tf.int32) if ragged else tf.shape(label)[0]
    expected = tf.size(feature_at(features, "/".join(path), "batches")) - 1
    return rejected_unless(
        got == expected,
        f"labels: got {{}} rows of {name} but expected {{}}, one per {_SPLITS[path[-1]]}, as the "
        "output of the model has. Give layers return_vertices=True for labels of vertices; take "
        "rows of graphs, without it or by Roots or Pool, for labels of graphs.",
        got,
        expected,
    )
