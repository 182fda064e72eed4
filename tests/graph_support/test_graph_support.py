"""What a vertex function can compute, with numbers that can be checked by hand."""

import json
import re

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import ops
from tests.helpers import cells

TREE = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])


def test_a_class():
    class Sum(cavs.GraphSupport):
        arity = 2

        def vertex(self):
            total = self.pull() + self.gather(0) + self.gather(1)
            self.scatter(total)
            self.push(total)

    outputs = Sum(state_size=1)(TREE, tf.constant([[1.0], [2.0], [4.0], [8.0]]))
    assert outputs.numpy().ravel().tolist() == [1, 2, 7, 8]


def test_a_function():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        total = v.pull() + v.gather(0) + v.gather(1)
        v.scatter(total)
        v.push(total)

    assert isinstance(cell, cavs.GraphSupport)
    assert cell.name == "cell"
    assert cell(TREE, tf.ones([4, 1])).numpy().ravel().tolist() == [1, 1, 3, 1]


def test_named_pulls_and_pushes():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        total = v.pull("weight") * v.pull("value") + v.gather(0) + v.gather(1)
        v.scatter(total)
        v.push(total, "sum")
        v.push(-v.pull("value"), "negative")

    inputs = {"value": tf.constant([[1.0], [2.0], [3.0], [4.0]]), "weight": 2 * tf.ones([4, 1])}
    outputs = cell(TREE, inputs)
    assert outputs["sum"].numpy().ravel().tolist() == [2, 4, 12, 8]
    assert outputs["negative"].numpy().ravel().tolist() == [-1, -2, -3, -4]


def test_rows_of_any_shape_and_type():
    @cavs.vertex_function(state_size=(2, 2), arity=2)
    def cell(v):
        state = tf.cast(v.pull("flag"), tf.float32)[:, None, None] * v.pull("square") + v.gather(0)
        v.scatter(state)
        v.push(v.pull("id") + 1, "next")
        v.push(state)

    inputs = {
        "flag": tf.constant([True, False, True, True]),
        "square": tf.ones([4, 2, 2]),
        "id": tf.range(4, dtype=tf.int64),
    }
    outputs = cell(TREE, inputs)
    assert outputs["next"].numpy().tolist() == [1, 2, 3, 4]
    assert outputs["default"].shape == [4, 2, 2]
    assert outputs["default"].numpy()[:, 1, 0].tolist() == [1, 0, 2, 1]


def test_vertex_ids_are_those_of_the_minibatch():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        v.scatter(v.gather(0))
        v.push(v.vertex_ids())

    assert cell(TREE).numpy().tolist() == [0, 1, 2, 3]


def test_no_vertex_may_be_chosen():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        v.scatter(v.gather(0))
        v.push(v.vertex_ids())

    for at in ([], (), np.zeros(0, np.int64)):
        assert cell(TREE, at=at).shape == [0]


def test_what_is_written_twice_is_computed_once_in_training():
    weight = tf.Variable(tf.ones([2, 2]))

    @cavs.vertex_function(state_size=2, arity=2)
    def cell(v):
        state = tf.tanh(v.pull() @ weight) * (v.pull() @ weight) + v.gather(0)
        v.scatter(state)
        v.push(state)

    inputs = tf.ones([4, 2])
    assert cavs.check_equivalence(cell, TREE, inputs).ok
    program = cavs.explain(cell, TREE, inputs, program=True).split("\n\n")[0]
    assert program.count(" = matmul ") == 1


def test_gather_all_stacks_the_slots():
    @cavs.vertex_function(state_size=2, arity=3)
    def cell(v):
        children = v.gather_all()
        v.scatter(v.pull() + tf.reduce_sum(children, axis=1))
        v.push(children)

    pushed = cell(TREE, tf.reshape(tf.range(8.0), [4, 2]))
    assert pushed.shape == [4, 3, 2]
    assert pushed.numpy()[2].tolist() == [[0, 1], [2, 3], [0, 0]]
    assert cavs.check_equivalence(cell, TREE, tf.ones([4, 2])).ok


