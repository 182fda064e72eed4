"""Layers in loops, branches and pipelines return what they return eagerly.

There TensorFlow's optimizer knows sizes that the trace does not, and folds what follows from them.
"""

import itertools

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
    Dropout,
    Embedding,
    Graph,
    Pool,
    Roots,
    Split,
    TreeGRU,
    TreeLSTM,
)
from tests.helpers import batches as make

pytestmark = pytest.mark.optimized
UNITS = 4
TIMES = 2  # The steps of a loop.
TREES = make.random_trees([4, 1, 3])
ROWS = make.random_rows(TREES, UNITS)
NO_YES = (False, True)


@cavs.vertex_function(state_size=UNITS, arity=2)
def tree_sum(v):
    total = v.pull() + v.gather(0) + v.gather(1)
    v.scatter(total)
    v.push(total)


def sequence_case(layer_class, parts, masked, initial, backwards):
    """A layer over sequences, its call, and the tensors that it is called with."""
    layer = layer_class(UNITS, return_sequences=masked, return_state=True, go_backwards=backwards)

    def call(sequences, mask, *states):
        mask = mask if masked else None
        return layer(sequences, mask=mask, initial_state=list(states) or None)

    steps = 2 if masked else 1
    x = tf.constant(np.random.default_rng(0).normal(size=(3, steps, UNITS)), "float32")
    mask = tf.constant([[True, True], [True, False], [False, False]])
    states = _states(parts if initial else 0)
    return call, [x, mask, *states], len(states)


def tree_case(layer_class, parts, initial, backwards, **kwargs):
    layer = layer_class(
        UNITS, return_vertices=initial, return_state=True, go_backwards=backwards, **kwargs
    )

    def call(splits, ids, graph_splits, rows, vertices, *states):
        graphs = cavs.GraphBatch(splits, ids, graph_splits)
        rows = cavs.VertexRows(tf.gather(rows, vertices), vertices) if backwards else rows
        return layer(graphs, rows, initial_state=list(states) or None)

    vertices = tf.constant([0, 1, 4, 6])
    states = _states(parts if initial else 0)
    return call, [*_structure(), ROWS, vertices, *states], len(states)


def graph_case(layer):
    def call(splits, ids, graph_splits, rows):
        return layer(cavs.GraphBatch(splits, ids, graph_splits), rows)

    return call, [*_structure(), ROWS], 0


def _structure():
    return [TREES.child_splits, TREES.child_ids, TREES.graph_splits]


def _states(count):
    random = np.random.default_rng(1)
    return [tf.constant(random.normal(size=(3, UNITS)), "float32") for _ in range(count)]


def make_cases():
    """By name: a function, the tensors that it is called with, and how many of them are states."""
    cases = {}
    for flags in itertools.product(NO_YES, NO_YES, NO_YES):  # Each layer has all pairs of them.
        layer, parts = (GRU, 1) if sum(flags) % 2 else (LSTM, 2)
        cases[f"{layer.__name__}, {flags}"] = sequence_case(layer, parts, *flags)
    for flag in NO_YES:
        cases[f"TreeLSTM, {flag}"] = tree_case(TreeLSTM, 2, flag, flag, arity=3)
        cases[f"TreeGRU, {flag}"] = tree_case(TreeGRU, 1, flag, not flag, arity=3)
    cases["TreeLSTM of any arity"] = tree_case(TreeLSTM, 2, False, False, arity=None)
    cases["DAGNN"] = tree_case(DAGNN, 1, False, True)
    cases["GGNN"] = graph_case(GGNN(UNITS, edge_types=None, combine="mean"))
    for layer in (Graph(tree_sum), Roots(), Split(), *map(Pool, ("mean", "max", "attention"))):
        cases[f"{layer.name}"] = graph_case(layer)
    table = Embedding(9, UNITS, mask_negative=True)
    cases["Embedding"] = (lambda ids: table(ids)[0]), [tf.constant([3, -1, 8])], 0
    drop = Dropout(0.5)
    cases["Dropout"] = drop, [ROWS], 0
    return cases


@pytest.fixture(scope="module")
def cases():
    cases = make_cases()
    keras.utils.set_random_seed(0)
    for call, tensors, _ in cases.values():
        call(*tensors)
    return cases


