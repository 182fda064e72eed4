"""What "auto" stands for in the options."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._micro_batches import Budget
from tests import cells

GRAPHS = cavs.GraphBatch.chain([40] * 16)
AUTO = cavs.Options(micro_batch="auto")


def inputs(graphs, dtype="float32"):
    return tf.ones([graphs.num_vertices, cells.FEATURES], dtype)


def make_cell(dtype="float32"):
    tf.keras.utils.set_random_seed(1)
    cell = cells.TreeLSTM(arity=1, units=32, options=AUTO, dtype=dtype)
    cell(GRAPHS, inputs(GRAPHS, dtype))
    return cell


def allow(cell, share):
    """Makes that share of what a step with GRAPHS takes the memory that there is."""
    functions = cell.last_functions()
    budget = functions.budget
    whole = int(GRAPHS.num_vertices) * (budget.kept + budget.temporaries)
    functions.budget = dataclasses.replace(budget, available=int(share * whole))


def test_a_step_that_fits_is_not_divided():
    cell = make_cell()
    assert cell.schedule_of(GRAPHS).num_tasks == 40
    allow(cell, 1)
    assert cell.schedule_of(GRAPHS).num_tasks == 40


def test_a_step_that_does_not_fit_is_divided_into_as_few_parts_as_fit():
    cell = make_cell()
    budget = cell.last_functions().budget
    free = budget.temporaries / (budget.kept + budget.temporaries)
    allow(cell, 1 - free / 2)  # Room for half of the temporaries.
    schedule = cell.schedule_of(GRAPHS)
    parts = -(-schedule.num_tasks // 40)
    assert parts in (2, 3)
    np.testing.assert_array_equal(
        schedule.task_splits, GRAPHS.schedule(1, micro_batch=-(-16 // parts)).task_splits
    )
    whole = cells.TreeLSTM(arity=1, units=32)
    whole(GRAPHS, inputs(GRAPHS))
    divided = cavs.predict_memory(cell, GRAPHS)
    assert divided.training < cavs.predict_memory(whole, GRAPHS).training


def test_what_does_not_fit_at_all_runs_graph_by_graph():
    cell = make_cell()
    allow(cell, 0)
    assert cell.schedule_of(GRAPHS).num_tasks == 16 * 40


@pytest.mark.parametrize("share", [1, 0.9, 0])
def test_the_results_are_those_of_the_reference(share):
    graphs = cells.random_graphs(3, 6, 7, arity=1)
    cell = make_cell(dtype="float64")
    allow(cell, share)
    assert cavs.check_equivalence(cell, graphs, inputs(graphs, "float64")).ok


def test_the_choice_is_made_anew_for_every_minibatch_of_a_function():
    cell = make_cell()
    allow(cell, 0.7)
    count = tf.function(lambda graphs: tf.shape(cell.schedule_of(graphs).task_type)[0])
    assert count(cavs.GraphBatch.chain([40] * 2)) == 40
    assert count(GRAPHS) > 40


def test_an_attached_schedule_is_run_as_it_is():
    cell = make_cell()
    allow(cell, 0)
    assert cell.schedule_of(GRAPHS.with_schedule(1)).num_tasks == 40


def test_graphs_at_a_time_is_between_one_and_all():
    for available in (0, 1, 10**3, 10**6, 2**63 - 1):
        for lengths in ([], [1], [3] * 7, [10**5]):
            graphs = cavs.GraphBatch.chain(lengths)
            for temporaries in (0, 8, 10**9):
                found = int(Budget(8, temporaries, available).graphs_at_a_time(graphs))
                assert 1 <= found <= max(1, len(lengths))


def test_it_needs_a_call_first():
    cell = cells.TreeLSTM(arity=1, options=AUTO)
    with pytest.raises(ValueError, match="got micro_batch='auto' before any call"):
        cell.schedule_of(GRAPHS)


def test_explain_says_what_was_chosen_and_why(capsys):
    cell = make_cell()
    assert "micro-batches: of 16 of 16 graphs (auto: all at once take about" in cell.explain(GRAPHS)
    assert "streams: 1 (auto: " in cell.explain(GRAPHS)
    allow(cell, 0)
    assert "micro-batches: of 1 of 16 graphs" in cell.explain(GRAPHS)
    capsys.readouterr()


def test_explain_does_not_speak_of_what_was_given(capsys):
    cell = cells.TreeLSTM(arity=1, options=cavs.Options(streams=2, micro_batch=4))
    assert "(auto: " not in cell.explain(GRAPHS, inputs(GRAPHS))
    capsys.readouterr()


def test_auto_streams_is_one_stream():
    assert cavs.Options().streams == "auto"
    assert cavs.Options().attributes()["streams"] == 1
    assert cavs.Options(streams=2).attributes()["streams"] == 2
