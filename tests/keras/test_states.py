"""States that recurrent layers start from and return, and both directions."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import GRU, LSTM, TreeGRU, TreeLSTM
from tests.helpers import batches as make
from tests.helpers.pairwise import parametrize_pairs

NO_YES = (False, True)
UNITS, FEATURES, STEPS = 4, 3, 6
LENGTHS = np.array([6, 2, 0, 3])
RIGHT_PADDED = np.arange(STEPS) < LENGTHS[:, None]
MASKS = {
    "none": None,
    "right": RIGHT_PADDED,
    "scattered": np.random.default_rng(0).random((4, STEPS)) < 0.5,
}
LAYERS = {"LSTM": (LSTM, keras.layers.LSTM, 2), "GRU": (GRU, keras.layers.GRU, 1)}
X = tf.constant(np.random.default_rng(1).normal(size=(4, STEPS, FEATURES)), "float32")

each_layer = pytest.mark.parametrize("name", LAYERS)


def initial_state(name, count=4, times=1):
    random = np.random.default_rng(2)
    parts = LAYERS[name][2] * times
    return [tf.constant(random.normal(size=(count, UNITS)), "float32") for _ in range(parts)]


def pair(name, wrap=lambda layer: layer, **kwargs):
    """Our layer and that of Keras, with the same random weights."""
    ours, theirs = (wrap(layer(UNITS, **kwargs)) for layer in LAYERS[name][:2])
    ours(X), theirs(X)
    random = np.random.default_rng(3)
    theirs.set_weights([random.normal(size=w.shape) for w in theirs.get_weights()])
    ours.set_weights(theirs.get_weights())
    return ours, theirs


def results(layer, x, states, mask):
    """What the layer returns, and the gradients of a loss of all of that."""
    with tf.GradientTape() as tape:
        tape.watch([x, *states])
        outputs = tf.nest.flatten(layer(x, mask=mask, initial_state=states))
        scaled = [tf.sin(out) * tf.range(float(out.shape[-1])) for out in outputs]
        loss = tf.add_n([tf.reduce_sum(part) for part in scaled])
    return outputs, tape.gradient(loss, [x, *states, *layer.trainable_weights])


def assert_same(got, want, tolerance=1e-5):
    for a, b in zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True):
        assert a.shape == b.shape and a.dtype == b.dtype
        np.testing.assert_allclose(a, b, rtol=10 * tolerance, atol=tolerance)


@pytest.mark.in_turns
@parametrize_pairs(
    name=LAYERS,
    mask=MASKS,
    arguments=[
        (),
        ("return_sequences",),
        ("return_sequences", "go_backwards"),
        ("return_sequences", "zero_output_for_mask"),
        ("go_backwards", "zero_output_for_mask"),
    ],
)
def test_are_those_of_the_layer_of_keras(name, mask, arguments):
    ours, theirs = pair(name, return_state=True, **dict.fromkeys(arguments, True))
    mask = None if MASKS[mask] is None else tf.constant(MASKS[mask])
    states = initial_state(name)
    got, want = (results(layer, X, states, mask) for layer in (ours, theirs))
    assert len(got[0]) == 1 + len(states)
    assert_same(got, want)
    # The state is the last argument that Keras's layers take by its place.
    assert_same(ours(X, states, mask=mask), got[0], 1e-6)
    assert_same(ours(X, mask=mask), theirs(X, mask=mask))


@parametrize_pairs(name=LAYERS, return_sequences=NO_YES, go_backwards=NO_YES)
def test_padded_ragged_and_graphs_agree(name, return_sequences, go_backwards):
    layer, _ = pair(
        name, return_sequences=return_sequences, go_backwards=go_backwards, return_state=True
    )
    states = initial_state(name)
    ragged = tf.RaggedTensor.from_tensor(X, LENGTHS)
    mask = tf.constant(RIGHT_PADDED)
    padded, *want = layer(X, mask=mask, initial_state=states)
    from_ragged, *got = layer(ragged, initial_state=states)
    assert_same(got, want, 1e-6)
    chains = cavs.GraphBatch.chain(LENGTHS)
    from_graphs, *got = layer(chains, ragged.values, initial_state=states)
    assert_same(got, want, 1e-6)
    if not return_sequences:
        assert_same([from_ragged, from_graphs], [padded, padded], 1e-6)
        return
    steps = RIGHT_PADDED[:, ::-1] if go_backwards else RIGHT_PADDED
    np.testing.assert_allclose(from_ragged.values, padded[steps], atol=1e-6)
    in_order = from_ragged[:, ::-1] if go_backwards else from_ragged
    np.testing.assert_allclose(from_graphs, in_order.values, atol=1e-6)


@pytest.mark.in_turns
@parametrize_pairs(
    name=LAYERS,
    merge_mode=["concat", None],
    return_sequences=NO_YES,
)
def test_bidirectional_layers_of_keras_take_ours(name, merge_mode, return_sequences):
    def wrap(layer):
        return keras.layers.Bidirectional(layer, merge_mode)

    kwargs = {"return_sequences": return_sequences, "return_state": True}
    ours, theirs = pair(name, wrap, **kwargs)
    mask = tf.constant(MASKS["scattered"])
    states = initial_state(name, times=2)
    assert_same(*(results(layer, X, states, mask) for layer in (ours, theirs)))


@each_layer
def test_bidirectional_over_ragged_sequences(name):
    layer = keras.layers.Bidirectional(LAYERS[name][0](UNITS, return_sequences=True))
    padded = layer(X, mask=tf.constant(RIGHT_PADDED))
    ragged = layer(tf.RaggedTensor.from_tensor(X, LENGTHS))
    np.testing.assert_allclose(ragged.values, padded[RIGHT_PADDED], atol=1e-6)


def build_tagger(layer):
    token = keras.Input((None,), dtype="int32")
    x = keras.layers.Embedding(10, FEATURES, mask_zero=True)(token)
    x = keras.layers.Bidirectional(layer(UNITS, return_sequences=True))(x)
    x = keras.layers.Bidirectional(layer(UNITS))(x)
    return keras.Model(token, keras.layers.Dense(2)(x))


def build_translator(layer):
    """An encoder, a decoder that goes on from its states, and a layer that sees the mask."""
    source, target = (keras.Input((None,), dtype="int32", name=n) for n in ("source", "target"))
    embed = keras.layers.Embedding(10, FEATURES, mask_zero=True)
    _, *states = layer(UNITS, return_state=True)(embed(source))
    x, *_ = layer(UNITS, return_sequences=True, return_state=True)(
        embed(target), initial_state=states
    )
    x = layer(UNITS, go_backwards=True)(x)
    return keras.Model([source, target], keras.layers.Dense(2)(x))


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("LSTM", build_translator),
        ("GRU", build_tagger),
        pytest.param("LSTM", build_tagger, marks=pytest.mark.long),
        pytest.param("GRU", build_translator, marks=pytest.mark.long),
    ],
)
def test_models_train_as_those_of_keras_and_are_saved(name, build, tmp_path):
    keras.utils.set_random_seed(0)
    ours, theirs = (build(layer) for layer in LAYERS[name][:2])
    assert ours.output_shape == theirs.output_shape
    ours.set_weights(theirs.get_weights())
    tokens = np.array([[1, 2, 3, 4], [5, 6, 0, 0], [7, 0, 0, 0]])
    inputs = tokens if len(ours.inputs) == 1 else [tokens, tokens[:, ::-1]]
    np.testing.assert_allclose(ours(inputs), theirs(inputs), atol=1e-5)
    for model in (ours, theirs):
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        # What is compared with need not be traced.
        model.compile("sgd", loss, run_eagerly=model is theirs)
        model.fit(inputs, np.array([0, 1, 1]), epochs=3, verbose=0)
    for got, want in zip(ours.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, atol=1e-4)
    ours.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(inputs), ours(inputs))


@pytest.mark.parametrize("layer_class", [LSTM, GRU, TreeLSTM, TreeGRU])
def test_are_kept_in_the_config(layer_class):
    of_sequences = layer_class in (LSTM, GRU)
    arguments = {"return_state": True, "go_backwards": True}
    arguments |= {"zero_output_for_mask": True} if of_sequences else {}
    config = layer_class(5, **arguments).get_config()
    assert config.items() >= arguments.items() and "push_states" not in config
    other = layer_class.from_config(config)
    assert other.get_config() == config and other.cell.push_states
    defaults = {k: v for k, v in config.items() if k not in arguments}  # All of them have defaults.
    assert not any(getattr(layer_class.from_config(defaults), k) for k in arguments)


def test_mixed_precision_casts_them():
    layer = LSTM(UNITS, return_state=True, dtype="mixed_bfloat16")
    outputs = layer(X, initial_state=initial_state("LSTM"))
    assert [out.dtype for out in outputs] == ["bfloat16"] * 3


# --- trees ----------------------------------------------------------------------

TREES = make.random_trees([5, 1, 0, 7])
TREE_LAYERS = {"TreeLSTM": (TreeLSTM, 2), "TreeGRU": (TreeGRU, 1)}
each_tree_layer = pytest.mark.parametrize("name", TREE_LAYERS)


@pytest.mark.in_turns
@each_tree_layer
@pytest.mark.parametrize("return_vertices", [False, True])
def test_of_trees_are_those_of_their_roots(name, return_vertices):
    layer_class, parts = TREE_LAYERS[name]
    layer = layer_class(UNITS, return_vertices=return_vertices, return_state=True)
    rows = make.random_rows(TREES)
    states = [tf.random.stateless_normal([4, UNITS], [k, 0]) for k in range(parts)]
    output, h, *c = layer(TREES, rows, initial_state=states)
    at_roots = cavs.keras.Roots()(TREES, output) if return_vertices else output
    occupied = [0, 1, 3]
    np.testing.assert_allclose(tf.gather(h, occupied), tf.gather(at_roots, occupied), rtol=1e-6)
    for state, first in zip([h, *c], states, strict=True):
        np.testing.assert_array_equal(state[2], first[2])  # The graph without vertices.
    assert len(c) == parts - 1 and all(state.shape == h.shape for state in c)
    # A tree whose leaves are what follows on those states.
    again = layer(TREES, rows, initial_state=[h, *c])
    assert np.abs(again[1] - h).max() > 1e-3
    wrapped = _Wrapped(layer)
    features = TREES.to_dict() | {"rows": rows, "states": states}
    report = cavs.check_equivalence(wrapped, features)
    assert report.ok, report


class _Wrapped(keras.Model):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def call(self, features):
        outputs = self.layer(features, features["rows"], initial_state=features["states"])
        return dict(zip("abc", outputs, strict=False))


@pytest.mark.in_turns
def test_the_state_of_a_tree_goes_on_in_a_chain():
    """The LSTM over a chain in two pieces is the one over the whole chain."""
    keras.utils.set_random_seed(0)
    tree, layer = TreeLSTM(UNITS, arity=1, return_state=True), LSTM(UNITS, return_state=True)
    rows = tf.random.stateless_normal([5, FEATURES], [1, 2])
    tree(cavs.GraphBatch.chain([2]), rows[:2]), layer(rows[None])
    layer.set_weights(tree.get_weights())
    _, *states = tree(cavs.GraphBatch.chain([2]), rows[:2])
    assert_same(layer(rows[None, 2:], initial_state=states), layer(rows[None]), 1e-6)


@pytest.mark.in_turns
@each_tree_layer
@pytest.mark.parametrize("return_vertices", [False, True])
def test_backwards_is_over_the_reversed_graphs(name, return_vertices):
    layer_class, _ = TREE_LAYERS[name]
    down = layer_class(UNITS, arity=1, return_vertices=return_vertices, go_backwards=True)
    scheduled, rows = TREES.with_schedule(arity=2), make.random_rows(TREES)
    got = down(scheduled, rows)
    up = layer_class(UNITS, arity=1, return_vertices=return_vertices)
    up(TREES.reverse(), rows)
    up.set_weights(down.get_weights())
    np.testing.assert_array_equal(got, up(TREES.reverse(), rows))
    assert cavs.check_equivalence(down, scheduled, rows).ok
    assert cavs.explain(down, scheduled) == cavs.explain(up, TREES.reverse())


def build_up_and_down():
    graphs = cavs.keras.graph_inputs(arity=3)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(len(cavs.data.LISTOPS_TOKENS), 8)(token)
    up = TreeLSTM(8, arity=3, return_vertices=True)(graphs, rows)
    both = keras.layers.concatenate([rows, up])
    down = TreeLSTM(8, arity=1, return_vertices=True, go_backwards=True)(graphs, both)
    outputs = keras.layers.Dense(10)(keras.layers.concatenate([up, down]))
    return keras.Model({**graphs, "token": token}, outputs)


@pytest.mark.in_turns
def test_up_and_down_in_a_functional_model(tmp_path):
    keras.utils.set_random_seed(0)
    model = build_up_and_down()
    examples = cavs.data.listops(40, seed=1, max_depth=2, max_args=3)
    batches = cavs.data.batch(examples, 8, arity=3, as_dict=True)
    batch = next(iter(batches))
    inputs = {name: batch[name] for name in model.input}

    # What each vertex knows depends on each token of its own expression, and of no other.
    graphs = cavs.GraphBatch.from_dict(batch)
    token = batch["token"].numpy()
    token[0] = (token[0] + 1) % len(cavs.data.LISTOPS_TOKENS)
    differs = np.abs(model(inputs | {"token": tf.constant(token)}) - model(inputs)).max(1) > 1e-7
    np.testing.assert_array_equal(differs, graphs.vertex_graph == 0)

    report = cavs.check_equivalence(model, inputs)
    assert report.ok, report
    model.compile(
        keras.optimizers.Adam(0.02), keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    )
    data = cavs.keras.for_fit(batches, model.input, "vertex_label")
    losses = model.fit(data, epochs=8, verbose=0, shuffle=False).history["loss"]
    assert losses[-1] < 0.8 * losses[0]
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


@cavs.vertex_function(state_size=1, arity=1)
def path_length(v):
    length = v.pull() + v.gather(0)
    v.scatter(length)
    v.push(length)


def test_cells_of_ones_own_go_backwards_too():
    graphs = cavs.GraphBatch.from_parents([[2, 2, -1], [-1]])
    down = cavs.keras.Graph(path_length, return_vertices=True, go_backwards=True)
    rows = tf.ones([4, 1])
    assert down(graphs, rows).numpy().ravel().tolist() == [2, 2, 1, 1]
    from_ten = down(graphs, rows, initial_state=[[10.0], [20.0]])
    assert from_ten.numpy().ravel().tolist() == [12, 12, 11, 21]
    # Its roots are the leaves.
    of_leaves = cavs.keras.Graph(path_length, go_backwards=True)
    assert of_leaves(graphs, rows).numpy().ravel().tolist() == [4, 1]


@pytest.mark.parametrize(
    "layer, states, message",
    [
        (LSTM, lambda h: h, "initial_state: got 1 tensors but expected [h, c], each [B, 4]"),
        (GRU, lambda h: [h, h], "initial_state: got 2 tensors but expected [h], each [B, 4]"),
        (LSTM, lambda h: [h, h[:, 1:]], "initial_state[1]: got shape (4, 3) but expected [B, 4]"),
        (GRU, lambda h: h[1:], "initial_state: got 3 rows but expected 4, one for each graph"),
    ],
)
def test_rejections(layer, states, message):
    rows = tf.RaggedTensor.from_tensor(X, LENGTHS).values
    with pytest.raises(ValueError, match=re.escape(message)):
        layer(UNITS)(
            cavs.GraphBatch.chain(LENGTHS), rows, initial_state=states(tf.ones([4, UNITS]))
        )
