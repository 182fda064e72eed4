"""Compares the ops with the reference executor: outputs and all gradients."""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.graphs._options import ALL_PASSES
from cavs_tf.graphs._schedule import POLICIES
from cavs_tf.inspect._portable import run_by_depth
from tests.helpers import cells
from tests.helpers.pairwise import all_pairs

# The values of options, and whether each pass runs; the first is the default.
CHOICES = {
    "policy": POLICIES,
    "micro_batch": (None, 2),
    "streams": (1, 2),
    **dict.fromkeys(ALL_PASSES, (True, False)),
}
# In these combinations, any two values of two choices stand together in one. Every combination of
# passes, streams and micro-batches is tested by tests/cc/exec/executor_test.cc.
COMBINATIONS = [
    dict(zip(CHOICES, values, strict=True)) for values in all_pairs(list(CHOICES.values()))
]


def options_of(values) -> cavs.Options:
    """The options with such values, by whose names of passes it says whether they run."""
    fields = {name: value for name, value in values.items() if name not in ALL_PASSES}
    return cavs.Options(**fields, disable=[n for n in ALL_PASSES if not values.get(n, True)])


SWITCHES = [options_of(values) for values in COMBINATIONS]
# The same, with one of five choices of vertices whose outputs are wanted.
WITH_OUTPUTS = [
    (options_of(dict(zip(CHOICES, values, strict=True))), outputs)
    for *values, outputs in all_pairs([*CHOICES.values(), tuple(range(5))])
]


def check(cell, graphs, seed=0):
    inputs = cells.inputs_for(cell, graphs.num_vertices, cell.dtype, seed)
    report = cavs.check_equivalence(cell, graphs, inputs, seed=seed)
    assert report.ok, f"{type(cell).__name__} on {graphs}\n{report}"
    return report


@pytest.fixture(scope="module", params=cells.CELLS, ids=lambda c: c.__name__)
def cell(request):
    """A cell of every kind, in float64, where rounding hides no error."""
    tf.keras.utils.set_random_seed(1)
    return request.param(dtype="float64")


@pytest.fixture(scope="module")
def single(cell):
    """The same cell in float32."""
    tf.keras.utils.set_random_seed(2)
    return type(cell)(dtype="float32")


SEEDS = [1, 2, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(3, 9))]


@pytest.mark.in_turns
@pytest.mark.parametrize("seed", SEEDS)
def test_random_graphs_give_the_reference_numbers(cell, seed):
    check(cell, cells.random_graphs(seed, 4, 7, num_types=len(cell.vertex_types)), seed)


def test_a_minibatch_of_64_unequal_trees(cell):
    graphs = cells.random_graphs(5, 64, 3, num_types=len(cell.vertex_types))
    check_options(cell, graphs, [cavs.Options()])


@pytest.mark.parametrize(
    "children",
    [
        [],
        [[]],
        [[], [[]], []],
        [[[]] * 3],
    ],
    ids=[
        "empty minibatch",
        "one empty graph",
        "empty graphs around one vertex",
        "vertices without edges",
    ],
)
def test_minibatches_without_edges(cell, children):
    total = sum(map(len, children))
    types = [v % len(cell.vertex_types) for v in range(total)]
    check(cell, cavs.GraphBatch.from_children(children, types if total else None))


@pytest.mark.in_turns
@pytest.mark.numeric
def test_float32(single):
    check(single, cells.random_graphs(3, 4, 6, num_types=len(single.vertex_types)))


# The gradient of Branching's gain is near zero: a sum of large terms, which TensorFlow rounds.
ROUNDED_WELL = [cell_class for cell_class in cells.CELLS if cell_class is not cells.Branching]


@pytest.mark.in_turns
@pytest.mark.parametrize("cell_class", ROUNDED_WELL, ids=lambda c: c.__name__)
@pytest.mark.parametrize(("dtype", "tolerance"), [("bfloat16", 0.05), ("float16", 0.01)])
def test_narrow_floats_to_their_precision(cell_class, dtype, tolerance):
    tf.keras.utils.set_random_seed(4)
    cell = cell_class(dtype=dtype)
    graphs = cells.random_graphs(3, 6, 4, num_types=len(cell.vertex_types))
    inputs = cells.inputs_for(cell, graphs.num_vertices, dtype, 0)
    number = ROUNDED_WELL.index(cell_class)  # One of the types has the default options.
    cell.options = SWITCHES[(1 + number) * (number % 2 == (dtype == "float16"))]
    report = cavs.check_equivalence(cell, graphs, inputs, tolerance=tolerance)
    assert report.ok, f"{cell.options}\n{report}"


