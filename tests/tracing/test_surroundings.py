"""A trace contains what its Python code saw; if any of that has changed, it is traced again."""

import dataclasses
import functools
import gc
import time
import timeit
import types
import warnings
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.graph_support import _graph_support as graph_support

CHAINS = cavs.GraphBatch.chain([3, 1])
ROWS = tf.constant([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]])
UNITS = 2

# Globals that vertex functions read.
SCALE = 1.0
SETTINGS = types.ModuleType("settings")
SETTINGS.scale = 1.0


class Scaled(cavs.GraphSupport):
    """Multiplies by `scale()`, which each test reads from another source."""

    arity = 1

    def __init__(self, **kwargs):
        super().__init__(state_size=UNITS, **kwargs)

    def vertex(self):
        state = self.scale() * self.pull() + self.gather(0)
        self.scatter(state)
        self.push(state)


@dataclasses.dataclass
class Config:
    scale: float = 1.0


class Slots:
    __slots__ = ("scale",)

    def __init__(self):
        self.scale = 1.0


class Callable:
    def __init__(self):
        self.by = 1.0

    def __call__(self):
        return self.by


def default(value=1.0):
    return value


def of_attribute(cell):
    cell.s = 1.0
    type(cell).scale = lambda self: self.s
    return lambda new: setattr(cell, "s", new)


def of_attribute_as_in_keras(cell):
    cell.history = 1.0
    type(cell).scale = lambda self: self.history
    return lambda new: setattr(cell, "history", new)


def of_class(cell):
    type(cell).s = 1.0
    type(cell).scale = lambda self: self.s
    return lambda new: setattr(type(cell), "s", new)


def of_attribute_over_class(cell):
    type(cell).s = 1.0
    type(cell).scale = lambda self: self.s
    return lambda new: setattr(cell, "s", new)


def of_dynamic_attribute(cell):
    cell.s_0 = 1.0
    type(cell).scale = lambda self: getattr(self, f"s_{0}")
    return lambda new: setattr(cell, "s_0", new)


def of_an_attribute_that_is_absent(cell):
    type(cell).scale = lambda self: self.absent if hasattr(self, "absent") else 1.0

    def change(new):
        cell.absent = new

    return change


def of_tensor(cell):
    cell.t = tf.constant(1.0)
    type(cell).scale = lambda self: self.t
    return lambda new: setattr(cell, "t", tf.constant(new))


def of_large_tensor(cell):
    cell.t = tf.ones([300, 1])
    type(cell).scale = lambda self: tf.reduce_mean(self.t)
    return lambda new: setattr(cell, "t", new * tf.ones([300, 1]))


def of_closure(cell):
    s = 1.0

    def change(new):
        nonlocal s
        s = new

    type(cell).scale = lambda self: s
    return change


def of_global(cell):
    type(cell).scale = lambda self: SCALE
    return lambda new: globals().update(SCALE=new)


def of_module(cell):
    type(cell).scale = lambda self: SETTINGS.scale
    return lambda new: setattr(SETTINGS, "scale", new)


def of_helper(cell):
    config = Config()

    def helper():
        return config.scale

    type(cell).scale = lambda self: helper()
    return lambda new: setattr(config, "scale", new)


def of_default(cell):
    function = types.FunctionType(default.__code__, globals(), "f", (1.0,))
    cell.f = function
    type(cell).scale = lambda self: self.f()
    return lambda new: setattr(function, "__defaults__", (new,))


def of_partial(cell):
    config = Config()
    cell.f = functools.partial(lambda c: c.scale, config)
    type(cell).scale = lambda self: self.f()
    return lambda new: setattr(config, "scale", new)


def of_list(cell):
    cell.list = [1.0]
    type(cell).scale = lambda self: self.list[0]
    return lambda new: cell.list.__setitem__(0, new)


def of_nested_dict(cell):
    d = {"a": [Config()]}
    type(cell).scale = lambda self: d["a"][0].scale
    return lambda new: setattr(d["a"][0], "scale", new)


def of_key(cell):
    d = {1.0: None}
    type(cell).scale = lambda self: next(iter(d))

    def change(new):
        d.clear()
        d[new] = None

    return change


def of_array(cell):
    cell.array = np.ones([1, UNITS], np.float32)
    type(cell).scale = lambda self: self.array
    return lambda new: cell.array.fill(new)


