"""Errors are found before anything is computed: one test for each message.

Those of graphs and schedules are in test_graphs.py and test_schedule.py.
"""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import ops
from cavs_tf._running.forward import run_forward
from tests.helpers import cells

GRAPHS = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]]])
X = tf.ones([4, cells.FEATURES])


def rejects(message, error=ValueError):
    return pytest.raises(error, match=re.escape(message))


def cell_of(function, arity=2, state_size=2, **kwargs):
    return cavs.vertex_function(state_size=state_size, arity=arity, **kwargs)(function)


def good(v):
    v.scatter(v.pull()[:, :2])
    v.push(v.pull())


# --- what the constructor is given --------------------------------------------


@pytest.mark.parametrize("state_size", [0, -1, "4", (2, 0), (), 3.0, (2, 1.0), None])
def test_state_size(state_size):
    with rejects(f"state_size: got {state_size!r} but expected a positive integer"):
        cavs.GraphSupport(state_size)


def test_integers_of_numpy_are_state_sizes():
    assert cavs.GraphSupport(np.int64(3)).state_shape == (3,)
    assert cavs.GraphSupport(np.array([3, 2])).state_shape == (3, 2)


def test_a_decorator_without_a_state_size():
    with rejects("but expected a positive integer, or a shape of them. It is the number"):
        cavs.vertex_function(good)


def test_options_that_are_none():
    with rejects("options: got 'streams' but expected an Options. Write cavs_tf.Options("):
        cavs.GraphSupport(1, options="streams")


def test_a_vertex_type_without_a_method():
    class Wrong(cavs.GraphSupport):
        vertex_types = ("leaf",)

    with rejects("vertex_types: got 'leaf' but expected names of methods. Write a method leaf("):
        Wrong(1)(GRAPHS, X)


@pytest.mark.parametrize("arity", [-1, 1.5, "2", True])
def test_arity(arity):
    with rejects(f"arity: got {arity!r} but expected an integer of at least 0"):
        cavs.GraphSupport(1, arity=arity)


def test_an_arity_of_numpy():
    assert type(cavs.GraphSupport(1, arity=np.int64(2)).arity) is int


def test_a_class_without_a_vertex_function():
    with rejects("GraphSupport.vertex: expected a method", NotImplementedError):
        cavs.GraphSupport(1)(GRAPHS, X)


# --- what a vertex function does ------------------------------------------------


@pytest.mark.parametrize("method", ["gather_all", "pull", "vertex_ids"])
def test_methods_outside_of_a_vertex_function(method):
    with rejects(f"{method}: called outside of a vertex function", RuntimeError):
        getattr(cell_of(good), method)()


def test_a_slot_beyond_the_arity():
    def wrong(v):
        v.scatter(v.gather(2))

    with rejects("gather: got slot 2 but expected one in [0, 2). Raise the arity"):
        cell_of(wrong)(GRAPHS, X)


def test_slots_and_rates_of_numpy():
    def sum_of_children(v):
        state = sum(v.gather(slot) for slot in np.arange(2))
        v.scatter(v.dropout(tf.where(v.has_child(np.int32(0))[:, None], state, 0), np.float32(0.5)))
        v.push(state)

    assert cell_of(sum_of_children)(GRAPHS, X).shape[1] == 2


@pytest.mark.parametrize("method", ["gather", "has_child"])
def test_a_slot_that_is_no_number(method):
    def wrong(v):
        v.scatter(getattr(v, method)(True))

    with rejects(f"{method}: got slot True but expected one in [0, 2)"):
        cell_of(wrong)(GRAPHS, X)


def test_messages_name_the_function_that_was_written():
    def tree_sum(v):
        v.push(v.pull())

    with rejects("tree_sum: got no scatter but expected exactly one"):
        cell_of(tree_sum)(GRAPHS, X)
    with rejects("Exception encountered when calling vertex_function.call()"):
        cell_of(good)(GRAPHS, X, pushes=["other"])


def test_gather_all_without_children():
    def wrong(v):
        v.scatter(v.gather_all())

    with rejects("gather_all: got arity 0 but expected at least 1"):
        cell_of(wrong, arity=0)(GRAPHS, X)


def test_a_pull_that_was_not_given():
    def wrong(v):
        v.scatter(v.pull("words"))

    with rejects("pull: got 'words' but expected one of ['default']"):
        cell_of(wrong)(GRAPHS, X)
    with rejects("pull: got 'words' but expected no pull, as no input was given"):
        cell_of(wrong)(GRAPHS)


