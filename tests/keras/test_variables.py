"""Variables that vertex functions read are weights, whoever created them."""

import itertools
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._inputs import keras_private

CHAINS = cavs.GraphBatch.chain([3, 1])
ROWS = tf.constant([[1.0], [2.0], [3.0], [4.0]])


@keras.saving.register_keras_serializable("test_variables")
class Held(cavs.GraphSupport):
    """Holds a `tf.Variable`, and one that is not trainable."""

    arity = 1

    def __init__(self, **kwargs):
        super().__init__(state_size=1, **kwargs)
        self.w = tf.Variable([[0.5]], name="w")
        self.offset = tf.Variable([1.0], trainable=False, name="offset")

    def vertex(self):
        state = tf.matmul(self.pull(), self.w) + self.gather(0) + self.offset
        self.scatter(state)
        self.push(state)


class HeldInList(cavs.GraphSupport):
    arity = 1

    def __init__(self):
        super().__init__(state_size=1)
        self.parts = [tf.Variable([[0.5]])]

    def vertex(self):
        state = tf.matmul(self.pull(), self.parts[0]) + self.gather(0)
        self.scatter(state)
        self.push(state)


def captured(variable):
    @cavs.vertex_function(state_size=1, arity=1)
    def cell(v):
        state = tf.matmul(v.pull(), variable) + v.gather(0)
        v.scatter(state)
        v.push(state)

    return cell


def train_step(cell, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(cell(CHAINS, ROWS))
    gradients = tape.gradient(loss, cell.trainable_variables)
    optimizer.apply_gradients(zip(gradients, cell.trainable_variables, strict=True))


def test_held_variable_is_a_weight_before_the_first_call():
    cell = Held()
    assert [v.name for v in cell.trainable_variables] == ["w"]
    assert [v.name for v in cell.non_trainable_variables] == ["offset"]


@pytest.mark.parametrize("optimizer", [keras.optimizers.SGD, keras.optimizers.Adam])
def test_gradient_tape_trains_held_variable(optimizer):
    cell = Held()
    train_step(cell, optimizer(0.1))
    assert cell.w.numpy() < 0.5
    np.testing.assert_array_equal(cell.offset, [1.0])


def test_sgd_step_is_exact():
    # The first input is in the sums of three vertices, the second in those of two, and so on.
    cell = Held()
    train_step(cell, keras.optimizers.SGD(0.01))
    np.testing.assert_allclose(cell.w, [[0.5 - 0.01 * (3 * 1 + 2 * 2 + 3 + 4)]])


@pytest.mark.parametrize("scoped", [False, True])
def test_captured_variable_is_a_weight_after_the_first_call(scoped):
    w = tf.Variable([[0.5]], name="outer_w")
    cell = captured(w)
    step = tf.function(lambda: cell(CHAINS, ROWS)) if scoped else lambda: cell(CHAINS, ROWS)
    step()
    step()
    assert [v.name for v in cell.trainable_variables] == ["outer_w"]
    train_step(cell, keras.optimizers.SGD(0.01))
    np.testing.assert_allclose(w, [[0.36]])


def test_variable_in_a_list_is_a_weight():
    cell = HeldInList()
    cell(CHAINS, ROWS)
    assert len(cell.trainable_variables) == 1


def test_variable_that_two_cells_read_is_updated_once():
    w = tf.Variable([[0.5]])

    class Both(keras.Model):
        def __init__(self):
            super().__init__()
            self.one, self.other = captured(w), captured(w)

        def call(self, graphs, rows):
            return self.one(graphs, rows) + self.other(graphs, rows)

    model = Both()
    model(CHAINS.to_dict(), ROWS)
    assert len(model.trainable_variables) == 1


def test_layer_that_a_cell_only_captures_is_tracked():
    dense = keras.layers.Dense(1, use_bias=False)

    @cavs.vertex_function(state_size=1, arity=1)
    def cell(v):
        state = dense(v.pull()) + v.gather(0)
        v.scatter(state)
        v.push(state)

    cell(CHAINS, ROWS)
    assert [id(v) for v in cell.trainable_variables] == [id(dense.kernel)]


@pytest.mark.in_turns
def test_fit_trains_and_files_keep_raw_variables(tmp_path):
    def build():
        graphs = cavs.keras.graph_inputs()
        rows = keras.Input((1,), name="rows")
        root = cavs.keras.Graph(Held())(graphs, rows)
        return keras.Model({**graphs, "rows": rows}, root)

    inputs = {**CHAINS.to_dict(), "rows": ROWS}
    model = build()
    model.compile(keras.optimizers.Adam(0.1), "mse")
    batch = tf.data.Dataset.from_tensors((inputs, tf.zeros([2, 1])))
    losses = model.fit(batch, epochs=5, verbose=0, shuffle=False).history["loss"]
    assert losses[-1] < losses[0]
    model.layers[-1].cell.offset.assign([7.0])

    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(inputs), model(inputs))
    model.save_weights(tmp_path / "model.weights.h5")
    other = build()
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(other(inputs), model(inputs))