def test_types_share_one_state_and_each_has_its_function():
    class Calculator(cavs.GraphSupport):
        arity = 2
        vertex_types = ("number", "plus", "times")

        def number(self):
            self._result(self.pull())

        def plus(self):
            self._result(self.gather(0) + self.gather(1))

        def times(self):
            self._result(self.gather(0) * self.gather(1))

        def _result(self, value):
            self.scatter(value)
            self.push(value)

    # (2 + 3) * 4
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1], [], [2, 3]]], [0, 0, 1, 0, 2])
    values = tf.constant([[2.0], [3.0], [0.0], [4.0], [0.0]])
    assert Calculator(1)(graphs, values).numpy().ravel().tolist() == [2, 3, 5, 4, 20]


def test_what_a_type_does_not_push_is_zero():
    cell = cells.Typed(dtype="float64")
    graphs = cavs.GraphBatch.from_children([[[], [0]]], [0, 1])
    sums = cell(graphs, tf.ones([2, cells.FEATURES], tf.float64))["sum"].numpy()
    assert sums[0] == 0
    assert sums[1] != 0


def test_graphs_as_a_dict_and_with_a_schedule():
    cell = cells.Linear()
    x = tf.ones([4, cells.FEATURES])
    expected = cell(TREE, x)
    scheduled = TREE.with_schedule(arity=2)
    for graphs in (TREE.to_dict(), scheduled, scheduled.to_dict()):
        np.testing.assert_array_equal(cell(graphs, x), expected)


@pytest.mark.in_turns
def test_the_reference_runs_in_a_graph_without_custom_ops():
    cell = cells.Typed(dtype="float64")
    graphs = cells.random_graphs(3, 4, 6, num_types=3)
    x = cells.inputs_for(cell, graphs.num_vertices, "float64", 0)
    expected = cell(graphs, x)
    function = tf.function(lambda graphs, x: cavs.reference.run(cell, graphs, x))
    concrete = function.get_concrete_function(graphs, x)
    definition = concrete.graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    assert not [n.op for n in nodes if n.op.startswith("Cavs")]
    for name, value in function(graphs, x).items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-9)


