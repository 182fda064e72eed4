"""`explain`, `check_equivalence`, `predict_memory`, `reference.run` and plots take whole models.

They find the GraphSupport in a layer or Keras model, and what reaches it.
"""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect import plot

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[], [], [0, 1], [], [2, 3]]])
TOKENS = tf.constant([1, 2, 0, 3, 4, 0, 5, 0])
ROWS = tf.random.stateless_normal([8, 6], [1, 2])
FEATURES = {**GRAPHS.to_dict(), "token": TOKENS}


def functional(*, layers=1):
    graphs = cavs.keras.graph_inputs()
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(10, 6)(token)
    for number in range(layers - 1):
        layer = cavs.keras.TreeLSTM(6, return_vertices=True, name=f"below_{number}")
        rows = layer(graphs, rows)
    roots = cavs.keras.TreeLSTM(6, name="top")(graphs, rows)
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(3)(roots), name="whole")


class Subclassed(keras.Model):
    def __init__(self, times=1):
        super().__init__()
        self.tree = cavs.keras.TreeLSTM(6, return_vertices=True)
        self.times = times

    def call(self, features):
        graphs = {name: features[name] for name in GRAPHS.to_dict()}
        rows = features["rows"]
        for _ in range(self.times):
            rows = self.tree(graphs, rows)
        return {"sum": tf.reduce_sum(rows, axis=0), "rows": rows}


def tree_lstm():
    return cavs.keras.TreeLSTM(6)


def subclassed_arguments():
    return ({**GRAPHS.to_dict(), "rows": ROWS},)


def padded_arguments():
    mask = [[True, True, False], [True, True, True]]
    return (keras.layers.Masking()(np.where(np.array(mask)[..., None], 0.5, 0.0)),)


MODELS = {
    "layer": (tree_lstm, (GRAPHS, ROWS)),
    "layer and dict": (tree_lstm, (GRAPHS.to_dict(), ROWS)),
    "functional": (functional, (FEATURES,)),
    "functional, with a feature that is not its input": (functional, ({**FEATURES, "a": TOKENS},)),
    "subclassed": (Subclassed, subclassed_arguments()),
    "padded sequences": (lambda: cavs.keras.LSTM(4), padded_arguments()),
    "ragged sequences": (
        lambda: cavs.keras.LSTM(4, return_sequences=True),
        (tf.RaggedTensor.from_row_splits(ROWS, [0, 5, 5, 8]),),
    ),
}
each_model = pytest.mark.parametrize("name", MODELS)


def rejects(message):
    return pytest.raises(ValueError, match=re.escape(message))


def made(name):
    make, arguments = MODELS[name]
    keras.utils.set_random_seed(1)
    return make(), arguments


def check_explain(name, model, arguments):
    text = cavs.explain(model, *arguments)
    assert "F of TreeLSTMCell.vertex" in text
    assert re.search(r"\d+ vertices in \d+ tasks", text)
    assert "memory for training: " in text


def check_predict_memory(name, model, arguments):
    memory = cavs.predict_memory(model, *arguments)
    assert memory.training > memory.inference.state > 0


def test_memory_of_a_layer_is_that_of_what_reaches_its_cell():
    layer = tree_lstm()
    roots, vertices = (
        cavs.predict_memory(layer, GRAPHS, ROWS),
        cavs.predict_memory(layer.cell, GRAPHS, ROWS),
    )
    assert roots == cavs.predict_memory(layer.cell, GRAPHS, ROWS, at=GRAPHS.roots)
    assert roots.forward.results < vertices.forward.results
    assert roots == cavs.predict_memory(layer, GRAPHS)  # The layer is traced already.


