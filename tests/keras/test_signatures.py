"""Arguments of layers: in Keras's order or by keyword only, and checked where they are given."""

import inspect
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
    Embedding,
    GGNNCell,
    Graph,
    GRUCell,
    TreeGRU,
    TreeGRUCell,
    TreeLSTM,
    TreeLSTMCell,
)

CHAINS, TREES = (LSTM, GRU), (TreeLSTM, TreeGRU, DAGNN, GGNN)
CELLS = (TreeLSTMCell, TreeGRUCell, GRUCell, DAGNNCell, GGNNCell)
THEIRS = {LSTM: keras.layers.LSTM, GRU: keras.layers.GRU}
SUM = cavs.vertex_function(state_size=1)(lambda v: v.scatter(v.pull()))


def rejects(message, error=ValueError):
    return pytest.raises(error, match=re.escape(message))


def parameters(layer, kind=inspect.Parameter.POSITIONAL_OR_KEYWORD) -> list[str]:
    given = inspect.signature(layer.__init__).parameters.values()
    return [p.name for p in given if p.kind == kind and p.name != "self"]


def flags(layer) -> list[str]:
    given = inspect.signature(layer.__init__).parameters.values()
    return [p.name for p in given if isinstance(p.default, bool)]


@pytest.mark.parametrize("layer", CHAINS)
def test_layers_that_replace_those_of_keras_have_their_order(layer):
    assert parameters(layer) == parameters(THEIRS[layer])


@pytest.mark.parametrize("layer", CHAINS)
def test_what_is_given_by_position_means_what_it_means_in_keras(layer):
    values = [4, "relu", "hard_sigmoid", False, "zeros", "ones", "ones"]
    ours, theirs = layer(*values).get_config(), THEIRS[layer](*values).get_config()
    assert {name: ours.get(name) for name in theirs if name != "name"} == {
        name: value for name, value in theirs.items() if name != "name"
    }


@pytest.mark.parametrize("layer", CHAINS)
def test_a_layer_of_ours_is_made_of_the_config_of_keras(layer):
    given = {"return_sequences": True, "dropout": 0.25, "seed": 3, "bias_initializer": "ones"}
    theirs = THEIRS[layer](4, activation="relu", **given, unroll=True, name="words")
    ours = layer.from_config(theirs.get_config())
    again = layer.from_config(ours.get_config())
    assert again.get_config() == ours.get_config()
    assert ours.get_config().items() >= {**given, "unroll": True, "name": "words"}.items() - {
        ("bias_initializer", "ones")
    }


@pytest.mark.parametrize("layer", TREES)
def test_trees_take_only_what_they_are_known_by_from_a_position(layer):
    assert parameters(layer) in (["units"], ["units", "arity", "mode"])


@pytest.mark.parametrize("layer", [*CHAINS, *TREES])
def test_arguments_of_layers_are_written_out(layer):
    of_cell = inspect.signature(layer.cell_class.__mro__[0].__init__).parameters
    assert {"activation", "kernel_initializer", "options", "seed"} <= {
        *parameters(layer),
        *parameters(layer, inspect.Parameter.KEYWORD_ONLY),
    }
    assert "kwargs" in of_cell


@pytest.mark.parametrize("layer", [*CHAINS, *TREES, *CELLS])
def test_an_argument_that_a_layer_does_not_have(layer):
    with rejects(f"units_: got 4 but expected an argument of {layer.__name__}: "):
        layer(3, units_=4)
    with rejects("Leave it out, or take a layer that has it."):
        layer(3, units_=4)


@pytest.mark.parametrize("layer", [LSTM, GRU, GRUCell, DAGNN, DAGNNCell, GGNN, GGNNCell])
@pytest.mark.parametrize("name", ["arity", "mode"])
def test_chains_have_one_child_and_dags_any_number(layer, name):
    with rejects(f"{name}: got 3 but expected an argument of {layer.__name__}: "):
        layer(4, **{name: 3})


@pytest.mark.parametrize("layer", TREES)
def test_trees_have_no_states_between_minibatches(layer):
    with rejects(f"stateful: got True but expected an argument of {layer.__name__}: "):
        layer(4, stateful=True)


@pytest.mark.parametrize(
    "layer,name", [(layer, name) for layer in (*CHAINS, *TREES, *CELLS) for name in flags(layer)]
)
def test_flags_of_layers(layer, name):
    with rejects(f"{name}: got 'no' but expected True or False."):
        layer(4, **{name: "no"})


GRAPHS = cavs.GraphBatch.from_parents([[2, 2, -1]])
FLAGS = {
    "Graph, return_vertices": lambda flag: Graph(SUM, return_vertices=flag),
    "Graph, go_backwards": lambda flag: Graph(SUM, go_backwards=flag),
    "Embedding, mask_negative": lambda flag: Embedding(4, 3, mask_negative=flag),
    "graph_inputs, edges": lambda flag: cavs.keras.graph_inputs(edges=flag),
    "schedule, edges": lambda flag: GRAPHS.schedule(2, edges=flag),
    "with_schedule, edges": lambda flag: GRAPHS.with_schedule(2, edges=flag),
    "batch, edges": lambda flag: cavs.data.batch(cavs.data.listops(1), 1, edges=flag),
    "batch, as_dict": lambda flag: cavs.data.batch(cavs.data.listops(1), 1, as_dict=flag),
    "batch, drop_remainder": lambda flag: cavs.data.batch(
        cavs.data.listops(1), 1, drop_remainder=flag
    ),
    "explain, program": lambda flag: cavs.explain(SUM, GRAPHS, tf.ones([3, 1]), program=flag),
}


