"""Calls of C++ ops that no model makes, but a file may contain, are refused and end no process."""

import re

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import ops
from tests.fuzz.raw_calls import make_models
from tests.fuzz.raw_functions import Named, Spoiler
from tests.helpers import processes

SPOILER = Spoiler()
INVALID = tf.errors.InvalidArgumentError


def rejects(message, error=INVALID):
    return pytest.raises(error, match=re.escape(message))


def run_with_signature(call, which, old, new):
    """Runs a call of a model of one vertex type with another text in a signature."""
    (signature,) = call.attributes[f"{which}_signatures"]
    assert old in signature
    with SPOILER.changed(call.attributes[f"{which}_functions"][0]) as function:
        call.attributes[f"{which}_functions"] = [function]
        call.attributes[f"{which}_signatures"] = [signature.replace(old, new, 1)]
        call()


@pytest.fixture(scope="module")
def models():
    """One program per vertex type: a derivative that does not fit another is seen on the tape."""
    return make_models(cavs.Options(disable=["specialize"]))


@pytest.fixture
def tree(models):
    return models[0]


@pytest.fixture
def typed(models):
    return models[-1]


# --- attributes against functions, when the kernel is made ---------------------------


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("push_shapes", [[5]], "push_shapes[0]: got [5] but expected [4]"),
        ("push_shapes", [[2**40]], "push_shapes[0]: got [1099511627776] but expected [4]"),
        ("push_shapes", [[1] * 254], "push_shapes[0]: got [1,1,"),
        ("push_shapes", [[None]], "push_shapes[0]: got [?] but expected [4]"),
        ("push_shapes", [], "push_shapes: got 0 shapes but expected 1"),
        ("push_shapes", [[4], [4]], "push_shapes: got 2 shapes but expected 1"),
        ("pull_shapes", [[2]], "pull_shapes[0]: got [2] but expected [3]"),
        ("pull_shapes", [], "pull_shapes: got 0 shapes but expected 1"),
        ("Tpushes", [tf.bfloat16], "pushes[0]: got bfloat16 but expected float"),
        ("Tpushes", [tf.string], "pushes[0]: got string but expected float"),
        ("Tpushes", [], "pushes: got 0 of them but expected at least 1"),
        ("capture_counts", [-6], "capture_counts[0]: got -6 but expected at least 0"),
        ("capture_counts", [5], "captures: got 6 tensors but expected 5, the sum of capture_coun"),
        ("capture_counts", [2**31 - 1], "captures: got 6 tensors but expected 2147483647"),
        ("capture_counts", [3, 3], "capture_counts: got 2 values but expected one per vertex fu"),
        ("streams", 3, "streams: got 3 but expected 1 or 2."),
    ],
)
def test_attributes_of_the_forward_op(tree, name, value, message):
    call = tree.forward()
    call.attributes[name] = value
    with rejects(message):
        call()


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("gather:0", "gather:-1", 'signature: got "gather:-1" but expected a role with a number'),
        ("gather:0", "gather:x", 'signature: got "gather:x" but expected a role with a number'),
        ("gather:0", "gather:1", 'signature: got "gather:1" but expected every role once'),
        ("gather:0", "garner:0", 'signature: got "garner:0" but expected the name of a role'),
        ("gather:0", "push_grad:0", "expected roles of a vertex function, or of a derivative, but"),
        ("vertex_ids,", "", "but expected a role per argument and result of the function"),
        ("vertex_ids", "vertex_ids:1", "but expected a role without a number"),
        ("->scatter", "->push:7", "but expected one scatter"),
        ("->", ",", "but expected arguments, an arrow, results"),
        ("push:0", "push:1", "pushes: got 1 of them but expected at least 2"),
        ("pull:0", "pull:5", "pulls: got 1 of them but expected at least 6"),
        ("saved:0", "saved:77", "but expected saved results in order"),
        ("capture:5", "capture:9", "captures: got 6 of them but expected at least 10"),
        ("gather:0", "gather:999", "got child rows of 2 slots but expected at least 1000"),
    ],
)
def test_signatures_of_the_forward_op(tree, old, new, message):
    call = tree.forward(keep_tape=True)
    with rejects(message):
        run_with_signature(call, "vertex", old, new)


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("saved:0", "saved:-3", "expected a role with a number of at least"),
        ("saved:0", "saved:999", "tape: got that of another model"),
        ("gather_grad:0", "gather_grad:999", "got child rows of 2 slots"),
        ("push_grad:0", "push_grad:4", "push_grads: got 1 of them but expe"),
        ("pull_grad:0", "pull_grad:4", "pull_grads: got 1 of them but expe"),
        ("capture_grad:0", "capture_grad:9", "capture_grads[9]: got anothe"),
    ],
)
def test_signatures_of_the_backward_op(tree, old, new, message):
    with rejects(message):
        run_with_signature(tree.backward(), "gradient", old, new)


