"""What a vertex function does beside its results is refused, since it would not be done."""

import sys

import keras
import pytest
import tensorflow as tf

import cavs_tf as cavs

GRAPHS = cavs.GraphBatch.chain([3])
X = tf.constant([[1.0], [2.0], [3.0]])


def lost(operator):
    return pytest.raises(ValueError, match=rf"got operator .* \({operator}\), whose effect would")


def cell_of(effect):
    @cavs.vertex_function(state_size=1, arity=1)
    def cell(v):
        total = v.pull() + v.gather(0)
        effect(total)
        v.scatter(total)
        v.push(total)

    return cell


def positive(x):
    tf.debugging.assert_greater(x, 0.0)


@tf.function
def prints(x):
    tf.print(x)
    return x


@tf.function
def draws(x):
    return x + tf.random.uniform([])


def print_some(x):
    return tf.cond(tf.size(x) > 0, lambda: prints(x), lambda: x)


def print_before(x):
    with tf.control_dependencies([tf.print(x)]):
        return tf.identity(x)


EFFECTS = {
    "print": (tf.print, "PrintV2"),
    "print before": (print_before, "PrintV2"),
    "function of Python": (lambda x: tf.py_function(print, [x], []), "EagerPyFunc"),
    "value of Python": (lambda x: tf.numpy_function(lambda x: x, [x], tf.float32), "PyFunc"),
    "file": (lambda x: tf.io.write_file("/dev/null", tf.strings.as_string(x[0, 0])), "WriteFile"),
    "function": (prints, "StatefulPartitionedCall"),
    "branch": (print_some, "If"),
}


@pytest.mark.parametrize("name", EFFECTS)
def test_effects_are_refused(name, capfd):
    effect, operator = EFFECTS[name]
    with lost(operator):
        cell_of(effect)(GRAPHS, X)


def test_the_reference_has_effects(capfd):
    cell = cell_of(lambda x: tf.print("total", x[0, 0], output_stream=sys.stdout))
    cavs.reference.run(cell, GRAPHS, X)
    shown = capfd.readouterr().out.split("\n")
    assert shown[-4:] == ["total 1", "total 3", "total 6", ""]


class AddsLoss(keras.layers.Layer):
    def call(self, x):
        self.add_loss(tf.reduce_sum(x))
        return x


@pytest.mark.parametrize(
    "layer",
    [keras.layers.Dense(2, activity_regularizer="l2"), AddsLoss()],
    ids=["regularizer", "own"],
)
def test_losses_of_vertices_are_refused(layer):
    @cavs.vertex_function(state_size=2, arity=1)
    def cell(v):
        v.scatter(layer(v.pull()))
        v.push(v.gather(0))

    graphs, rows = cavs.GraphBatch.chain([2]), tf.ones([2, 2])
    for call in (cell, cavs.keras.Graph(cell)):
        for args in ((graphs, rows), (cavs.keras.graph_inputs(), keras.Input([2]))):
            with pytest.raises(ValueError, match=r"^cell: got a loss, from add_loss or the act"):
                call(*args)
    assert not layer.losses


def test_an_assertion_fails_in_the_reference():
    cell = cell_of(lambda x: tf.debugging.assert_less(x, 5.0, "too large"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="too large"):
        cavs.reference.run(cell, GRAPHS, X)


def test_functions_whose_results_are_read_have_effects(capfd):
    @tf.function
    def prints_first(x):
        tf.print("here", output_stream=sys.stdout)
        return x

    @cavs.vertex_function(state_size=1, arity=1)
    def cell(v):
        total = prints_first(v.pull() + v.gather(0))
        v.scatter(total)
        v.push(total)

    cell(GRAPHS, X)
    capfd.readouterr()
    cell(GRAPHS, X)
    assert capfd.readouterr().out == "here\n" * 3


@pytest.mark.parametrize(
    "allowed",
    [
        positive,
        lambda x: tf.debugging.Assert(x[0, 0] > 0, [x]),
        lambda x: tf.debugging.assert_equal(tf.shape(x)[1], 1),
        lambda x: tf.debugging.assert_less(tf.shape(x)[0], 9),
        lambda x: tf.debugging.assert_shapes([(x, ("N", 1))]),
        lambda x: tf.random.uniform([3]),
        draws,
    ],
)
def test_what_has_no_effects_is_allowed(allowed):
    assert cell_of(allowed)(GRAPHS, X).numpy().ravel().tolist() == [1, 3, 6]
