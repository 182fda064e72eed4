"""Vertex functions that read any number of children, and inputs of edges."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.differential.test_differential import SWITCHES, check_options
from tests.helpers.pairwise import each_in_one_of

UNITS = 4
# A vertex with many children, several parents, missing and repeated children, no edges at all.
GRAPHS = (
    [[], [], [0, 1], [2, 0, 1, -1, 2], []],
    [[], [0] * 7],
    [],
    [[]],
    [[-1, -1]],
    [[] for _ in range(30)] + [list(range(30)), [30, 3]],
)


class Attention(cavs.GraphSupport):
    """All that reads edges, and slots, in one cell."""

    arity = None

    def __init__(self, **kwargs):
        super().__init__(2 * UNITS, **kwargs)
        dense = keras.layers.Dense
        self.w = dense(UNITS, dtype=self.dtype)
        self.query = dense(UNITS, dtype=self.dtype)
        self.key = dense(UNITS, use_bias=False, dtype=self.dtype)
        self.relation = dense(UNITS, dtype=self.dtype)
        self.u = dense(UNITS, dtype=self.dtype)

    def vertex(self):
        x, h = self.pull("x"), self.children()
        keys = self.key(h) + self.relation(self.pull_edge("relation"))
        score = tf.reduce_sum(self.to_children(self.query(x)) * keys, axis=1, keepdims=True)
        message = self.sum_children(self.softmax_children(score) * keys)
        largest = self.max_children(tf.sin(keys))
        mean = self.mean_children(h)
        count = tf.cast(self.num_children(), x.dtype)[:, None]
        first = self.gather(0)
        a = tf.tanh(self.w(x) + self.u(message) + largest * 0.5 + first[:, :UNITS])
        b = mean[:, :UNITS] + 0.1 * count
        self.scatter(tf.concat([a, tf.tanh(b)], axis=1))
        self.push(a)


class Concatenated(cavs.GraphSupport):
    """Products of what is spread to edges, beside what is gathered, and sums of products."""

    arity = None

    def __init__(self, **kwargs):
        super().__init__(UNITS, **kwargs)
        dense = keras.layers.Dense
        self.w, self.gate, self.u = (dense(UNITS, dtype=self.dtype) for _ in range(3))
        self.v = dense(UNITS, use_bias=False, dtype=self.dtype)

    def vertex(self):
        x, h = self.pull("x"), self.children()
        own = self.to_children(x)
        gate = tf.sigmoid(self.gate(tf.concat([own, h], axis=1)) + self.v(own))
        message = self.sum_children(self.u(h)) + self.sum_children(gate * h)
        h = tf.tanh(self.w(x) + message)
        self.scatter(h)
        self.push(h)


class TwoTypes(cavs.GraphSupport):
    """One type reads slots, the other edges; both write one weight's gradient."""

    arity = 2
    vertex_types = ("inner", "hub")

    def __init__(self, **kwargs):
        super().__init__(UNITS, **kwargs)
        self.w = keras.layers.Dense(UNITS, dtype=self.dtype)
        self.u = keras.layers.Dense(UNITS, dtype=self.dtype)

    def inner(self):
        self._finish(self.gather(0) + self.u(self.gather(1)))

    def hub(self):
        gates = tf.sigmoid(self.u(self.children()) + self.to_children(self.w(self.pull("x"))))
        self._finish(self.sum_children(gates * self.children()))

    def _finish(self, message):
        h = tf.tanh(self.w(self.pull("x")) + message)
        self.scatter(h)
        self.push(h)


def graphs_of_all_kinds(num_types=1):
    total = sum(map(len, GRAPHS))
    types = [int(len(own) > 2) for graph in GRAPHS for own in graph] if num_types > 1 else None
    assert types is None or len(types) == total
    return cavs.GraphBatch.from_children(GRAPHS, types)


def inputs_for(graphs, dtype, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "x": tf.constant(rng.uniform(-1, 1, (graphs.num_vertices, 3)), dtype),
        "relation": tf.constant(rng.uniform(-1, 1, (graphs.num_edges, 2)), dtype),
    }


def given(cell, graphs, dtype="float64", seed=0):
    inputs = inputs_for(graphs, dtype, seed)
    return inputs if isinstance(cell, Attention) else {"x": inputs["x"]}