GRAPHS_OF_ALL_KINDS = (
    [[], [], [0, 1], [], [2, 3], [4]],  # A tree with branches of several lengths.
    [[], [0], [1], [2], [3]],
    [[]],
    [[], [], [0, 1], [0, 1], [2, 3], [2, 0]],  # Several parents.
    [[], [-1, 0], [1, -1], [-1, -1], [2, 2]],  # Missing children, and one child twice.
    [],
    [[], [0]],
)


def outputs_and_gradients(call, cell, inputs):
    named = inputs if isinstance(inputs, dict) else {"": inputs}
    watched = [value for value in named.values() if value.dtype.is_floating]
    with tf.GradientTape() as tape:
        tape.watch(watched)
        outputs = call()
        outputs = outputs if isinstance(outputs, dict) else {"": outputs}
        loss = tf.add_n([tf.reduce_sum(tf.sin(value)) for value in outputs.values()])
    sources = [*watched, *(variable.value for variable in cell.trainable_variables)]
    gradients = tape.gradient(loss, sources, unconnected_gradients="zero")
    return [tf.convert_to_tensor(value) for value in (*outputs.values(), *gradients)]


def check_options(cell, graphs, options, at=None, inputs=None):
    """As `check`, but all vertices of a depth are evaluated at once, and once for all options."""
    if inputs is None:
        inputs = cells.inputs_for(cell, graphs.num_vertices, "float64", 0)
    plain = lambda: run_by_depth(cell, graphs, inputs, at, cell._default_pushes)  # noqa: E731
    wanted = outputs_and_gradients(plain, cell, inputs)
    given = cell.options
    try:
        for chosen in options:
            cell.options = chosen
            found = outputs_and_gradients(lambda: cell(graphs, inputs, at=at), cell, inputs)
            message = f"{chosen}, at {at}"
            for got, want in zip(found, wanted, strict=True):
                np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9, err_msg=message)
    finally:
        cell.options = given


def test_any_two_values_of_switches_are_combined():
    fields = [field.name for field in dataclasses.fields(cavs.Options)]
    assert list(CHOICES) == [*fields[:-1], *ALL_PASSES]
    assert SWITCHES[0] == cavs.Options(streams=1)
    for (one, its), (other, others) in itertools.combinations(CHOICES.items(), 2):
        found = {(values[one], values[other]) for values in COMBINATIONS}
        assert found == set(itertools.product(its, others)), (one, other)