@pytest.mark.in_turns
def test_a_distribution_strategy_updates_every_weight_once():
    def build():
        graphs = cavs.keras.graph_inputs()
        rows = keras.Input((1,), name="rows")
        tree = cavs.keras.TreeLSTM(2, return_vertices=True)(graphs, rows)
        root = cavs.keras.Graph(Held())(graphs, keras.layers.Dense(1)(tree))
        model = keras.Model({**graphs, "rows": rows}, root)
        model.compile(keras.optimizers.SGD(0.1), "mse")
        return model

    plain = build()
    with tf.distribute.MirroredStrategy(["CPU:0"]).scope():
        mirrored = build()
    paths = [v.path for v in mirrored.trainable_variables]
    assert len(paths) == len(plain.trainable_variables) == 9, paths
    mirrored.set_weights(plain.get_weights())
    batch = tf.data.Dataset.from_tensors(({**CHAINS.to_dict(), "rows": ROWS}, tf.zeros([2, 1])))
    for model in (plain, mirrored):
        model.fit(batch, epochs=2, verbose=0, shuffle=False)
    for got, want in zip(mirrored.get_weights(), plain.get_weights(), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("make", [Held, lambda: captured(tf.Variable([[0.5]], name="w"))])
def test_checkpoint_restores_raw_variables(make, tmp_path):
    saved, other = make(), make()
    saved(CHAINS, ROWS), other(CHAINS, ROWS)
    saved.trainable_variables[0].assign([[3.0]])
    path = tf.train.Checkpoint(model=saved).save(str(tmp_path / "checkpoint"))
    tf.train.Checkpoint(model=other).restore(path).assert_consumed()
    np.testing.assert_array_equal(other(CHAINS, ROWS), saved(CHAINS, ROWS))


def test_stateless_call_is_refused():
    cell = Held()
    cell(CHAINS, ROWS)
    values = [v.value + 1 for v in cell.trainable_variables]
    others = [v.value for v in cell.non_trainable_variables]
    with pytest.raises(NotImplementedError, match="StatelessScope"):
        cell.stateless_call(values, others, graphs=CHAINS, inputs=ROWS)


def makes_a_layer(v):
    return keras.layers.Dense(1)(v.pull())


def makes_a_seed(v):
    return keras.layers.Dropout(0.5)(v.pull())


def makes_a_variable(v):
    return tf.matmul(v.pull(), tf.Variable([[2.0]]))


def makes_an_untrained_variable(v):
    return v.pull() * tf.Variable(2.0, trainable=False)


MAKERS = [makes_a_layer, makes_a_seed, makes_a_variable, makes_an_untrained_variable]


@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("how", ["eagerly", "in a function", "in a model"])
def test_variables_that_a_vertex_function_makes_are_rejected(make, how):
    @cavs.vertex_function(state_size=1, arity=1)
    def cell(v):
        state = make(v) + v.gather(0)
        v.scatter(state)
        v.push(state)

    def in_a_model():
        graphs, rows = cavs.keras.graph_inputs(), keras.Input((1,), name="rows")
        model = keras.Model({**graphs, "rows": rows}, cavs.keras.Graph(cell)(graphs, rows))
        model({**CHAINS.to_dict(), "rows": ROWS})

    call = {
        "eagerly": lambda: cell(CHAINS, ROWS),
        "in a function": lambda: tf.function(lambda: cell(CHAINS, ROWS))(),
        "in a model": in_a_model,
    }[how]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Keras warns before it raises.
        with pytest.raises(
            ValueError, match=r"got new variables \(.*\) whenever it runs but expected"
        ):
            call()
    assert not cell.trainable_weights


def test_layers_that_make_their_weights_when_they_are_first_used_are_not():
    class Lazy(keras.layers.Layer):
        def call(self, x):
            if not hasattr(self, "inner"):
                self._tracker.unlock()
                self.inner = keras.layers.Dense(1)
            return self.inner(x)

    lazy = Lazy()

    @cavs.vertex_function(state_size=1, arity=1)
    def cell(v):
        state = lazy(v.pull()) + v.gather(0)
        v.scatter(state)
        v.push(state)

    cell(CHAINS, ROWS)
    assert {id(v) for v in cell.trainable_variables} == {id(v) for v in lazy.inner.weights}


@pytest.mark.parametrize(("layer", "runs"), [(tf.tanh, 2), (keras.layers.Dense(1), 3)])
def test_a_function_is_run_again_only_if_it_made_variables(layer, runs):
    count = itertools.count()

    @cavs.vertex_function(state_size=1, arity=1)
    def cell(v):
        next(count)
        state = layer(v.pull()) + v.gather(0)
        v.scatter(state)
        v.push(state)

    cell(CHAINS, ROWS)
    assert next(count) == runs  # It runs for variables, perhaps for a check, and is traced.


@pytest.mark.in_turns
def test_a_function_is_run_once_for_shapes_if_build_made_its_variables():
    class Built(cavs.GraphSupport):
        arity = 1

        def build(self, graphs_shape=None, inputs_shape=None):
            self.w = self.add_weight(shape=[1, 1])

        def vertex(self):
            next(count)
            state = tf.matmul(self.pull(), self.w) + self.gather(0)
            self.scatter(state)
            self.push(state)

    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.graph = cavs.keras.Graph(Built(1))

        def call(self, rows):
            return self.graph(CHAINS, rows)

    count = itertools.count()
    Model()(ROWS)
    assert next(count) == 2  # It runs for the shapes of the model and its layers, and is traced.


@pytest.mark.parametrize("layer", ["TreeLSTM", "TreeGRU", "GGNN", "LSTM", "GRU"])
def test_layers_make_their_weights_without_a_run_for_shapes(layer, monkeypatch):
    layer, for_shapes = getattr(cavs.keras, layer)(2), []
    vertex = type(layer.cell).vertex

    def run(self):
        for_shapes.append(keras_private.in_symbolic_scope())
        vertex(self)

    monkeypatch.setattr(type(layer.cell), "vertex", run)
    layer(CHAINS, ROWS)
    assert for_shapes == [False, False]  # It runs to find out what it pulls, and is traced.


@pytest.fixture
def clean_keras():
    """Keras keeps variables whose initializer has failed, and tries them again for later layers."""
    yield
    keras.utils.clear_session()


@pytest.mark.in_turns
def test_what_an_initializer_raises_is_raised(clean_keras):
    def initializer(shape, dtype):
        raise RuntimeError("No such numbers.")

    layer = cavs.keras.TreeLSTM(4, recurrent_initializer=initializer)
    graphs = cavs.GraphBatch.chain([3])
    with pytest.raises(RuntimeError, match="No such numbers"):
        layer(graphs, tf.ones([3, 2]))
