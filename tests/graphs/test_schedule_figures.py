"""Policies, micro-batches and the figures of a Schedule, compared with brute force."""

import functools
import itertools

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

import cavs_tf as cavs
from cavs_tf.graphs import _schedule as schedule_module
from cavs_tf.graphs._schedule import POLICIES
from tests.helpers import cells

FIELDS = schedule_module.SCHEDULE_FIELDS


@st.composite
def typed_dags(draw):
    """Child lists of one small DAG, and types."""
    size = draw(st.integers(0, 7))
    children = [draw(st.lists(st.integers(-1, v - 1), max_size=2)) for v in range(size)]
    types = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
    return children, types


def fewest_tasks(children, types):
    """The fewest tasks of any schedule whose tasks hold all ready vertices of a type."""

    @functools.cache
    def fewest(done):
        if len(done) == len(children):
            return 0
        ready = [
            v
            for v, slots in enumerate(children)
            if v not in done and all(c < 0 or c in done for c in slots)
        ]
        kinds = {types[v] for v in ready}
        return 1 + min(fewest(done | {v for v in ready if types[v] == k}) for k in kinds)

    return fewest(frozenset())


@pytest.mark.in_turns
@settings(derandomize=True, deadline=None, max_examples=300, print_blob=True)
@given(typed_dags())
def test_bound_best_ratio_and_depth_are_in_order(dag):
    children, types = dag
    graphs = cavs.GraphBatch.from_children([children], types)
    depth = graphs.schedule(2, num_types=3)
    ratio = graphs.schedule(2, num_types=3, policy="ratio")
    best = fewest_tasks(children, types)
    assert depth.min_tasks == ratio.min_tasks
    assert ratio.min_tasks <= best <= ratio.num_tasks <= depth.num_tasks


def test_the_bound_is_reached_with_one_type():
    for seed in range(20):
        graphs = cells.random_graphs(seed, 6, 9)
        assert graphs.schedule(2).min_tasks == graphs.schedule(2).num_tasks


def test_the_bound_counts_vertices_of_a_type_not_steps():
    # A chain 2 -> 1 -> 0 of types 0, 1, 0 and a chain of three of type 1: 2 + 3 tasks.
    graphs = cavs.GraphBatch.from_children([[[], [0], [1]], [[], [0], [1]]], [0, 1, 0, 1, 1, 1])
    assert graphs.schedule(1, 2).min_tasks == 5


def share_by_definition(schedule):
    gathered = viewed = 0
    splits = schedule.task_splits.numpy()
    for rows_of_slot in schedule.child_row.numpy():
        for begin, end in itertools.pairwise(splits):
            rows = rows_of_slot[begin:end].tolist()
            if max(rows) >= 0:
                gathered += len(rows)
                steps = {b - a for a, b in itertools.pairwise(rows)}
                if min(rows) >= 0 and len(steps) <= 1 and min(steps, default=1) > 0:
                    viewed += len(rows)
    return viewed / gathered if gathered else 1.0


@settings(derandomize=True, deadline=None, max_examples=200, print_blob=True)
@given(seed=st.integers(0, 10**6), num_graphs=st.integers(0, 6), arity=st.integers(0, 3))
def test_view_share_is_its_definition(seed, num_graphs, arity):
    schedule = cells.random_graphs(seed, num_graphs, 7, arity=arity).schedule(arity)
    assert schedule.view_share == pytest.approx(share_by_definition(schedule))


def test_view_share_by_hand():
    # Row 2 gathers row 0; row 3 gathers rows 1 and 0: slot 0 is a view, slot 1 is not.
    schedule = schedule_module.Schedule(
        order=[0, 1, 2, 3],
        task_splits=[0, 2, 4],
        task_type=[0, 0],
        child_row=[[-1, -1, 0, 1], [-1, -1, -1, 0]],
    )
    assert schedule.view_share == 0.5


@pytest.mark.parametrize("micro_batch", [None, 3])
def test_chains_and_complete_trees_are_gathered_without_copies(micro_batch):
    lengths = np.random.default_rng(0).integers(0, 30, 16)
    for graphs in (
        cavs.GraphBatch.chain(lengths),
        cavs.GraphBatch.complete_tree(4, num_graphs=5),
        cavs.GraphBatch.complete_tree(3, arity=3, num_graphs=4),
    ):
        assert graphs.schedule(micro_batch=micro_batch).view_share == 1


def test_children_in_several_tasks_are_copied():
    # The first child of the second root is a leaf; those of the other roots are inner vertices.
    one, other = [[], [], [0, 1], [], [2, 3]], [[], [], [0, 1], [], [3, 2]]
    schedule = cavs.GraphBatch.from_children([one, other, one]).schedule(2)
    assert schedule.view_share == 0.5