def test_no_scatter():
    with rejects("got no scatter but expected exactly one. Call self.scatter(state)"):
        cell_of(lambda v: v.push(v.pull()))(GRAPHS, X)


def test_two_scatters():
    def wrong(v):
        v.scatter(v.gather(0))
        v.scatter(v.gather(1))

    with rejects("scatter: got a second state but expected exactly one"):
        cell_of(wrong)(GRAPHS, X)


def test_no_push():
    cell = cell_of(lambda v: v.scatter(v.pull()[:, :2]), name="silent")
    message = "silent: got no push but expected at least one. Call self.push(value) with what"
    with rejects(message):
        cell(GRAPHS, X)
    with rejects(message):
        cavs.keras.Graph(cell)(GRAPHS, X)
    with rejects(message):
        inputs = tf.keras.Input((3,))
        cell(cavs.keras.graph_inputs(), inputs)


def test_a_push_given_twice():
    def wrong(v):
        good(v)
        v.push(v.pull())

    with rejects("push: got 'default' a second time but expected every output once"):
        cell_of(wrong)(GRAPHS, X)


def test_a_state_of_another_shape():
    def wrong(v):
        v.scatter(v.pull())

    with rejects("scatter got shape (None, 3) but expected [None, 2]"):
        cell_of(wrong)(GRAPHS, X)


def test_a_state_of_another_dtype():
    def wrong(v):
        v.scatter(tf.cast(v.gather(0), tf.float64))

    with rejects("scatter got float64 but expected float32. Pass dtype="):
        cell_of(wrong)(GRAPHS, X)


def test_a_state_without_rows():
    def wrong(v):
        v.scatter(tf.ones([1, 2]))

    with rejects("scatter got a tensor of shape (1, 2) that has no row per vertex"):
        cell_of(wrong)(GRAPHS, X)


def test_a_push_of_texts():
    def wrong(v):
        v.scatter(v.gather(0))
        v.push(tf.strings.as_string(v.gather(0)))

    with rejects("push 'default' got a tensor of type string but expected numbers"):
        cell_of(wrong)(GRAPHS, X)


def test_a_push_without_rows():
    def wrong(v):
        v.scatter(v.gather(0))
        v.push(tf.ones([3]))

    with rejects("push 'default' got a tensor of shape (3,) that has no row per vertex"):
        cell_of(wrong)(GRAPHS, X)


def test_types_that_push_different_rows():
    class Wrong(cavs.GraphSupport):
        vertex_types = ("one", "two")

        def one(self):
            self.scatter(self.pull()[:, :2])
            self.push(self.pull())

        def two(self):
            self.scatter(self.pull()[:, :2])
            self.push(self.pull()[:, :1])

    with rejects("Wrong.two: push 'default' got rows of shape (1,) (float32) but expected (3,)"):
        Wrong(2)(GRAPHS, X)


@pytest.mark.parametrize(
    ("op", "function"),
    [
        ("Mean", lambda x: x - tf.reduce_mean(x, axis=0)),
        ("Max", lambda x: x / tf.reduce_max(x)),
        ("Softmax", lambda x: tf.transpose(tf.nn.softmax(tf.transpose(x)))),
        ("Cumsum", lambda x: tf.cumsum(x, axis=0)),
        ("ReverseV2", lambda x: x[::-1]),
        ("Roll", lambda x: tf.roll(x, 1, axis=0)),
    ],
)
def test_rows_that_depend_on_each_other(op, function):
    def wrong(v):
        state = function(tf.tanh(v.pull()[:, :2] + v.gather(0)))
        v.scatter(state)
        v.push(state)

    expected = {"ReverseV2": "StridedSlice"}.get(op, op)
    with pytest.raises(ValueError, match=rf"got rows that depend on each other.*\({expected}\)"):
        cell_of(wrong)(GRAPHS, X)


def test_ids_that_depend_on_each_other():
    table = tf.Variable(tf.random.normal([3, 2]))

    def wrong(v):
        rows = tf.gather(table, v.pull())
        v.scatter(rows - tf.reduce_mean(rows, axis=0))

    with pytest.raises(ValueError, match=r"got rows that depend on each other.*\(Mean\)"):
        cell_of(wrong)(GRAPHS, tf.constant([0, 1, 2, 0]))


def test_batch_normalisation_over_rows():
    norm = tf.keras.layers.BatchNormalization()

    class Wrong(cavs.GraphSupport):
        def __init__(self):
            super().__init__(state_size=3)
            self.norm = norm

        def vertex(self):
            self.scatter(self.norm(self.pull(), training=True))

    with pytest.raises(ValueError, match=r"got rows that depend on each other.*\(Mean\)"):
        Wrong()(GRAPHS, X)


