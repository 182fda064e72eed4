"""What is saved comes back, and layers say which shapes they return."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.keras import (
    DAGNN,
    GGNN,
    GRU,
    LSTM,
    DAGNNCell,
    Dropout,
    Embedding,
    GGNNCell,
    Graph,
    GRUCell,
    Pool,
    Roots,
    Split,
    TreeGRU,
    TreeGRUCell,
    TreeLSTM,
    TreeLSTMCell,
    graph_inputs,
)
from tests.helpers import batches as make

TREES = cavs.GraphBatch.chain([3, 1])
ROWS = make.random_rows(TREES)
OPTIONS = cavs.Options(disable=["fuse", "split"])


@keras.saving.register_keras_serializable("tests")
class WithKwargs(cavs.GraphSupport):
    """Passes all arguments of a GraphSupport on, as Keras's documentation has it."""

    arity = 2

    def __init__(self, units, **kwargs):
        super().__init__(units, **kwargs)
        self.units = units
        self.dense = keras.layers.Dense(units)

    def vertex(self):
        h = tf.tanh(self.dense(self.pull()) + self.gather(0) + self.gather(1))
        self.scatter(h)
        self.push(h)

    def get_config(self):
        return super().get_config() | {"units": self.units}


@keras.saving.register_keras_serializable("tests")
class OfItself(WithKwargs):
    """Chooses its options itself."""

    def __init__(self, units, **kwargs):
        super().__init__(units, options=OPTIONS, **kwargs)


@keras.saving.register_keras_serializable("tests")
class WithoutConfig(cavs.GraphSupport):
    """Leaves its config to Keras, which takes the arguments."""

    arity = 2

    def __init__(self, units=4, disable=(), **kwargs):
        super().__init__(units, options=cavs.Options(disable=disable), **kwargs)
        self.dense = keras.layers.Dense(units)

    vertex = WithKwargs.vertex


@keras.saving.register_keras_serializable("tests")
class WithOwnFromConfig(WithKwargs):
    @classmethod
    def from_config(cls, config):
        return cls(**config)


@cavs.vertex_function(state_size=make.FEATURES, arity=2, options=OPTIONS)
@keras.saving.register_keras_serializable("tests")
def known_function(v):
    total = v.pull() + v.gather(0) + v.gather(1)
    v.scatter(total)
    v.push(total)


@cavs.vertex_function(state_size=make.FEATURES, arity=2)
def unknown_function(v):
    total = v.pull() + v.gather(0) + v.gather(1)
    v.scatter(total)
    v.push(total)


@keras.saving.register_keras_serializable("tests")
class Plain(cavs.GraphSupport):
    """Has no `__init__`: all its arguments are those of a GraphSupport."""

    arity = 1

    def vertex(self):
        self.scatter(self.pull() + self.gather(0))
        self.push(self.gather(0))


@keras.saving.register_keras_serializable("tests")
class WithArity(WithKwargs):
    def __init__(self, units, arity, **kwargs):
        super().__init__(units, arity=arity, **kwargs)


CELLS = {
    "plain": lambda: Plain(make.FEATURES),
    "plain with an arity": lambda: Plain(make.FEATURES, arity=2),
    "arity": lambda: WithKwargs(4, arity=3),
    "any arity": lambda: WithKwargs(4, arity=None),
    "own arity": lambda: WithArity(4, 3),
    "kwargs": lambda: WithKwargs(4, options=OPTIONS),
    "default options": lambda: WithKwargs(4),
    "of itself": lambda: OfItself(4),
    "without config": lambda: WithoutConfig(disable=["fuse"]),
    "own from_config": lambda: WithOwnFromConfig(4, options=OPTIONS),
    "function": lambda: known_function,
    "TreeLSTMCell": lambda: TreeLSTMCell(4, options=OPTIONS),
}


def model_of(layer):
    graphs, rows = graph_inputs(), keras.Input([make.FEATURES], name="rows")
    return keras.Model({**graphs, "rows": rows}, layer(graphs, rows))


def saved_and_loaded(model, path, **kwargs):
    model.save(path / "model.keras")
    return keras.models.load_model(path / "model.keras", **kwargs)


def inputs():
    return {**TREES.to_dict(), "rows": ROWS}


