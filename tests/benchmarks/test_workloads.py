"""The data are those of the paper, or like them."""

import numpy as np
import pytest

from benchmarks import oracle, workloads
from benchmarks.peers import _levels

BRACKETED = """(3 (2 It) (4 (2 's) (4 good)))
(1 (0 Not) (2 it))
"""


def make(name, **settings):
    return workloads.make(name, workloads.Settings(**settings))


def test_workloads_are_found_by_their_files():
    assert workloads.names() == ["fixed_lstm", "tree_fc", "tree_lstm", "var_lstm"]


@pytest.mark.parametrize("name", workloads.names())
def test_data_and_weights_depend_on_the_seed_alone(name):
    one, same, other = (make(name, units=4, batch=2, seed=seed) for seed in (5, 5, 6))
    for part in ("token", "label", "children", "graph_splits"):
        np.testing.assert_array_equal(getattr(one.examples, part), getattr(same.examples, part))
    for weight, value in one.weights.items():
        np.testing.assert_array_equal(value, same.weights[weight])
    assert not np.array_equal(one.weights["output"], other.weights["output"])
    assert not np.array_equal(one.examples.label, other.examples.label)


@pytest.mark.parametrize("name", workloads.names())
def test_children_precede_their_parents_and_roots_are_last(name):
    for batch in make(name, units=4, batch=3, minibatches=2).minibatches:
        vertex = np.arange(batch.num_vertices)
        first = np.repeat(batch.graph_splits[:-1], np.diff(batch.graph_splits))
        exists = batch.children >= 0
        assert (batch.children < vertex[:, None]).all()
        assert (batch.children >= first[:, None])[exists].all()
        is_child = np.isin(vertex, batch.children)
        np.testing.assert_array_equal(np.flatnonzero(~is_child), batch.graph_splits[1:] - 1)


def test_flops_are_those_of_the_paper():
    h = 16
    per_tree = make("tree_fc", units=h, batch=1).flops
    batch = make("tree_fc", units=h, batch=1).minibatches[0]
    assert per_tree(batch, "training") == 3060 * h * h
    assert per_tree(batch, "inference") == 1020 * h * h
    lstm = make("fixed_lstm", units=h, batch=2)
    assert lstm.flops(lstm.minibatches[0], "training") == 2 * 64 * 48 * h * h
    tree_lstm = make("tree_lstm", units=h, batch=512)
    per_tree = np.mean([tree_lstm.flops(b, "training") for b in tree_lstm.minibatches]) / 512
    assert per_tree == pytest.approx(888 * h * h, rel=0.05)


def test_generated_trees_have_the_size_and_depth_of_the_treebank():
    batch = make("tree_lstm", units=4, batch=2000, minibatches=1).minibatches[0]
    words = batch.is_leaf.sum() / batch.num_graphs
    depth = oracle.depths(batch)[batch.graph_splits[1:] - 1]
    assert words == pytest.approx(19.1, rel=0.05)
    assert depth.mean() == pytest.approx(9.8, rel=0.05)
    assert depth.std() == pytest.approx(3.9, rel=0.15)


def test_the_treebank_is_read(tmp_path):
    (tmp_path / "train.txt").write_text(BRACKETED, encoding="utf-8")
    trees = make("tree_lstm", units=4, batch=2, minibatches=1, sst=str(tmp_path)).minibatches[0]
    assert trees.graph_splits.tolist() == [0, 5, 8]
    no = [-1, -1]
    assert trees.children.tolist() == [no, no, no, [1, 2], [0, 3], no, no, [5, 6]]
    assert trees.label.tolist() == [2, 2, 4, 4, 3, 0, 2, 1]
    assert trees.token[trees.is_leaf].tolist() == [0, 1, 2, 3, 4]
    words = make("var_lstm", units=4, batch=2, minibatches=1, sst=str(tmp_path)).minibatches[0]
    assert words.children[:, 0].tolist() == [-1, 0, 1, -1, 3]
    assert words.label.tolist() == [2, 2, 4, 0, 2]


def test_levels_put_siblings_side_by_side():
    batch = make("tree_lstm", units=4, batch=5, minibatches=1).minibatches[0]
    levels = _levels.plan(batch)
    assert sorted(levels.vertex) == list(range(batch.num_vertices))
    for level in range(levels.num_levels - 1):
        first, last = levels.inner_splits[level : level + 2]
        parents = levels.vertex[levels.inner[first:last]]
        below = levels.vertex[levels.splits[level + 1] : levels.splits[level + 2]]
        np.testing.assert_array_equal(batch.children[parents].ravel(), below)


def test_steps_put_the_longest_sequences_first():
    batch = make("var_lstm", units=4, batch=5, minibatches=1).minibatches[0]
    steps = _levels.steps(batch)
    assert sorted(steps.vertex) == list(range(batch.num_vertices))
    for step in range(1, len(steps.splits) - 1):
        first, last = steps.splits[step : step + 2]
        before = steps.splits[step - 1]
        children = batch.children[steps.vertex[first:last], 0]
        np.testing.assert_array_equal(children, steps.vertex[before : before + last - first])