@pytest.mark.parametrize("arguments", [{}, {"noise_shape": [1, 2], "seed": 3}])
def test_dropout(arguments):
    def wrong(v):
        v.scatter(tf.nn.dropout(v.pull()[:, :2], 0.5, **arguments))

    with rejects("For dropout, call self.dropout(x, rate) of the GraphSupport. Draw other"):
        cell_of(wrong)(GRAPHS, X)


@pytest.mark.parametrize("layer", [keras.layers.Dropout, keras.layers.GaussianNoise])
def test_layers_that_draw_a_number_for_each_row(layer):
    made = layer(0.5)

    def wrong(v):
        v.scatter(made(v.gather(0)))

    with rejects("For dropout, call self.dropout(x, rate) of the GraphSupport. Draw other"):
        cell_of(wrong)(GRAPHS, X, training=True)


def test_a_variable_changed_by_a_vertex():
    counter = tf.Variable(0.0)

    def wrong(v):
        counter.assign_add(1.0)
        good(v)

    with rejects("changes a variable but expected a function without effects"):
        cell_of(wrong)(GRAPHS, X)


def test_an_operator_without_a_gradient_is_named_when_it_is_needed():
    def no_gradient(v):
        state = tf.raw_ops.SoftsignGrad(gradients=v.pull()[:, :2], features=v.gather(0))
        v.scatter(state)
        v.push(state)

    cell = cell_of(no_gradient)
    assert cell(GRAPHS, X).shape == [4, 2]  # Inference needs no gradient.
    with tf.GradientTape() as tape:
        tape.watch(X)
        loss = tf.reduce_sum(cell(GRAPHS, X))
    with pytest.raises(LookupError, match=r"has no gradient.*SoftsignGrad"):
        tape.gradient(loss, X)


# --- what it is called with -----------------------------------------------------


def test_graphs_of_another_class():
    with rejects("graphs: got list but expected a GraphBatch"):
        cell_of(good)([[0]], X)


def test_inputs_of_another_minibatch():
    with rejects("inputs['default']: got 3 rows but expected 4, one per vertex"):
        cell_of(good)(GRAPHS, X[:3])


def test_inputs_of_another_minibatch_found_when_running():
    cell = cell_of(good)
    spec = tf.TensorSpec([None, cells.FEATURES], tf.float32)

    @tf.function(input_signature=[cavs.GraphBatch.Spec(), spec])
    def run(graphs, x):
        return cell(graphs, x)

    message = "pulls[0]: got shape [3,3] but expected [4, ...]: one row per vertex"
    with rejects(message, tf.errors.InvalidArgumentError):
        run(GRAPHS, X[:3])


def test_inputs_for_neither_all_vertices_nor_those_that_pull_them():
    cell = cells.Typed(dtype="float32")
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]]], [0, 0, 1])
    message = (
        "pulls[0]: got shape [1,3] but expected [3, ...]: one row per vertex of the minibatch, or "
        "[2, ...]: one per vertex of the types that pull it"
    )
    with rejects(message, tf.errors.InvalidArgumentError):
        cell(graphs, X[:1])
    with rejects("inputs['default']: got another number", tf.errors.InvalidArgumentError):
        cavs.reference.run(cell, graphs, X[:1])
    cell(graphs, X[:2])


@pytest.mark.parametrize(
    "at, message, error",
    [
        ([0.5], "at: got float32 of shape (1,) but expected integers of shape [n]", ValueError),
        ([[0]], "at: got int32 of shape (1, 1) but expected integers of shape [n]", ValueError),
        ([0, 4], "at[1]: got 4 but expected a vertex of the minibatch, in [0, 4)", None),
        (np.array([2**32]), "at[0]: got 4294967296 but expected an integer in", ValueError),
        ([-1], "at[0]: got -1 but expected a vertex of the minibatch, in [0, 4)", None),
        ([2, 0, 2], "at[2]: got vertex 2, as in at[0], but expected every vertex once", None),
    ],
)
def test_vertices_that_cannot_be_chosen(at, message, error):
    cell = cell_of(good)
    with rejects(message, error or tf.errors.InvalidArgumentError):
        cell(GRAPHS, X, at=at)


def test_layers_without_inputs():
    for layer in (cavs.keras.TreeLSTM(2), cavs.keras.LSTM(2), cavs.keras.TreeGRU(2)):
        with rejects("but expected [V, features], one row per vertex. Call the layer with (graphs"):
            layer(GRAPHS)


