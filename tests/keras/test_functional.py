"""Inputs of functional models, from the minibatches that they will get."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

TREES = cavs.data.listops(8)
PAIRS = tf.data.Dataset.zip({"left": TREES, "right": TREES})
LEAVES = TREES.map(
    lambda tree: tree | {"x": cavs.VertexRows(tf.ones([1, 4]), tf.zeros([1], tf.int32))}
)
LOSS = keras.losses.SparseCategoricalCrossentropy(from_logits=True)


def minibatches(examples, **given):
    return cavs.data.batch(examples, 4, arity=5, as_dict=True, **given)


def encoded(given):
    rows = given["x"] if "x" in given else keras.layers.Embedding(20, 4)(given["token"])
    return cavs.keras.TreeLSTM(4, arity=5)(given, rows)


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "examples, features, edges, trains",
    [
        (TREES, ["token"], False, False),
        (TREES, "token", True, False),
        (LEAVES, ["x"], False, True),
        (PAIRS, ["left", "right"], False, False),
        (PAIRS, {"left": ["token"], "right": "token"}, True, True),
        (PAIRS, {"left": ["token"]}, False, False),
    ],
)
def test_a_model_of_such_inputs_trains_and_is_saved(examples, features, edges, trains, tmp_path):
    batches = minibatches(examples, edges=edges)
    given = cavs.keras.inputs(batches, features)
    of_pairs = "left" in given
    roots = [encoded(part) for part in (given.values() if of_pairs else [given])]
    model = keras.Model(given, keras.layers.Dense(10)(sum(roots)))
    want = model(next(iter(cavs.keras.for_fit(batches, model))))
    assert want.shape == (4, 10)
    if not trains:
        return
    model.compile("sgd", LOSS)
    data = cavs.keras.for_fit(batches, model, "left/label" if of_pairs else "label")
    model.fit(data.repeat(), steps_per_epoch=2, shuffle=False, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    want, got = (m(next(iter(cavs.keras.for_fit(batches, m)))) for m in (model, loaded))
    np.testing.assert_array_equal(got, want)


def test_inputs_have_the_shapes_and_types_of_the_minibatches():
    batches = minibatches(TREES, edges=True)
    given = cavs.keras.inputs(batches, ["token"])
    by_hand = cavs.keras.graph_inputs(arity=5, edges=True)
    assert given.keys() == {"token", *by_hand}
    for name, x in given.items():
        assert (x.name, x.dtype) == (name, batches.element_spec[name].dtype.name)
        assert x.shape == batches.element_spec[name].shape


@pytest.mark.in_turns
def test_minibatches_with_a_graph_batch_are_as_good_as_plain_tensors():
    plain, whole = (cavs.data.batch(TREES, 4, arity=5, as_dict=d) for d in (True, False))
    models = [cavs.keras.inputs(batches, ["token"]) for batches in (plain, whole)]
    assert [{n: x.shape for n, x in given.items()} for given in models][1:] == [
        {n: x.shape for n, x in models[0].items()}
    ]
    sets = [cavs.keras.for_fit(b, list(models[0]), "label") for b in (plain, whole)]
    assert len(sets[1]) == len(sets[0])
    for one, other in zip(*sets, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


@pytest.mark.parametrize(
    "batches, message",
    [
        (minibatches(TREES), r"batches: got features token, .*expected 'word' among them"),
        (TREES, "batches: got examples, .*expected minibatches.*Pass cavs_tf.data.batch"),
        (
            cavs.data.batch(TREES, 4).map(lambda b: (b, 1)),
            "batches: got elements that are not dicts",
        ),
        (
            cavs.data.batch(TREES, 4).map(lambda b: b | {"child_row": b["token"]}),
            "batches: got a feature named 'child_row' but expected another name",
        ),
    ],
)
def test_inputs_rejects(batches, message):
    with pytest.raises(ValueError, match=message):
        cavs.keras.inputs(batches, ["word"])