def test_the_reference_rejects_cycles_and_too_many_children():
    cell = cells.Linear(arity=1)
    cycle = cavs.GraphBatch([0, 1, 2], [1, 0], [0, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="got a cycle"):
        cavs.reference.run(cell, cycle, tf.ones([2, cells.FEATURES]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="got more than 1 in one vertex"):
        cavs.reference.run(cell, TREE, tf.ones([4, cells.FEATURES]))


def test_check_equivalence_finds_a_wrong_gradient():
    @tf.custom_gradient
    def wrong_in_batches(x):
        # It is right for one vertex at a time, which is how the reference runs it.
        return tf.identity(x), lambda grad: grad * (1.0 if tf.executing_eagerly() else 2.0)

    @cavs.vertex_function(state_size=cells.FEATURES, arity=2)
    def cell(v):
        v.scatter(v.gather(0))
        v.push(wrong_in_batches(v.pull()))

    report = cavs.check_equivalence(cell, TREE, tf.ones([4, cells.FEATURES]))
    assert not report.ok and not report
    assert "FAIL  gradient of input" in str(report)
    assert "ok    output" in str(report)
    assert str(report).endswith("DIFFERENT from the reference")


@pytest.mark.parametrize("enabled", [True, False])
def test_check_equivalence_compares_in_full_precision(enabled):
    switch, seen = tf.config.experimental, []

    class Cell(cells.Linear):
        def __call__(self, *args, **kwargs):
            seen.append(switch.tensor_float_32_execution_enabled())
            return super().__call__(*args, **kwargs)

    before = switch.tensor_float_32_execution_enabled()
    try:
        switch.enable_tensor_float_32_execution(enabled)
        assert cavs.check_equivalence(Cell(), TREE, tf.ones([4, cells.FEATURES]))
        assert seen and not any(seen)
        assert switch.tensor_float_32_execution_enabled() == enabled
    finally:
        switch.enable_tensor_float_32_execution(before)


@pytest.mark.in_turns
def test_check_equivalence_does_not_take_cancellation_for_a_difference():
    class Scaled(cavs.GraphSupport):
        """The gradient of its only weight is a sum over all rows."""

        def __init__(self):
            super().__init__(state_size=1, arity=0)
            self.gain = self.add_weight(shape=(), initializer="ones", name="gain")

        def vertex(self):
            self.scatter(self.pull())
            self.push(self.pull() * self.gain)

    graphs = cavs.GraphBatch.from_children([[[]]] * 300)
    loss = cavs.inspect.reference.random_seeds({"output": tf.zeros([300, 1])}, seed=0)[
        "output"
    ].numpy()
    rows = np.random.default_rng(1).standard_normal((300, 1)).astype(np.float32)
    rows[-1] -= np.sum(rows * loss) / loss[-1]  # The sum consists of rounding errors only.
    report = cavs.check_equivalence(Scaled(), graphs, rows)
    assert report.ok, str(report)


class Attention(cavs.GraphSupport):
    """The gradients of a bias before a softmax are zero, except for rounding."""

    def __init__(self, wrong=False, **kwargs):
        super().__init__(state_size=4, arity=3, **kwargs)
        self.query, self.key = (keras.layers.Dense(4, dtype=self.dtype) for _ in range(2))
        self.shift = self.add_weight(shape=(), initializer="ones", name="shift")
        self.wrong = wrong

    def vertex(self):
        children = self.gather_all()
        scores = tf.einsum("ri,rki->rk", self.query(self.pull()), self.key(children))
        weights = tf.nn.softmax(scores + self.shift)
        state = tf.tanh(self.pull() + tf.einsum("rk,rki->ri", weights, children))
        if self.wrong:
            nothing = too_small(1e-3 * self.shift + tf.zeros_like(state))
            state += nothing - tf.stop_gradient(nothing)
        self.scatter(state)
        self.push(state)


@tf.custom_gradient
def too_small(x):
    """Its gradient is right only if it is run eagerly, as by the reference."""
    return tf.identity(x), lambda grad: grad * (1.0 if tf.executing_eagerly() else 2.0)


@pytest.mark.in_turns
@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(s, marks=pytest.mark.long) for s in (1, 2))])
def test_check_equivalence_does_not_take_rounding_for_a_difference(dtype, seed):
    keras.utils.set_random_seed(seed)
    graphs = cells.random_graphs(seed, 4, 6, arity=3)
    rows = tf.constant(np.random.default_rng(seed).normal(size=(graphs.num_vertices, 4)), dtype)
    report = cavs.check_equivalence(Attention(dtype=dtype), graphs, rows, seed=seed)
    assert report.ok, str(report)
    zero = {d.name: d.largest for d in report.differences if "shift" in d.name}
    assert max(zero.values()) < 100 * ml_dtypes.finfo(rows.dtype.as_numpy_dtype).eps, zero


@pytest.mark.in_turns
def test_check_equivalence_finds_what_is_wrong_beside_rounding():
    keras.utils.set_random_seed(0)
    graphs = cells.random_graphs(0, 4, 6, arity=3)
    rows = tf.constant(np.random.default_rng(0).normal(size=(graphs.num_vertices, 4)), tf.float32)
    report = cavs.check_equivalence(Attention(wrong=True, name="attention"), graphs, rows)
    assert [d.name for d in report.differences if not d.ok] == ["gradient of attention/shift"]


