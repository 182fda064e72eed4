"""What raises while a layer is built or traced is what the user sees, and leaves nothing behind."""

import keras
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._inputs import keras_private as _keras_private
from cavs_tf.keras import DAGNN, GGNN, GRU, LSTM, Graph, TreeGRU, TreeLSTM, graph_inputs
from tests.helpers import batches as make

TREES = make.random_trees([3, 1])
ROWS = make.random_rows(TREES)


class OfTwoArguments(Exception):
    def __init__(self, first, second):
        super().__init__(f"{first} and {second}")


RAISED = {
    "ValueError": ValueError("mine"),
    "of two arguments": OfTwoArguments("mine", "yours"),
    "KeyboardInterrupt": KeyboardInterrupt("mine"),
    "of TensorFlow": tf.errors.InvalidArgumentError(None, None, "mine"),
}


class Cell(cavs.GraphSupport):
    """A cell that holds a layer, and calls functions before and after it."""

    arity = 2

    def __init__(self, before=None, initializer="zeros", after=None, layer=None):
        super().__init__(state_size=4)
        self.before, self.after = before, after
        self.layer = layer or keras.layers.Dense(4, kernel_initializer=initializer)

    def vertex(self):
        self.call_if_given(self.before)
        h = self.layer(self.pull())
        self.call_if_given(self.after)
        self.scatter(h)
        self.push(h)

    @staticmethod
    def call_if_given(function):
        if function is not None:
            function()


def raising(error, calls=0):
    """A function that raises after so many calls. It takes what initializers take."""
    left = [calls]

    def function(*args, **kwargs):
        if not left[0]:
            raise error
        left[0] -= 1

    return function


def functional(layer):
    return layer(graph_inputs(), keras.Input([make.FEATURES]))


def eager(layer):
    return layer(TREES, ROWS)


def compiled(layer):
    return tf.function(lambda: layer(TREES, ROWS), autograph=False)()


def of_sequences(layer):
    return layer(keras.Input([None, make.FEATURES]))


CALLS = (functional, eager, compiled)
OF_TREES = (TreeLSTM, TreeGRU, DAGNN, GGNN)


@pytest.fixture(autouse=True)
def nothing_is_left(recwarn):
    """After each test, layers of Keras and of ours can be made, and Keras's scopes are left."""
    before = _keras_private.thread_state()
    yield
    assert _keras_private.variables_without_value() == []
    after = _keras_private.thread_state()
    for name in ("stateless_scope", "symbolic_scope", "autocast_scope", "current_call_ctx"):
        assert after.get(name) is before.get(name)
    assert of_sequences(keras.layers.LSTM(2)).shape == (None, 2)
    assert functional(Cell()).shape == (None, 4)
    assert eager(Cell()).shape == (4, 4)


def check(error, call, layer):
    with pytest.raises(type(error), match="mine") as caught:
        call(layer)
    assert "automatically infer" not in str(caught.value)


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("call", CALLS)
def test_an_initializer_that_raises(kind, call):
    error = RAISED[kind]
    check(error, call, TreeLSTM(4, kernel_initializer=raising(error)))


@pytest.mark.parametrize("layer", OF_TREES)
def test_an_initializer_of_another_weight_that_raises(layer):
    error = ValueError("mine")
    for name in ("recurrent_initializer", "bias_initializer"):
        check(error, functional, layer(4, **{name: raising(error)}))


@pytest.mark.parametrize("layer", (LSTM, GRU))
def test_an_initializer_over_sequences_that_raises(layer):
    check(
        RAISED["ValueError"], of_sequences, layer(4, kernel_initializer=raising(ValueError("mine")))
    )


@pytest.mark.parametrize("kind", RAISED)
@pytest.mark.parametrize("call", CALLS)
def test_a_vertex_function_that_raises(kind, call):
    error = RAISED[kind]
    for number in range(3):  # It runs for weights, for a check of them, and is traced.
        check_or_pass(error, call, Cell(after=raising(error, number)))
    check(error, call, Graph(Cell(before=raising(error))))


def check_or_pass(error, call, layer):
    """Fewer runs than that do not raise."""
    try:
        call(layer)
    except BaseException as raised:
        assert type(raised) is type(error) and "mine" in str(raised)


@pytest.mark.parametrize("call", CALLS)
def test_a_held_layer_that_raises(call):
    class Held(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(4)

        def call(self, x):
            raise ValueError(f"mine: {self.dense(x).shape}")

    check(RAISED["ValueError"], call, Graph(Cell(layer=Held())))
    error = RAISED["KeyboardInterrupt"]
    check(error, call, Cell(initializer=raising(error)))


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("when", "error"),
    [
        ("on_train_begin", ValueError("mine")),
        ("on_train_batch_end", KeyboardInterrupt("mine")),
        ("on_train_batch_end", ValueError("mine")),
        ("on_epoch_end", KeyboardInterrupt("mine")),
    ],
)
def test_a_callback_that_raises(when, error):
    graphs, rows = graph_inputs(), keras.Input([make.FEATURES], name="rows")
    model = keras.Model({**graphs, "rows": rows}, TreeLSTM(1)(graphs, rows))
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors(({**TREES.to_dict(), "rows": ROWS}, tf.zeros([2, 1])))
    callback = keras.callbacks.Callback()
    setattr(callback, when, raising(error))
    with pytest.raises(type(error), match="mine"):
        model.fit(data, callbacks=[callback], verbose=0)
    model.fit(data, verbose=0)


def test_a_layer_that_was_interrupted_is_built_by_the_next_call():
    error = KeyboardInterrupt("mine")
    times = iter([error])

    def initializer(shape, dtype=None):
        for raised in times:
            raise raised
        return tf.ones(shape, dtype)

    layer = TreeLSTM(4, kernel_initializer=initializer)
    check(error, functional, layer)
    assert functional(layer).shape == (None, 4)
    assert len(layer.get_weights()) == 6


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", ("bfloat16", "float16"))
@pytest.mark.parametrize("layer", (*OF_TREES, LSTM, GRU))
def test_layers_of_16_bits_are_built(layer, dtype):
    call = of_sequences if layer in (LSTM, GRU) else functional
    assert call(layer(4, dtype=dtype)).dtype == dtype