def make(cell_class, dtype="float64", **kwargs):
    keras.utils.set_random_seed(1)
    return cell_class(dtype=dtype, **kwargs)


@pytest.mark.in_turns
@pytest.mark.parametrize("cell_class", [Attention, Concatenated, TwoTypes])
def test_every_switch_gives_the_reference_numbers(cell_class):
    cell = make(cell_class)
    graphs = graphs_of_all_kinds(len(cell.vertex_types))
    report = cavs.check_equivalence(cell, graphs, given(cell, graphs))
    assert report.ok, report
    check_options(cell, graphs, SWITCHES, inputs=given(cell, graphs))


TOLERANCES = {"float32": 1e-5, "bfloat16": 0.06}


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("cell_class", "dtype"),
    each_in_one_of([TwoTypes, Attention, Concatenated], TOLERANCES),
)
def test_narrower_types(cell_class, dtype):
    cell = make(cell_class, dtype)
    graphs = graphs_of_all_kinds(len(cell.vertex_types))
    inputs = given(cell, graphs, dtype)
    report = cavs.check_equivalence(cell, graphs, inputs, TOLERANCES[dtype])
    assert report.ok, report


@pytest.mark.in_turns
def test_gradients_are_finite_differences():
    cell = make(Attention)
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1, 0], [2, 1, -1]]])
    inputs = inputs_for(graphs, "float64")
    weights = [v.value for v in (cell(graphs, inputs), cell.trainable_variables)[1]]

    def loss(values):
        return tf.reduce_sum(tf.sin(cell(graphs, dict(zip(inputs, values, strict=True)))))

    values = list(inputs.values())
    with tf.GradientTape() as tape:
        tape.watch(values)
        total = loss(values)
    gradients = tape.gradient(total, [*values, *weights])
    rng = np.random.default_rng(1)
    for i, gradient in enumerate(gradients):
        direction = rng.standard_normal(gradient.shape)
        expected = np.sum(gradient * direction)

        def moved(step, i=i, direction=direction):
            if i < len(values):
                return loss([v + step * direction if j == i else v for j, v in enumerate(values)])
            weights[i - len(values)].assign_add(step * direction)
            result = loss(values)
            weights[i - len(values)].assign_add(-step * direction)
            return result

        found = (moved(1e-6) - moved(-1e-6)) / 2e-6
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.in_turns
def test_any_number_of_children():
    """No vertex needs more memory for another one with 1,000 children."""
    star = [[] for _ in range(1000)] + [list(range(1000))]
    graphs = cavs.GraphBatch.from_children([star, [[], [0]], [[]]])
    cell = make(Attention)
    check_options(cell, graphs, [cavs.Options()], inputs=inputs_for(graphs, "float64"))


@pytest.mark.in_turns
def test_memory_is_proportional_to_edges():
    """A star of 100,000 children beside 10,000 trees costs what as many edges in trees cost."""
    units, trees = 8, [[[], [], [0, 1]]] * 10_000
    star = [[[] for _ in range(100_000)] + [list(range(100_000))]]
    spread = [[[], [0]]] * 100_000  # As many edges, one for each vertex that has any.
    layer = cavs.keras.TreeLSTM(units, arity=None, return_vertices=True)
    needs = []
    for graphs in (star + trees, spread + trees):
        graphs = cavs.GraphBatch.from_children(graphs)
        x = tf.zeros([graphs.num_vertices, 3])
        need = cavs.predict_memory(layer, graphs, x)
        needs.append(need.training)
        floats = need.forward.workspace / 4
        assert floats < 20 * units * (graphs.num_vertices + graphs.num_edges)
    assert needs[0] < needs[1]  # There are fewer vertices with the star.
    text = cavs.explain(layer, graphs, x)
    assert f"memory for training: {needs[1]:,} bytes" in text


def test_the_gradient_of_a_star_is_held_in_the_predicted_memory():
    star = [[[] for _ in range(1000)] + [list(range(1000))], [[], [0]]]
    graphs = cavs.GraphBatch.from_children(star)
    cell = cavs.keras.TreeLSTMCell(4, arity=None, dtype="float64")
    x = inputs_for(graphs, "float64")["x"]
    cell(graphs, x)  # This makes the weights.
    check_options(cell, graphs, [cavs.Options()], inputs=x)