@pytest.mark.parametrize("policy", POLICIES)
def test_sub_batches_are_schedules_of_their_graphs(policy):
    generator = np.random.default_rng(3)
    children = [cells.random_children(generator, n, 2, "dag") for n in (5, 0, 1, 7, 1)]
    types = [generator.integers(0, 3, len(graph)).tolist() for graph in children]
    whole = cavs.GraphBatch.from_children(children, types)
    schedule = whole.schedule(2, 3, policy, micro_batch=2)
    tasks = np.diff(schedule.task_splits).tolist()
    for first in range(0, 5, 2):
        part = cavs.GraphBatch.from_children(children[first : first + 2], types[first : first + 2])
        expected = np.diff(part.schedule(2, 3, policy).task_splits).tolist()
        assert tasks[: len(expected)] == expected
        tasks = tasks[len(expected) :]
    assert not tasks


def test_micro_batch_may_be_a_tensor_and_larger_than_the_minibatch():
    graphs = cavs.GraphBatch.chain([2, 3, 1])
    in_graph = tf.function(lambda graphs, n: graphs.schedule(1, micro_batch=n).task_splits)
    for n in (1, 2, 3, 4, 2**31 - 1):
        expected = graphs.schedule(1, micro_batch=n).task_splits
        np.testing.assert_array_equal(in_graph(graphs, tf.constant(n)), expected)
    for n in (3, 4, 2**31, 10**30, np.int64(7)):
        for field in FIELDS:
            np.testing.assert_array_equal(
                getattr(graphs.schedule(1, micro_batch=n), field),
                getattr(graphs.schedule(1), field),
            )
    with pytest.raises(tf.errors.InvalidArgumentError, match="micro_batch: got 0 but expected"):
        in_graph(graphs, tf.constant(0))


@pytest.mark.parametrize("make", [cavs.GraphBatch.schedule, cavs.GraphBatch.with_schedule])
@pytest.mark.parametrize("bad", [0, -1, 2.0, "4", True])
def test_rejects_micro_batches_below_one(make, bad):
    with pytest.raises(ValueError) as caught:
        make(cavs.GraphBatch.chain([2]), 1, micro_batch=bad)
    assert str(caught.value) == (
        f"micro_batch: got {bad!r} but expected an int of at least 1, the number of graphs in a "
        "micro-batch, or None. Pass None to plan the whole minibatch at once."
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda policy: cavs.GraphBatch.chain([2]).schedule(1, policy=policy),
        lambda policy: cavs.GraphBatch.chain([2]).with_schedule(1, policy=policy),
        lambda policy: cavs.Options(policy=policy),
    ],
)
@pytest.mark.parametrize("bad", ["width", None, 1])
def test_rejects_other_policies(make, bad):
    with pytest.raises(ValueError) as caught:
        make(bad)
    assert str(caught.value) == (
        f"policy: got {bad!r} but expected one of {', '.join(map(repr, POLICIES))}. "
        "Leave it out for 'depth'."
    )


def test_a_model_plans_by_the_policy_of_its_options():
    # A chain of two vertices of type 1, and an output vertex of type 2 for each.
    graphs = cavs.GraphBatch.from_children([[[], [0], [0], [1]]], [1, 1, 2, 2])
    for policy, tasks in (("depth", 4), ("ratio", 3)):
        cell = cells.Typed(options=cavs.Options(policy=policy))
        assert cell._schedule_of(graphs).num_tasks == tasks
        text = cavs.explain(cell, graphs, cells.inputs_for(cell, 4, "float32", 0))
        assert f"4 vertices in {tasks} tasks; no schedule has fewer than 3" in text
        # The chain gathers 1 row, the outputs 2, in one task or in two.
        assert "gathered rows that need no copy: 100%" in text
        attached = graphs.with_schedule(2, 3)
        assert cell._schedule_of(attached) is attached.attached_schedule


@pytest.mark.in_turns
@pytest.mark.parametrize("cell_class", [cells.Typed, cells.TreeLSTM])
def test_no_schedule_changes_results(cell_class):
    tf.keras.utils.set_random_seed(1)
    cell = cell_class(dtype="float64")
    num_types = len(cell.vertex_types)
    generator = np.random.default_rng(1)
    children = [cells.random_children(generator, n, 2, "dag") for n in (6, 1, 4, 0, 1)]
    types = generator.integers(0, num_types, 12).tolist()
    graphs = cavs.GraphBatch.from_children(children, types)
    inputs = cells.inputs_for(cell, graphs.num_vertices, "float64", 0)
    for policy, micro_batch in itertools.product(POLICIES, [None, 1, 2, 9]):
        planned = graphs.with_schedule(2, num_types, policy, micro_batch)
        report = cavs.check_equivalence(cell, planned, inputs)
        assert report.ok, f"{policy}, {micro_batch}\n{report}"


def test_batches_of_a_pipeline_take_policy_and_micro_batch():
    chains = cavs.data.from_arrays([0, 2, 5], {"children": [[-1], [0], [-1], [0], [1]]}, {})
    for micro_batch, splits in ((None, [0, 2, 4, 5]), (1, [0, 1, 2, 3, 4, 5])):
        batch = next(iter(cavs.data.batch(chains, 2, micro_batch=micro_batch)))
        assert batch["graphs"].attached_schedule.task_splits.numpy().tolist() == splits
    with pytest.raises(ValueError, match="policy: got 'width'"):
        cavs.data.batch(chains, 2, policy="width")
