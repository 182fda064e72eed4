"""Minibatches of data.batch that are divided among replicas."""

import numpy as np
import pytest
import tensorflow as tf

from cavs_tf import data

SIZES = [4, 1, 1, 2, 9, 0, 3, 3, 5, 2, 7]


def chains(**features):
    splits = np.concatenate([[0], np.cumsum(SIZES)])
    children = [[v - 1] for size in SIZES for v in range(size)]
    of_vertices = {"children": np.reshape(children, [-1, 1]).astype(np.int32)}
    return data.from_arrays(
        splits, of_vertices | features, {"number": np.arange(len(SIZES), dtype=np.int32)}
    )


def context(replicas, workers, worker):
    return tf.distribute.InputContext(workers, worker, replicas)


@pytest.mark.in_turns
@pytest.mark.parametrize("count", [1, 3, 8])
def test_parts_are_whole_graphs_in_order(count):
    parts = list(data.batch(chains(), 4, replicas=count))
    assert len(parts) == 3 * count == int(data.batch(chains(), 4, replicas=count).cardinality())
    for number, whole in enumerate(data.batch(chains(), 4)):
        of_batch = parts[number * count : (number + 1) * count]
        joined = np.concatenate([part["number"] for part in of_batch])
        np.testing.assert_array_equal(joined, whole["number"])
        vertices = [part["graphs"].num_vertices for part in of_batch]
        for part in of_batch:
            sizes = np.take(SIZES, part["number"])
            assert part["graphs"].num_vertices == sizes.sum()
            assert part["graphs"].num_graphs == len(sizes)
            assert part["graphs"].attached_schedule.arity == 1
            assert part["global_graphs"].shape == whole["number"].shape
        # Half of a graph too much at either end.
        largest = max(np.take(SIZES, whole["number"]))
        assert max(vertices) <= sum(vertices) / count + largest


@pytest.mark.in_turns
def test_parts_have_about_as_many_vertices():
    [left, right] = data.batch(data.listops(500, max_depth=3), 500, arity=5, replicas=2)
    counts = [part["graphs"].num_vertices for part in (left, right)]
    assert max(counts) < 1.02 * np.mean(counts)


def test_weights_make_a_mean_of_means_the_mean_of_all():
    parts = list(data.batch(chains(), 11, replicas=3))
    for name, count in (("graph_weight", len(SIZES)), ("vertex_weight", sum(SIZES))):
        weights = [part[name].numpy() for part in parts]
        for weight in weights:
            np.testing.assert_allclose(weight / len(weight), 3 / count, rtol=1e-6)


def test_structures_have_weights_of_their_own():
    pairs = tf.data.Dataset.zip({"left": chains(), "right": chains().skip(3)})
    for part in data.batch(pairs, 8, replicas=2):
        vertices = part["right"]["graphs"].num_vertices
        assert part["right"]["vertex_weight"].shape == [vertices]
        assert part["graph_weight"].shape == part["left"]["number"].shape


@pytest.mark.in_turns
def test_a_worker_makes_its_own_parts():
    every = [part["number"].numpy().tolist() for part in data.batch(chains(), 4, replicas=4)]
    for worker in range(2):
        parts = data.batch(chains(), 4, replicas=context(4, 2, worker))
        found = [part["number"].numpy().tolist() for part in parts]
        wanted = [p for n, p in enumerate(every) if n % 4 // 2 == worker]
        assert found == wanted


def test_a_budget_is_divided():
    parts = list(data.batch(chains(), max_vertices=12, replicas=2))
    for left, right in zip(parts[::2], parts[1::2], strict=True):
        assert left["graphs"].num_vertices + right["graphs"].num_vertices <= 12


def test_what_is_rejected():
    with pytest.raises(ValueError, match=r"^replicas: got 0 but expected"):
        data.batch(chains(), 4, replicas=0)
    with pytest.raises(ValueError, match=r"^replicas: got 3 replicas on 2 workers but expected as"):
        data.batch(chains(), 4, replicas=context(3, 2, 0))
    named = chains(vertex_weight=np.zeros(sum(SIZES)))
    with pytest.raises(ValueError, match=r"^dataset: got a feature named 'vertex_weight' but"):
        data.batch(named, 4, replicas=2)