def test_results_do_not_depend_on_the_minibatch():
    """Sums are in the order of children, so they are the same bits whatever else there is."""

    @cavs.vertex_function(state_size=3, arity=None)
    def cell(v):
        messages = v.children() * v.to_children(v.pull("x")) + v.pull_edge("relation")[:, :1]
        h = v.sum_children(tf.tanh(messages)) + v.max_children(messages)
        v.scatter(v.pull("x") + h)
        v.push(h)

    graphs = graphs_of_all_kinds()
    inputs = inputs_for(graphs, "float32")
    whole = cell(graphs, inputs).numpy()
    vertex = edge = 0
    for one in graphs:
        part = {
            "x": inputs["x"][vertex : vertex + one.num_vertices],
            "relation": inputs["relation"][edge : edge + one.num_edges],
        }
        if one.num_vertices:
            alone = cell(one, part).numpy()
            np.testing.assert_array_equal(alone, whole[vertex : vertex + one.num_vertices])
        vertex, edge = vertex + one.num_vertices, edge + one.num_edges


@pytest.mark.in_turns
def test_permuted_vertices_with_their_edges_give_permuted_rows():
    cell = make(Attention)
    children = [[], [], [0, 1], [2, 0, 1, 2], [3, 3]]
    graphs = cavs.GraphBatch.from_children([children])
    inputs = inputs_for(graphs, "float64")
    order = np.array([3, 0, 4, 2, 1])  # Vertex order[i] becomes vertex i.
    place = np.argsort(order)
    moved = [[int(place[c]) for c in children[v]] for v in order]
    edges = np.split(np.arange(graphs.num_edges), np.cumsum([len(c) for c in children])[:-1])
    moved_inputs = {
        "x": tf.gather(inputs["x"], order),
        "relation": tf.gather(inputs["relation"], np.concatenate([edges[v] for v in order])),
    }
    found = cell(cavs.GraphBatch.from_children([moved]), moved_inputs)
    np.testing.assert_allclose(found, tf.gather(cell(graphs, inputs), order), rtol=1e-12)


@pytest.mark.in_turns
def test_repeated_runs_give_the_same_bits():
    cell = make(Attention, "float32")
    graphs = graphs_of_all_kinds()
    inputs = inputs_for(graphs, "float32")

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            loss = tf.reduce_sum(tf.sin(cell(graphs, inputs)))
        weights = [v.value for v in cell.trainable_variables]
        return [g.numpy() for g in tape.gradient(loss, [*inputs.values(), *weights])]

    cell(graphs, inputs)
    for first, second in itertools.pairwise([gradients() for _ in range(3)]):
        for a, b in zip(first, second, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.in_turns
def test_outputs_of_some_vertices():
    cell = make(Attention)
    graphs = graphs_of_all_kinds()
    inputs = inputs_for(graphs, "float64")
    some = cell(graphs, inputs, at=graphs.roots)
    np.testing.assert_allclose(some, tf.gather(cell(graphs, inputs), graphs.roots), rtol=1e-12)
    report = cavs.check_equivalence(cell, graphs, inputs, at=graphs.roots)
    assert report.ok, report


@pytest.mark.in_turns
def test_a_schedule_that_was_made_before():
    cell = make(Attention)
    graphs = graphs_of_all_kinds()
    inputs = inputs_for(graphs, "float64")
    wanted = cell(graphs, inputs)
    scheduled = graphs.with_schedule(arity=1, edges=True)
    np.testing.assert_array_equal(cell(scheduled, inputs), wanted)
    again = cavs.GraphBatch.from_dict(scheduled.to_dict())
    np.testing.assert_array_equal(cell(again, inputs), wanted)
    compiled = tf.function(cell, reduce_retracing=True)
    np.testing.assert_allclose(compiled(scheduled, inputs), wanted, rtol=1e-12)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"without edges.*edges=True"):
        cell(graphs.with_schedule(arity=graphs.arity), inputs)


