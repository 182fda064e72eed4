"""Graphs that grow: pieces equal the whole, whatever the cut, in loops too."""

import itertools
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._running.trace_cache import TraceCache
from cavs_tf.inspect._pieces import Pieces
from tests.helpers import cells
from tests.helpers.pairwise import each_in_one_of

CHILDREN = [[], [], [0, 1], [], [2, 3], [4, -1], [1, 5], [6, 2]]
WHOLE = cavs.GraphBatch.from_children([CHILDREN])
X = tf.random.stateless_normal([8, cells.FEATURES], [1, 2])


@pytest.fixture
def cell():
    keras.utils.set_random_seed(1)
    return cells.TreeLSTM()


def results(cell, outputs, tape, *sources):
    """Numbers, and gradients of a loss that reads each of them in another way."""
    with tape:
        loss = tf.reduce_sum(tf.sin(outputs) * tf.range(1.0, 9.0)[:, None])
    gradients = tape.gradient(loss, [*sources, *cell.trainable_weights])
    return [outputs.numpy(), *(tf.convert_to_tensor(g).numpy() for g in gradients)]


def whole(cell):
    with tf.GradientTape() as tape:
        tape.watch(X)
        outputs = cell(WHOLE, X)
    return results(cell, outputs, tape, X)


def grow(cell, x, cuts, states=None):
    outputs = []
    for begin, end in itertools.pairwise(cuts):
        pushed, new = cell.extend(states, CHILDREN[begin:end], x[begin:end])
        states = new if states is None else tf.concat([states, new], 0)
        outputs.append(pushed)
    return tf.concat(outputs, 0)


def assert_same(got, want):
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=2e-5, atol=2e-6)


@pytest.mark.in_turns
@pytest.mark.parametrize(("cell_class", "pieces"), each_in_one_of(cells.CELLS, (7, 2, 1)))
def test_pieces_of_random_graphs_equal_the_whole(cell_class, pieces):
    keras.utils.set_random_seed(2)
    own = cell_class(dtype="float64")
    graphs = cells.random_graphs(pieces, 4, 7, num_types=len(own.vertex_types))
    inputs = cells.inputs_for(own, graphs.num_vertices, own.dtype, seed=3)
    report = cavs.check_equivalence(own, graphs, inputs, pieces=pieces)
    assert report.ok, f"{report}"


SOME = [0, 2, 3, 3, 7, 8]


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("cuts", "in_function"),
    [([0, 8], False), (SOME, False), (range(9), False), (SOME, True)],
    ids=str,
)
def test_one_tape_through_all_calls(cell, cuts, in_function):
    run = lambda x: grow(cell, x, list(cuts))  # noqa: E731
    run = tf.function(run) if in_function else run
    with tf.GradientTape() as tape:
        tape.watch(X)
        outputs = run(X)
    assert_same(results(cell, outputs, tape, X), whole(cell))


@pytest.mark.in_turns
def test_the_states_that_are_given_have_gradients(cell):
    given = tf.random.stateless_normal([5, *cell.state_shape], [3, 4])
    report = cavs.check_equivalence(cell, *cell.extension(given, [[3, 4], [5, 3]], X[:2]))
    assert report.ok, f"{report}"
    assert any(".states" in d.name and "gradient" in d.name for d in report.differences)
    with tf.GradientTape() as tape:
        tape.watch(given)
        outputs, _ = cell.extend(given, [[3, 4], [5, 3]], X[:2])
    gradient = tf.convert_to_tensor(tape.gradient(outputs, given)).numpy()
    assert np.flatnonzero(np.any(gradient != 0, axis=1)).tolist() == [3, 4]


