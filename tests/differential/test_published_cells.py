"""Published cells equal their equations, and run by native kernels alone."""

import math

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect._description import describe
from tests.differential.published import CELLS
from tests.differential.published._base import UNITS, PublishedCell, affine, dense, matrix
from tests.differential.test_differential import check_options
from tests.helpers import cells

# What TensorFlow's kernels still compute.
FALLBACKS = {
    "GraphLSTM": "products of three tensors",
    "Gelu": "erfc",
}


def graphs_for(cell, seed):
    """Random graphs whose vertices have their children in the first slots."""
    generator = np.random.default_rng(seed)
    sizes = generator.integers(1, 9, 4)
    kinds = ("tree", "dag", "chain")
    lists = [
        cells.random_children(generator, int(size), cell.arity, kinds[i % 3])
        for i, size in enumerate(sizes)
    ]
    children = [[[c for c in own if c >= 0] for own in graph] for graph in lists]
    types = None
    if len(cell.vertex_types) == 2:
        types = [[int(bool(own)) for own in graph] for graph in children]
    return cavs.GraphBatch.from_children(children, types)


def by_equations(cell, graphs, inputs):
    """What is pushed, one vertex at a time."""
    splits, ids = graphs.child_splits.numpy(), graphs.child_ids.numpy()
    states, pushed = {}, {}

    def visit(vertex):
        if vertex not in states:
            own = ids[splits[vertex] : splits[vertex + 1]]
            children = [visit(child) for child in own]
            row = tf.nest.map_structure(lambda value: np.asarray(value)[vertex], inputs)
            states[vertex], pushed[vertex] = cell.equations(row, children)
        return states[vertex]

    for vertex in range(graphs.num_vertices):
        visit(vertex)
    return np.array([pushed[vertex] for vertex in range(graphs.num_vertices)])


def fallbacks(cell, graphs, inputs):
    """The operators that TensorFlow's kernels compute in the program."""
    nodes = [node for program in describe(cell, graphs, inputs) for node in program["nodes"]]
    assert nodes
    left = [node for node in nodes if not node["native"]]
    # Booleans that are pulled become numbers before the first task.
    return {n["op"] for n in left if (n["op"], n["stage"]) != ("Cast", "eager")}


def check(make, tolerance=1e-9):
    keras.utils.set_random_seed(1)
    cell = make()
    for seed in range(2):
        graphs = graphs_for(cell, seed)
        inputs = cell.inputs(graphs, np.random.default_rng(seed))
        np.testing.assert_allclose(
            cell(graphs, inputs), by_equations(cell, graphs, inputs), tolerance, tolerance
        )
    inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
    check_options(cell, graphs, [cavs.Options()], inputs=inputs)
    left = fallbacks(cell, graphs, inputs)
    assert bool(left) == (make.__name__ in FALLBACKS), left


@pytest.mark.in_turns
@pytest.mark.parametrize("make", CELLS)
def test_published_cells(make):
    check(make)


def _expit(x):
    return np.exp(-np.logaddexp(0, -x))


def _softplus(x):
    return np.logaddexp(0, x)


_SCALE, _ALPHA = 1.0507009873554805, 1.6732632423543772
GELU = {
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / math.sqrt(2))) / 2,
}
ACTIVATIONS = {
    "gelu_tanh": lambda x: x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))) / 2,
    "swish": lambda x: x * _expit(x),
    "mish": lambda x: x * np.tanh(_softplus(x)),
    "softplus": _softplus,
    "softsign": lambda x: x / (1 + np.abs(x)),
    "elu": lambda x: np.where(x < 0, np.expm1(np.minimum(x, 0)), x),
    "selu": lambda x: _SCALE * np.where(x < 0, _ALPHA * (np.expm1(np.minimum(x, 0))), x),
    "leaky_relu": lambda x: np.where(x < 0, 0.2 * x, x),
    "relu6": lambda x: np.clip(x, 0, 6),
    "hard_sigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "hard_tanh": lambda x: np.clip(x, -1, 1),
    "hard_swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "log_sigmoid": lambda x: -_softplus(-x),
    "tanh_shrink": lambda x: x - np.tanh(x),
}
OF_KERAS = {"gelu_tanh": lambda x: keras.activations.gelu(x, approximate=True)}


class Activated(PublishedCell):
    """Cho et al. 2014, arXiv:1406.1078, equations 5 to 8, with other candidates: pushed, too."""

    arity = 2
    numpy_activations = ACTIVATIONS

    def make(self):
        self.gate, self.x, self.h = dense(), dense(), matrix()
        names = self.numpy_activations
        self.activations = [OF_KERAS.get(name) or keras.activations.get(name) for name in names]

    def vertex(self):
        x, total = self.pull(), self.gather(0) + self.gather(1)
        z = tf.sigmoid(self.gate(tf.concat([x, total], axis=1)))
        before = 3.0 * (self.x(x) + self.h(total))
        candidates = [activation(before) for activation in self.activations]
        state = z * total + (1 - z) * tf.add_n(candidates) / len(candidates)
        self.finish(state, push=tf.concat([*candidates, state], axis=1))

    def equations(self, x, children):
        total = sum(children, np.zeros(UNITS))
        z = _expit(affine(self.gate, x, total))
        before = 3.0 * (affine(self.x, x) + affine(self.h, total))
        candidates = [activation(before) for activation in self.numpy_activations.values()]
        state = z * total + (1 - z) * np.mean(candidates, axis=0)
        return state, np.concatenate([*candidates, state])


class Gelu(Activated):
    """The same with the one that TensorFlow's kernels compute."""

    numpy_activations = GELU


@pytest.mark.in_turns
@pytest.mark.parametrize("make", [Activated, Gelu])
def test_activations(make):
    check(make, tolerance=1e-6)  # TensorFlow has constants of float32.