@pytest.mark.parametrize(
    "name, value, message",
    [
        ("Tcaptures", [tf.bfloat16] * 6, "capture_grads["),
        ("Tcaptures", [tf.string] * 6, "Tcaptures[0]: got string but expected a numeric type"),
        ("capture_counts", [-1], "capture_counts[0]: got -1 but expected at least 0"),
        ("capture_counts", [7], "captures: got 6 tensors but expected 7"),
        ("capture_shapes", [[2**40, 2**10]] * 6, "capture_shapes[0]: got [1099511627776,1024] but"),
        ("pull_shapes", [[4]], "pull_shapes[0]: got [4] but expected [3]"),
        ("pull_shapes", [], "pull_shapes: got 0 shapes but expected 1"),
        ("Tpulls", [tf.bfloat16], "pull_grads[0]: got bfloat16 but expected float"),
        ("pulls", [7], "tape: got that of another model"),
        ("pulls", [], "pulls: got 0 numbers but expected 1"),
    ],
)
def test_attributes_of_the_backward_op(tree, name, value, message):
    call = tree.backward()
    call.attributes[name] = value
    with rejects(message):
        call()


def test_roles_of_a_derivative_are_none_of_a_vertex_function(tree):
    call = tree.forward()
    for name in ("functions", "signatures"):
        call.attributes[f"vertex_{name}"] = call.attributes[f"gradient_{name}"]
    with rejects("but expected that of a vertex function. Leave the signature"):
        call()


def test_gradients_for_a_memory_prediction_gather_from_slots_that_there_are(tree):
    with rejects("got child rows of 2 slots but expected at least 1000"):
        run_with_signature(tree.memory(), "gradient", "gather_grad:0", "gather_grad:999")


def test_a_micro_batch_is_chosen_for_an_arity_that_has_all_slots(tree):
    call = tree.micro_batch()
    assert call().micro_batch == tree.graphs.num_graphs
    call.attributes["arity"] = 1
    with rejects("arity: got 1 but expected at least 2, as the functions gather from slot 1."):
        call()
    call.attributes["arity"] = 2
    with rejects("arity: got 2 but expected at least 1000"):
        run_with_signature(call, "gradient", "gather_grad:0", "gather_grad:999")


@pytest.mark.parametrize("make", ["memory", "micro_batch"])
def test_constants_of_a_graph(tree, make):
    """If TensorFlow folded the op, it would make kernels without functions."""
    call = getattr(tree, make)()
    expected = call()
    call.inputs = [value if isinstance(value, list) else value.numpy() for value in call.inputs]
    for found, value in zip(tf.function(call.__call__)(), expected, strict=True):
        np.testing.assert_array_equal(found, value)


@pytest.mark.parametrize("make", ["memory", "micro_batch"])
def test_numbers_of_rows_that_are_none(tree, make):
    for i in (4, 5):
        call = getattr(tree, make)()
        call.inputs[i] = tf.constant([[3]], tf.int64)
        with rejects("pulled_rows, pushed_rows: got shapes"):
            call()


def test_available_bytes_that_are_no_number(tree):
    call = tree.micro_batch()
    call.inputs[6] = tf.constant([1, 2], tf.int64)
    with rejects("available: got shape [2] but expected a scalar. Pass one number of bytes."):
        call()


# --- inputs against functions, at every step -------------------------------------------