@pytest.mark.in_turns
def test_portable_and_saved_models(tmp_path):
    cell = make(Attention, "float32")
    graphs = graphs_of_all_kinds()
    inputs = inputs_for(graphs, "float32")
    wanted = cell(graphs, inputs)
    cavs.export_portable(cell, str(tmp_path), graphs, inputs)
    loaded = tf.saved_model.load(str(tmp_path))
    names = ("child_splits", "child_ids", "graph_splits")
    example = {name: getattr(graphs, name) for name in names}
    np.testing.assert_allclose(loaded(example | inputs), wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.in_turns
def test_the_reference_in_a_graph():
    cell = make(Attention)
    graphs = graphs_of_all_kinds()
    inputs = inputs_for(graphs, "float64")
    run = tf.function(lambda graphs, inputs: cavs.reference.run(cell, graphs, inputs))
    np.testing.assert_allclose(run(graphs, inputs), cell(graphs, inputs), rtol=1e-12)


def test_slots_know_their_children():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        some = tf.where(v.has_child(1)[:, None], v.gather(1), -v.pull())
        v.scatter(v.pull())
        v.push(some)
        v.push(tf.cast(v.child_mask(), tf.float32), "mask")

    graphs = cavs.GraphBatch.from_children([[[], [0], [-1, 1], [2, 1]]])
    x = tf.constant([[1.0], [2.0], [3.0], [4.0]])
    outputs = cell(graphs, x)
    assert outputs["default"].numpy().ravel().tolist() == [-1, -2, 2, 2]
    assert outputs["mask"].numpy().tolist() == [[0, 0], [1, 0], [0, 1], [1, 1]]
    report = cavs.check_equivalence(cell, graphs, x)
    assert report.ok, report


def rejected(function, match, graphs=None, inputs=None, arity=None, error=ValueError):
    graphs = cavs.GraphBatch.from_children([[[], [0], [0, 1]]]) if graphs is None else graphs
    inputs = {"x": tf.ones([3, 2])} if inputs is None else inputs
    with pytest.raises(error, match=match):
        cavs.vertex_function(state_size=2, arity=arity)(function)(graphs, inputs)


def test_rows_of_edges_do_not_meet_rows_of_vertices():
    def cell(v):
        v.scatter(v.sum_children(v.children() * v.pull("x")))

    graphs = cavs.GraphBatch.from_children([[[], [0], [1]]])  # As many edges as vertices but one.
    rejected(
        cell, r"(?s)Mul.*Rows of edges meet rows of vertices.*to_children.*sum_children", graphs
    )


def test_states_and_outputs_have_rows_of_vertices():
    def scatters(v):
        v.scatter(v.children())

    def pushes(v):
        v.scatter(v.pull("x"))
        v.push(v.to_children(v.pull("x")))

    rejected(scatters, "scatter got rows of edges.*sum_children")
    rejected(pushes, "push 'default' got rows of edges.*sum_children")


def test_operands_of_the_wrong_kind():
    def spread_edges(v):
        v.scatter(v.sum_children(v.to_children(v.children())))

    def sum_vertices(v):
        v.scatter(v.sum_children(v.pull("x")))

    def integers(v):
        v.scatter(v.sum_children(tf.cast(v.children(), tf.int32)))

    def couples(v):
        v.scatter(v.pull("x") + tf.reduce_sum(v.children(), axis=0))

    rejected(spread_edges, "to_children takes rows of vertices")
    rejected(sum_vertices, "sum_children and the like take rows of edges")
    rejected(integers, "sum_children: got int32.*Cast them")
    rejected(couples, "depend on each other")


def test_inputs_of_edges():
    def cell(v):
        v.scatter(v.sum_children(v.pull_edge("w")))

    def both(v):
        v.scatter(v.sum_children(v.pull_edge("x")) + v.pull("x"))

    rejected(cell, "pull_edge: got 'w' but expected one of")
    rejected(cell, "'w'.*got 2 rows but expected 3, one per edge", inputs={"w": tf.ones([2, 2])})
    rejected(both, "'x', which is pulled by vertices too")
    vertex_rows = cavs.VertexRows(tf.ones([1, 2]), tf.constant([0]))
    rejected(cell, "got VertexRows but expected a tensor", inputs={"w": vertex_rows})


def test_slots_of_a_cell_without_arity():
    def cell(v):
        v.scatter(v.gather_all()[:, 0])

    def masked(v):
        v.scatter(v.pull("x") * tf.cast(v.child_mask(), tf.float32))

    rejected(cell, "gather_all: got arity None but expected at least 1.*children()")
    rejected(masked, "child_mask: got arity None")
    rejected(lambda v: v.scatter(v.gather(99)), "gather: got slot 99")
    rejected(
        lambda v: v.scatter(v.pull("x") * tf.cast(v.has_child(2), tf.float32)[:, None]),
        "has_child: got slot 2",
        arity=2,
    )