@pytest.mark.parametrize("name", FLAGS)
@pytest.mark.parametrize("flag", ["no", None, 0])
def test_flags(name, flag):
    with rejects(f"{name.split(', ')[1]}: got {flag!r} but expected True or False. Pass one of"):
        FLAGS[name](flag)


def test_streams_are_no_flag():
    with rejects("streams: got True but expected 1, 2 or 'auto'"):
        cavs.Options(streams=True)


@pytest.mark.parametrize("units", [0, -1, 2.5, "4", True, None])
def test_units(units):
    for layer in (*CHAINS, *TREES, *CELLS):
        with rejects(f"units: got {units!r} but expected an int of at least 1. Pass one."):
            layer(units)


@pytest.mark.parametrize("units", [0, 2.5, "4", True])
def test_units_of_attention(units):
    with rejects(f"units: got {units!r} but expected an int of at least 1. Pass one."):
        cavs.keras.Pool("attention", units)


def test_numbers_of_numpy_are_numbers():
    layer = LSTM(np.int64(4), dropout=np.float32(0.5))
    assert layer.units == 4 and type(layer.units) is int
    assert TreeLSTM(np.int32(4), np.int64(3)).cell.arity == 3


@pytest.mark.parametrize("name", ["dropout", "recurrent_dropout"])
@pytest.mark.parametrize("rate", [1, -0.5, "0.5", True, None])
def test_rates(name, rate):
    with rejects(f"{name}: got {rate!r} but expected a number in [0, 1). It is the share of"):
        LSTM(4, **{name: rate})


@pytest.mark.parametrize("arity", [0, -1, 1.5, True, "2"])
def test_arity(arity):
    with rejects(f"arity: got {arity!r} but expected an int of at least 1. Pass one."):
        TreeLSTM(4, arity)
    arity = arity or -1
    with rejects(f"arity: got {arity!r} but expected an int of at least 0"):
        cavs.keras.graph_inputs(arity)


@pytest.mark.in_turns
def test_what_changes_nothing_here_is_accepted():
    x = tf.random.stateless_normal([2, 3, 4], [1, 2])
    for given in ({"unroll": True}, {"implementation": 1}, {"use_cudnn": False}):
        keras.utils.set_random_seed(0)
        plain = LSTM(4)(x)
        keras.utils.set_random_seed(0)
        np.testing.assert_array_equal(LSTM(4, **given)(x), plain)
        assert LSTM(4, **given).get_config().items() >= given.items()
    with rejects("use_cudnn: got 'yes' but expected 'auto', True or False. Leave it out."):
        LSTM(4, use_cudnn="yes")
    with rejects("implementation: got 'fast' but expected an int of at least 0. Pass one."):
        LSTM(4, implementation="fast")


@pytest.mark.parametrize("layer", CHAINS)
def test_the_shape_of_inputs_may_be_given_to_the_first_layer(layer):
    with pytest.warns(UserWarning, match="Do not pass an `input_shape`"):
        first = layer(4, input_shape=(None, 3))
    assert keras.Sequential([first]).output_shape == (None, 4)


@pytest.mark.in_turns
@pytest.mark.parametrize("layer", [LSTM, TreeLSTM])
def test_a_seed_fixes_what_is_dropped(layer):
    rows = tf.ones([3, 8])
    inputs = (rows[None],) if layer is LSTM else (GRAPHS, rows)

    def dropped(**kwargs):
        ones = {name: "ones" for name in ("kernel_initializer", "recurrent_initializer")}
        made = layer(4, dropout=0.5, **ones, **kwargs)
        return made(*inputs, training=True).numpy()

    np.testing.assert_array_equal(dropped(seed=3), dropped(seed=3))
    assert not np.array_equal(dropped(seed=3), dropped(seed=4))
    assert layer.from_config(layer(4, seed=3).get_config()).cell.seed == 3


@pytest.mark.parametrize("mask_id", ["0", 1.5, True])
def test_id_that_is_masked(mask_id):
    message = f"mask_id: got {mask_id!r} but expected an int or None. Pass one, or leave it out."
    with rejects(message):
        Embedding(4, 3, mask_id=mask_id)
    with rejects(message):
        cavs.ops.present_ids([1], mask_id=mask_id)


@pytest.mark.parametrize("seed", ["3", 1.5, True])
def test_seeds(seed):
    for layer in (*CHAINS, *TREES):
        with rejects(f"seed: got {seed!r} but expected an int or None. Pass one, or leave it out."):
            layer(4, seed=seed)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "complex64", "bool", "string"])
def test_dtypes(dtype):
    message = f"dtype: got {dtype!r} but expected one of float32, float64, bfloat16, float16, or a"
    for layer in (*CHAINS, *TREES, *CELLS):
        with rejects(message):
            layer(4, dtype=dtype)


def test_ids_of_numpy_are_masked():
    assert type(Embedding(4, 3, mask_id=np.int64(0)).mask_id) is int