@pytest.mark.parametrize(
    "pull, message",
    [
        (tf.ones([7, 3], tf.bfloat16), "pulls[0]: got bfloat16 but expected float"),
        (tf.ones([7, 3], tf.int32), "pulls[0]: got int32 but expected float"),
        (tf.constant([["a"] * 3] * 7), "pulls[0]: got string but expected float"),
        (tf.ones([7, 2]), "pulls[0]: got shape [7,2] but expected rows of shape [3]"),
        (tf.ones([7, 3, 1]), "pulls[0]: got shape [7,3,1] but expected rows of shape [3]"),
        (tf.ones([6, 3]), "pulls[0]: got shape [6,3] but expected [7, ...]"),
    ],
)
def test_pulls_of_another_type_or_shape(tree, pull, message):
    call = tree.forward()
    call.inputs[4] = [pull]
    with rejects(message):
        call()


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda w: tf.cast(w, tf.bfloat16), "captures[0]: got bfloat16 but expected float"),
        (lambda w: tf.constant("weights"), "captures[0]: got string but expected float"),
        (
            lambda w: w[:-1],
            "): got shape [6, 12] but expected [7, 12], as when the vertex function",
        ),
        (lambda w: w[None], "): got shape [1, 7, 12] but expected [7, 12], as when the vertex f"),
    ],
)
def test_captures_of_another_type_or_shape(tree, spoil, message):
    call = tree.forward()
    call.inputs[5][0] = spoil(call.inputs[5][0])
    with rejects(message):
        call()


@pytest.mark.parametrize(
    "grad, message",
    [
        (tf.ones([7, 4], tf.bfloat16), "push_grads[0]: got bfloat16 but expected float"),
        (tf.ones([7, 3]), "push_grads[0]: got shape [7,3] but expected rows of shape [4]"),
        (tf.ones([7, 2, 2]), "push_grads[0]: got shape [7,2,2] but expected rows of shape [4]"),
        (tf.ones([]), "push_grads[0]: got shape [] but expected [7, ...], as the push."),
    ],
)
def test_gradients_of_pushes_of_another_type_or_shape(tree, grad, message):
    call = tree.backward()
    call.inputs[1] = [grad]
    with rejects(message):
        call()


def test_tapes_that_are_none(tree):
    for tape in (tf.stack([tree.tape]), tf.reshape(tf.stack([tree.tape]), [1, 1])):
        call = tree.backward()
        call.inputs[0] = tape
        with rejects("tape: got an empty one but expected that of a CavsForward"):
            call()
    call.inputs[0] = tf.raw_ops.EmptyTensorList(
        element_shape=tf.zeros([0], tf.int32), max_num_elements=1, element_dtype=tf.float32
    )
    with rejects("tape: got an empty one but expected that of a CavsForward"):
        call()


def test_tapes_of_other_models(models):
    for model in models:
        for other in models:
            call = model.backward()
            call.inputs[0] = other.tape
            if model is not other:
                with pytest.raises(INVALID):
                    call()


def test_a_tape_of_a_schedule_with_fewer_slots(tree):
    # No forward function of this model reads slot 1.
    call = tree.forward(keep_tape=True)
    call.inputs[:4] = [tf.zeros([0], tf.int32), [0], tf.zeros([0], tf.int32), tf.zeros([1, 0])]
    call.inputs[:4] = [tf.cast(t, tf.int32) for t in call.inputs[:4]]
    call.inputs[4] = [tf.zeros([0, 3])]
    backward = tree.backward()
    backward.inputs = [call().tape, [tf.zeros([0, 4])]]
    assert all(np.all(grad == 0) for grad in backward().capture_grads)  # There are no vertices.


@pytest.mark.parametrize(
    "i, value, message",
    [
        (0, [[0]], "order: got shape [1,1] but expected a vector"),
        (1, 0, "task_splits: got shape [] but expected a vector"),
        (2, [[0]], "task_type: got shape [1,1] but expected a vector"),
        (3, [0], "child_row: got shape [1] but expected [arity, V]"),
    ],
)
def test_schedules_of_other_ranks(tree, i, value, message):
    call = tree.forward()
    call.inputs[i] = tf.constant(value, tf.int32)
    with rejects(message):
        call()


def test_vertices_that_are_no_vector(tree):
    call = tree.forward()
    call.inputs[6] = [tf.constant([[0]])]
    with rejects("at: got 1 tensors, of shape [1,1] the first, but expected one vector"):
        call()


# --- shape functions ---------------------------------------------------------------------


