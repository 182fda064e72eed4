"""The values of options that are "auto"."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells

GRAPHS = cavs.GraphBatch.chain([40] * 16)
AUTO = cavs.Options(micro_batch="auto")


def inputs(graphs, dtype="float32"):
    return tf.ones([graphs.num_vertices, cells.FEATURES], dtype)


def make_cell(dtype="float32"):
    tf.keras.utils.set_random_seed(1)
    cell = cells.TreeLSTM(arity=1, units=32, options=AUTO, dtype=dtype)
    cell(GRAPHS, inputs(GRAPHS, dtype))
    return cell


@functools.cache
def training(micro_batch):
    """The memory of a training step in which so many graphs run at a time."""
    cell = cells.TreeLSTM(arity=1, units=32, options=cavs.Options(micro_batch=micro_batch))
    return cavs.predict_memory(cell, GRAPHS, inputs(GRAPHS)).training


def allow(cell, available):
    (device,) = cell._cache.last.available or [tf.zeros([]).device]
    cell._cache.last.available[device] = available


def test_a_step_that_fits_is_not_divided():
    cell = make_cell()
    assert cell._schedule_of(GRAPHS).num_tasks == 40
    allow(cell, training(None))
    assert cell._schedule_of(GRAPHS).num_tasks == 40
    allow(cell, training(None) - 1)
    assert cell._schedule_of(GRAPHS).num_tasks > 40


@pytest.mark.in_turns
def test_a_step_that_does_not_fit_is_divided_into_as_few_parts_as_fit():
    cell = make_cell()
    for micro_batch in (8, 6, 4, 2):
        need = training(micro_batch)
        allow(cell, need)
        schedule = cell._schedule_of(GRAPHS)
        np.testing.assert_array_equal(
            schedule.task_splits, GRAPHS.schedule(1, micro_batch=micro_batch).task_splits
        )
        assert cavs.predict_memory(cell, GRAPHS).training == need
        allow(cell, need - 1)
        assert cell._schedule_of(GRAPHS).num_tasks > schedule.num_tasks


def test_what_does_not_fit_at_all_runs_graph_by_graph():
    cell = make_cell()
    for available in (training(1) - 1, 0, -1):
        allow(cell, available)
        assert cell._schedule_of(GRAPHS).num_tasks == 16 * 40


def test_outputs_of_chosen_vertices_only_take_less():
    cell = make_cell()
    allow(cell, training(None) - 1)
    assert cell._schedule_of(GRAPHS, at=GRAPHS.roots).num_tasks == 40


@pytest.mark.in_turns
@pytest.mark.parametrize("micro_batch", [None, 3, 1])
def test_the_results_are_those_of_the_reference(micro_batch):
    graphs = cells.random_graphs(3, 6, 7, arity=1)
    cell = make_cell(dtype="float64")
    chosen = cavs.Options(micro_batch=micro_batch)
    given = cells.TreeLSTM(arity=1, units=32, options=chosen, dtype="float64")
    need = cavs.predict_memory(given, graphs, inputs(graphs, "float64")).training
    allow(cell, need)
    assert cavs.check_equivalence(cell, graphs, inputs(graphs, "float64")).ok


@pytest.mark.in_turns
def test_the_choice_is_made_anew_for_every_minibatch_of_a_function():
    cell = make_cell()
    allow(cell, training(8))
    count = tf.function(lambda graphs: tf.shape(cell._schedule_of(graphs).task_type)[0])
    assert count(cavs.GraphBatch.chain([40] * 2)) == 40
    assert count(GRAPHS) > 40


def test_an_attached_schedule_is_run_as_it_is():
    cell = make_cell()
    allow(cell, 0)
    assert cell._schedule_of(GRAPHS.with_schedule(1)).num_tasks == 40


def test_graphs_at_a_time_is_between_one_and_all():
    cell = make_cell()
    for available in (0, 1, 10**6, 2**63 - 1):
        allow(cell, available)
        for lengths in ([], [1], [3] * 7, [1000]):
            graphs = cavs.GraphBatch.chain(lengths)
            micro_batch, _ = cell._choose_micro_batch(graphs)
            assert 1 <= int(micro_batch) <= max(1, len(lengths))


def test_it_needs_a_call_first():
    cell = cells.TreeLSTM(arity=1, options=AUTO)
    with pytest.raises(ValueError, match="got micro_batch='auto' before any call"):
        cell._schedule_of(GRAPHS)


def test_explain_says_what_was_chosen_and_why(capsys):
    cell, need = make_cell(), training(None)
    text = cavs.explain(cell, GRAPHS)
    assert (
        f"micro-batches: of 16 of 16 graphs (auto: to train with all at once takes {need:,} of"
        in text
    )
    assert f"memory for training: {need:,} bytes at its peak" in text
    assert "streams: 1 (auto: " in text
    allow(cell, 0)
    assert "micro-batches: of 1 of 16 graphs" in cavs.explain(cell, GRAPHS)
    capsys.readouterr()


@pytest.mark.parametrize("only_roots", [False, True])
def test_explain_says_one_number_where_rows_are_of_some_vertices(capsys, only_roots):
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]]] * 4)
    types = np.array([0, 0, 1] * 4, np.int32)
    graphs = cavs.GraphBatch(graphs.child_splits, graphs.child_ids, graphs.graph_splits, types)
    cell, x = cells.FullyConnected(options=AUTO), tf.ones([8, cells.FEATURES])
    at = graphs.roots if only_roots else None
    cell(graphs, x, at=at)
    need = cavs.predict_memory(cell, graphs, x, at).training
    _, whole_bytes = cell._choose_micro_batch(graphs, {"default": x}, at)
    assert whole_bytes == need
    if only_roots:
        return
    text = cavs.explain(cell, graphs, x)
    assert f"takes {need:,} of" in text and f"training: {need:,} bytes" in text
    capsys.readouterr()


def test_explain_does_not_speak_of_what_was_given(capsys):
    cell = cells.TreeLSTM(arity=1, options=cavs.Options(streams=2, micro_batch=4))
    assert "(auto: " not in cavs.explain(cell, GRAPHS, inputs(GRAPHS))
    capsys.readouterr()


def test_auto_streams_is_one_stream():
    assert cavs.Options().streams == "auto"
    assert cavs.Options().attributes()["streams"] == 1
    assert cavs.Options(streams=2).attributes()["streams"] == 2
