"""Published cells of any number of children equal their equations, in NumPy, vertex by vertex."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.differential.published._base import (
    FEATURES,
    UNITS,
    affine,
    dense,
    lstm,
    matrix,
    sigmoid,
    softmax,
)
from tests.differential.published.trees import ChildSumTreeLSTM
from tests.differential.test_differential import check_options
from tests.helpers import cells

MOST = 6  # Children of a vertex.


class ChildSum(ChildSumTreeLSTM):
    """Tai et al. 2015, arXiv:1503.00075, equations 2 to 8, by edges."""

    arity = None

    def vertex(self):
        x, (c, h) = self.pull(), tf.split(self.children(), 2, axis=1)
        iou = self.w_iou(x) + self.u_iou(self.sum_children(h))
        i, o, u = tf.split(iou, 3, axis=1)
        f = tf.sigmoid(self.to_children(self.w_f(x)) + self.u_f(h))
        c = tf.sigmoid(i) * tf.tanh(u) + self.sum_children(f * c)
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children, edges):
        return super().equations(x, children)


class Lattice(cavs.GraphSupport):
    """Zhang and Yang 2018, arXiv:1805.02023, equations 11 to 15: what both forms share.

    The first child is the character before; others belong to the words that end here.
    """

    arity = None

    def __init__(self):
        super().__init__(state_size=2 * UNITS, dtype="float64")
        self.gates, self.word_gate = dense(3 * UNITS), dense()

    def finish(self, x, words, is_word):
        """`words` are the cells of words, a row for each edge."""
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, o, g = tf.split(self.gates(tf.concat([x, h], axis=1)), 3, axis=1)
        i = tf.sigmoid(i)
        scores = tf.sigmoid(self.word_gate(tf.concat([self.to_children(x), words], axis=1)))
        powers = is_word * tf.exp(scores)
        total = tf.exp(i) + self.sum_children(powers)
        lattice = (tf.exp(i) * tf.tanh(g) + self.sum_children(powers * words)) / total
        has_word = self.sum_children(is_word) > 0
        c = tf.where(has_word, lattice, i * tf.tanh(g) + (1 - i) * c)
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)

    def by_words(self, x, before, words):
        """(state, pushed) of a character, in NumPy."""
        c, h = np.split(before, 2)
        i, o, g = np.split(affine(self.gates, x, h), 3)
        if words:
            scores = [sigmoid(i), *(sigmoid(affine(self.word_gate, x, word)) for word in words)]
            c = np.sum(softmax(np.array(scores), axis=0) * np.array([np.tanh(g), *words]), axis=0)
        else:
            c = sigmoid(i) * np.tanh(g) + (1 - sigmoid(i)) * c
        h = sigmoid(o) * np.tanh(c)
        return np.concatenate([c, h]), h


class WordsAsEdges(Lattice):
    """A word leads from its last character to its first; its embedding is pulled along."""

    def __init__(self):
        super().__init__()
        self.word_gates = dense(3 * UNITS)

    def inputs(self, graphs, generator):
        x = generator.normal(size=[graphs.num_vertices, FEATURES])
        word = generator.normal(size=[graphs.num_edges, FEATURES])
        return {"x": x, "word": word, "is_word": not_first(graphs)}

    def vertex(self):
        c, h = tf.split(self.children(), 2, axis=1)
        i, f, g = tf.split(self.word_gates(tf.concat([self.pull_edge("word"), h], 1)), 3, axis=1)
        words = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        self.finish(self.pull("x"), words, self.pull_edge("is_word"))

    def equations(self, x, children, edges):
        words = []
        for state, word in list(zip(children, edges["word"], strict=True))[1:]:
            c, h = np.split(state, 2)
            i, f, g = np.split(affine(self.word_gates, word, h), 3)
            words.append(sigmoid(f) * c + sigmoid(i) * np.tanh(g))
        before = children[0] if children else np.zeros(2 * UNITS)
        return self.by_words(x["x"], before, words)


class WordsAsVertices(Lattice):
    """The children from the second on are words, whose c is the first part of their state."""

    def inputs(self, graphs, generator):
        x = generator.normal(size=[graphs.num_vertices, FEATURES])
        return {"x": x, "is_word": not_first(graphs)}

    def vertex(self):
        words, _ = tf.split(self.children(), 2, axis=1)
        self.finish(self.pull("x"), words, self.pull_edge("is_word"))

    def equations(self, x, children, edges):
        before = children[0] if children else np.zeros(2 * UNITS)
        return self.by_words(x["x"], before, [child[:UNITS] for child in children[1:]])


class RelationalAttention(cavs.GraphSupport):
    """Graph attention (Velickovic et al. 2018, arXiv:1710.10903) with labels of edges."""

    arity = None

    def __init__(self):
        super().__init__(state_size=UNITS, dtype="float64")
        self.own, self.map, self.label, self.score = dense(), matrix(), matrix(1), matrix(1)

    def inputs(self, graphs, generator):
        x = generator.normal(size=[graphs.num_vertices, FEATURES])
        return {"x": x, "label": generator.normal(size=[graphs.num_edges, 2])}

    def vertex(self):
        own, mapped = self.own(self.pull("x")), self.map(self.children())
        scores = self.score(self.to_children(own) * mapped) + self.label(self.pull_edge("label"))
        weights = self.softmax_children(tf.nn.leaky_relu(scores))
        h = tf.nn.elu(own + self.sum_children(weights * mapped) + self.max_children(mapped))
        self.scatter(h)
        self.push(h)

    def equations(self, x, children, edges):
        total = own = affine(self.own, x["x"])
        if children:
            mapped = affine(self.map, np.array(children))
            scores = affine(self.score, own * mapped) + affine(self.label, edges["label"])
            slope = np.float32(0.2)  # That of TensorFlow's operator.
            weights = softmax(np.where(scores < 0, slope * scores, scores), axis=0)
            total = own + np.sum(weights * mapped, axis=0) + np.max(mapped, axis=0)
        h = np.where(total < 0, np.expm1(np.minimum(total, 0)), total)
        return h, h


def not_first(graphs):
    """[E, 1]: 0 for the edge to the first child of a vertex, 1 for the others."""
    counts = graphs.num_children.numpy()
    place = np.concatenate([np.arange(n) for n in counts]) if counts.size else np.zeros(0)
    return (place > 0).astype("float64")[:, np.newaxis]


def graphs_for(seed):
    generator = np.random.default_rng(seed)
    lists = [
        cells.random_children(generator, int(size), MOST, kind)
        for size, kind in zip(generator.integers(4, 12, 3), ["tree", "dag", "chain"], strict=True)
    ]
    lists.append([[]])
    return cavs.GraphBatch.from_children([[[c for c in v if c >= 0] for v in g] for g in lists])


def by_equations(equations, graphs, inputs):
    """What is pushed, one vertex at a time. `equations` takes x, children and rows of edges."""
    splits, ids = graphs.child_splits.numpy(), graphs.child_ids.numpy()
    of_edges = inputs.keys() - {"x"}
    states, pushed = {}, {}

    def visit(v):
        if v not in states:
            own = slice(splits[v], splits[v + 1])
            children = [visit(child) for child in ids[own]]
            x = {n: np.asarray(rows)[v] for n, rows in inputs.items() if n not in of_edges}
            edges = {n: np.asarray(inputs[n])[own] for n in of_edges}
            states[v], pushed[v] = equations(x, children, edges)
        return states[v]

    for v in range(graphs.num_vertices):
        visit(v)
    return np.array([pushed[v] for v in range(graphs.num_vertices)])


@pytest.mark.in_turns
@pytest.mark.parametrize("make", [WordsAsEdges, WordsAsVertices, RelationalAttention])
def test_cells_with_inputs_of_edges(make):
    keras.utils.set_random_seed(1)
    cell = make()
    for seed in range(2):
        graphs = graphs_for(seed)
        inputs = cell.inputs(graphs, np.random.default_rng(seed))
        found = cell(graphs, inputs)
        expected = by_equations(cell.equations, graphs, inputs)
        np.testing.assert_allclose(found, expected, 1e-9, 1e-9)
    inputs = tf.nest.map_structure(tf.convert_to_tensor, inputs)
    check_options(cell, graphs, [cavs.Options()], inputs=inputs)


def test_child_sum():
    keras.utils.set_random_seed(1)
    cell, graphs = ChildSum(), graphs_for(3)
    x = cell.inputs(graphs, np.random.default_rng(0))
    found = cell(graphs, x)
    expected = by_equations(lambda x, *rest: cell.equations(x["x"], *rest), graphs, {"x": x})
    np.testing.assert_allclose(found, expected, 1e-9, 1e-9)


@pytest.mark.in_turns
def test_the_layer_tree_lstm():
    keras.utils.set_random_seed(1)
    graphs, x = graphs_for(4), np.random.default_rng(0).normal(size=[graphs_for(4).num_vertices, 3])
    initial = {"bias_initializer": "random_normal", "dtype": "float64", "unit_forget_bias": False}
    layer = cavs.keras.TreeLSTM(UNITS, arity=None, return_vertices=True, **initial)
    found = layer(graphs, x)
    kernel, kernel_f, recurrent, recurrent_f, bias, bias_f = layer.get_weights()

    def equations(x, children, edges):
        i, u, o = np.split(x["x"] @ kernel + bias, 3)
        f = x["x"] @ kernel_f + bias_f
        pairs = [np.split(child, 2) for child in children]
        total = sum((h for _, h in pairs), np.zeros(UNITS)) @ recurrent
        i, u, o = (a + b for a, b in zip((i, u, o), np.split(total, 3), strict=True))
        c, h = lstm(i, sum(sigmoid(f + h @ recurrent_f) * c for c, h in pairs), o, u)
        return np.concatenate([c, h]), h

    np.testing.assert_allclose(found, by_equations(equations, graphs, {"x": x}), 1e-9, 1e-9)
    report = cavs.check_equivalence(layer, graphs, x)
    assert report.ok, report


@pytest.mark.in_turns
@pytest.mark.parametrize("go_backwards", [False, True])
def test_the_layer_dagnn(go_backwards):
    """Thost and Chen 2021, arXiv:2101.07965, equations 4 to 6."""
    keras.utils.set_random_seed(1)
    graphs = graphs_for(5)
    x = np.random.default_rng(0).normal(size=[graphs.num_vertices, 3])
    layer = cavs.keras.DAGNN(
        UNITS,
        return_vertices=True,
        go_backwards=go_backwards,
        bias_initializer="random_normal",
        dtype="float64",
    )
    found = layer(graphs, x)
    query, key, kernel, recurrent, (bias, recurrent_bias) = layer.get_weights()

    def equations(x, children, edges):
        message = np.zeros(UNITS)
        if children:
            h = np.array(children)
            message = softmax((x["x"] @ query + h @ key)[:, 0]) @ h
        z, r, n = np.split(x["x"] @ kernel + bias, 3)
        of_z, of_r, of_n = np.split(message @ recurrent + recurrent_bias, 3)
        z, r = sigmoid(z + of_z), sigmoid(r + of_r)
        h = z * message + (1 - z) * np.tanh(n + r * of_n)
        return h, h

    directed = graphs.reverse() if go_backwards else graphs
    np.testing.assert_allclose(found, by_equations(equations, directed, {"x": x}), 1e-9, 1e-9)
    report = cavs.check_equivalence(layer, graphs, x)
    assert report.ok, report


@pytest.mark.parametrize("layer_class", [cavs.keras.TreeLSTM, cavs.keras.TreeGRU])
def test_weights_that_were_trained_with_slots(layer_class, tmp_path):
    graphs = graphs_for(6)
    x = tf.random.stateless_normal([graphs.num_vertices, 3], [1, 2])
    slots = layer_class(UNITS, arity=MOST, return_vertices=True)
    wanted = slots(graphs, x)
    any_number = layer_class(UNITS, arity=None, return_vertices=True)
    any_number(graphs, x)
    any_number.set_weights(slots.get_weights())
    np.testing.assert_allclose(any_number(graphs, x), wanted, rtol=1e-5, atol=1e-6)

    def model(layer):
        graphs = cavs.keras.graph_inputs()
        rows = keras.Input((3,), name="x")
        return keras.Model({**graphs, "x": rows}, layer(graphs, rows))

    saved, loaded = model(slots), model(any_number)
    saved.save_weights(tmp_path / "slots.weights.h5")
    any_number.set_weights([0 * w for w in any_number.get_weights()])
    loaded.load_weights(tmp_path / "slots.weights.h5")
    np.testing.assert_allclose(loaded(graphs.to_dict() | {"x": x}), wanted, rtol=1e-5, atol=1e-6)


def test_the_n_ary_mode_needs_an_arity():
    with pytest.raises(ValueError, match="arity: got None but expected an int with mode='n_ary'"):
        cavs.keras.TreeLSTM(UNITS, arity=None, mode="n_ary")


@pytest.mark.in_turns
def test_dropout_along_edges_is_that_of_the_vertex():
    graphs = graphs_for(7)
    x = tf.random.stateless_normal([graphs.num_vertices, 3], [1, 2])
    keras.utils.set_random_seed(3)
    slots = cavs.keras.TreeLSTM(UNITS, arity=MOST, return_vertices=True, recurrent_dropout=0.5)
    slots(graphs, x)
    keras.utils.set_random_seed(3)
    edges = cavs.keras.TreeLSTM(UNITS, arity=None, return_vertices=True, recurrent_dropout=0.5)
    edges(graphs, x)
    edges.set_weights(slots.get_weights())
    outputs = []
    for layer in (slots, edges):
        keras.utils.set_random_seed(4)
        layer.cell._seed_generator.state.assign([5, 6])
        outputs.append(layer(graphs, x, training=True))
    np.testing.assert_allclose(*outputs, rtol=1e-5, atol=1e-6)