@pytest.mark.in_turns
def test_a_loop_whose_values_choose_the_next_children(cell):
    """A compiled loop, with shapes unknown: sizes change and nothing is traced again."""
    traces = []

    @tf.function(input_signature=[tf.TensorSpec([None, cells.FEATURES])])
    def build(x):
        traces.append(x)
        _, leaves = cell.extend(None, tf.zeros([tf.shape(x)[0], 0], tf.int32), x)

        def body(states):
            left, right = tf.unstack(tf.argsort(states[:, 0])[:2], 2)
            _, new = cell.extend(states, [[left, right]], tf.zeros([1, cells.FEATURES]))
            keep = tf.range(tf.shape(states)[0])
            keep = tf.boolean_mask(keep, (keep != left) & (keep != right))
            return (tf.concat([tf.gather(states, keep), new], 0),)

        shapes = (tf.TensorShape([None, *cell.state_shape]),)
        (states,) = tf.while_loop(lambda s: tf.shape(s)[0] > 1, body, (leaves,), shapes)
        return states

    def by_one_call(x):
        """The same structure, found vertex by vertex, and the state of its root by one call."""
        children, alive = [[] for _ in x], list(range(len(x)))
        while True:
            rows = tf.concat([x, tf.zeros([len(children) - len(x), cells.FEATURES])], 0)
            _, states = cell.extend(None, children, rows)
            if len(alive) == 1:
                return states[-1:]
            best = sorted(alive, key=lambda v: float(states[v, 0]))[:2]
            alive = [v for v in alive if v not in best] + [len(children)]
            children.append(best)

    def numbers(run, size):
        with tf.GradientTape() as tape:
            tape.watch(X)
            state = run(X[:size])
            loss = tf.reduce_sum(tf.sin(state))
        gradients = tape.gradient(loss, [X, *cell.trainable_weights])
        return [state, *map(tf.convert_to_tensor, gradients)]

    for size in (3, 5, 2):
        assert_same(numbers(build, size), numbers(by_one_call, size))
    assert len(traces) == 1


@pytest.mark.in_turns
@pytest.mark.parametrize("grows", [True, False])
def test_a_branch(cell, grows):
    given = tf.ones([2, *cell.state_shape])

    @tf.function
    def run(condition):
        return tf.cond(
            condition,
            lambda: cell.extend(given, [[0, 1]], X[:1])[1],
            lambda: tf.zeros([1, *cell.state_shape]),
        )

    want = cell.extend(given, [[0, 1]], X[:1])[1] if grows else 0 * given[:1]
    assert_same([run(tf.constant(grows))], [want])


@pytest.mark.parametrize(
    "children",
    [
        [[4, 1], [5, -1]],
        np.array([[4, 1], [5, -1]]),
        tf.constant([[4, 1], [5, -1]], tf.int64),
        tf.ragged.constant([[4, 1], [5]]),
        [[tf.constant(4), 1], (5, tf.constant(-1))],
    ],
    ids=["lists", "array", "tensor", "ragged", "scalar tensors"],
)
def test_children_in_every_form(cell, children):
    given = tf.random.stateless_normal([5, *cell.state_shape], [3, 4])
    got = cell.extend(given, children, X[:2])
    want = cell.extend(given, [[4, 1], [5]], X[:2])
    assert_same(got, want)
    assert got[1].shape == [2, *cell.state_shape]


def test_nothing_new_and_nothing_old(cell):
    outputs, states = cell.extend(None, [], X[:0])
    assert outputs.shape == [0, cells.STATE] and states.shape == [0, *cell.state_shape]
    outputs, states = cell.extend(states, [[]], X[:1])
    assert_same([outputs], [cell(cavs.GraphBatch.from_children([[[]]]), X[:1])])
    outputs, states = cell.extend(states, tf.zeros([0, 2], tf.int32), X[:0])
    assert states.shape == [0, *cell.state_shape]


def test_only_children_are_read(cell):
    """What one vertex over many states takes does not depend on how many there are."""
    given = tf.random.stateless_normal([1000, *cell.state_shape], [3, 4])
    graphs, inputs = cell.extension(given, [[700, 3], [1000, 700]], X[:2])
    np.testing.assert_array_equal(inputs[".states"], tf.gather(given, [3, 700]))
    assert graphs.num_vertices == 4


class Numbered(cavs.GraphSupport):
    """Drops elements by vertex and by graph, and pushes its number."""

    arity = 2

    def vertex(self):
        x = self.dropout(self.pull(), 0.5) + self.dropout(self.gather(0), 0.3, rows="graph")
        h = tf.tanh(x + self.gather(1))
        self.scatter(h)
        self.push(h)
        self.push(self.vertex_ids(), "number")


def test_numbers_of_vertices():
    cell = Numbered(3)
    given = tf.zeros([5, 3])
    assert cell.extend(given, [[0], [5]], X[:2])[0]["number"].numpy().tolist() == [5, 6]
    pushed, _ = cell.extend(given, [[0], [5]], X[:2], vertex_ids=[9, 1])
    assert pushed["number"].numpy().tolist() == [9, 1]