def test_sequences_of_another_rank():
    with rejects("sequences: got shape (4, 3) but expected [B, T, features], or a RaggedTensor"):
        cavs.keras.LSTM(2)(X)


def test_a_mask_of_other_sequences():
    with rejects("mask: got shape (1, 3) but expected (1, 4), one value per step."):
        cavs.keras.LSTM(2)(X[None], mask=tf.ones([1, 3], tf.bool))


def test_batches_that_are_no_list():
    with rejects("batches: got a GraphBatch but expected a list of them."):
        cavs.GraphBatch.concat(GRAPHS)


def test_batches_of_no_dataset_and_of_no_size():
    with rejects("dataset: got a list but expected a tf.data.Dataset of examples."):
        cavs.data.batch([1, 2], 2)
    with rejects("batch_size: got 0 but expected an int of at least 1."):
        cavs.data.batch(cavs.data.listops(2), 0)


def test_what_cannot_be_fitted():
    inputs = {"token": None}
    with rejects("batches: got elements that are not dicts but expected minibatches of graphs."):
        cavs.keras.for_fit(tf.data.Dataset.range(2), inputs, "label")
    batches = cavs.data.batch(cavs.data.listops(2), 2)
    with rejects("but expected 'labels' among them. Name a feature that there is, or add it"):
        cavs.keras.for_fit(batches, inputs, "labels")


def test_a_scalar_input():
    with rejects("inputs['default']: got a scalar but expected [V, ...]"):
        cell_of(good)(GRAPHS, tf.constant(1.0))


def test_an_input_of_unknown_width():
    cell = cell_of(good)

    @tf.function(input_signature=[tf.TensorSpec([None, None], tf.float32)])
    def run(x):
        return cell(GRAPHS, x)

    with rejects("but expected [V, ...] with known sizes after the first. Use tf.ensure_shape"):
        run(X)


def test_more_children_than_the_arity():
    with rejects("expected at most 1, the arity of the vertex function", tf.errors.OpError):
        cell_of(good, arity=1)(GRAPHS, X)


def test_a_type_without_a_function():
    graphs = cavs.GraphBatch.from_children([[[], [0]]], [0, 1])
    with rejects(
        "vertex_type[0][1]: got 1 but expected a type with a vertex function, [0, 1)",
        tf.errors.InvalidArgumentError,
    ):
        cell_of(good)(graphs, X[:2])


def test_a_schedule_of_another_arity():
    def gathers(v):
        v.scatter(v.gather(1))
        v.push(v.pull())

    cell = cell_of(gathers)
    cell(GRAPHS, X)
    functions = cell._cache.last
    schedule = cavs.GraphBatch.chain([4]).schedule(arity=1)
    with rejects("got child rows of 1 slots but expected at least 2", tf.errors.OpError):
        run_forward(functions, schedule, {"default": X}, cavs.Options())


@pytest.mark.parametrize("number", [3, 5])
def test_rows_of_another_minibatch_for_the_roots(number):
    roots, rows = cavs.keras.Roots(), tf.ones([number, 2])
    with rejects(f"rows: got {number} rows but expected 4, one per vertex of the graphs. Check"):
        roots(GRAPHS, rows)
    with rejects(f"rows['a']: got {number} rows but expected 4, one per vertex of the graphs."):
        roots(GRAPHS, {"a": rows})
    spec = tf.TensorSpec([None, 2])
    run = tf.function(roots, input_signature=[cavs.GraphBatch.Spec(), spec])
    message = "rows: got another number of rows than the graphs have vertices but expected one per"
    with rejects(message, tf.errors.InvalidArgumentError):
        run(GRAPHS, rows)
    run(GRAPHS, tf.ones([4, 2]))


# --- options ---------------------------------------------------------------------


def test_a_number_of_streams_other_than_one_and_two():
    with rejects("streams: got 3 but expected 1, 2 or 'auto'."):
        cavs.Options(streams=3)


def test_a_micro_batch_without_graphs():
    with rejects("micro_batch: got 0 but expected an int of at least 1"):
        cavs.Options(micro_batch=0)


@pytest.mark.parametrize(
    ("disable", "name"),
    [
        ("lazy", "lazy"),
        (["lazy", "lazyness"], "lazyness"),
        ([["lazy"]], ["lazy"]),
        ({"lazy": False}, {"lazy": False}),
        (None, None),
        (True, True),
    ],
)
def test_names_that_no_pass_has(disable, name):
    with rejects(f"disable: got {name!r} but expected a list with some of 'decompose', 'look_up'"):
        cavs.Options(disable=disable)