def test_shapes_that_are_no_outputs_are_refused_while_a_graph_is_built(typed):
    # An exception that leaves a shape function would leave the graph locked for ever.
    call = typed.forward()
    call.attributes["push_shapes"] = [[2, 2]] * 5
    with tf.Graph().as_default(), rejects("push_shapes: got 5 shapes but expected 2", ValueError):
        call.inputs = [
            [tf.constant(v.numpy()) for v in value] if isinstance(value, list) else value.numpy()
            for value in call.inputs
        ]
        call()


# --- functions that were changed -------------------------------------------------------------


def run_changed(model, change):
    """Runs the forward op of `model` with a function whose definition `change` was applied to."""
    call = model.forward()
    functions = call.attributes["vertex_functions"]
    with SPOILER.changed(functions[0], change) as first:
        call.attributes["vertex_functions"] = [first, *functions[1:]]
        call()


def test_a_shape_that_is_not_that_of_the_operator(tree):
    def widen(definition):
        node = next(n for n in definition.node_def if n.op == "MatMul")
        node.attr["_cavs_shapes"].list.shape[0].dim[1].size = 1000

    # TensorFlow's kernel multiplies instead, and its result does not have the expected shape.
    with rejects("elements but expected"):
        run_changed(tree, widen)


def test_a_shape_that_is_too_large(tree):
    def widen(definition):
        for node in definition.node_def:
            for shape in node.attr["_cavs_shapes"].list.shape:
                for dim in list(shape.dim)[1:]:
                    dim.size = 2**62

    with pytest.raises(tf.errors.OpError):
        run_changed(tree, widen)


def test_a_constant_of_another_type(typed):
    def retype(definition):
        node = next(n for n in definition.node_def if n.op == "Const")
        node.attr["dtype"].type = tf.int64.as_datatype_enum
        node.attr["value"].tensor.dtype = tf.float32.as_datatype_enum

    with pytest.raises(INVALID):
        run_changed(typed, retype)


def test_a_function_that_is_in_no_library(tree):
    call = tree.forward()
    call.attributes["vertex_functions"] = [Named(b"__inference_nothing_0")]
    with pytest.raises(tf.errors.OpError):
        call()


# --- rows by themselves, sizes ---------------------------------------------------------------


def test_rows_of_more_elements_than_there_can_be():
    state = tf.zeros([0, 2**62])
    with rejects("state: got 2 rows of shape [4611686018427387904] but expected a fully known"):
        ops.cavs_gather(state, [-1, -1])
    with rejects("values: got 5 rows of shape [4611686018427387904] but expected a fully known"):
        ops.cavs_scatter(state, tf.zeros([0], tf.int32), 5)


def test_more_rows_than_fit_into_memory():
    values = tf.zeros([0, 2**16])
    message = "values: got shape [2147483647,65536], that is 562949953159168 bytes, but expected"
    with rejects(message, tf.errors.ResourceExhaustedError):
        ops.cavs_scatter(values, tf.zeros([0], tf.int32), 2**31 - 1)


def test_a_number_of_rows_that_is_none():
    with rejects("num_rows: got shape [2] but expected a scalar"):
        ops.cavs_scatter(tf.ones([1, 1]), [0], [1, 1])


def test_child_lists_that_are_no_vectors():
    vector, matrix = [0, 1], [[0, 1]]
    for i, name in enumerate(("child_splits", "child_ids", "graph_splits")):
        fields = [vector] * i + [matrix] + [vector] * (2 - i)
        with rejects(f"{name}: got shape [1,2] but expected a vector"):
            ops.cavs_absolute_children(*fields)
        if name != "graph_splits":
            with rejects(f"{name}: got shape [1,2] but expected a vector"):
                ops.cavs_child_mask(*fields[:2], arity=1)


def test_a_child_mask_that_does_not_fit_into_memory():
    with rejects("mask: ", tf.errors.ResourceExhaustedError):
        ops.cavs_child_mask(np.zeros(2**22, np.int32), [0], arity=2**31 - 1)