def halved(tensors):
    """Other tensors of the same sizes."""
    return [t * 0.5 if t.dtype.is_floating else t for t in tensors]


def following(cases, inputs, outputs):
    """The inputs of the next step: the states that layers returned, and the others halved."""
    result = []
    for (*_, count), tensors, results in zip(cases.values(), inputs, outputs, strict=True):
        others = tensors[: len(tensors) - count]
        result.append([*halved(others), *results[len(results) - count :]])
        for value, before in zip(result[-1], tensors, strict=True):
            value.set_shape(before.shape)
    return result


def all_of(cases, inputs):
    return [tf.nest.flatten(call(*x)) for (call, *_), x in zip(cases.values(), inputs, strict=True)]


def shapes_of(nested, relaxed):
    """The specs of tensors, whose sizes but the last are unknown if they are relaxed."""

    def spec(tensor):
        shape = [None] * len(tensor.shape[:-1]) + [*tensor.shape[-1:]]
        shape = [None] if len(shape) == 1 else shape
        return tf.TensorSpec(shape if relaxed else tensor.shape, tensor.dtype)

    return tf.nest.map_structure(spec, nested)


def in_while(cases, inputs, outputs, relaxed, first):
    def body(step, inputs, _):
        outputs = all_of(cases, inputs)
        return step + 1, following(cases, inputs, outputs), outputs

    start = (0, inputs, tf.nest.map_structure(tf.zeros_like, outputs))
    specs = shapes_of(inputs, relaxed), shapes_of(outputs, relaxed=True)
    invariants = tf.nest.map_structure(lambda spec: spec.shape, (tf.TensorSpec([]), *specs))
    return tf.while_loop(lambda step, *_: step < TIMES, body, start, invariants)[2]


def in_cond(cases, inputs, outputs, relaxed, first):
    last = [*map(halved, inputs)]
    return tf.cond(first, lambda: all_of(cases, inputs), lambda: all_of(cases, last))


def in_map(cases, inputs, outputs, relaxed, first):
    both = tf.nest.map_structure(lambda *t: tf.stack(t), inputs, [*map(halved, inputs)])
    specs = shapes_of(outputs, relaxed)
    mapped = tf.map_fn(lambda x: all_of(cases, x), both, fn_output_signature=specs)
    return tf.nest.map_structure(lambda values: values[1], mapped)


PLACES = {
    "tf.while_loop": in_while,
    "tf.cond": in_cond,
    "tf.map_fn": in_map,
}


def some_of(cases, place, relaxed):
    """Half of the layers: each is tested in every place, in half of them with relaxed shapes."""
    first = [*PLACES, "pipeline"].index(place) + relaxed
    return {name: cases[name] for name in [*cases][first % 2 :: 2]}


def check(cases, got, want):
    for name, results, expected in zip(cases, got, want, strict=True):
        for a, b in zip(results, expected, strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype, name
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.fixture(
    params=[
        pytest.param(True, id="optimized"),
        pytest.param(False, id="as traced", marks=pytest.mark.long),
    ]
)
def runs(request):
    """Runs something with TensorFlow's optimizer of graphs, or without it."""

    def run(function, *args):
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": not request.param})
        try:
            return function(*args)
        finally:
            tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": False})

    return run


@pytest.fixture(scope="module")
def traced(cases):
    """The functions by place and shapes, each traced once."""
    functions = {}

    def function(place, relaxed):
        if (place, relaxed) not in functions:
            some = some_of(cases, place, relaxed)
            inputs = [tensors for _, tensors, _ in some.values()]
            outputs = all_of(some, inputs)
            functions[place, relaxed] = tf.function(
                lambda x, first: PLACES[place](some, x, outputs, relaxed, first),
                input_signature=[
                    # The optimizer knows the sizes with which a loop begins.
                    shapes_of(inputs, relaxed and place != "tf.while_loop"),
                    tf.TensorSpec([], tf.bool),
                ],
                autograph=False,
            )
        return functions[place, relaxed]

    return function


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "place, relaxed",
    [
        ("tf.while_loop", False),
        ("tf.while_loop", True),
        ("tf.cond", True),  # The layers that the first loop has,
        ("tf.map_fn", True),  # and those of the second.
        pytest.param("tf.cond", False, marks=pytest.mark.long),
        pytest.param("tf.map_fn", False, marks=pytest.mark.long),
    ],
)
def test_every_layer_is_the_same_in_control_flow(place, relaxed, runs, traced, cases):
    cases = some_of(cases, place, relaxed)
    inputs = [tensors for _, tensors, _ in cases.values()]
    last = [*map(halved, inputs)]
    if place == "tf.while_loop":
        last = following(cases, inputs, all_of(cases, inputs))
    for first in NO_YES if place == "tf.cond" else (False,):
        got = runs(traced(place, relaxed), inputs, tf.constant(first))
        check(cases, got, all_of(cases, inputs if first else last))