def test_passes_that_are_left_out_are_named_in_any_order():
    options = cavs.Options(disable={"lazy", "eager", "look_up"})
    assert options == cavs.Options(disable=["eager", "look_up", "lazy", "lazy"])
    assert hash(options) == hash(cavs.Options(**options.config()))
    assert options.disable == ("look_up", "eager", "lazy")


# --- the ops by themselves -------------------------------------------------------


def test_gather_of_a_row_out_of_range():
    message = "child_row[1]: got 3 but expected -1 (no child) or a row in [0, 2)"
    with rejects(message, tf.errors.InvalidArgumentError):
        cavs.ops.gather(tf.ones([2, 1]), [0, 3])


def test_scatter_of_a_row_out_of_range():
    message = "child_row[0]: got -2 but expected -1 (no child) or a row in [0, 5)"
    with rejects(message, tf.errors.InvalidArgumentError):
        cavs.ops.scatter(tf.ones([1, 1]), [-2], 5)


def test_scatter_of_fewer_rows_than_indices():
    with rejects("Dimensions must be equal", ValueError):
        tf.function(lambda: cavs.ops.scatter(tf.ones([1, 1]), [0, 1], 2))()
    with rejects("values: got shape [1,1] but expected [2, ...]", tf.errors.InvalidArgumentError):
        cavs.ops.scatter(tf.ones([1, 1]), [0, 1], 2)


def test_scatter_into_fewer_than_no_rows():
    with rejects("num_rows: got -1 but expected at least 0", tf.errors.InvalidArgumentError):
        cavs.ops.scatter(tf.ones([1, 1]), [-1], -1)


@pytest.mark.parametrize("function", [cavs.ops.pull, cavs.ops.push])
def test_an_order_that_is_no_permutation(function):
    message = "order[2]: got 0 for the second time but expected a permutation of [0, 3)"
    with rejects(message, tf.errors.InvalidArgumentError):
        function(tf.ones([3, 1]), [0, 1, 0])
    with rejects("order[0]: got 3 but expected a row in [0, 3)", tf.errors.InvalidArgumentError):
        function(tf.ones([3, 1]), [3, 1, 0])


def test_strings_cannot_be_pulled():
    with rejects("expected a numeric or boolean type", tf.errors.UnimplementedError):
        cavs.ops.pull(tf.constant(["a"]), [0])


def forward_op(functions, at=(), pulled_by=(True,)):
    """Calls the forward op of one vertex function without weights; it keeps no tape."""
    schedule = GRAPHS.schedule(arity=2)
    return ops.cavs_forward(
        schedule.order,
        schedule.task_splits,
        schedule.task_type,
        schedule.child_row,
        [X],
        [],
        list(at),
        [],
        [],
        vertex_functions=[f for f, _ in functions.forward],
        vertex_signatures=[s for _, s in functions.forward],
        gradient_functions=[],
        gradient_signatures=[],
        capture_counts=[0],
        pulled_by=list(pulled_by),
        pull_shapes=[[3]],
        push_shapes=[[3]],
        capture_shapes=[],
        capture_grad_types=[],
        differentiable=[],
        Tpushes=[tf.float32],
    )


def functions_of_good():
    cell = cell_of(good)
    results = cell(GRAPHS, X)  # Without a GradientTape, no tape is kept.
    assert np.isfinite(results).all()
    return cell._cache.last


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"at": [[0], [1]]}, ValueError, "at: got several tensors but expected one or none"),
        (
            {"pulled_by": [True] * 2},
            tf.errors.InvalidArgumentError,
            "pulled_by: got 2 values but expected 1, one per pull",
        ),
    ],
)
def test_arguments_of_the_op_that_do_not_fit(arguments, error, message):
    functions = functions_of_good()
    with rejects(message, error):
        # Shapes are inferred in graphs only.
        tf.function(lambda: forward_op(functions, **arguments).pushes)()


def test_a_tape_that_was_not_kept():
    functions = functions_of_good()
    with rejects("tape: got an empty one but expected", tf.errors.InvalidArgumentError):
        ops.cavs_backward(
            forward_op(functions).tape,
            [X],
            gradient_functions=[f for f, _ in functions.backward],
            gradient_signatures=[s for _, s in functions.backward],
            capture_counts=[0],
            pulls=[0],
            pull_shapes=[[3]],
            capture_shapes=[],
            Tpulls=[tf.float32],
            Tcaptures=[],
        )
