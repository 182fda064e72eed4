"""Minibatches of data.batch that keep a budget of vertices, or whose examples are alike."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import data
from tests.helpers.pairwise import parametrize_pairs

SIZES = np.random.default_rng(0).integers(0, 30, 100)
SPLITS = np.concatenate([[0], np.cumsum(SIZES)])


def chains(sizes=SIZES, depths=None):
    """Chains; if there are depths, only that many first vertices of each chain are connected."""
    depths = sizes if depths is None else depths
    splits = np.concatenate([[0], np.cumsum(sizes)])
    children = [
        [v - 1 if v < depth else -1]
        for size, depth in zip(sizes, depths, strict=True)
        for v in range(size)
    ]
    features = {"children": np.array(children, np.int32).reshape(-1, 1), "x": np.arange(splits[-1])}
    return data.from_arrays(splits, features, {"number": np.arange(len(sizes))})


def numbers(batches):
    """The numbers of the examples of every minibatch; checks that their rows belong to them."""
    found = []
    for batch in batches:
        chosen = batch["number"].numpy()
        rows = [np.arange(SPLITS[g], SPLITS[g + 1]) for g in chosen]
        np.testing.assert_array_equal(batch["x"], np.concatenate([[], *rows]))
        assert batch["graphs"].num_vertices == SIZES[chosen].sum()
        assert batch["graphs"].attached_schedule.arity == 1
        found.append(chosen.tolist())
    return found


def filled(examples, max_vertices, batch_size=10**6):
    """Adds each example to the current minibatch if it has room for it, and else to a new one."""
    minibatches, vertices = [], max_vertices + 1
    for example in examples:
        vertices += SIZES[example]
        if vertices > max_vertices or len(minibatches[-1]) == batch_size:
            minibatches.append([])
            vertices = SIZES[example]
        minibatches[-1].append(example)
    return minibatches


@pytest.mark.in_turns
@parametrize_pairs(max_vertices=[29, 64, 10_000], batch_size=[None, 1, 3], pool=[7, 40, 1000])
def test_minibatches_are_filled_by_vertices(max_vertices, batch_size, pool):
    batches = data.batch(chains(), batch_size, max_vertices=max_vertices, pool=pool)
    want = []
    for first in range(0, 100, pool):
        examples = range(first, min(first + pool, 100))
        want += filled(examples, max_vertices, batch_size or 10**6)
    assert numbers(batches) == want


@pytest.mark.in_turns
def test_vertices_of_all_structures_count():
    both = tf.data.Dataset.zip({"a": chains(), "b": chains(SIZES[::-1])})
    for batch in data.batch(both, max_vertices=64):
        sizes = [batch[name]["graphs"].num_vertices for name in "ab"]
        assert sum(sizes) <= 64
    pools = data.batch(both, max_vertices=58, pool=100)
    assert len(list(pools)) > len(list(data.batch(both, max_vertices=116, pool=100)))


@pytest.mark.parametrize("bucket_by", ["size", "depth"])
@pytest.mark.parametrize("batching", [{"batch_size": 8}, {"max_vertices": 100}])
def test_buckets_hold_neighbours_in_size_or_depth(batching, bucket_by):
    depths = np.minimum(SIZES, np.random.default_rng(1).integers(1, 9, 100))
    key = SIZES if bucket_by == "size" else depths
    dataset = chains(depths=depths)
    found = numbers(data.batch(dataset, **batching, bucket_by=bucket_by, pool=50, seed=0))
    assert sorted(itertools.chain(*found)) == list(range(100))
    for of_pool in (range(50), range(50, 100)):
        minibatches = [examples for examples in found if examples[0] in of_pool]
        least = [min(key[examples]) for examples in minibatches]
        assert least != sorted(least)  # Minibatches are in random order.
        minibatches.sort(key=lambda examples: (min(key[examples]), max(key[examples])))
        in_order = key[[*itertools.chain(*minibatches)]]
        ranges = [(min(key[examples]), max(key[examples])) for examples in minibatches]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(ranges))
        assert len(in_order) == 50


def test_examples_may_have_one_size_each():
    same = tf.data.Dataset.from_tensor_slices({"children": -np.ones([9, 4, 1], np.int32)})
    got = [b["graphs"].num_graphs for b in data.batch(same, max_vertices=10, bucket_by="size")]
    assert sorted(got) == [1, 2, 2, 2, 2]


@pytest.mark.in_turns
@pytest.mark.parametrize("pool, batch_size", [(50, 8), (1000, 8), (30, 30), (7, 9)])
def test_the_number_of_minibatches_in_buckets_is_known(pool, batch_size):
    batches = data.batch(chains(), batch_size, bucket_by="size", pool=pool)
    assert int(batches.cardinality()) == len(list(batches))
    assert int(data.batch(chains().repeat(), 8, bucket_by="size").cardinality()) == -1
    assert int(data.batch(chains(), max_vertices=99).cardinality()) == -2


def shuffled(seed, epochs=2, **options):
    batches = data.batch(chains(), 8, bucket_by="size", pool=50, seed=seed, **options)
    return [numbers(batches) for _ in range(epochs)]


@pytest.mark.in_turns
def test_a_seed_gives_the_same_minibatches_and_every_epoch_others():
    first, second = shuffled(3)
    assert first != second
    assert shuffled(3) == [first, second]
    assert shuffled(4)[0] != first


@pytest.mark.in_turns
def test_the_global_seed_decides_if_none_is_given():
    runs = []
    for seed in (1, 1, 2):
        keras.utils.set_random_seed(seed)
        runs.append(shuffled(None))
    assert runs[0] == runs[1] != runs[2]


def test_shuffled_examples_are_filled_in_their_order():
    order = [int(example["number"]) for example in chains().shuffle(100, seed=5)]
    got = numbers(data.batch(chains().shuffle(100, seed=5), max_vertices=64))
    assert got == filled(order, 64)


@pytest.mark.in_turns
def test_fit_takes_such_minibatches():
    graphs = cavs.keras.graph_inputs(arity=1)
    x = keras.Input((), dtype="int64", name="x")
    rows = keras.layers.Embedding(int(SPLITS[-1]), 4)(x)
    root = cavs.keras.TreeLSTM(4, arity=1)(graphs, rows)
    model = keras.Model({**graphs, "x": x}, keras.layers.Dense(1)(root))
    model.compile("adam", "mse")
    batches = data.batch(chains(), max_vertices=200, bucket_by="depth", as_dict=True)
    steps = sum(1 for _ in batches)
    pairs = cavs.keras.for_fit(batches, model.input, "number").repeat()
    history = model.fit(pairs, epochs=2, steps_per_epoch=steps, shuffle=False, verbose=0).history
    assert np.all(np.isfinite(history["loss"]))


@pytest.mark.parametrize("bucket_by", [None, "size"])
def test_an_example_above_the_budget_is_named(bucket_by):
    first = int(np.flatnonzero(SIZES > 20)[0])
    batches = data.batch(chains(), max_vertices=20, bucket_by=bucket_by, pool=1)
    message = (
        rf"dataset\[{first}\]: got {SIZES[first]} vertices but expected at most max_vertices, 20"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        list(batches)


def test_graphs_that_are_not_valid_are_named_before_they_are_sorted_by_depth():
    ring = data.from_arrays([0, 2], {"children": [[1], [0]]}, {})
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"children\[0\]\[1\]\[0\]: got vertex 0"
    ):
        list(data.batch(ring, 1, bucket_by="depth"))


@pytest.mark.parametrize(
    "options, message",
    [
        ({}, "batch_size: got None but expected an int of at least 1, or a number of vertices"),
        ({"batch_size": 0}, "batch_size: got 0 but expected an int of at least 1"),
        ({"max_vertices": 0}, "max_vertices: got 0 but expected an int of at least 1"),
        ({"max_vertices": 2.5}, "max_vertices: got 2.5 but expected an int of at least 1"),
        ({"batch_size": 2, "bucket_by": "width"}, "bucket_by: got 'width' but expected one of"),
        ({"batch_size": 2, "bucket_by": "size", "pool": 0}, "pool: got 0 but expected an int of"),
        ({"batch_size": 2, "bucket_by": "size", "seed": "a"}, "seed: got 'a' but expected an int"),
        (
            {"max_vertices": 9, "drop_remainder": True},
            "drop_remainder: got True but expected False",
        ),
        (
            {"batch_size": 2, "bucket_by": "size", "drop_remainder": True},
            "drop_remainder: got True but expected False with max_vertices or bucket_by",
        ),
        ({"batch_size": 2, "seed": 1}, "seed: got 1 but expected None without bucket_by"),
        ({"batch_size": 2, "pool": 9}, "pool: got 9 but expected None without max_vertices or"),
    ],
)
def test_rejects(options, message):
    with pytest.raises(ValueError, match=message):
        data.batch(chains(), **options)
