"""The predicted and the measured memory of a step."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import ops
from cavs_tf.inspect._memory import functions_of
from tests.helpers import cells, processes
from tests.inspect import memory_of_a_step
from tests.inspect.memory_of_a_step import MODELS

GRAPHS = cavs.GraphBatch.chain([50, 30, 20])

needs_proc = pytest.mark.skipif(
    not pathlib.Path("/proc/self/clear_refs").exists(), reason="the peak cannot be reset"
)


def make_cell(**kwargs):
    cell = cells.TreeLSTM(arity=1, units=32, **kwargs)
    cell(GRAPHS, tf.ones([GRAPHS.num_vertices, cells.FEATURES]))
    return cell


@pytest.mark.in_turns
@needs_proc
@pytest.mark.parametrize(("model", "size"), [*((model, 20) for model in MODELS), ("tree_lstm", 60)])
def test_a_step_takes_what_was_predicted(model, size, tmp_path):
    arguments = (memory_of_a_step.main, (model, size), tmp_path)
    # Guard zones take memory too.
    found = json.loads(processes.printed_by(*arguments, CAVS_GUARD_ZONES="0").splitlines()[-1])
    for step in ("inference", "training"):
        ratio = found[step] / found[f"predicted_{step}"]
        assert 0.7 < ratio < 1.15, found


def test_only_rows_that_are_pulled_or_pushed_count():
    children = [[], [], [0, 1], [], [2, 3]]
    graphs = cavs.GraphBatch.from_children([children], [int(bool(c)) for c in children])
    cell = cells.FullyConnected()
    inputs = tf.ones([len(children), cells.FEATURES])
    of_all = cavs.predict_memory(cell, graphs, inputs)
    of_some = cavs.predict_memory(cell, graphs, inputs[:3], at=graphs.roots)
    assert of_all.forward.results - of_some.forward.results == 4 * cells.STATE * 4
    assert of_some.backward.results == of_all.backward.results - 2 * cells.FEATURES * 4
    copied = 64 + 64  # The gradient of one output behind a row of zeros, in whole cache lines.
    assert of_some.backward.temporaries == of_all.backward.temporaries + copied


@pytest.mark.parametrize("only_roots", [False, True])
def test_results_are_as_large_as_was_predicted(only_roots):
    children = [[], [], [0, 1], [], [2, 3]]
    graphs = cavs.GraphBatch.from_children([children], [int(bool(c)) for c in children])
    cell, x = cells.FullyConnected(), tf.ones([3, cells.FEATURES])
    at = graphs.roots if only_roots else None
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = cell(graphs, x, at=at)
    gradients = tape.gradient(outputs, [x, *cell.trainable_variables])
    memory = cavs.predict_memory(cell, graphs, x, at=at)
    assert memory.forward.results == memory.inference.results == outputs.numpy().nbytes
    assert memory.backward.results == sum(gradient.numpy().nbytes for gradient in gradients)


def test_states_of_adjacent_children_are_not_copied():
    def need_of(children):
        types = [int(bool(c)) for c in children]
        graphs = cavs.GraphBatch.from_children([children], types)
        inputs = tf.ones([len(children), cells.FEATURES], "float64")
        return cavs.predict_memory(cells.FullyConnected(dtype="float64"), graphs, inputs)

    leaves = [[], [], [], []]
    complete = need_of([*leaves, [0, 1], [2, 3], [4, 5]])
    lopsided = need_of([*leaves, [0, 1], [4, 2], [5, 3]])
    both_children = 2 * cells.STATE * 8  # Bytes of one inner vertex.
    assert lopsided.forward.tape - complete.forward.tape == 3 * both_children
    assert lopsided.backward.temporaries - complete.backward.temporaries >= both_children


def test_inference_keeps_the_state_and_no_more_than_two_tasks():
    cell = make_cell()
    row = 12 * 32 * 4  # The most bytes of one vertex: gates, sums and copies.
    for lengths in ([1000], [1000] * 2, [500, 400, 30]):
        need = cavs.predict_memory(cell, cavs.GraphBatch.chain(lengths)).inference
        assert need.state == (1 + sum(lengths)) * 64 * 4
        assert need.tape == 0
        assert need.temporaries < 2 * len(lengths) * row + 2**15 + 4096


def test_a_longer_chain_needs_more_tape_but_no_more_temporaries_for_inference():
    cell = make_cell()
    short, long = (
        cavs.predict_memory(cell, cavs.GraphBatch.chain([length])) for length in (100, 1000)
    )
    assert long.forward.tape > 9 * short.forward.tape
    kept = [memory.forward.state + memory.forward.tape for memory in (short, long)]
    assert long.training - short.training >= kept[1] - kept[0]
    assert long.inference.temporaries == short.inference.temporaries


def test_explain_says_what_was_predicted(capsys):
    cell = make_cell()
    memory = cavs.predict_memory(cell, GRAPHS)
    text = cavs.explain(cell, GRAPHS)
    capsys.readouterr()
    assert f"memory for training: {memory.training:,} bytes at its peak" in text
    assert f"memory for inference: {memory.inference.total:,} bytes" in text
    assert f"packed weights {memory.forward.packed_weights:,}" in text


def test_without_a_derivative_there_is_no_backward_direction():
    @cavs.vertex_function(state_size=2, arity=1)
    def cell(v):
        v.scatter(tf.raw_ops.SoftsignGrad(gradients=v.pull(), features=v.gather(0)))

    memory = cavs.predict_memory(cell, cavs.GraphBatch.chain([3]), tf.ones([3, 2]))
    assert memory.backward is None
    assert memory.training == memory.forward.total


OUT_OF_MEMORY = """
import contextlib
import resource
import tensorflow as tf
import cavs_tf as cavs
from tests.helpers import cells