@pytest.mark.parametrize("noise", [1e20, 1.0, 0.01])
def test_check_equivalence_does_not_take_arbitrary_numbers_for_rounding(noise):
    class Arbitrary(cavs.GraphSupport):
        """Its results are other ones in every call, as those of memory that nothing wrote."""

        def vertex(self):
            self.scatter(self.pull())
            self.push(self.pull())

        def __call__(self, *args, **kwargs):
            return super().__call__(*args, **kwargs) + noise * rng.standard_normal()

    rng = np.random.default_rng(3)
    cell = Arbitrary(state_size=2, arity=1)
    report = cavs.check_equivalence(cell, cavs.GraphBatch.chain([3, 1]), tf.ones([4, 2]))
    assert [d.name for d in report.differences if not d.ok] == ["output"], report


def test_check_equivalence_of_pushes_of_two_types():
    @cavs.vertex_function(state_size=2, arity=1)
    def cell(v):
        state = tf.tanh(v.pull() + v.gather(0))
        v.scatter(state)
        v.push(state, "single")
        v.push(tf.cast(state, tf.float64) ** 2, "double")
        v.push(v.vertex_ids(), "ids")

    report = cavs.check_equivalence(cell, cavs.GraphBatch.chain([3, 1]), tf.ones([4, 2]))
    assert report.ok, str(report)
    assert len(report.differences) == 4


class Descending(cavs.GraphSupport):
    """Descends the gradient of an energy, by a tape inside of the vertex function."""

    arity = 1

    def __init__(self, persistent, **kwargs):
        super().__init__(state_size=2, **kwargs)
        self.w = self.add_weight(shape=(2, 2), initializer="orthogonal", name="w")
        self.persistent = persistent

    def vertex(self):
        state = self.pull() + self.gather(0)
        with tf.GradientTape(persistent=self.persistent) as tape:
            tape.watch(state)
            energy = tf.reduce_sum(tf.sin(tf.matmul(state, self.w)), axis=1)
        state -= tape.gradient(energy, state)
        if self.persistent:
            state += tf.linalg.diag_part(tape.gradient(energy, self.w))
        self.scatter(state)
        self.push(state)


@pytest.mark.parametrize("how", ["eagerly", "under a tape", "in a function"])
def test_a_tape_in_a_vertex_function_records(how):
    cell = Descending(persistent=False, dtype="float64")
    rows = np.random.default_rng(0).normal(size=(4, 2))
    if how == "in a function":
        outputs = tf.function(cell)(TREE.chain([3, 1]), rows)
    elif how == "under a tape":
        with tf.GradientTape(persistent=True):
            outputs = cell(TREE.chain([3, 1]), rows)
    else:
        outputs = cell(TREE.chain([3, 1]), rows)
    w = cell.w.numpy()
    np.testing.assert_allclose(outputs[0], rows[0] - np.cos(rows[0] @ w) @ w.T)
    report = cavs.check_equivalence(cell, cavs.GraphBatch.chain([3, 1]), rows)
    assert report.ok, str(report)


def test_gradients_of_weights_within_a_vertex_function_are_sums_over_rows():
    cell = Descending(persistent=True)
    with pytest.raises(ValueError, match="rows that depend on each other"):
        cell(cavs.GraphBatch.chain([3, 1]), tf.ones([4, 2]))


def stages(cell, which):
    """{stage: names of operators} of one traced function."""
    functions = cell._cache.last
    pairs = getattr(functions, which)
    description = ops.cavs_describe(
        vertex_functions=[f for f, _ in pairs], vertex_signatures=[s for _, s in pairs]
    )
    result = {}
    for node in json.loads(description.numpy())[0]["nodes"]:
        result.setdefault(node["stage"], []).append(node["kind"])
    return result