@pytest.mark.in_turns
@pytest.mark.parametrize("relaxed", NO_YES, ids=("static", "relaxed"))
def test_every_layer_is_the_same_in_a_pipeline(relaxed, cases):
    cases = some_of(cases, "pipeline", relaxed)
    inputs = [tensors for _, tensors, _ in cases.values()]
    specs = tuple(map(tuple, shapes_of(inputs, relaxed)))
    examples = tf.data.Dataset.from_generator(
        lambda: iter([tuple(map(tuple, inputs))]), output_signature=specs
    )
    # Pipelines are not optimized (see tests/conftest.py), but functions that they call are.
    mapped = examples.map(
        tf.function(lambda *x: tuple(map(tuple, all_of(cases, x))), autograph=False)
    )
    check(cases, next(iter(mapped)), all_of(cases, inputs))


@pytest.mark.in_turns
def test_a_decoder_in_a_loop_returns_its_words(runs):
    cell, embed, head = LSTM(4, return_state=True), Embedding(7, 4), keras.layers.Dense(7)

    def step(token, states):
        y, *states = cell(embed(token)[:, None, :], initial_state=list(states))
        return head(y), states

    def decode(token, *states):
        def body(i, token, done, written, *states):
            logits, states = step(token, states)
            token = tf.where(done, 0, tf.argmax(logits, -1, output_type=tf.int32))
            written = tf.concat([written, token[:, None]], 1)
            return i + 1, token, done | (token == 1), written, *states

        done, written = tf.zeros_like(token, tf.bool), tf.zeros([3, 0], tf.int32)
        start = (0, token, done, written, *states)
        shapes = [[], [None], [None], [None, None], [None, 4], [None, 4]]
        return tf.while_loop(
            lambda i, token, done, *_: (i < 5) & ~tf.reduce_all(done),
            body,
            start,
            shape_invariants=tuple(map(tf.TensorShape, shapes)),
        )[3]

    start = [tf.zeros([3], tf.int32), *[tf.zeros([3, 4])] * 2]
    want = decode(*start)
    got = runs(tf.function(lambda: decode(*start)))
    assert want.shape[1]
    np.testing.assert_array_equal(got, want)


@pytest.mark.in_turns
@pytest.mark.parametrize("layer_class, parts", ((LSTM, 2), (GRU, 1), (TreeLSTM, 2)))
def test_gradients_through_a_loop(layer_class, parts, runs):
    layer = layer_class(UNITS, return_state=True)
    over_trees = layer_class is TreeLSTM
    graphs = cavs.GraphBatch.from_parents([[2, 2, -1], [-1], []])
    x = tf.random.stateless_normal([4, UNITS] if over_trees else [3, 1, UNITS], [1, 2])

    def body(step, x, *states):
        before = (graphs, x) if over_trees else (x,)
        _, *states = layer(*before, initial_state=list(states))
        return step + 1, x * 0.5, *states

    def in_loop(*start):
        shapes = [[], [None] * (x.shape.rank - 1) + [UNITS], *[[None, UNITS]] * parts]
        return tf.while_loop(
            lambda step, *_: step < TIMES, body, start, tuple(map(tf.TensorShape, shapes))
        )

    def unrolled(*start):
        return body(*body(*start))

    def gradients(steps, *start):
        with tf.GradientTape() as tape:
            tape.watch(start)
            *_, last = steps(0, *start)
            loss = tf.reduce_sum(tf.sin(last))
        return tape.gradient(loss, [*start, *layer.trainable_weights])

    start = [x, *_states(parts)]
    want = gradients(unrolled, *start)
    got = runs(tf.function(lambda *start: gradients(in_loop, *start), autograph=False), *start)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