cell = cells.TreeLSTM(arity=1, units=256)
small = cavs.GraphBatch.chain([9])
cell(small, tf.ones([9, cells.FEATURES]))
graphs = cavs.GraphBatch.chain([200] * 1000)
x = tf.ones([graphs.num_vertices, cells.FEATURES])
at = tf.range(1000) if pass_over == "training_at" else None
need = cavs.predict_memory(cell, graphs, at=at)
virtual = 4096 * int(open("/proc/self/statm").read().split()[0])
results = 200000 * 256 * 4
resource.setrlimit(resource.RLIMIT_AS, (virtual + results + 2**28,) * 2)
training = pass_over != "inference"
said = f"needs {need.inference.total} bytes ("
if training:
    said = f"training step needs {need.training} bytes at its peak (forward: "
try:
    with tf.GradientTape() if training else contextlib.nullcontext():
        cell(graphs, x, at=at)
except tf.errors.ResourceExhaustedError as error:
    print(said in error.message, "smaller minibatch" in error.message)
"""


@pytest.mark.in_turns
@pytest.mark.skipif(not pathlib.Path("/proc/self/statm").exists(), reason="no such file")
@pytest.mark.parametrize("pass_over", ["inference", "training", "training_at"])
def test_a_step_that_does_not_fit_fails_with_what_it_needs(pass_over, tmp_path):
    program = f"pass_over = {pass_over!r}\n{OUT_OF_MEMORY}"
    done, printed, error = processes.run_program(program, tmp_path, tmp_path)
    assert done, error
    assert printed.split() == ["True", "True"]


def test_derivatives_of_another_model_are_refused():
    cell = make_cell()

    @cavs.vertex_function(state_size=2, arity=1)
    def other(v):
        v.scatter(v.pull() + v.gather(0))
        v.push(v.pull())

    other(GRAPHS, tf.ones([GRAPHS.num_vertices, 2]))
    schedule = other._schedule_of(GRAPHS)
    functions = functions_of(other).attributes({})
    for name in ("gradient_functions", "gradient_signatures"):
        functions[name] = functions_of(cell).attributes({})[name]
    rows = (schedule.order, schedule.task_splits, schedule.task_type, schedule.child_row)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"gradient_functions: .* derivatives"):
        ops.cavs_memory(
            *rows, [np.int64(-1)], np.int64(-1), [], [], Tpulls=[tf.float32], **functions
        )
