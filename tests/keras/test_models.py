"""Models with graphs: functional and subclassed, trained by `fit`, saved and loaded."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import GRU, LSTM, Graph, Roots, TreeGRU, TreeLSTM, graph_inputs
from tests.helpers import batches as make

pytestmark = pytest.mark.optimized
ARITY, UNITS, TOKENS = 3, 8, len(cavs.data.LISTOPS_TOKENS)


@keras.saving.register_keras_serializable("test_models")
class TypedCell(cavs.GraphSupport):
    """A custom cell with separate vertex functions for digits and operators."""

    vertex_types = ("digit", "operator")

    def __init__(self, units, arity=ARITY, **kwargs):
        super().__init__(state_size=units, arity=arity, **kwargs)
        self.embed = keras.layers.Embedding(TOKENS, units)
        self.mix = keras.layers.Dense(units, activation="tanh")

    def digit(self):
        state = self.embed(self.pull())
        self.scatter(state)
        self.push(state)

    def operator(self):
        children = tf.reduce_sum(self.gather_all(), axis=1)
        state = self.mix(tf.concat([children, self.embed(self.pull())], axis=1))
        self.scatter(state)
        self.push(state)


def functional(arity=ARITY, layer=TreeLSTM):
    graphs = graph_inputs(arity)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(TOKENS, UNITS)(token)
    root = layer(UNITS, ARITY)(graphs, rows)
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root))


def functional_custom():
    graphs = graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    root = Graph(TypedCell(UNITS))(graphs, token)
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root))


@keras.saving.register_keras_serializable("test_models")
class Subclassed(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embed = keras.layers.Embedding(TOKENS, UNITS)
        self.tree = TreeGRU(UNITS, ARITY, return_vertices=True)
        self.roots = Roots()
        self.classify = keras.layers.Dense(10)

    def call(self, inputs):
        vertices = self.tree(inputs, self.embed(inputs["token"]))
        return self.classify(self.roots(inputs, vertices))


MODELS = {
    "functional": (functional, {}),
    "functional, TreeGRU": (lambda: functional(layer=TreeGRU), {}),
    "custom": (functional_custom, {"vertex_type": "inner", "num_types": 2}),
    "subclassed": (Subclassed, {}),
}


def some_models(*names):
    """Tests some of the models; the others are long tests."""
    long = [pytest.param(name, marks=pytest.mark.long) for name in MODELS if name not in names]
    return pytest.mark.parametrize("build_and_data", [*names, *long], indirect=True)


@pytest.fixture(params=MODELS)
def build_and_data(request):
    build, batching = MODELS[request.param]
    keras.utils.set_random_seed(0)
    return build, make.listops(arity=ARITY, **batching)


def first_of(data):
    """The inputs of the first minibatch."""
    inputs, _ = next(iter(data))
    return inputs


def compiled(model, **kwargs):
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
        **kwargs,
    )
    return model


@pytest.mark.in_turns
@some_models("custom", "subclassed")
def test_fit_evaluate_predict_save_and_load(build_and_data, capsys, tmp_path):
    build, data = build_and_data
    model = compiled(build())
    model.optimizer.learning_rate = 0.03
    history = model.fit(data, validation_data=data, epochs=6, shuffle=False).history
    assert "val_accuracy" in capsys.readouterr().out  # Printed by Keras's progress bar.
    assert history["loss"][-1] < 0.7 * history["loss"][0]
    assert not model.jit_compile
    loss, accuracy = model.evaluate(data, verbose=0)
    logits = model.predict(data, verbose=0)
    labels = np.concatenate([label for _, label in data])
    assert logits.shape == (40, 10)
    assert accuracy == pytest.approx(np.mean(logits.argmax(1) == labels))
    assert loss == pytest.approx(history["val_loss"][-1], rel=1e-4)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(first_of(data)), model(first_of(data)))
    # The optimizer's state is restored too: training continues with the same numbers.
    for m in (model, loaded):
        keras.utils.set_random_seed(1)
        m.fit(data, verbose=0, shuffle=False)
    for got, want in zip(loaded.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.mark.in_turns
@some_models("subclassed")
def test_several_steps_in_one_call(build_and_data):
    build, data = build_and_data
    model, other = build(), build()
    for m in (model, other):
        m(first_of(data))
    other.set_weights(model.get_weights())
    compiled(model).fit(data, verbose=0, shuffle=False)
    # Graphs of different sizes go through a loop; the last call has fewer of them.
    compiled(other, steps_per_execution=2).fit(data, verbose=0, shuffle=False)
    for got, want in zip(other.get_weights(), model.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


@pytest.fixture(params=["bfloat16", "float16"])
def mixed(request):
    keras.config.set_dtype_policy(f"mixed_{request.param}")
    yield request.param
    keras.config.set_dtype_policy("float32")


@pytest.mark.in_turns
def test_fit_in_mixed_precision(mixed):
    keras.utils.set_random_seed(0)
    data = make.listops(arity=ARITY)
    model = compiled(functional())
    loss_scaling = keras.optimizers.LossScaleOptimizer
    assert isinstance(model.optimizer, loss_scaling) == (mixed == "float16")
    model.optimizer.learning_rate = 0.03
    losses = model.fit(data, epochs=6, shuffle=False, verbose=0).history["loss"]
    assert losses[-1] < 0.7 * losses[0]
    assert {str(v.dtype) for v in model.trainable_variables} == {"float32"}


class OwnWeight(cavs.GraphSupport):
    def __init__(self):
        super().__init__(state_size=4, arity=1)
        self.w = self.add_weight(shape=[4, 4], name="w")

    def vertex(self):
        h = tf.tanh(self.pull() @ self.w + self.gather(0))
        self.scatter(h)
        self.push(h)


def test_weights_of_a_cell_are_cast_wherever_it_is_called_from(mixed):
    cell, graphs, x = OwnWeight(), cavs.GraphBatch.chain([3]), tf.ones([3, 4], mixed)
    outputs = [
        cell(graphs, x),
        cavs.keras.Graph(cell)(graphs, x),
        cavs.reference.run(cell, graphs, x),
    ]
    assert [output.dtype.name for output in outputs] == [mixed] * 3
    assert cell.w.dtype == "float32"
    assert cavs.check_equivalence(cell, graphs, x).ok


@pytest.mark.in_turns
@pytest.mark.parametrize("mixed", ["float16"], indirect=True)
def test_steps_with_infinite_gradients_are_left_out(mixed):
    keras.utils.set_random_seed(0)
    model = functional()
    inputs, labels = next(iter(make.listops(arity=ARITY)))
    adam = keras.optimizers.Adam(0.01)
    scaled = keras.optimizers.LossScaleOptimizer(adam, initial_scale=2.0**30)
    model.compile(scaled, keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    before = model.get_weights()
    model.train_on_batch(inputs, labels)
    assert float(scaled.dynamic_scale) == 2.0**29
    for got, want in zip(model.get_weights(), before, strict=True):
        np.testing.assert_array_equal(got, want)
    for _ in range(25):
        model.train_on_batch(inputs, labels)
    assert float(scaled.dynamic_scale) < 2.0**25
    after = model.get_weights()
    assert all(np.isfinite(v).all() for v in after)
    assert any(np.any(got != want) for got, want in zip(after, before, strict=True))


@pytest.mark.in_turns
@some_models("custom", "subclassed")
def test_files_of_weights_and_checkpoints(build_and_data, tmp_path):
    build, data = build_and_data
    model, other = build(), build()
    inputs = first_of(data)
    want, before = model(inputs), other(inputs)
    assert not np.allclose(want, before)
    weights = other.get_weights()
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other(inputs), want)
    other.set_weights(weights)
    np.testing.assert_array_equal(other(inputs), before)
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    tf.train.Checkpoint(model=other).restore(path).assert_existing_objects_matched()
    np.testing.assert_array_equal(other(inputs), want)


@pytest.mark.parametrize("make_layer", [TreeLSTM, TreeGRU])
def test_config_round_trip_keeps_every_argument(make_layer):
    layer = make_layer(
        5,
        arity=4,
        mode="n_ary",
        return_vertices=True,
        activation="relu",
        recurrent_activation="hard_sigmoid",
        kernel_initializer="zeros",
        recurrent_initializer=keras.initializers.RandomNormal(stddev=0.5),
        bias_initializer="ones",
        kernel_regularizer="l2",
        recurrent_constraint="unit_norm",
        use_bias=False,
        options=cavs.Options(disable=["lazy"]),
        name="tree",
        dtype="mixed_bfloat16",
    )
    config = layer.get_config()
    assert make_layer.from_config(config).get_config() == config
    assert {k: config[k] for k in ("units", "arity", "mode", "return_vertices", "name")} == {
        "units": 5,
        "arity": 4,
        "mode": "n_ary",
        "return_vertices": True,
        "name": "tree",
    }
    other = make_layer.from_config(config)
    assert other.cell.options == cavs.Options(disable=["lazy"]) and not other.cell.use_bias
    assert other.cell.kernel_regularizer is not None
    assert other.compute_dtype == "bfloat16"


@pytest.mark.parametrize(
    "make_layer, own", [(LSTM, {"unit_forget_bias": False}), (GRU, {"reset_after": False})]
)
def test_config_of_layers_over_sequences(make_layer, own):
    layer = make_layer(5, return_sequences=True, activation="relu", dtype="float64", **own)
    config = layer.get_config()
    assert make_layer.from_config(config).get_config() == config
    assert config.items() >= ({"units": 5, "return_sequences": True} | own).items()
    assert not config.keys() & {"arity", "mode", "return_vertices"}


def test_loading_builds_a_cell_once(tmp_path):
    layer = Graph(cavs.keras.TreeLSTMCell(UNITS))
    trees = make.random_trees([4, 3])
    graphs, rows = graph_inputs(), keras.Input((make.FEATURES,), name="rows")
    model = keras.Model({**graphs, "rows": rows}, layer(graphs, rows))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert len(loaded.get_weights()) == len(model.get_weights())
    inputs = {**trees.to_dict(), "rows": make.random_rows(trees)}
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


@pytest.mark.in_turns
def test_graph_without_a_schedule_works_as_with_one():
    with_schedule, without = functional(ARITY), functional(None)
    without.set_weights(with_schedule.get_weights())
    examples = cavs.data.listops(8, seed=1, max_depth=2, max_args=ARITY)
    batches = cavs.data.batch(examples, 4, arity=ARITY, as_dict=True)
    for plain, inputs in zip(
        cavs.keras.for_fit(batches, without),
        cavs.keras.for_fit(batches, with_schedule),
        strict=True,
    ):
        np.testing.assert_array_equal(without(plain), with_schedule(inputs))


@pytest.mark.in_turns
def test_a_hundred_sizes_cause_one_trace():
    traces = []

    class Counted(TypedCell):
        def digit(self):
            traces.append("digit")
            super().digit()

        def call(self, graphs, inputs=None, training=None, at=None):
            traces.append("call")
            return super().call(graphs, inputs, training, at)

    graphs = graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    root = Graph(Counted(UNITS))(graphs, token)
    model = compiled(keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root)))
    data = make.listops(200, 2, arity=ARITY, vertex_type="inner", num_types=2)
    sizes = {int(tf.size(inputs["token"])) for inputs, _ in data}
    assert len(sizes) > 10
    model.fit(data.take(2), verbose=0, shuffle=False)
    before = len(traces)
    assert {"digit", "call"} <= set(traces)
    model.fit(data, verbose=0, shuffle=False)
    assert len(traces) == before


@pytest.mark.in_turns
def test_loss_at_every_vertex_and_metric_at_the_roots():
    graphs = graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(TOKENS, UNITS)(token)
    vertices = TreeLSTM(UNITS, ARITY, return_vertices=True)(graphs, rows)
    logits = keras.layers.Dense(10)(vertices)
    outputs = {"vertices": logits, "roots": Roots()(graphs, logits)}
    model = keras.Model({**graphs, "token": token}, outputs)
    cross_entropy = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile("sgd", {"vertices": cross_entropy}, metrics={"roots": ["accuracy"]})
    examples = cavs.data.listops(20, max_depth=2, max_args=ARITY)
    data = cavs.keras.for_fit(
        cavs.data.batch(examples, 4, arity=ARITY, as_dict=True),
        model.input,
        {"vertices": "vertex_label", "roots": "label"},
    )
    history = model.fit(data, epochs=2, verbose=0, shuffle=False).history
    assert {"loss", "roots_accuracy"} <= set(history)
    predicted = model.predict(data, verbose=0)
    assert predicted["roots"].shape == (20, 10)
    assert len(predicted["vertices"]) > 40


@pytest.mark.in_turns
def test_float64_model():
    keras.utils.set_random_seed(0)
    kwargs = {"dtype": "float64"}
    graphs = graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(TOKENS, UNITS)(token)  # float32; the layer casts it.
    root = TreeLSTM(UNITS, ARITY, **kwargs)(graphs, rows)
    logits = keras.layers.Dense(10, **kwargs)(root)
    model = compiled(keras.Model({**graphs, "token": token}, logits))
    data = make.listops(arity=ARITY)
    losses = model.fit(data, epochs=3, verbose=0, shuffle=False).history["loss"]
    assert model.output.dtype == "float64"
    assert losses[-1] < losses[0]


def test_several_pushes_are_a_dict():
    class TwoPushes(cavs.GraphSupport):
        arity = 1

        def vertex(self):
            state = self.pull("x") + self.gather(0)
            self.scatter(state)
            self.push(state, "sum")
            self.push(2 * state, "twice")

    chains = cavs.GraphBatch.chain([2, 0, 1])
    outputs = Graph(TwoPushes(state_size=1))(chains, {"x": tf.constant([[1.0], [2.0], [5.0]])})
    np.testing.assert_array_equal(outputs["sum"], [[3.0], [0.0], [5.0]])
    np.testing.assert_array_equal(outputs["twice"], [[6.0], [0.0], [10.0]])


def test_graph_rejects_what_is_no_cell():
    with pytest.raises(ValueError, match="cell: got LSTMCell but expected a GraphSupport"):
        Graph(keras.layers.LSTMCell(3))


def unequal_minibatches():
    """Chains of 1, 9, 2, 8 and 3 vertices, two at a time: means by graph and by vertex differ."""
    sizes = [1, 9, 2, 8, 3]
    splits = np.concatenate([[0], np.cumsum(sizes)])
    generator = np.random.default_rng(0)
    of_vertices = {
        "children": np.concatenate([np.arange(n) - 1 for n in sizes])[:, None],
        "x": generator.normal(size=(splits[-1], 1)).astype("float32"),
        "vertex_label": generator.normal(size=(splits[-1], 1)).astype("float32"),
    }
    of_graphs = {"label": 5 * generator.normal(size=5).astype("float32")}
    examples = cavs.data.from_arrays(splits, of_vertices, of_graphs)
    return cavs.data.batch(examples, 2, arity=1, as_dict=True)


def regression(vertices, roots):
    """Predicts a number for every vertex, for every graph, or for both."""
    graphs = graph_inputs(arity=1)
    x = keras.Input((1,), name="x")
    rows = keras.layers.Dense(1)(TreeLSTM(3, 1, return_vertices=True)(graphs, x))
    outputs = {"vertices": rows} if vertices else {}
    if roots:
        outputs["roots"] = Roots()(graphs, rows)
    model = keras.Model({**graphs, "x": x}, outputs)
    model.compile(keras.optimizers.SGD(0.0), dict.fromkeys(outputs, "mse"))
    return model


LABELS = {"vertices": "vertex_label", "roots": "label"}


@pytest.mark.in_turns
@pytest.mark.parametrize("outputs", [["roots"], ["vertices"]])
def test_fit_and_evaluate_report_the_mean_over_what_has_a_label(outputs):
    model = regression(vertices=outputs == ["vertices"], roots=outputs == ["roots"])
    data = cavs.keras.for_fit(unequal_minibatches(), model.input, {o: LABELS[o] for o in outputs})
    predicted = model.predict(data, verbose=0)[outputs[0]].ravel()
    labels = np.concatenate([np.ravel(label[outputs[0]]) for _, label in data])
    want = np.mean(np.square(predicted - labels))
    assert model.evaluate(data, verbose=0) == pytest.approx(want, rel=1e-5)
    history = model.fit(data, validation_data=data, verbose=0, shuffle=False).history
    assert history["loss"] + history["val_loss"] == pytest.approx([want, want], rel=1e-5)


@pytest.mark.in_turns
@pytest.mark.parametrize("weigh_by", [None, "label", "vertex_label"])
def test_losses_of_graphs_and_of_vertices_have_one_weight(weigh_by):
    model = regression(vertices=True, roots=True)
    data = cavs.keras.for_fit(unequal_minibatches(), model.input, LABELS, weigh_by)
    losses, weights = [], []
    for inputs, labels in data:
        predicted = {k: np.ravel(v) for k, v in model(inputs).items()}
        of_batch = [np.mean(np.square(v - np.ravel(labels[k]))) for k, v in predicted.items()]
        losses.append(sum(of_batch))
        weights.append(len(labels["vertices" if weigh_by == "vertex_label" else "roots"]))
    want = np.average(losses, weights=weights)
    loss = model.evaluate(data, verbose=0, return_dict=True)["loss"]
    assert loss == pytest.approx(want, rel=1e-5)


@pytest.mark.in_turns
def test_dicts_of_graphs_are_weighed_by_graphs_without_for_fit():
    model = regression(vertices=False, roots=True)
    batches = unequal_minibatches()
    names = list(model.input)
    plain = batches.map(lambda batch: ({k: batch[k] for k in names}, {"roots": batch["label"]}))
    loss = model.evaluate(cavs.keras.for_fit(batches, names, {"roots": "label"}), verbose=0)
    assert model.evaluate(plain, verbose=0) == pytest.approx(loss)


@pytest.mark.in_turns
@pytest.mark.parametrize("names", [["token", "child_ids"], [*graph_inputs(), "!"]])
def test_for_fit_rejects_a_first_input_of_another_length(names):
    examples = cavs.data.listops(4).map(lambda example: example | {"!": example["token"]})
    batches = cavs.data.batch(examples, 2, as_dict=True)
    message = (
        r"inputs: got '(!|child_ids)' as the first in the order of names but expected '0_graphs_of"
    )
    with pytest.raises(ValueError, match=message):
        cavs.keras.for_fit(batches, names, "label")


def test_for_fit_rejects_unknown_names():
    batches = cavs.data.batch(cavs.data.listops(4), 2, as_dict=True)
    with pytest.raises(ValueError, match="expected 'lable' among them"):
        cavs.keras.for_fit(batches, ["token"], "lable")