@pytest.mark.parametrize(
    "change, message",
    [
        ({"names": []}, "got 0, 1 and 1 texts but expected 1, as many as there are splits"),
        ({"features": [[1], [2]]}, "expected 1, as many as there are splits and features, of whic"),
        ({"splits": [[[0, 1]]]}, "x: got shape [1,2] but expected a vector"),
        ({"expected": [[0]]}, "x: got splits of 1 examples but expected 0, as many as there are"),
        ({"expected": [[0, 2]]}, "x: got 1 rows but expected 2, one per vertex, in example 0 of t"),
    ],
)
def test_rows_that_are_not_as_many_as_they_should_be(change, message):
    call = {"features": [[1]], "splits": [[0, 1]], "expected": [[0, 1]]}
    call |= {"names": ["x"], "rows_of": ["vertex"], "advice": ["Correct it."]}
    assert [x.tolist() for x in map(np.asarray, ops.cavs_checked_rows(**call))] == [[1]]
    with rejects(message):
        ops.cavs_checked_rows(**(call | change))


def test_an_example_that_could_not_be_read():
    got = ops.cavs_checked_example(error="", features=[[1], "two"])
    assert [x.tolist() for x in map(np.asarray, got)] == [[1], b"two"]
    with rejects("file:3: got 'x' but"):
        ops.cavs_checked_example(error="file:3: got 'x' but", features=[[1]])
    with rejects("error: got shape [1] but expected a scalar"):
        ops.cavs_checked_example(error=["file:3"], features=[[1]])


def test_an_arity_whose_child_rows_do_not_fit_into_memory():
    message = "arity: got 1000000000 for 100 vertices, whose child rows take 400000000000 bytes"
    with rejects(message, tf.errors.ResourceExhaustedError):
        cavs.GraphBatch.chain([100]).schedule(arity=10**9)


@pytest.mark.parametrize("policy", ["deep", ""])
def test_a_policy_without_a_name(policy):
    empty = tf.zeros([0], tf.int32)
    with rejects("policy"):
        ops.cavs_schedule([0], empty, [0], empty, 1, arity=1, policy=policy)


# --- memory that is not there --------------------------------------------------------------

LIMIT = """
import resource
import tensorflow as tf
import cavs_tf as cavs
from cavs_tf._running.forward import run_forward
from cavs_tf._native.library import ops
from tests.helpers import cells

def limit(mebibytes):
    pages = int(open("/proc/self/statm").read().split()[0])
    soft = pages * resource.getpagesize() + (mebibytes << 20)
    resource.setrlimit(resource.RLIMIT_AS, (soft, -1))
"""

UNDER_A_LIMIT = """
graphs = cavs.GraphBatch.chain([1000] * 1000)
cell = cells.Linear(arity=1)
x = tf.ones([10**6, cells.FEATURES])
cell(cavs.GraphBatch.chain([2]), x[:2])
schedule = graphs.schedule(arity=1)
functions = cell._cache.last
calls = {
    "CavsSchedule": lambda: graphs.schedule(arity=1),
    "CavsForward": lambda: run_forward(functions, schedule, {"default": x}, cavs.Options()),
    "CavsPull": lambda: cavs.ops.pull(x, schedule.order),
}
for name, call in calls.items():
    for mebibytes in (1, 5, 12, 20, 40):
        limit(mebibytes)
        try:
            call()
            print(name, "ok")
        except tf.errors.ResourceExhaustedError as error:
            print(name, "refused")
        finally:
            limit(1 << 20)
"""


def printed_under_a_limit(script, folder):
    done, printed, error = processes.run_program(LIMIT + script, folder, folder)
    assert done, error
    return printed


@pytest.mark.in_turns
def test_a_process_without_memory_lives_on(tmp_path):
    lines = printed_under_a_limit(UNDER_A_LIMIT, tmp_path).split("\n")
    for name in ("CavsSchedule", "CavsForward"):
        assert f"{name} refused" in lines


AT_A_LIMIT = """
row = tf.zeros([1, 1])
limit((1 << 8) + 4)
try:
    ops.cavs_scatter(row, [0], 1 << 26)
except tf.errors.ResourceExhaustedError:
    pass
limit(1 << 20)
print(tf.zeros([1 << 20]).shape)
"""


def test_memory_can_be_allocated_after_an_allocation_that_nearly_fitted(tmp_path):
    # TensorFlow's allocator gets memory for the rows, but not for its own bookkeeping.
    assert "(1048576,)" in printed_under_a_limit(AT_A_LIMIT, tmp_path)