def test_the_operators_of_a_tree_lstm_run_when_the_paper_says():
    cell = cells.TreeLSTM()
    cell(TREE, tf.ones([4, cells.FEATURES]))
    forward, backward = stages(cell, "forward"), stages(cell, "backward")
    assert "pull" in forward["eager"]
    assert "push" in forward["lazy"]
    assert {"gather", "scatter", "matmul"} <= set(forward["critical"])
    assert "push_grad" in backward["eager"]
    assert {"pull_grad", "weight_grad", "sum_rows"} <= set(backward["lazy"])
    assert {"scatter_grad", "gather_grad", "matmul"} <= set(backward["critical"])
    assert "weight_grad" not in backward["critical"]
    assert "foreign" not in forward["critical"] + backward["critical"]


def test_explain_shows_the_program_as_it_runs():
    cell = cells.Fallback(options=cavs.Options(disable=["specialize"]))
    inputs = cells.inputs_for(cell, 4, "float32", 0)
    text = cavs.explain(cell, TREE, inputs, program=True)
    forward, backward = re.split('  (?:program|derivative) "', text)[1:]
    assert forward.startswith('Fallback.vertex"\n    ')
    assert re.search(r'    %\d+ = gather\(0\) : rows<\d+xf32>  {critical}  "', forward)
    assert re.search(r" = foreign %\d+, .* : rows<.*>  {\w+}  .* CumulativeLogsumexp\n", forward)
    assert re.search(r"    gather_grad\(0\) %\d+ .*  // skipped without children\n", backward)
    assert "program" not in cavs.explain(cell, TREE, inputs)


def test_explain_shows_the_programs_of_leaves():
    cell = cells.TreeLSTM()
    inputs = cells.inputs_for(cell, 4, "float32", 0)
    text = cavs.explain(cell, TREE, inputs, program=True)
    for title, missing in (("F", "matmul"), ("dF", "gather_grad")):
        start = f"{title} of TreeLSTM.vertex"
        general = text.split(f"\n{start}\n" if title == "dF" else f"{start}\n")[1]
        general, leaf = general.split(
            f"{start} (leaves), in tasks in which no vertex has a child\n"
        )
        assert leaf.split("\n\n")[0].count(missing) < general.count(missing)
        assert '"TreeLSTM.vertex' in general
        assert '(leaves)"' in leaf
    assert "in tasks in which" not in cavs.explain(cell, TREE, inputs)
    plain = cells.TreeLSTM(options=cavs.Options(disable=["specialize"]))
    assert "in tasks in which" not in cavs.explain(plain, TREE, inputs, program=True)


def test_explain_says_how_it_runs():
    cell = cells.Fallback()
    text = cavs.explain(cell, TREE, cells.inputs_for(cell, 4, "float32", 0))
    for part in ("F of Fallback.vertex", "dF of Fallback.vertex", "eager", "critical", "lazy"):
        assert part in text
    assert " CumulativeLogsumexp (" in text.split("by TensorFlow's own kernels:")[1]
    assert "4 vertices in 2 tasks" in text
    assert "state 128, tape " in text


class OneOrTwo(keras.layers.Layer):
    """A factor of 1 in training, else 2: variables that look alike."""

    def __init__(self):
        super().__init__()
        self.one, self.two = (tf.Variable(value, name="factor") for value in (1.0, 2.0))

    def call(self, x, training=None):
        return x * (self.one if training else self.two)


@pytest.mark.parametrize(
    ("make", "alike"), [(lambda: keras.layers.Dense(1), True), (OneOrTwo, False)]
)
def test_training_and_inference_share_a_trace_where_they_are_alike(make, alike):
    layer = make()

    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        state = layer(v.pull())
        v.scatter(state)
        v.push(state)

    trained, inferred = (cell(TREE, tf.ones([4, 1]), training=flag) for flag in (True, False))
    (known,) = cell._cache.known
    assert len({id(functions) for functions in known.functions.values()}) == 2 - alike
    np.testing.assert_array_equal(inferred, trained if alike else 2 * trained)