def check_reference(name, model, arguments):
    reference = cavs.reference.run(model, *arguments)
    picked = arguments
    if "not its input" in name:
        picked = (FEATURES,)
    outputs = model(*picked)
    tf.nest.assert_same_structure(reference, outputs, expand_composites=True)
    pair = [tf.nest.flatten(o, expand_composites=True) for o in (reference, outputs)]
    for a, b in zip(*pair, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def check_check_equivalence(name, model, arguments):
    report = cavs.check_equivalence(model, *arguments)
    assert report.ok, report
    names = {difference.name for difference in report.differences}
    assert {f"gradient of {v.path}" for v in model.trainable_variables} <= names


@pytest.mark.in_turns
@each_model
def test_each_function_takes_each_model(name):
    checks = [check_explain, check_predict_memory, check_reference, check_check_equivalence]
    first = [*MODELS].index(name) % len(checks)  # Each function is some model's first call.
    model, arguments = made(name)
    for check in checks[first:] + checks[:first]:
        check(name, model, arguments)


@pytest.mark.in_turns
def test_check_equivalence_of_a_model_sees_what_is_wrong(monkeypatch):
    model = functional(layers=2)
    assert cavs.check_equivalence(model, FEATURES).ok
    cell = model.get_layer("below_0").cell
    monkeypatch.setattr(
        cell, "vertex", lambda: (cell.scatter(tf.tile(cell.pull(), [1, 2])), cell.push(cell.pull()))
    )  # The layer is traced already, so only the reference checks it.
    assert not cavs.check_equivalence(model, FEATURES).ok


def test_gradients_by_inputs_of_models_are_compared():
    names = [
        d.name for d in cavs.check_equivalence(Subclassed(), *subclassed_arguments()).differences
    ]
    assert "gradient of rows" in names and "sum" in names
    ragged = MODELS["ragged sequences"]
    names = [d.name for d in cavs.check_equivalence(ragged[0](), *ragged[1]).differences]
    assert "gradient of input" in names


@pytest.mark.in_turns
@each_model
def test_pictures(name):
    pytest.importorskip("matplotlib")
    model, arguments = made(name)
    picture = plot.timeline(model, *arguments)
    assert [axes.get_title(loc="left") for axes in picture.axes] == ["forward", "backward"]
    picture = plot.vertex_function(model)
    assert picture.axes[0].get_title(loc="left") == "F of TreeLSTMCell.vertex"


def test_of_several_layers_one_is_to_be_chosen():
    model = functional(layers=3)
    message = (
        "model: got 'whole', which has 3 layers over graphs ('below_0', 'below_1', 'top'), but "
        "expected one. Pass one of them, as model.get_layer('below_0') gives it, with its graphs."
    )
    model(FEATURES)
    with rejects(message):
        cavs.explain(model, FEATURES)
    with rejects(message):
        cavs.predict_memory(model, FEATURES)
    pytest.importorskip("matplotlib")
    with rejects(message):
        plot.vertex_function(model)
    assert "F of TreeLSTMCell.vertex" in cavs.explain(model.get_layer("top"), GRAPHS)


def test_a_layer_that_is_called_twice():
    message = "which calls its layer over graphs 2 times, but expected one call, outside"
    with rejects(message):
        cavs.explain(Subclassed(times=2), *subclassed_arguments())
    assert cavs.check_equivalence(Subclassed(times=2), *subclassed_arguments()).ok


@pytest.mark.parametrize("model", [keras.layers.Dense(3), keras.Sequential(), "TreeLSTM"])
def test_what_has_no_vertex_function(model):
    with rejects("but expected a GraphSupport, a layer around one, or a Keras model with one"):
        cavs.explain(model, GRAPHS)


def test_what_a_functional_model_is_called_with():
    model = functional()
    for function in (cavs.explain, cavs.predict_memory, cavs.reference.run, cavs.check_equivalence):
        with rejects("inputs: got a GraphBatch but expected a dict with the inputs of 'whole'"):
            function(model, GRAPHS)
        with rejects("inputs: got 2 arguments but expected one, a dict with the inputs of 'whole'"):
            function(model, GRAPHS, {"token": TOKENS})
        with rejects("but expected 'token' among them. Name a feature that there is, or add it"):
            function(model, GRAPHS.to_dict())


def test_layers_choose_their_vertices_themselves():
    for function in (cavs.predict_memory, cavs.reference.run, cavs.check_equivalence):
        with rejects("at: got [0] but expected None, as TreeLSTM chooses the vertices itself."):
            function(tree_lstm(), GRAPHS, ROWS, at=[0])


@pytest.mark.filterwarnings("ignore:Layer .* looks like it has unbuilt state")
@pytest.mark.filterwarnings("ignore:`build\\(\\)` was called on layer")
def test_models_that_compile_themselves_are_not_taken():
    class Compiled(Subclassed):
        @tf.function
        def call(self, features):
            return super().call(features)

    model, arguments = Compiled(), subclassed_arguments()
    expected = model(*arguments)
    with rejects("but expected a call of a GraphSupport outside of any tf.function"):
        cavs.reference.run(model, *arguments)  # It is traced already, so its function does not run.
    with rejects("calls its layer over graphs 0 times, but expected one call, outside of any tf"):
        cavs.explain(model, *arguments)
    np.testing.assert_array_equal(model(*arguments)["rows"], expected["rows"])


def test_the_reference_of_a_layer_runs_in_a_tf_function():
    layer = tree_lstm()
    expected = layer(GRAPHS, ROWS)
    run = tf.function(lambda graphs, rows: cavs.reference.run(layer, graphs, rows))
    np.testing.assert_allclose(run(GRAPHS, ROWS), expected, rtol=1e-5, atol=1e-6)


def test_explain_says_one_size_of_the_tape():
    layer = tree_lstm()
    text = cavs.explain(layer, GRAPHS, ROWS)
    memory = cavs.predict_memory(layer, GRAPHS)
    sizes = {int(size.replace(",", "")) for size in re.findall(r"tape:? ([\d,]+)", text)}
    assert sizes == {memory.forward.tape, 0}  # Inference and backward have no tape.