def of_slots(cell):
    slots = Slots()
    type(cell).scale = lambda self: slots.scale
    return lambda new: setattr(slots, "scale", new)


def of_callable(cell):
    cell.f = Callable()
    type(cell).scale = lambda self: self.f()
    return lambda new: setattr(cell.f, "by", new)


def of_property(cell):
    cell.config = Config()
    type(cell).s = property(lambda self: self.config.scale)
    type(cell).scale = lambda self: self.s
    return lambda new: setattr(cell.config, "scale", new)


def of_method(cell):
    type(cell).scale = lambda self: self.other()
    type(cell).other = lambda self: 1.0
    return lambda new: setattr(type(cell), "other", lambda self: new)


def of_type(cell):
    """Changes 1 to 1.0, which is equal."""
    cell.s = 1
    type(cell).scale = lambda self: 1.0 if isinstance(self.s, int) else 2.0
    return lambda new: setattr(cell, "s", {2.0: 1.0}.get(new, 1))


def of_activation(cell):
    cell.dense = keras.layers.Dense(UNITS, kernel_initializer="identity", activation=None)
    cell.dense.build([None, UNITS])
    type(cell).scale = lambda self: self.dense(tf.ones_like(self.pull()))
    return lambda new: setattr(cell.dense, "activation", lambda x: new * x)


def of_another_layer(cell):
    def dense(new):
        made = keras.layers.Dense(UNITS, kernel_initializer="identity", use_bias=False)
        made.build([None, UNITS])
        made.kernel.assign(new * made.kernel)
        return made

    holder = types.SimpleNamespace(dense=dense(1.0))
    type(cell).scale = lambda self: holder.dense(tf.ones_like(self.pull()))
    return lambda new: setattr(holder, "dense", dense(new))


def of_inner_layer(cell):
    inner = keras.layers.Rescaling(1.0)
    cell.model = keras.Sequential([keras.Input([UNITS]), inner])
    type(cell).scale = lambda self: self.model(tf.ones_like(self.pull()))
    return lambda new: setattr(inner, "scale", new)