@pytest.mark.in_turns
@pytest.mark.parametrize("name", CELLS)
def test_a_cell_keeps_its_options_and_weights(name, tmp_path):
    cell = CELLS[name]()
    model = model_of(Graph(cell))
    loaded = saved_and_loaded(model, tmp_path)
    (graph,) = (layer for layer in loaded.layers if isinstance(layer, Graph))
    assert graph.cell is not cell and graph.cell.options == cell.options
    assert graph.cell.arity == cell.arity
    np.testing.assert_array_equal(loaded(inputs()), model(inputs()))


def test_the_file_of_a_function_needs_the_function(tmp_path):
    model = model_of(Graph(unknown_function))
    message = (
        "vertex_function: got 'unknown_function' from a file, which is no function that is known "
        "here, but expected one. Write @keras.saving.register_keras_serializable() between "
        "@cavs_tf.vertex_function(...) and the function, or pass "
        "custom_objects={'unknown_function': ...} to keras.models.load_model."
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        saved_and_loaded(model, tmp_path)
    objects = {"unknown_function": unknown_function}
    loaded = saved_and_loaded(model, tmp_path, custom_objects=objects)
    np.testing.assert_array_equal(loaded(inputs()), model(inputs()))


def test_a_function_is_registered_before_it_becomes_a_cell():
    message = (
        "__name__: got a vertex function, which has none, but expected a function or class. Write "
        "@keras.saving.register_keras_serializable() below @cavs_tf.vertex_function(...)."
    )
    with pytest.raises(AttributeError, match=re.escape(message)):
        keras.saving.register_keras_serializable("tests")(unknown_function)


def test_options_of_a_config_are_checked():
    with pytest.raises(ValueError, match=r"^options: got 'no' but expected an Options\."):
        WithKwargs(4, options="no")


LAYERS = {
    "Graph": lambda: Graph(WithKwargs(5)),
    "Graph of vertices": lambda: Graph(WithKwargs(5), return_vertices=True),
    "cell": lambda: WithKwargs(5),
    "Roots": Roots,
    "Split": Split,
    "Pool": Pool,
    "Pool of attention": lambda: Pool("attention"),
}
for _layer in (TreeLSTM, TreeGRU, DAGNN):
    LAYERS[_layer.__name__] = lambda layer=_layer: layer(5)
    LAYERS[f"{_layer.__name__} with all"] = lambda layer=_layer: layer(
        5, return_vertices=True, return_state=True
    )
LAYERS["GGNN"] = lambda: GGNN(5)
LAYERS["GGNN of vertices"] = lambda: GGNN(5, return_vertices=True)
for _layer in (TreeLSTMCell, TreeGRUCell, GRUCell, DAGNNCell, GGNNCell):
    LAYERS[_layer.__name__] = lambda layer=_layer: layer(5)
for _layer in (LSTM, GRU):
    LAYERS[f"{_layer.__name__} over chains"] = lambda layer=_layer: layer(5, return_sequences=True)
OF_TENSORS = {
    "LSTM": (lambda: LSTM(5, return_sequences=True, return_state=True), [None, None, 3], None),
    "GRU": (lambda: GRU(5), [2, 4, 3], None),
    "Embedding": (lambda: Embedding(9, 5), [None, 4], "int32"),
    "Embedding of some": (lambda: Embedding(9, 5, mask_negative=True), [None], "int32"),
    "Dropout": (lambda: Dropout(0.5), [None, 4], None),
}


def flat(nested):
    """The shapes, of which there may be one alone."""
    return [nested] if isinstance(nested[0], (int, type(None))) else nested


def shapes(nested):
    return tf.nest.map_structure(lambda tensor: tuple(tensor.shape), nested)


class Around(keras.Model):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def call(self, inputs):
        return self.layer(inputs["graphs"], inputs["rows"])


@pytest.mark.parametrize("name", LAYERS)
def test_layers_over_graphs_tell_the_shapes_that_they_return(name, capsys):
    graphs, rows = graph_inputs(), keras.Input([make.FEATURES])
    of_graphs = {name: tuple(tensor.shape) for name, tensor in graphs.items()}
    before = LAYERS[name]().compute_output_shape(of_graphs, tuple(rows.shape))
    layer = LAYERS[name]()
    assert before == shapes(layer(graphs, rows))
    assert layer.compute_output_shape(of_graphs, tuple(rows.shape)) == before
    known = {name: (value.shape[0],) for name, value in TREES.to_dict().items()}
    told = layer.compute_output_shape(known, tuple(ROWS.shape))
    model = Around(layer)
    got = shapes(model({"graphs": TREES.to_dict(), "rows": ROWS}))
    for shape, of_result in zip(flat(told), flat(got), strict=True):
        assert tf.TensorShape(shape).is_compatible_with(of_result)
    model.summary()  # Keras asks the layer for shapes.
    assert layer.name in capsys.readouterr().out


def test_shapes_of_other_arguments_are_refused_as_keras_expects():
    message = "compute_output_shape: got input_shape but expected the shapes of the arguments of a"
    for layer in (Roots(), Split(), Pool(), TreeLSTM(4), WithKwargs(4), Graph(WithKwargs(4))):
        with pytest.raises(NotImplementedError, match=message):
            layer.compute_output_shape(input_shape=(None, 3))
    with pytest.raises(NotImplementedError, match="compute_output_shape: got too little but exp"):
        Roots().compute_output_shape({"graph_splits": (3,)})


@pytest.mark.parametrize("name", OF_TENSORS)
def test_layers_over_tensors_tell_the_shapes_that_they_return(name):
    make_layer, shape, dtype = OF_TENSORS[name]
    layer, x = make_layer(), keras.Input(batch_shape=shape, dtype=dtype)
    assert layer.compute_output_shape(tuple(shape)) == shapes(layer(x))


def test_all_layers_are_asked_for_shapes():
    asked = {name.split(" ")[0] for name in (*LAYERS, *OF_TENSORS)}
    layers = {
        name
        for name, value in vars(cavs.keras).items()
        if isinstance(value, type) and issubclass(value, keras.layers.Layer)
    }
    assert layers <= asked


def test_shapes_of_several_inputs_and_outputs():
    @cavs.vertex_function(state_size=4, arity=1)
    def cell(v):
        v.scatter(v.gather(0) + v.pull("x"))
        v.push(v.pull("x"))
        v.push(tf.cast(v.pull("y"), tf.float32), "other")

    inputs_shape = {"x": (None, 4), "y": (None, 2)}
    want = {"default": (None, 4), "other": (None, 2)}
    assert Graph(cell).compute_output_shape(None, inputs_shape) == want
    rows = {"a": (5, 2), "b": (5, 3)}
    of_graphs = {"graph_splits": (3,), "child_splits": (6,)}
    assert Roots().compute_output_shape(of_graphs, rows) == {"a": (2, 2), "b": (2, 3)}


def test_shapes_of_inputs_of_some_vertices_and_of_states():
    layer = Graph(WithKwargs(5))
    of_graphs = {"graph_splits": (3,), "child_splits": (6,)}
    got = layer.compute_output_shape(of_graphs, ((4, 3), (4,)), initial_state_shape=(2, 5))
    assert got == (2, 5)
    got = layer.cell.compute_output_shape(of_graphs, (5, 3), at_shape=(4,))
    assert got == (4, 5)


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_weights_of_a_layer_that_was_only_built_are_saved(name, tmp_path):
    @keras.saving.register_keras_serializable("tests_of_configs", name=f"Around{name}")
    class Around(keras.layers.Layer):
        def __init__(self, layer, **kwargs):
            super().__init__(**kwargs)
            self.layer = layer

        def get_config(self):
            return super().get_config() | {"layer": keras.saving.serialize_keras_object(self.layer)}

        @classmethod
        def from_config(cls, config):
            return cls(keras.saving.deserialize_keras_object(config.pop("layer")), **config)

        def call(self, x):
            return x

    layer = getattr(cavs.keras, name)(4)
    layer.build((None, None, 5))
    model = keras.Sequential([keras.Input([2]), Around(layer)])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras").layers[-1].layer
    assert len(loaded.weights) == len(layer.weights) > 0
    for got, want in zip(loaded.weights, layer.weights, strict=True):
        np.testing.assert_array_equal(got, want)