def test_pieces_drop_what_one_call_drops():
    graphs = cells.random_graphs(3, 4, 7)
    x = tf.random.stateless_normal([graphs.num_vertices, 3], [1, 2])

    def first_call(run):
        keras.utils.set_random_seed(5)
        return run(Numbered(3))["default"]

    want = first_call(lambda cell: cell(graphs, x, training=True))
    got = first_call(lambda cell: Pieces(graphs, 4, seed=1).run(cell, x, training=True))
    assert_same([got], [want])
    assert not np.allclose(want, first_call(lambda cell: cell(graphs, x)))


def test_every_call_draws_what_it_drops():
    cell, x = Numbered(3), tf.ones([1, 3])
    drawn = [cell.extend(None, [[]], x, training=True)[1].numpy() for _ in range(20)]
    assert len(np.unique(drawn, axis=0)) > 1
    arguments = dict(training=True, redraw_dropout=False)
    drawn = [cell.extend(None, [[]], x, **arguments)[1].numpy() for _ in range(20)]
    assert len(np.unique(drawn, axis=0)) == 1


def test_types_with_rows_of_their_own():
    cell = cells.Typed()
    types, children = [0, 0, 1, 1], [[], [], [0, 1], [2, 1]]
    inputs = cells.inputs_for(cell, 4, cell.dtype, 0)
    graphs = cavs.GraphBatch.from_children([children], types)
    report = cavs.check_equivalence(cell, graphs, inputs, pieces=3)
    assert report.ok, f"{report}"


@pytest.mark.in_turns
def test_inputs_of_some_vertices(cell):
    inputs = cavs.VertexRows(X[:3], tf.constant([0, 3, 1]))
    report = cavs.check_equivalence(cell, WHOLE, inputs, pieces=3)
    assert report.ok, f"{report}"


@cavs.vertex_function(state_size=3, arity=None)
def attending(v):
    h, x = v.children(), v.pull("x")
    score = tf.reduce_sum(h * v.to_children(x), axis=1) + v.pull_edge("relation")
    weights = v.softmax_children(score)
    state = tf.tanh(x + v.sum_children(weights[:, None] * h))
    v.scatter(state)
    v.push(state)
    v.push_edge(weights, "attention")


@pytest.mark.parametrize("pieces", [2, 5])
def test_edges_with_features(pieces):
    graphs = cells.random_graphs(4, 3, 8)
    inputs = {
        "x": tf.random.stateless_normal([graphs.num_vertices, 3], [1, 2]),
        "relation": tf.random.stateless_normal([int(graphs.num_edges)], [3, 4]),
    }
    inputs["relation"] = inputs["relation"][: len(graphs.edges)]
    report = cavs.check_equivalence(attending, graphs, inputs, pieces=pieces)
    assert report.ok, f"{report}"


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64"])
def test_every_type_of_numbers(dtype):
    cell = cells.TreeLSTM(dtype=dtype)
    x = tf.cast(X, dtype)
    tolerance = {"bfloat16": 0.05, "float16": 0.01, "float64": 1e-9}[dtype]
    report = cavs.check_equivalence(cell, WHOLE, x, pieces=3, tolerance=tolerance)
    assert report.ok, f"{report}"
    assert cell.extend(None, [[]], x[:1])[1].dtype == dtype


def test_tools_know_it(cell):
    graphs, inputs = cell.extension(tf.ones([5, *cell.state_shape]), [[3, 4], [5, 3]], X[:2])
    text = cavs.explain(cell, graphs, inputs)
    assert "task 0: 2 vertices by given" in text
    assert re.search(r"\n    push, states\n", text)
    assert cavs.predict_memory(cell, graphs, inputs).training > 0
    got = cavs.reference.run(cell, graphs, inputs)
    pushed, states = cell.extend(tf.ones([5, *cell.state_shape]), [[3, 4], [5, 3]], X[:2])
    assert_same([got["default"][:2], got[".states"][:2]], [pushed, states])


def test_a_model_without_pushes():
    @cavs.vertex_function(state_size=1, arity=1)
    def running_sum(v):
        v.scatter(v.pull() + v.gather(0))

    pushed, states = running_sum.extend([[5.0]], [[0], [1]], [[1.0], [2.0]])
    assert pushed == {}
    assert states.numpy().ravel().tolist() == [6.0, 8.0]


@pytest.mark.parametrize("built", [True, False])
def test_layers_have_it(built):
    keras.utils.set_random_seed(3)
    layer, x = cavs.keras.LSTM(4, return_sequences=True, return_state=True), X[None, :5]
    if built:
        layer(x)
    output, states = layer.extend(None, [[]], X[:1])
    first, more = layer.extend(states, [[0], [1]], X[1:3])
    want, h, c = layer(x[:, :3])
    assert_same([tf.concat([output, first], 0)], [want[0]])
    last, _ = layer.extend([h, c], [[0]], X[3:4])
    assert_same([last], [layer(x[:, :4])[0][0, -1:]])
    assert_same([more[-1:]], [tf.concat([c, h], axis=1)])


