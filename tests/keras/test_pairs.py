"""Models of several structures per example: two trees, or a source and a target."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import batches as make

ARITY, UNITS, TOKENS = 3, 8, len(cavs.data.LISTOPS_TOKENS)


def pairs(num_pairs=24):
    """Pairs of expressions, and whether both have the same value."""
    left, right = (
        cavs.data.listops(num_pairs, seed, max_depth=2, max_args=ARITY) for seed in (1, 2)
    )
    return tf.data.Dataset.zip({"left": left, "right": right}).map(
        lambda pair: pair | {"label": int_of(pair["left"]["label"] == pair["right"]["label"])}
    )


def int_of(condition):
    return tf.cast(condition, tf.int32)


def siamese():
    """Encodes both trees of a pair with the same weights."""
    embed = keras.layers.Embedding(TOKENS, UNITS)
    encode = cavs.keras.TreeLSTM(UNITS, ARITY)
    inputs, roots = {}, []
    for side in ("left", "right"):
        graphs = cavs.keras.graph_inputs(ARITY, name=side)
        token = keras.Input((), dtype="int32", name=f"{side}_token")
        inputs[side] = {**graphs, "token": token}
        roots.append(encode(graphs, embed(token)))
    distance = keras.ops.abs(roots[0] - roots[1])
    return keras.Model(inputs, keras.layers.Dense(2)(distance))


def compiled(model):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model


def minibatches(model, batch_size=5):
    batches = cavs.data.batch(pairs(), batch_size, arity=ARITY, as_dict=True)
    return cavs.keras.for_fit(batches, model.input, "label")


@pytest.mark.in_turns
def test_siamese_model_trains_by_the_mean_over_pairs_and_is_saved(tmp_path):
    keras.utils.set_random_seed(0)
    model = compiled(siamese())
    data = minibatches(model)
    losses = model.fit(data, epochs=15, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.9 * losses[0]
    logits = model.predict(data, verbose=0)
    labels = np.concatenate([label for _, label in data])
    assert len(labels) == 24 and len(data) == 5  # The last minibatch has fewer pairs.
    want = np.mean(keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True))
    assert model.evaluate(data, verbose=0)[0] == pytest.approx(want, rel=1e-5)
    model.save(tmp_path / "pairs.keras")
    loaded = keras.models.load_model(tmp_path / "pairs.keras")
    inputs, _ = next(iter(data))
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


@pytest.mark.in_turns
def test_siamese_model_equals_its_encoder_on_each_side():
    model = siamese()
    batch = next(iter(cavs.data.batch(pairs(), 24, arity=ARITY, as_dict=True)))
    embed, encode = (
        next(layer for layer in model.layers if isinstance(layer, kind))
        for kind in (keras.layers.Embedding, cavs.keras.TreeLSTM)
    )
    roots = []
    for seed in (1, 2):
        trees = cavs.data.listops(24, seed, max_depth=2, max_args=ARITY)
        alone = next(iter(cavs.data.batch(trees, 24)))
        roots.append(encode(alone["graphs"], embed(alone["token"])))
    want = model.layers[-1](abs(roots[0] - roots[1]))
    features = {side: {k: batch[side][k] for k in model.input[side]} for side in model.input}
    np.testing.assert_allclose(model(features), want, rtol=1e-5)


@pytest.mark.in_turns
def test_tools_take_a_minibatch_of_pairs_as_it_is():
    batch = next(iter(cavs.data.batch(pairs(4), 4, arity=ARITY, as_dict=True)))
    assert cavs.check_equivalence(siamese(), batch).ok


def translator():
    """Encodes a tree, and adds its root to every step of a chain; each structure has a loss."""
    source = cavs.keras.graph_inputs(ARITY, name="source")
    target = cavs.keras.graph_inputs(1, name="target")
    source_token, target_token = (
        keras.Input((), dtype="int32", name=f"{name}_token") for name in ("source", "target")
    )
    embed = keras.layers.Embedding(TOKENS, UNITS)
    root = cavs.keras.TreeLSTM(UNITS, ARITY)(source, embed(source_token))
    steps = cavs.keras.TreeLSTM(UNITS, 1, return_vertices=True)(target, embed(target_token))
    inputs = {
        "source": {**source, "token": source_token},
        "target": {**target, "token": target_token},
    }
    outputs = {"value": keras.layers.Dense(10)(root), "steps": keras.layers.Dense(10)(steps)}
    return keras.Model(inputs, outputs)


def translations():
    def with_chain(tree):
        length = tf.size(tree["token"])
        chain = {
            "children": tf.range(length)[:, None] - 1,
            "token": tree["token"],
            "vertex_label": tree["vertex_label"],
            "weight": tf.cast(tree["inner"], tf.float32),
        }
        return {"source": tree, "target": chain, "weight": tf.cast(length, tf.float32)}

    trees = cavs.data.listops(11, seed=1, max_depth=2, max_args=ARITY)
    return trees.map(with_chain)


@pytest.mark.in_turns
@pytest.mark.parametrize("weighted", [False, True])
def test_source_and_target_have_targets_and_weights_of_their_own(weighted):
    keras.utils.set_random_seed(0)
    model = translator()
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", {"value": loss, "steps": loss})
    batches = cavs.data.batch(translations(), 4, arity={"source": ARITY, "target": 1}, as_dict=True)
    data = cavs.keras.for_fit(
        batches,
        model.input,
        {"value": "source/label", "steps": "target/vertex_label"},
        sample_weight={"value": "weight", "steps": "target/weight"} if weighted else None,
    )
    inputs, labels, *weights = next(iter(data))
    assert inputs["source"]["child_row"].shape[0] == ARITY
    assert inputs["target"]["child_row"].shape[0] == 1
    losses, graphs = [], []
    for inputs, labels, *weights in data:
        outputs = model(inputs)
        of_rows = {k: loss_of_rows(labels[k], outputs[k]) for k in outputs}
        for name, weight in weights[0].items() if weighted else ():
            of_rows[name] = of_rows[name] * weight
        losses.append(sum(np.mean(rows) for rows in of_rows.values()))
        graphs.append(len(labels["value"]))
    got = model.evaluate(data, verbose=0, return_dict=True)["loss"]
    assert got == pytest.approx(np.average(losses, weights=graphs), rel=1e-5)


def loss_of_rows(labels, logits):
    return keras.losses.sparse_categorical_crossentropy(labels, logits, from_logits=True)


def test_names_choose_all_of_a_structure():
    batches = cavs.data.batch(pairs(4), 2, arity=ARITY, as_dict=True)
    inputs, label = next(iter(cavs.keras.for_fit(batches, ["left", "right"], "label")))
    assert set(inputs["left"]) == set(batches.element_spec["left"])
    assert inputs["left"]["0_graphs_of_data_batch"].shape == label.shape == [2]


def test_weight_of_losses_may_be_a_feature_of_one_structure():
    batches = cavs.data.batch(pairs(4), 2, arity=ARITY, as_dict=True)
    data = cavs.keras.for_fit(batches, ["left", "right"], "label", weigh_by="right/token")
    inputs, _ = next(iter(data))
    assert inputs["left"]["0_graphs_of_data_batch"].shape == inputs["right"]["token"].shape


def test_inputs_of_two_structures_have_names_of_their_own():
    left, right = (cavs.keras.graph_inputs(2, name=name) for name in ("left", "right"))
    assert list(left) == list(right)
    assert not {t.name for t in left.values()} & {t.name for t in right.values()}
    assert left["child_row"].name == "left_child_row"


@pytest.mark.parametrize("name", ["", 3])
def test_graph_inputs_rejects_other_names(name):
    with pytest.raises(ValueError, match=f"name: got {name!r} but expected a string"):
        cavs.keras.graph_inputs(name=name)


def test_for_fit_names_the_structure_without_a_feature():
    batches = cavs.data.batch(pairs(4), 2, arity=ARITY, as_dict=True)
    inputs = {"left": {"token": None}, "right": {"tokens": None}}
    with pytest.raises(ValueError, match=r"batches\['right'\]: got features .*expected 'tokens'"):
        cavs.keras.for_fit(batches, inputs, "label")
    with pytest.raises(ValueError, match=r"batches\['left'\]: got features .*expected 'lable'"):
        cavs.keras.for_fit(batches, ["left"], "left/lable")
    with pytest.raises(ValueError, match=r"batches: got features .*expected 'middle/label' among"):
        cavs.keras.for_fit(batches, ["left"], "middle/label")
    with pytest.raises(ValueError, match=r"batches: got features .*expected 'weight' among"):
        cavs.keras.for_fit(batches, ["left"], "label", sample_weight="weight")


def test_a_model_of_planned_graphs_says_how_to_plan():
    graphs, x = cavs.keras.graph_inputs(ARITY), keras.Input((UNITS,), name="x")
    model = keras.Model({**graphs, "x": x}, cavs.keras.TreeLSTM(UNITS, ARITY)(graphs, x))
    tree = cavs.GraphBatch.complete_tree(depth=2)
    features = {"x": tf.zeros([tree.num_vertices, UNITS])}
    with pytest.raises(ValueError, match=r"expected 'child_row' among .*graphs.with_schedule"):
        cavs.check_equivalence(model, tree.to_dict() | features)
    planned = tree.with_schedule(ARITY).to_dict()
    assert cavs.check_equivalence(model, planned | features).ok


def test_a_model_of_graphs_with_edges_says_how_to_plan_them():
    graphs = cavs.keras.graph_inputs(ARITY, edges=True)
    x = keras.Input((UNITS,), name="x")
    model = keras.Model({**graphs, "x": x}, cavs.keras.TreeLSTM(UNITS, ARITY)(graphs, x))
    tree = cavs.GraphBatch.complete_tree(depth=2)
    features = {"x": tf.zeros([tree.num_vertices, UNITS])}
    planned = tree.with_schedule(ARITY).to_dict()
    with pytest.raises(ValueError, match=r"'edge_splits' among .*with_schedule\(arity, edges=True"):
        cavs.check_equivalence(model, planned | features)


def test_for_fit_names_the_structure_whose_input_is_the_first():
    batches = cavs.data.batch(pairs(4), 2, arity=ARITY, as_dict=True)
    with pytest.raises(ValueError, match=r"inputs: got 'left/child_ids' as the first"):
        cavs.keras.for_fit(batches, {"left": {"child_ids": None}}, "label")


@pytest.mark.in_turns
def test_for_fit_takes_structures_with_a_graph_batch():
    plain, whole = (cavs.data.batch(pairs(4), 2, arity=ARITY, as_dict=d) for d in (True, False))
    sets = [cavs.keras.for_fit(batches, ["left"], "label") for batches in (plain, whole)]
    for one, other in zip(*sets, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_random_trees_of_two_sides_need_no_schedule():
    """Trains on graphs that were made outside of `data.batch`."""
    sides = {side: cavs.keras.graph_inputs(name=side) for side in ("a", "b")}
    rows = {side: keras.Input((make.FEATURES,), name=f"{side}_rows") for side in sides}
    encode = cavs.keras.TreeLSTM(UNITS)
    outputs = {side: encode(sides[side], rows[side]) for side in sides}
    inputs = {side: {**sides[side], "rows": rows[side]} for side in sides}
    trees = {"a": make.random_trees([4, 3]), "b": make.random_trees([1, 5], seed=1)}
    features = {s: {**t.to_dict(), "rows": make.random_rows(t)} for s, t in trees.items()}
    got = keras.Model(inputs, outputs)(features)
    for side, graphs in trees.items():
        np.testing.assert_array_equal(got[side], encode(graphs, make.random_rows(graphs)))
