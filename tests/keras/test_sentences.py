"""Mistakes in what `fit` is given are answered by a sentence, not by a traceback of TensorFlow."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import Pool, Roots, TreeLSTM, for_fit, graph_inputs

ARITY = 5
NO_SHUFFLE = {"fit": {"shuffle": False}, "evaluate": {}}
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def model_of(readout=None, **kwargs):
    graphs, token = graph_inputs(ARITY), keras.Input((), dtype="int32", name="token")
    rows = TreeLSTM(4, ARITY, **kwargs)(graphs, keras.layers.Embedding(20, 4)(token))
    rows = rows if readout is None else readout(graphs, rows)
    outputs = keras.layers.Dense(10)(keras.layers.Dropout(0.5)(rows))
    model = keras.Model({**graphs, "token": token}, outputs)
    model.compile("sgd", LOSS)
    return model


def minibatches(**kwargs):
    examples = cavs.data.listops(8, seed=1)
    return cavs.data.batch(examples, 4, arity=ARITY, as_dict=True, **kwargs)


def rejects(message, error=ValueError):
    return pytest.raises(error, match=re.escape(message))


def of_the_model(batches, model):
    return batches.map(lambda batch: {name: batch[name] for name in model.input})


@pytest.mark.parametrize("run", ["fit", "evaluate"])
@pytest.mark.parametrize("eagerly", [False, True])
def test_minibatches_without_labels(run, eagerly):
    model = model_of()
    model.run_eagerly = eagerly
    with rejects("labels: got minibatches of features alone but expected pairs (inputs, labels)"):
        getattr(model, run)(of_the_model(minibatches(), model), verbose=0, **NO_SHUFFLE[run])


@pytest.mark.in_turns
def test_minibatches_without_labels_are_predicted():
    model = model_of()
    batches = of_the_model(minibatches(), model)
    assert model.predict(batches, verbose=0).shape == (8, 10)
    model.fit(for_fit(minibatches(), model, "label"), verbose=0, shuffle=False)
    assert model.predict(batches, verbose=0).shape == (8, 10)


@pytest.mark.in_turns
def test_a_loss_of_the_models_own_needs_no_labels():
    class Own(keras.Model):
        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            return tf.reduce_mean(y_pred)

    made = model_of()
    model = Own(made.input, made.output)
    model.compile("sgd", LOSS)
    model.fit(of_the_model(minibatches(), model), verbose=0, shuffle=False)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "readout, label, sentence",
    [
        (None, "vertex_label", "rows of vertex_label but expected 4, one per graph, as the out"),
        (Roots(), "vertex_label", "rows of vertex_label but expected 4, one per graph"),
        (Pool(), "vertex_label", "rows of vertex_label but expected 4, one per graph"),
        ("vertices", "label", "labels: got 4 rows of label but expected 62, one per vertex, as"),
    ],
)
def test_labels_of_another_number_of_rows_than_the_output(readout, label, sentence):
    layer = None if readout == "vertices" else readout
    model = model_of(layer, return_vertices=readout is not None)
    batches = for_fit(minibatches(), model, label)
    if readout in (None, "vertices"):
        with rejects(sentence, tf.errors.InvalidArgumentError):
            model.fit(batches, verbose=0, shuffle=False)
    with rejects(sentence, tf.errors.InvalidArgumentError) as caught:
        next(iter(batches))
    assert len(str(caught.value)) < 700


@pytest.mark.in_turns
@pytest.mark.parametrize("label, vertices", [("label", False), ("vertex_label", True)])
def test_labels_of_as_many_rows_are_trained_with(label, vertices):
    model = model_of(return_vertices=vertices)
    model.fit(for_fit(minibatches(), model, label), verbose=0, shuffle=False)


@pytest.mark.in_turns
def test_labels_of_several_outputs_and_structures():
    parts = {
        side: {**graph_inputs(ARITY, name=side), "token": keras.Input((), name=f"{side}_token")}
        for side in ("left", "right")
    }
    embed, tree = keras.layers.Embedding(20, 4), TreeLSTM(4, ARITY, return_vertices=True)
    rows = {side: tree(part, embed(part["token"])) for side, part in parts.items()}
    dense = keras.layers.Dense(10)
    root = Roots()(parts["left"], rows["left"])
    outputs = {"roots": dense(root), "vertices": dense(rows["right"])}
    model = keras.Model(parts, outputs)
    model.compile("sgd", dict.fromkeys(outputs, LOSS))
    examples = cavs.data.listops(4, seed=1)
    pairs = tf.data.Dataset.zip({"left": examples, "right": examples.skip(1)})
    batches = cavs.data.batch(pairs, 2, arity=ARITY, as_dict=True)
    labels = {"roots": "left/label", "vertices": "right/vertex_label"}
    model.fit(for_fit(batches, model, labels), verbose=0, shuffle=False)
    with rejects("rows of left/vertex_label but expected", tf.errors.InvalidArgumentError):
        next(iter(for_fit(batches, model, labels | {"vertices": "left/vertex_label"})))


@pytest.mark.in_turns
def test_a_subclassed_model_is_exported_with_the_types_of_its_inputs(tmp_path):
    class Root(keras.Model):
        def __init__(self):
            super().__init__()
            self.embed, self.tree = keras.layers.Embedding(20, 4), TreeLSTM(4, ARITY)

        def call(self, inputs):
            return self.tree(inputs, self.embed(inputs["token"]))

    model = Root()
    data = for_fit(minibatches(), ["token", *graph_inputs(ARITY)], "label")
    inputs, _ = next(iter(data))
    want = model(inputs)
    message = "tensors['packed_lists']: got float32 but expected int32. Where Keras exports a subc"
    with rejects(message, TypeError):
        model.export(tmp_path / "model", verbose=False)
    model.export(tmp_path / "model", verbose=False, input_signature=[data.element_spec[0]])
    loaded = tf.saved_model.load(tmp_path / "model")
    np.testing.assert_allclose(loaded.serve(inputs), want, rtol=1e-5)


def test_examples_that_are_in_no_minibatches():
    examples, model = cavs.data.listops(4), model_of()
    for inputs in (model, model.input, ["token"]):
        with rejects("batches: got examples, with features children, token, operator, inner, vert"):
            for_fit(examples, inputs, "label")
    with rejects("with graphs. Pass cavs_tf.data.batch(examples, batch_size)."):
        for_fit(examples, model, "label")
    with rejects("or put examples into minibatches by cavs_tf.data.batch(examples, batch_size, "):
        cavs.GraphBatch.from_dict(next(iter(examples)))


@pytest.mark.in_turns
@pytest.mark.parametrize("run, options", [("fit", {"shuffle": False}), ("predict", {})])
def test_a_model_that_is_given_examples_says_whose_graphs_are_missing(run, options):
    with rejects('Missing data for input "0_graphs_of_data_batch". You passed a data dictionary'):
        getattr(model_of(), run)(cavs.data.listops(4), verbose=0, **options)
