"""The attention cell of docs/guides/cycles.md equals its equations, in NumPy, vertex by vertex."""

import pathlib
import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

PAGE = pathlib.Path(__file__).parents[2] / "docs/guides/cycles.md"
UNITS, HEADS, ROUNDS = 6, 2, 3


@pytest.fixture(scope="module")
def cell_class():
    (text,) = re.findall(r"^class GraphAttention.*?^(?=\n\S)", PAGE.read_text(), re.M | re.S)
    names = {"cavs": cavs, "keras": keras, "tf": tf}
    exec(text, names)
    return names["GraphAttention"]


def attended(cell, own, neighbours):
    """The next state of a vertex of the state `own`."""
    (map_,), (of_own,), (of_other,) = (d.get_weights() for d in (cell.map, cell.own, cell.other))
    values = np.array([own, *neighbours]) @ map_
    scores = (own @ map_) @ of_own + values @ of_other
    powers = np.exp(np.where(scores < 0, np.float32(0.2) * scores, scores))
    weights = powers / powers.sum(axis=0)
    message = np.einsum("nh,nhk->hk", weights, values.reshape(len(values), HEADS, -1)).ravel()
    return np.where(message < 0, np.expm1(np.minimum(message, 0)), message)


@pytest.mark.in_turns
@pytest.mark.parametrize("seed", range(3))
def test_attention_equals_its_equations(cell_class, seed):
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 7, 5)
    edges = [random.integers(0, n, [random.integers(0, 2 * n), 2]) for n in sizes]
    graphs, _ = cavs.GraphBatch.from_rounds(sizes, edges, ROUNDS, layout="pairs")
    x = random.normal(size=[sizes.sum(), UNITS])
    inputs = cavs.VertexRows(x, np.flatnonzero(graphs.num_children.numpy() == 0))
    cell = cell_class(UNITS, HEADS, dtype="float64")
    found = cell(graphs, inputs, at=graphs.roots)
    expected = []
    for h, pairs in zip(np.split(x, np.cumsum(sizes)[:-1]), edges, strict=True):
        for _ in range(ROUNDS):
            h = [attended(cell, own, [h[s] for s, t in pairs if t == v]) for v, own in enumerate(h)]
        expected += list(h)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert cavs.check_equivalence(cell, graphs, inputs).ok