def of_own_layer(cell):
    class Own(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.by, self.calls = 1.0, []

        def call(self, x):
            return self.by * x

    own = Own()
    type(cell).scale = lambda self: own(tf.ones_like(self.pull()))
    return lambda new: setattr(own, "by", new)


def of_trainable_own_layer(cell):
    class Own(keras.layers.Layer):
        def call(self, x):
            return x if self.trainable else 2.0 * x

    own = Own()
    type(cell).scale = lambda self: own(tf.ones_like(self.pull()))
    return lambda new: setattr(own, "trainable", new == 1.0)


def of_subclassed_dense(cell):
    """An attribute of a layer that only code of Keras reads."""

    class Own(keras.layers.Dense):
        pass

    own = Own(UNITS, kernel_initializer="identity")
    own.build([None, UNITS])
    type(cell).scale = lambda self: own(tf.ones_like(self.pull()))
    return lambda new: setattr(own, "activation", lambda x: new * x)


SOURCES = [value for name, value in list(globals().items()) if name.startswith("of_")]


@pytest.fixture
def traced(monkeypatch):
    """Records the traces."""
    traces = []

    def counted(*args):
        traces.append(args)
        return graph_support_make(*args)

    graph_support_make = graph_support.make_functions
    monkeypatch.setattr(graph_support, "make_functions", counted)
    return traces


@pytest.mark.in_turns
@pytest.mark.parametrize("source", SOURCES, ids=lambda s: s.__name__)
def test_what_has_changed_is_traced_again(source, traced):
    cell = type("Cell", (Scaled,), {})()
    change = source(cell)

    def check(scale):
        want = cavs.reference.run(cell, CHAINS, ROWS)
        for _ in range(2):
            with tf.GradientTape() as tape:
                tape.watch(ROWS)
                outputs = cell(CHAINS, ROWS)
            np.testing.assert_allclose(outputs, want)
            np.testing.assert_allclose(outputs[2], scale * (ROWS[0] + ROWS[1] + ROWS[2]))
            gradient = tape.gradient(outputs, ROWS)
            np.testing.assert_allclose(gradient[0], 3 * scale * tf.ones([UNITS]))

    check(1.0)
    assert len(traced) == 1
    change(2.0)
    check(2.0)
    assert len(traced) == 2
    change(1.0)
    check(1.0)
    assert len(traced) <= 3


class Dense(cavs.GraphSupport):
    arity = 1

    def __init__(self, layers=1, **kwargs):
        super().__init__(state_size=UNITS, **kwargs)
        self.dense = [keras.layers.Dense(UNITS, activation="tanh") for _ in range(layers)]
        self.steps = []

    def vertex(self):
        self.h = self.pull() + self.gather(0)
        for dense in self.dense:
            self.h = dense(self.h)
        self.scatter(self.h)
        self.push(self.h)

    def train(self):
        self.steps.append(len(self.steps))
        return self(CHAINS, ROWS)


def test_lora_is_used_and_trained():
    keras.utils.set_random_seed(1)
    cell = Dense()
    before = cell(CHAINS, ROWS)
    cell.dense[0].enable_lora(1)
    with tf.GradientTape() as tape:
        np.testing.assert_allclose(cell(CHAINS, ROWS), before)
        cell.dense[0].lora_kernel_b.assign([[1.0, 2.0]])
        outputs = cell(CHAINS, ROWS)
    assert np.abs(outputs - before).max() > 0.01
    gradients = tape.gradient(outputs, cell.trainable_variables)
    assert len(gradients) == 3
    assert all(np.any(g) for g in gradients)
    np.testing.assert_allclose(outputs, cavs.reference.run(cell, CHAINS, ROWS), rtol=1e-5)


@pytest.mark.in_turns
def test_lora_after_a_prediction_is_used_in_the_next_one(tmp_path):
    def build(cell):
        graphs = cavs.keras.graph_inputs()
        rows = keras.Input((UNITS,), name="rows")
        root = cavs.keras.Graph(cell)(graphs, rows)
        return keras.Model({**graphs, "rows": rows}, root)

    rows = 0.1 * ROWS
    inputs = {**CHAINS.to_dict(), "rows": rows}
    data = tf.data.Dataset.from_tensors((inputs, tf.zeros([2, UNITS])))
    keras.utils.set_random_seed(0)
    build(Dense()).save_weights(tmp_path / "model.weights.h5")
    cell = Dense()
    model = build(cell)
    model.load_weights(tmp_path / "model.weights.h5")
    before = model.predict(data, verbose=0)
    cell.dense[0].enable_lora(1)
    model.compile(keras.optimizers.SGD(0.5), "mse")
    model.fit(data, epochs=5, verbose=0, shuffle=False)
    after = model.predict(data, verbose=0)
    assert np.abs(after - before).max() > 0.01
    roots = cavs.keras.Roots()(CHAINS, cavs.reference.run(cell, CHAINS, rows))
    np.testing.assert_allclose(after, roots, rtol=1e-5)


def test_a_frozen_batch_normalisation_does_not_look_at_rows():
    norm = keras.layers.BatchNormalization()

    @cavs.vertex_function(state_size=UNITS, arity=1)
    def cell(v):
        v.scatter(v.pull())
        v.push(norm(v.pull()))

    cell(CHAINS, ROWS)
    norm.moving_mean.assign([1.0, 1.0])
    with pytest.raises(ValueError, match=r"rows that depend on each other|changes a variable"):
        cell(CHAINS, ROWS, training=True)
    norm.trainable = False
    outputs = cell(CHAINS, ROWS, training=True)
    np.testing.assert_allclose(outputs, (ROWS - 1) / np.sqrt(1 + norm.epsilon), rtol=1e-5)


def test_another_dtype():
    cell = Dense()
    cell(CHAINS, ROWS)
    cell.dtype_policy = "float64"
    cell.dense = []
    assert cell(CHAINS, tf.cast(ROWS, tf.float64)).dtype == tf.float64


def test_calls_in_one_function_have_their_own_captured_tensors(traced):
    class Holder:
        t = None

    @cavs.vertex_function(state_size=UNITS, arity=1)
    def cell(v):
        v.scatter(v.pull())
        v.push(v.pull() * Holder.t)

    @tf.function
    def step(a, b):
        outputs = []
        with tf.GradientTape() as tape:
            tape.watch([a, b])
            for t in (a, b, a):
                Holder.t = t
                outputs.append(tf.reduce_sum(cell(CHAINS, ROWS)))
        return outputs, tape.gradient(outputs[:2], [a, b])

    total = tf.reduce_sum(ROWS)
    for a, b in ((2.0, 3.0), (5.0, 7.0)):
        outputs, gradients = step(tf.constant(a), tf.constant(b))
        np.testing.assert_allclose(outputs, [a * total, b * total, a * total])
        np.testing.assert_allclose(gradients, [total, total])
    assert len(traced) == 2


def test_a_function_that_is_called_can_be_traced_again():
    """TensorFlow adds outputs to the graph of a `tf.function` when its gradient is made."""
    weight = tf.Variable(tf.ones([UNITS, UNITS]))

    @tf.function
    def act(x):
        return tf.tanh(x @ weight)

    @tf.function
    def act_twice(x):
        return act(act(x))

    @cavs.vertex_function(state_size=UNITS, arity=1)
    def cell(v):
        h = act_twice(v.pull() + v.gather(0))
        v.scatter(h)
        v.push(h)

    for training in (False, True):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(cell(CHAINS, ROWS, training=training) ** 2)
        found = tape.gradient(loss, weight)
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(cavs.reference.run(cell, CHAINS, ROWS) ** 2)
        np.testing.assert_allclose(found, tape.gradient(loss, weight), rtol=1e-5)


class Lazy(cavs.GraphSupport):
    """A layer that is built inside of a `tf.function`, whose trace is kept."""

    arity = 1

    def __init__(self):
        super().__init__(state_size=UNITS)
        self.dense = keras.layers.Dense(UNITS)
        self.act = tf.function(lambda x: tf.tanh(self.dense(x)))

    def vertex(self):
        h = self.act(self.pull() + self.gather(0))
        self.scatter(h)
        self.push(h)


def called_in_a_functional_model(cell):
    cavs.keras.Graph(cell)(cavs.keras.graph_inputs(), keras.Input([UNITS]))


FIRST_CALLS = {
    "op": lambda cell: cell(CHAINS, ROWS),
    "reference": lambda cell: cavs.reference.run(cell, CHAINS, ROWS),
    "step": lambda cell: tf.function(cell)(CHAINS, ROWS),
    "functional model": called_in_a_functional_model,
}


@pytest.mark.parametrize("first", FIRST_CALLS)
def test_a_function_that_is_called_reads_weights_that_it_made(first):
    cell = Lazy()
    FIRST_CALLS[first](cell)
    kernel, _ = cell.trainable_variables
    kernel.assign(tf.eye(UNITS))
    np.testing.assert_allclose(cell.act(ROWS), tf.tanh(ROWS), rtol=1e-6)
    report = cavs.check_equivalence(cell, CHAINS, ROWS)
    assert report.ok, str(report)


def test_what_does_not_change_is_not_traced_again(traced):
    cell = Dense(layers=3)
    step = tf.function(lambda: cell(CHAINS, ROWS))
    for i in range(3):
        cell(CHAINS, ROWS)
        cell(CHAINS.with_schedule(1), {"default": ROWS + i})
        cell.train()
        step()
        cavs.reference.run(cell, CHAINS, ROWS)
        cell.options = cavs.Options(disable=["eager"] * (i % 2))
        cell.dense[0].kernel.assign(cell.dense[0].kernel + 1.0)
    assert len(traced) == 1
    keras.optimizers.SGD().apply_gradients([(tf.ones([2, 2]), cell.dense[1].kernel)])
    cell.set_weights(cell.get_weights())
    assert cell.count_params() == 18
    cell(CHAINS, ROWS)
    assert len(traced) == 1


def test_training_and_inference_take_turns_without_new_traces(traced):
    cell = Dense()
    for _ in range(3):
        cell(CHAINS, ROWS, training=True)
        cell(CHAINS, ROWS, training=False)
        cell(CHAINS, tf.concat([ROWS, ROWS], 1)[:, :2])
    assert len(traced) == 3


@pytest.mark.in_turns
def test_a_model_that_is_trained_by_fit_is_traced_once_per_mode(traced):
    graphs = cavs.keras.graph_inputs()
    rows = keras.Input((UNITS,), name="rows")
    root = cavs.keras.TreeLSTM(UNITS)(graphs, rows)
    model = keras.Model({**graphs, "rows": rows}, root)
    model.compile("adam", "mse")
    inputs = {**CHAINS.to_dict(), "rows": ROWS}
    data = tf.data.Dataset.from_tensors((inputs, tf.zeros([2, UNITS])))
    for _ in range(3):
        model.fit(data, epochs=2, validation_data=data, verbose=0, shuffle=False)
        model.predict(data, verbose=0)
        model(inputs)
    assert len(traced) <= 3


class Around(keras.Model):
    """A model around its cell that the cell reads, and that counts its calls."""

    def __init__(self):
        super().__init__()
        self.dense, self.calls = keras.layers.Dense(UNITS), []
        self.roots, self.last = cavs.keras.Roots(), keras.layers.Dense(1)

        @cavs.vertex_function(state_size=UNITS, arity=1)
        def cell(v):
            state = self.dense(v.pull() + v.gather(0))
            v.scatter(state)
            v.push(state)

        self.cell = cell

    def call(self, inputs):
        self.calls.append(len(self.calls))
        return self.last(self.roots(inputs, self.cell(inputs, inputs["rows"])))


@pytest.mark.in_turns
def test_what_keras_does_with_a_model_around_the_vertex_function(traced, tmp_path):
    model, inputs = Around(), {**CHAINS.to_dict(), "rows": ROWS}
    data = tf.data.Dataset.from_tensors((inputs, tf.zeros([2, 1])))
    for training in (None, True, False):
        model(inputs, training=training)
    model.compile("adam", "mse")
    model.fit(data, validation_data=data, shuffle=False, verbose=0)
    before = len(traced)
    model.compile("sgd", "mse", run_eagerly=True)
    stop = keras.callbacks.EarlyStopping("loss")
    model.fit(data, epochs=2, callbacks=[stop], shuffle=False, verbose=0)
    model.predict(data, verbose=0)
    model.save_weights(tmp_path / "model.weights.h5")
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    tf.train.Checkpoint(model=model).restore(path)
    model.summary(print_fn=lambda *_, **__: None)
    model(inputs)
    assert len(traced) == before
    model.dense.enable_lora(1)
    model(inputs)
    assert len(traced) == before + 1


@pytest.mark.in_turns
def test_few_traces_are_kept_and_a_warning_says_what_changes():
    cell = type("Cell", (Scaled,), {})()
    change = of_attribute(cell)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for i in range(40):
            change(float(i))
            cell(CHAINS, ROWS)
    messages = [str(w.message) for w in caught if "was traced" in str(w.message)]
    assert len(messages) == 1
    assert "was traced 8 times again, as what the vertex function sees changed" in messages[0]
    assert "now Cell.s. Keep what changes in a tf.Variable, or pull it." in messages[0]
    assert len(cell._cache.known) == 32


@pytest.mark.in_turns
def test_graphs_of_functions_are_not_kept():
    class Holder:
        t = None

    @cavs.vertex_function(state_size=UNITS, arity=1)
    def cell(v):
        v.scatter(v.pull())
        v.push(v.pull() * Holder.t)

    def make():
        @tf.function
        def step(a):
            Holder.t = a
            outputs = cell(CHAINS, ROWS)
            Holder.t = None
            return outputs

        step(tf.constant(1.0))
        return weakref.ref(step.get_concrete_function(tf.constant(1.0)).graph)

    graph = make()
    Holder.t = tf.constant(2.0)
    cell(CHAINS, ROWS)
    gc.collect()
    assert graph() is None


def test_looking_for_changes_is_quick():
    cell = Dense(layers=10)
    cell(CHAINS, ROWS)
    surroundings = cell._cache.known[0].surroundings
    assert surroundings.change() is None
    # It takes about 30 microseconds; the bound allows for slow machines.
    times = timeit.repeat(surroundings.change, timer=time.thread_time, number=20, repeat=5)
    assert min(times) / 20 < 3e-4


def test_modules_of_the_package_are_not_followed():
    class OfThePackage(Scaled):
        def scale(self):
            return 1.0 if callable(cavs.keras.TreeLSTM) else 2.0

    cell = OfThePackage()
    cell(CHAINS, ROWS)
    # Following them would take seconds and gigabytes: they lead to all that TensorFlow holds.
    assert len(cell._cache.known[0].surroundings._places) < 100
