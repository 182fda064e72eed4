"""The workloads have the paper's data, or similar data."""

import numpy as np
import pytest

from benchmarks import oracle, workloads
from benchmarks.peers import _graphs, _levels

BRACKETED = """(3 (2 It) (4 (2 's) (4 good)))
(1 (0 Not) (2 it))
"""


def make(name, **settings):
    return workloads.make(name, workloads.Settings(**settings))


def test_workloads_are_found_by_their_files():
    of_the_paper = ["fixed_lstm", "tree_fc", "tree_lstm", "var_lstm"]
    beyond = [
        "bilstm_tagger",
        "calculator",
        "dependency_lstm",
        "encoder_decoder",
        "lattice_lstm",
    ]
    assert workloads.names() == sorted(of_the_paper + beyond)


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
        roots = np.flatnonzero(~np.isin(vertex, batch.children))
        last = batch.graph_splits[1:] - 1
        # No vertex belongs to both directions of the tagger.
        assert len(roots) == len(last) * (2 if name == "bilstm_tagger" else 1)
        assert set(last) <= set(roots)


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


def test_lattices_are_like_those_of_chinese_sentences():
    batch = make("lattice_lstm", units=4, batch=500, minibatches=1).minibatches[0]
    is_word = batch.kind == 0
    words_ending = (batch.children[:, 1:] >= 0).sum(axis=1)
    assert (~is_word).sum() / 500 == pytest.approx(44, rel=0.05)
    assert is_word.sum() / 500 == pytest.approx(23, rel=0.05)
    assert words_ending.max() == 6 and words_ending[is_word].max() == 0
    # A word starts at a character and ends at a later one, of which it is a child.
    assert words_ending.sum() == is_word.sum()
    starts = batch.children[is_word, 0]
    assert (starts >= 0).all() and not is_word[starts].any()
    # Some characters have several parents: the next character, and words.
    assert np.bincount(batch.children[batch.children >= 0]).max() > 2


def test_dependency_trees_have_up_to_15_children():
    batch = make("dependency_lstm", units=4, batch=1000, minibatches=1).minibatches[0]
    children = batch.children[batch.children >= 0]
    assert len(np.unique(children)) == len(children) == batch.num_vertices - batch.num_graphs
    counts = (batch.children >= 0).sum(axis=1)
    assert counts.max() == batch.children.shape[1] == 15
    assert (counts == 0).mean() == pytest.approx(0.5, abs=0.05)
    assert np.array_equal(np.flatnonzero(batch.label >= 0), batch.graph_splits[1:] - 1)


def test_the_label_of_an_expression_is_the_sign_of_its_value():
    batch = make("calculator", units=4, batch=200, minibatches=1).minibatches[0]
    evaluate = {
        1: lambda a, b: a + b,
        2: lambda a, b: a - b,
        3: lambda a, b: a * b,
        4: lambda a, b: a // b if b else 0,
    }
    value = batch.token.astype(object)
    for vertex in np.flatnonzero(batch.kind):
        value[vertex] = evaluate[batch.kind[vertex]](*value[batch.children[vertex]])
    roots = batch.graph_splits[1:] - 1
    signs = [(v > 0) - (v < 0) for v in value[roots]]
    np.testing.assert_array_equal(batch.label[roots] - 1, signs)
    assert set(batch.kind) == set(range(5)) and (batch.label >= 0).sum() == 200


def test_the_tagger_reads_words_in_both_directions():
    words = make("var_lstm", units=4, batch=4, minibatches=1).minibatches[0]
    batch = make("bilstm_tagger", units=4, batch=4, minibatches=1).minibatches[0]
    for graph in range(4):
        first, last = batch.graph_splits[graph : graph + 2]
        middle = (first + last) // 2
        expected = words.token[slice(*words.graph_splits[graph : graph + 2])]
        np.testing.assert_array_equal(batch.token[first:middle], expected)
        np.testing.assert_array_equal(batch.token[middle:last], expected[::-1])
    outputs = batch.outputs[batch.label >= 0]
    np.testing.assert_array_equal(batch.label[batch.label >= 0], words.label)
    np.testing.assert_array_equal(batch.token[outputs], np.stack([words.token] * 2, axis=1))
    np.testing.assert_array_equal(batch.kind[outputs], np.tile([0, 1], (len(outputs), 1)))


def test_a_decoder_goes_on_where_the_encoder_ended():
    words = make("var_lstm", units=4, batch=2, minibatches=1).minibatches[0]
    batch = make("encoder_decoder", units=4, batch=2, minibatches=1).minibatches[0]
    cut = words.graph_splits[1]
    for graph, (source, target) in enumerate([(0, 1), (1, 0)]):
        rows = slice(*batch.graph_splits[graph : graph + 2])
        parts = [words.token[:cut], words.token[cut:]]
        np.testing.assert_array_equal(
            batch.token[rows], np.concatenate([parts[source], parts[target]])
        )
        steps = np.arange(len(batch.token[rows])) + rows.start - 1
        np.testing.assert_array_equal(batch.children[rows, 0][1:], steps[1:])
    np.testing.assert_array_equal(batch.label >= 0, batch.kind == 1)


def test_flops_of_the_other_workloads_count_every_product():
    def flops(name):
        workload = make(name, units=1, batch=3, minibatches=1)
        return workload.flops(workload.minibatches[0], "inference"), workload.minibatches[0]

    got, batch = flops("calculator")
    assert got == 2 * 2 * (batch.kind > 0).sum()
    got, batch = flops("bilstm_tagger")
    assert got == 2 * 8 * batch.num_vertices + 2 * 2 * (batch.kind == 0).sum()
    got, batch = flops("encoder_decoder")
    assert got == 2 * 8 * batch.num_vertices
    got, batch = flops("dependency_lstm")
    assert got == 2 * (3 + 3 + 1) * batch.num_vertices + 2 * (batch.children >= 0).sum()
    got, batch = flops("lattice_lstm")
    words = (batch.kind == 0).sum()
    assert got == 2 * (4 + 4 + 1) * (batch.num_vertices - words) + 2 * (3 + 3 + 1) * words


@pytest.mark.parametrize("name", workloads.names())
def test_what_is_live_after_a_level_has_the_children_of_the_next(name):
    workload = make(name, units=4, batch=5, minibatches=1, leaves=5, steps=3)
    batch = workload.minibatches[0]
    levels = _graphs.plan(batch, workload.vertex_types)
    zeros = np.full(levels.num_zeros, -1)
    live, done = zeros, []
    for level in range(len(levels.keep_splits) - 1):
        own = []
        for vertex_type, task in zip(workload.vertex_types, levels.batches, strict=True):
            rows = slice(*task.splits[level : level + 2])
            edges = slice(*task.edge_splits[level : level + 2])
            vertex, slots = task.vertex[rows], vertex_type.slots
            own.append(vertex)
            np.testing.assert_array_equal(live[task.slots[rows]], batch.children[vertex, :slots])
            parent, column = np.nonzero(batch.children[vertex, slots:] >= 0)
            np.testing.assert_array_equal(task.edge_parent[edges], parent)
            expected = batch.children[vertex[parent], slots + column]
            np.testing.assert_array_equal(live[task.edge_child[edges]], expected)
        kept = live[levels.keep[slice(*levels.keep_splits[level : level + 2])]]
        done += np.concatenate(own).tolist()
        live = np.concatenate([zeros, *own, kept])
    np.testing.assert_array_equal(np.array(done)[levels.row], np.arange(batch.num_vertices))


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
