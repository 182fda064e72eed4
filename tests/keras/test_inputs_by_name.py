"""Minibatches with other features than a model has inputs: by name, or refused."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

ARITY = 3
REFUSED = (
    r"inputs: got a minibatch with other features than the model has inputs, which Keras then "
    r"pairs by position, but expected {} besides the graphs. Pass cavs_tf.keras.for_fit\("
)


def model_of(*names):
    """A model of one structure, or of several by name, whose input is "word"."""
    inputs, roots = {}, []
    for name in names or [None]:
        graphs = cavs.keras.graph_inputs(ARITY, name)
        word = keras.Input((), dtype="int32", name="word" if name is None else f"{name}_word")
        rows = keras.layers.Embedding(100, 4)(word)
        roots.append(cavs.keras.TreeLSTM(4, ARITY)(graphs, rows))
        inputs[name] = {**graphs, "word": word}
    return keras.Model(inputs if names else inputs[None], keras.layers.Dense(2)(sum(roots)))


def trees():
    """Trees whose labels of vertices come right before their words, in the order of names."""
    trees = cavs.data.listops(12, seed=1, max_depth=2, max_args=ARITY)
    return trees.map(lambda tree: {"word" if n == "token" else n: v for n, v in tree.items()})


def batches(examples, **kwargs):
    return cavs.data.batch(examples, 4, arity=ARITY, as_dict=True, **kwargs)


def only(examples, *left_out):
    return examples.map(lambda e: {n: v for n, v in e.items() if n not in left_out})


FEATURES = ["label", "vertex_label", "inner", "operator"]


@pytest.mark.parametrize("feature", FEATURES)
def test_predict_refuses_a_feature_that_the_model_has_not(feature):
    others = [name for name in FEATURES if name != feature]
    data = batches(only(trees(), *others))
    model = model_of()
    with pytest.warns(UserWarning, match="structure"), pytest.raises(ValueError) as error:
        model.predict(data, verbose=0)
    assert error.match(REFUSED.format("'word'"))
    with pytest.warns(UserWarning, match="structure"), pytest.raises(ValueError, match="word"):
        model(next(iter(data)))


def test_predict_refuses_a_feature_of_a_structure_that_the_model_has_not():
    pairs = tf.data.Dataset.zip({"left": trees(), "right": only(trees(), *FEATURES)})
    model = model_of("left", "right")
    with pytest.warns(UserWarning, match="structure"), pytest.raises(ValueError) as error:
        model.predict(batches(pairs), verbose=0)
    # Keras finds the wrong number of axes of another input first.
    assert error.match(r"Invalid input shape for input .* with name 'right_child_row'")


@pytest.mark.in_turns
def test_predict_refuses_a_feature_of_the_last_structure_that_the_model_has_not():
    left, right = only(trees(), *FEATURES), only(trees(), *FEATURES[1:])
    model = model_of("left", "right")
    with pytest.warns(UserWarning, match="structure"), pytest.raises(ValueError) as error:
        model.predict(batches(tf.data.Dataset.zip({"left": left, "right": right})), verbose=0)
    assert error.match(REFUSED.format("'left/word', 'right/word'"))


@pytest.mark.in_turns
def test_a_feature_that_the_model_has_not_is_refused_when_sizes_are_known_late():
    model = model_of()
    batch = next(iter(batches(trees())))
    unknown = {name: tf.TensorSpec([None] * v.shape.rank, v.dtype) for name, v in batch.items()}
    unknown["child_row"] = tf.TensorSpec([ARITY, None], tf.int32)
    call = tf.function(lambda features: model(features), input_signature=[unknown])
    with (
        pytest.warns(UserWarning, match="structure"),
        pytest.raises(tf.errors.InvalidArgumentError, match=REFUSED.format(".+word.+")),
    ):
        call(batch)


@pytest.mark.in_turns
def test_exactly_the_inputs_are_taken_as_they_are():
    model, data = model_of(), batches(only(trees(), *FEATURES))
    want = np.concatenate([model(batch) for batch in data])
    np.testing.assert_allclose(model.predict(data, verbose=0), want, rtol=1e-5)


@pytest.mark.in_turns
@pytest.mark.parametrize("names", [(), ("left", "right")])
def test_for_fit_without_labels_is_what_predict_takes(names):
    model = model_of(*names)
    examples = tf.data.Dataset.zip(dict.fromkeys(names, trees())) if names else trees()
    data = batches(examples)
    chosen = [
        {side: {n: b[side][n] for n in model.input[side]} for side in names}
        if names
        else {n: b[n] for n in model.input}
        for b in data
    ]
    want = np.concatenate([model(batch) for batch in chosen])
    for inputs in (model, model.input):
        got = model.predict(cavs.keras.for_fit(data, inputs), verbose=0)
        np.testing.assert_allclose(got, want, rtol=1e-5)
    assert model.predict(cavs.keras.for_fit(data, model, None), verbose=0).shape == want.shape


@pytest.mark.in_turns
def test_for_fit_takes_a_model_whose_inputs_are_a_list():
    model = model_of()
    listed = keras.Model(list(model.input.values()), model.output)
    data = batches(trees())
    np.testing.assert_allclose(
        listed.predict(cavs.keras.for_fit(data, listed), verbose=0),
        model.predict(cavs.keras.for_fit(data, model), verbose=0),
        rtol=1e-5,
    )
    assert listed.predict(data, verbose=0).shape == (12, 2)  # Keras pairs these by name.


def test_for_fit_refuses_weights_without_labels():
    with pytest.raises(ValueError, match=r"^sample_weight: got 'inner' without labels but exp"):
        cavs.keras.for_fit(batches(trees()), ["word", *make_names()], sample_weight="inner")


def test_for_fit_refuses_a_model_whose_inputs_have_no_names():
    class Subclassed(keras.Model):
        pass

    for inputs, kind in ((Subclassed(), "Subclassed"), (None, "NoneType")):
        with pytest.raises(ValueError, match=f"^inputs: got a {kind}, which has no inputs by na"):
            cavs.keras.for_fit(batches(trees()), inputs, "label")


def test_for_fit_refuses_what_is_no_dataset():
    with pytest.raises(ValueError, match=r"^batches: got a list but expected a dataset of minib"):
        cavs.keras.for_fit([*batches(trees())], model_of(), "label")


def test_one_name_is_a_string():
    features, label = next(iter(cavs.keras.for_fit(batches(trees()), "word", "label")))
    assert [*features] == ["word"] and label.shape == [4]


@pytest.mark.in_turns
@pytest.mark.parametrize("count", [1, 2])
def test_labels_of_a_list_of_outputs_are_a_list(count):
    model = model_of()
    listed = keras.Model(model.input, [model.output] * count)
    listed.compile("sgd", [keras.losses.SparseCategoricalCrossentropy(from_logits=True)] * count)
    model.compile("sgd", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    own = {"weight": 2.0}
    examples = batches(trees().map(lambda tree: tree | own | {"label": tree["label"] % 2}))
    data = [
        cavs.keras.for_fit(examples, of, labels, sample_weight=weights)
        for of, labels, weights in (
            (listed, ["label"] * count, ["weight"] * count),
            (model, "label", "weight"),
        )
    ]
    total = listed.evaluate(data[0], return_dict=True, verbose=0)["loss"]
    np.testing.assert_allclose(total, count * model.evaluate(data[1], verbose=0), rtol=1e-5)


def make_names():
    return cavs.keras.graph_inputs(ARITY)


def two_outputs():
    model = model_of()
    return keras.Model(model.input, {"a": model.output, "b": keras.layers.Dense(2)(model.output)})


def test_outputs_without_weights_weigh_one():
    data = batches(trees().map(lambda tree: tree | {"weight": 0.5}))
    labels = {"a": "label", "b": "label"}
    for _, _, weights in cavs.keras.for_fit(
        data, two_outputs(), labels, sample_weight={"a": "weight"}
    ):
        assert weights["a"].numpy().tolist() == [0.5] * 4
        assert weights["b"].numpy().tolist() == [1.0] * 4


@pytest.mark.parametrize("labels", ["label", {"a": "label"}])
def test_weights_of_an_output_without_labels_are_rejected(labels):
    with pytest.raises(ValueError, match=r"^sample_weight\['b'\]: got a weight but expected the n"):
        cavs.keras.for_fit(batches(trees()), two_outputs(), labels, sample_weight={"b": "inner"})