@pytest.mark.in_turns
def test_no_switch_changes_a_result(cell):
    """Nor does it with the outputs of some vertices: each value of each switch with each choice."""
    num_vertices, num_types = sum(map(len, GRAPHS_OF_ALL_KINDS)), len(cell.vertex_types)
    types = [v % num_types for v in range(num_vertices)]
    graphs = cavs.GraphBatch.from_children(GRAPHS_OF_ALL_KINDS, types)
    shuffled = np.random.default_rng(0).permutation(num_vertices)
    chosen = (None, graphs.roots, shuffled[: num_vertices // 2], shuffled, shuffled[:0])
    for i, at in enumerate(chosen):
        check_options(cell, graphs, [options for options, which in WITH_OUTPUTS if which == i], at)


@pytest.mark.in_turns
@pytest.mark.parametrize("present", [(0, 1, 2), (0, 1), (1,)], ids=str)
def test_inputs_with_rows_for_the_types_that_pull_them(present):
    cell = cells.Typed(dtype="float64")
    graphs = cells.random_graphs(4, 5, 7, num_types=3)
    types = tf.gather(present, graphs.vertex_type % len(present))
    graphs = cavs.GraphBatch(graphs.child_splits, graphs.child_ids, graphs.graph_splits, types)
    pulling = tf.where(types != cell.vertex_types.index("inner"))[:, 0]
    everyone = cells.inputs_for(cell, graphs.num_vertices, "float64", 0)
    inputs = tf.gather(everyone, pulling)
    check_options(cell, graphs, SWITCHES, None, inputs)
    check_options(cell, graphs, SWITCHES[::3], graphs.roots, inputs)
    for options in SWITCHES[::3]:
        cell.options = options
        of_all, of_some = cell(graphs, everyone), cell(graphs, inputs)
        for name, value in of_all.items():
            np.testing.assert_array_equal(value, of_some[name])


@pytest.mark.in_turns
@pytest.mark.parametrize("arity", [1, 2, 3])
def test_adjacent_children(arity):
    cell = cells.FullyConnected(arity, dtype="float64")
    complete = cavs.GraphBatch.complete_tree(4, arity=arity, num_graphs=3)
    chains = cavs.GraphBatch.chain([5, 1, 3, 5])
    graphs = chains if arity == 1 else complete
    check_options(cell, cells.in_types(graphs), SWITCHES)
    graphs = cells.random_graphs(3, 5, 7, arity=arity)
    check_options(cell, cells.in_types(graphs), SWITCHES[::3])


def test_adjacent_children_of_trees_of_several_sizes():
    # The children of a task are equally far apart, but not those of all tasks.
    cell = cells.FullyConnected(2, dtype="float64")
    sizes = [cavs.GraphBatch.complete_tree(depth) for depth in (3, 1)]
    check(cell, cells.in_types(cavs.GraphBatch.concat(sizes)))


class Passing(cells.FullyConnected):
    """Scatters and pushes gathered states unchanged."""

    def inner(self):
        both = tf.concat([self.gather(0), self.gather(1)], axis=1)
        self.scatter(self.gather(0))
        self.push(self.u(both))
        self.push(both, "both")


class PassingOne(cavs.GraphSupport):
    """Only scatters a child's state unchanged."""

    vertex_types = ("leaf", "inner")

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=cells.STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(cells.STATE, dtype=self.dtype)

    def leaf(self):
        state = self.w(self.pull())
        self.scatter(state)
        self.push(state)

    def inner(self):
        self.scatter(self.gather(0))
        self.push(tf.zeros_like(self.gather(0)))


class Foreign(cavs.GraphSupport):
    """Gradients of gathered states are computed by an operator of TensorFlow."""

    def __init__(self, arity, **kwargs):
        super().__init__(state_size=cells.STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(cells.STATE, dtype=self.dtype)
        self.u = tf.keras.layers.Dense(cells.STATE, dtype=self.dtype)

    def vertex(self):
        children = tf.concat([self.gather(k) for k in range(self.arity)], axis=1)
        state = self.u(tf.nn.elu(children)) + self.w(self.pull())
        self.scatter(state)
        self.push(state)


class Reshaping(cavs.GraphSupport):
    """Uses one weight in several shapes, and one twice in the same shape."""

    def __init__(self, **kwargs):
        super().__init__(state_size=cells.STATE, arity=1, **kwargs)
        size = cells.STATE * cells.STATE
        self.u = tf.keras.layers.Dense(cells.STATE, dtype=self.dtype)
        self.w, self.v = (tf.Variable(tf.random.normal([size], 0, 0.1, self.dtype)) for _ in "wv")

    def vertex(self):
        x = self.u(self.pull())
        square, wide = (tf.reshape(self.w, [rows, -1]) for rows in (cells.STATE, 1))
        twice = tf.reshape(self.v, [cells.STATE, -1]) + tf.reshape(self.v, [cells.STATE, -1])
        rows = tf.reduce_sum(tf.reshape(x[:, :1] @ wide, [-1, cells.STATE, cells.STATE]), axis=1)
        state = tf.tanh(x @ square + x @ twice + rows + self.gather(0))
        self.scatter(state)
        self.push(state)


def test_weights_in_several_shapes():
    tf.keras.utils.set_random_seed(1)
    check(Reshaping(dtype="float64"), cavs.GraphBatch.chain([3, 1, 4]))


@pytest.mark.parametrize("cell_class", [Passing, PassingOne])
def test_gathered_states_that_go_on_as_they_are(cell_class):
    arity = 2 if cell_class is Passing else 1
    trees = cavs.GraphBatch.complete_tree(3, num_graphs=2)
    graphs = trees if arity == 2 else cavs.GraphBatch.chain([3, 3])
    cell = cell_class(arity, dtype="float64")
    for _ in range(3):  # From the second step on, memory is not zero at the beginning.
        check(cell, cells.in_types(graphs))


def test_gradients_of_adjacent_children_by_foreign_operators():
    check(Foreign(3, dtype="float64"), cavs.GraphBatch.complete_tree(3, arity=3, num_graphs=2))


@pytest.mark.parametrize(
    ("cell_class", "arity"),
    [
        *zip([cells.Elementwise, cells.PushOnly] * 2, [0, 1, 3, 5], strict=True),
        *(
            pytest.param(*other, marks=pytest.mark.long)
            for other in zip([cells.PushOnly, cells.Elementwise] * 2, [0, 1, 3, 5], strict=True)
        ),
    ],
)
def test_any_arity(cell_class, arity):
    cell = cell_class(arity=arity, dtype="float64")
    check(cell, cells.random_graphs(6, 4, 9, arity=arity))


WIDE = (cells.TreeLSTM, cells.JointGates, cells.TransposedGates)


@pytest.mark.in_turns
@pytest.mark.numeric
@pytest.mark.parametrize("cell_class", WIDE, ids=lambda c: c.__name__)
def test_a_wide_state_uses_every_part_of_the_kernels(cell_class):
    """Leaves, and vertices without input, run programs of their own."""
    cell, graphs = cell_class(units=67, dtype="float32"), cells.random_graphs(7, 40, 5)
    check(cell, graphs)
    x = cells.inputs_for(cell, graphs.num_vertices, "float32", 0)
    vertices = tf.range(0, graphs.num_vertices, 2)
    some = cavs.VertexRows(tf.gather(x, vertices), vertices)
    assert cavs.check_equivalence(cell, graphs, some).ok


def test_gradients_are_finite_differences(cell):
    graphs = cells.random_graphs(2, 3, 5, num_types=len(cell.vertex_types))
    inputs = cells.inputs_for(cell, graphs.num_vertices, "float64", 0)
    named = inputs if isinstance(inputs, dict) else {"": inputs}
    x = next(v for v in named.values() if v.dtype.is_floating)

    def loss(x):
        given = {**named, "x": x} if isinstance(inputs, dict) else x
        outputs = cell(graphs, given)
        outputs = outputs if isinstance(outputs, dict) else {"": outputs}
        seeds = cavs.inspect.reference.random_seeds(outputs, 0)
        return tf.add_n([tf.reduce_sum(seeds[k] * outputs[k]) for k in seeds])

    def compare(gradient, nudge):
        direction = np.random.default_rng(0).standard_normal(gradient.shape)
        step = 1e-6
        numeric = (nudge(step * direction) - nudge(-step * direction)) / (2 * step)
        analytic = np.sum(direction * gradient)
        np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-8)

    def nudge_weight(weight, change):
        before = tf.identity(weight.value)
        weight.assign(before + change)
        result = loss(x).numpy()
        weight.assign(before)
        return result

    with tf.GradientTape() as tape:
        tape.watch(x)
        value = loss(x)
    weights = cell.trainable_variables
    gradients = [tf.convert_to_tensor(g) for g in tape.gradient(value, [x, *weights])]
    compare(gradients[0].numpy(), lambda change: loss(x + change).numpy())
    for weight, gradient in zip(weights, gradients[1:], strict=True):
        compare(gradient.numpy(), lambda change, w=weight: nudge_weight(w, change))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_bitwise_equal_from_run_to_run(cell, single, dtype):
    cell = {"float32": single, "float64": cell}[dtype]
    graphs = cells.random_graphs(9, 20, 9, num_types=len(cell.vertex_types))
    inputs = cells.inputs_for(cell, graphs.num_vertices, dtype, 0)

    def run():
        with tf.GradientTape() as tape:
            outputs = cell(graphs, inputs)
            outputs = outputs if isinstance(outputs, dict) else {"": outputs}
            loss = tf.add_n([tf.reduce_sum(tf.square(v)) for v in outputs.values()])
        gradients = tape.gradient(loss, cell.trainable_variables)
        return [*outputs.values(), *map(tf.convert_to_tensor, gradients)]

    first = run()
    for _ in range(3):
        for x, y in zip(first, run(), strict=True):
            np.testing.assert_array_equal(x, y)


@pytest.mark.in_turns
def test_a_deep_chain_needs_no_recursion():
    cell = cells.PushOnly(arity=1)
    length = 100_000
    x = tf.ones([length, cells.FEATURES])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = cell(cavs.GraphBatch.chain([length]), x)
    assert tape.gradient(y, x).shape == [length, cells.FEATURES]


def test_an_operator_that_looks_at_its_operand_sees_no_row_that_was_skipped():
    class Checked(cavs.GraphSupport):
        """CheckNumerics fails for values that were not written, in the derivative too."""

        def __init__(self):
            super().__init__(state_size=cells.STATE, arity=2, dtype="float64")
            self.w = tf.keras.layers.Dense(cells.STATE, dtype="float64")

        def vertex(self):
            total = tf.debugging.check_numerics(self.gather(0) ** 2, "state")
            state = tf.tanh(self.w(total) + self.pull())
            self.scatter(state)
            self.push(state + self.gather(1))

    graphs = cavs.GraphBatch.from_children([[[]], [[], [], [0, 1]]])
    rows = tf.ones([graphs.num_vertices, cells.STATE], tf.float64)
    report = cavs.check_equivalence(Checked(), graphs, rows)
    assert report.ok, str(report)