@pytest.mark.parametrize(
    "layer",
    [
        lambda: cavs.keras.TreeLSTM(4, return_vertices=True),
        lambda: cavs.keras.TreeGRU(4, return_vertices=True),
        lambda: cavs.keras.DAGNN(4, return_vertices=True),
        lambda: cavs.keras.TreeLSTM(4, arity=None, return_vertices=True, dropout=0.2),
    ],
)
def test_layers_over_trees_and_dags(layer):
    layer = layer()
    want = layer(WHOLE, X)
    got, states = layer.extend(None, CHILDREN[:5], X[:5])
    more, _ = layer.extend(states, CHILDREN[5:], X[5:])
    assert_same([tf.concat([got, more], 0)], [want])


def test_its_weights_are_those_of_the_model(cell):
    cell.extend(None, [[], [0]], X[:2])
    built = len(cell.weights)
    cell(WHOLE, X)
    assert built == len(cell.weights) > 0


class Overriding(cells.TreeLSTM):
    def call(self, graphs, inputs=None):
        return super().call(graphs, inputs)


REJECTED = {
    "id": (dict(children=[[1], [9]]), r"children\[1\]\[0\]: got 9 but .* 5 states, .* \[-1, 7\)"),
    "negative id": (dict(children=[[], [3, -2]]), r"children\[1\]\[1\]: got -2 but expected -1"),
    "arity": (dict(children=[[0, 1, 2], []]), r"children\[0\]: got 3 children but .* at most 2"),
    "cycle": (dict(children=[[6], [5]]), r"Break the cycle 0 -> 1 -> 0"),
    "no lists": (dict(children=3), "children: got 3 but expected a list of the children"),
    "rank": (dict(children=[1, 2]), r"children: got \[1, 2\] but expected a list of the"),
    "float ids": (dict(children=[[0.5], []]), "children: got float32 of shape .* integers"),
    "rows": (dict(inputs=X[:3]), r"inputs\['default'\]: got 3 rows but expected 2, one per new"),
    "rows of others": (
        dict(inputs=cavs.VertexRows(X[:1], tf.constant([2]))),
        r"inputs\['default'\].vertices: got 2 but expected new vertices in \[0, 2\)",
    ),
    "state": (dict(states=tf.zeros([5, 3])), r"states: got float32 of shape \(5, 3\) but expected"),
    "state of integers": (dict(states=tf.zeros([5, 10], tf.int32)), "states: got int32 of shape"),
    "types": (dict(vertex_type=[0]), "vertex_type: got 1 values but expected 2, one per new"),
    "type": (dict(vertex_type=[0, 1]), r"vertex_type\[1\]: got 1 but expected a type"),
    "ids": (dict(vertex_ids=[1, 2, 3]), r"vertex_ids.* got 3 rows .* but expected"),
    "graph": (dict(vertex_graph=[[1]]), "vertex_graph: got int32 of shape .* rank 1"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_bad_arguments_are_named(cell, case):
    wrong, message = REJECTED[case]
    given = tf.zeros([5, *cell.state_shape])
    arguments = dict(states=given, children=[[0, 1], [5]], inputs=X[:2]) | wrong
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError), match=message):
        cell.extend(**arguments)


def test_a_call_compares_what_its_functions_see_once(cell, monkeypatch):
    cell.extend(None, [[]], X[:1])
    cell(WHOLE, X)
    found, find = [], TraceCache.find
    monkeypatch.setattr(TraceCache, "find", lambda *call: found.append(find(*call)) or found[-1])
    cell.extend(None, [[]], X[:1])
    assert len(found) == 1 and found[0] is not None
    cell(WHOLE, X)
    assert len(found) == 2 and found[1] is not None


def test_a_call_that_is_overridden_is_refused():
    with pytest.raises(ValueError, match="got a call of Overriding, which overrides it, but"):
        Overriding().extend(None, [[]], X[:1])


def test_pieces_of_what_is_no_cell_are_refused(cell):
    layer = cavs.keras.Graph(cell)
    with pytest.raises(ValueError, match="pieces: got 2 with Graph but expected a GraphSupport"):
        cavs.check_equivalence(layer, WHOLE, X, pieces=2)
