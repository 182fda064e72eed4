"""Features of examples that only some vertices have."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import VertexRows, data

FEATURES, UNITS = 3, 4


def trees(count, seed=0):
    """Examples with inputs of leaves: as VertexRows, as leaves' rows alone, and as whole rows."""
    random = np.random.default_rng(seed)
    for _ in range(count):
        size = int(random.integers(0, 7))
        children = [[int(random.integers(-1, v)) for _ in range(2)] for v in range(size)]
        children = np.array(children, np.int32).reshape(size, 2)
        leaves = np.flatnonzero(np.all(children < 0, axis=1))
        rows = random.normal(size=[len(leaves), FEATURES]).astype(np.float32)
        token = random.integers(1, 9, len(leaves))
        whole, all_tokens = np.zeros([size, FEATURES], np.float32), np.full([size], -1)
        whole[leaves], all_tokens[leaves] = rows, token
        order = random.permutation(len(leaves))
        yield {
            "children": children,
            "some": VertexRows(rows[order], leaves[order]),
            "leaf": rows,
            "whole": whole,
            "token": VertexRows(token[order], leaves[order]),
            "all_tokens": all_tokens,
            "label": np.float32(random.normal()),
        }


SIGNATURE = {
    "children": tf.TensorSpec([None, 2], tf.int32),
    "some": VertexRows(tf.TensorSpec([None, FEATURES]), tf.TensorSpec([None], tf.int64)),
    "leaf": tf.TensorSpec([None, FEATURES]),
    "whole": tf.TensorSpec([None, FEATURES]),
    "token": VertexRows(tf.TensorSpec([None], tf.int64), tf.TensorSpec([None], tf.int64)),
    "all_tokens": tf.TensorSpec([None], tf.int64),
    "label": tf.TensorSpec([]),
}


def examples(count=23, seed=0):
    return tf.data.Dataset.from_generator(lambda: trees(count, seed), output_signature=SIGNATURE)


def whole(rows, like):
    """The same with zeros for other vertices."""
    return tf.scatter_nd(rows.vertices[:, None], rows.rows, tf.shape(like)).numpy()


def check(part):
    for name in ("some", "leaf"):
        assert isinstance(part[name], VertexRows)
        assert part[name].vertices.dtype == tf.int32
        np.testing.assert_array_equal(whole(part[name], part["whole"]), part["whole"])
    np.testing.assert_array_equal(
        whole(part["token"], part["all_tokens"]) - 1, np.maximum(part["all_tokens"], 0) - 1
    )


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "options",
    [
        {"batch_size": 1},
        {"batch_size": 8},
        {"batch_size": 8, "drop_remainder": True},
        {"max_vertices": 12},
        {"batch_size": 4, "bucket_by": "depth", "seed": 0},
        {"batch_size": 7, "replicas": 3},
        {"batch_size": 7, "as_dict": True},
    ],
    ids=str,
)
def test_minibatches_have_the_rows_of_their_examples(options):
    vertices = 0
    for part in data.batch(examples(), **options, per_leaf=["leaf"]):
        check(part)
        vertices += len(part["whole"])
    dropped = options.get("drop_remainder") and 7
    assert vertices == sum(len(tree["whole"]) for tree in list(trees(23))[: 23 - (dropped or 0)])


@pytest.mark.in_turns
def test_structures_have_rows_of_some_vertices():
    pairs = tf.data.Dataset.zip({"left": examples(9, 1), "right": examples(9, 2)})
    for part in data.batch(pairs, 4, per_leaf=["left/leaf", "right/leaf"]):
        check(part["left"])
        check(part["right"])


def test_leaves_of_ragged_children():
    children = tf.ragged.constant([[], [0], [], [2, 1]], dtype=tf.int32)
    tree = {"children": children, "x": [5, 7]}
    (part,) = data.batch(tf.data.Dataset.from_tensors(tree), 1, arity=2, per_leaf=["x"])
    np.testing.assert_array_equal(part["x"].vertices, [0, 2])


@pytest.mark.parametrize("make", ["arrays", "graphs"])
def test_datasets_in_memory_have_rows_of_some_vertices(make):
    x = VertexRows([[3.0], [1.0], [2.0]], [4, 0, 1])
    if make == "arrays":
        features = {"children": [[-1, -1], [-1, -1], [0, 1], [-1, -1], [-1, -1]], "x": x}
        dataset = data.from_arrays([0, 3, 3, 4, 5], features, {"label": [1, 2, 3, 4]})
    else:
        graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]], [], [[]], [[]]])
        dataset = data.from_graphs(graphs, {"x": x}, {"label": [1, 2, 3, 4]})
    assert [e["x"].vertices.tolist() for e in dataset.as_numpy_iterator()] == [[0, 1], [], [], [0]]
    (part,) = data.batch(dataset.skip(1), 3, arity=2)
    np.testing.assert_array_equal(part["x"].rows, [[3]])
    np.testing.assert_array_equal(part["x"].vertices, [1])


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (VertexRows([[1.0]], [5]), r"vertex_features\['x'\].vertices\[0\]: got 5 but expected a"),
        (VertexRows([[1.0]], [-1]), r"vertices\[0\]: got -1 but expected a vertex in \[0, 1\)"),
        (VertexRows([[1.0]], [0, 0]), r"\['x'\]: got 1 rows for 2 vertices but expected one row"),
        (VertexRows([[1.0]], [0.0]), r"vertices: got float64 of shape \(1,\) but expected inte"),
    ],
)
def test_arrays_of_other_vertices_are_rejected(x, message):
    with pytest.raises(ValueError, match=message):
        data.from_arrays([0, 1], {"children": [[-1]], "x": x}, {})


def test_a_vocabulary_has_words_of_some_vertices():
    tree = {"children": [[-1, -1], [-1, -1], [0, 1]], "word": VertexRows(["a", "b"], [0, 1])}
    assert data.Vocabulary.from_dataset(tf.data.Dataset.from_tensors(tree)).words[2:] == ("a", "b")


# --- in models ----------------------------------------------------------------------------


class Compose(cavs.GraphSupport):
    """Of docs/start/your_own_cell.md: leaves are their input."""

    arity = 2
    vertex_types = ("leaf", "inner")

    def __init__(self):
        super().__init__(state_size=UNITS)
        self.first = keras.layers.Dense(UNITS)
        self.compose = keras.layers.Dense(UNITS, "tanh")

    def leaf(self):
        h = self.first(self.pull())
        self.scatter(h)
        self.push(h)

    def inner(self):
        h = self.compose(tf.concat([self.gather(0), self.gather(1)], axis=1))
        self.scatter(h)
        self.push(h)


@pytest.mark.in_turns
@pytest.mark.parametrize("name", ["some", "leaf"])
def test_typed_cells_pull_rows_of_leaves(name):
    def typed(tree):
        is_inner = tf.reduce_any(tree["children"] >= 0, axis=1)
        return tree | {"kind": tf.cast(is_inner, tf.int32)}

    batches = data.batch(
        examples().map(typed), 8, vertex_type="kind", num_types=2, per_leaf=["leaf"]
    )
    cell = Compose()
    for part in batches:
        report = cavs.check_equivalence(cell, part["graphs"], part[name])
        assert report.ok, str(report)
        np.testing.assert_array_equal(
            cell(part["graphs"], part[name]), cell(part["graphs"], part["whole"])
        )


def model_of(x, rows=lambda x: x, seed=0):
    keras.utils.set_random_seed(seed)
    graphs = cavs.keras.graph_inputs(arity=2)
    root = cavs.keras.TreeLSTM(UNITS)(graphs, rows(x))
    model = keras.Model({**graphs, "x": x}, keras.layers.Dense(1)(root))
    model.compile(cavs.keras.SGD(0.1), "mse")
    return model


def some_inputs(shape, dtype):
    return VertexRows(keras.Input(shape, dtype=dtype), keras.Input((), dtype="int32"))


def fitted(model, name):
    """The losses of two epochs, and the outputs for the first minibatch."""
    named = examples(count=30).map(lambda tree: tree | {"x": tree[name]})
    per_leaf = [n for n in ("x", "leaf") if name == "leaf" or n == "leaf"]
    batches = data.batch(named, 8, per_leaf=per_leaf, as_dict=True)
    pairs = cavs.keras.for_fit(batches, model.input, "label")
    losses = model.fit(pairs, epochs=2, shuffle=False, verbose=0).history["loss"]
    return losses, model(next(iter(pairs))[0])


@pytest.mark.in_turns
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_fits_as_with_whole_rows(tmp_path):
    wanted = fitted(model_of(keras.Input([FEATURES], name="x")), "whole")
    model = model_of(some_inputs([FEATURES], "float32"))
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for some, name in ((model, "some"), (loaded, "leaf")):
        for got, want in zip(fitted(some, name), wanted, strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


@pytest.mark.in_turns
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_embeds_tokens_of_some_vertices(tmp_path):
    def embedded(**kwargs):
        return lambda ids: cavs.keras.Embedding(9, FEATURES, **kwargs)(ids)

    tokens = keras.Input([], dtype="int64", name="x")
    wanted = fitted(model_of(tokens, embedded(mask_negative=True)), "all_tokens")
    model = model_of(some_inputs([], "int64"), embedded())
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for got, want in zip(fitted(loaded, "token"), wanted, strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-6)


# --- rejections ---------------------------------------------------------------------------


def tree_with(x, **features):
    if isinstance(x, VertexRows):
        x = VertexRows(x.rows, np.array(x.vertices))  # As int64.
    return tf.data.Dataset.from_tensors(
        {"children": [[-1, -1], [-1, -1], [0, 1]], "x": x} | features
    )


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (
            VertexRows([1.0], [3]),
            {},
            r"x.vertices\[1\]\[0\]: got 3 but expected a vertex in \[0, 3\). V",
        ),
        (
            VertexRows([1.0, 2.0], [1, -1]),
            {},
            r"x.vertices\[1\]\[1\]: got -1 but expected a vertex in",
        ),
        (
            VertexRows([1.0], [2**40]),
            {},
            rf"x.vertices\[1\]\[0\]: got {2**40} but expected a vertex in",
        ),
        (
            VertexRows([1.0, 2.0], [1, 1]),
            {},
            r"x.vertices\[1\]\[0\]: got 1 more than once among 3 ver",
        ),
        (
            VertexRows([1.0], [0, 1]),
            {},
            r"x: got 1 rows but expected 2, one per element of its ver",
        ),
        (
            [1.0, 2.0, 3.0],
            {"per_leaf": ["x"]},
            r"x: got 3 rows but expected 2, one per leaf, in example 1 of the .* Leaves are the",
        ),
    ],
)
def test_rows_of_other_vertices_are_rejected(x, options, message):
    right = [7.0, 8.0] if "per_leaf" in options else VertexRows([7.0], [0])
    batches = data.batch(tree_with(right).concatenate(tree_with(x)), 2, **options)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        next(iter(batches))


@pytest.mark.parametrize(
    ("x", "options", "message"),
    [
        (VertexRows([1.0], [0.5]), {}, r"dataset\['x'\].vertices: got float64 of shape \(1,\) but"),
        (
            VertexRows([1.0], 0),
            {},
            r"dataset\['x'\].vertices: got int64 of shape \(\) but expected",
        ),
        (VertexRows([1.0], [0]), {"per_leaf": ["x"]}, "per_leaf: got 'x', which says itself which"),
        (
            VertexRows([1.0], [0]),
            {"per_graph": ["x"]},
            "per_graph: got 'x', which says itself which",
        ),
        (VertexRows([1], [0]), {"vertex_type": "x"}, "vertex_type: got 'x' but expected a feature"),
        (
            [1],
            {"per_leaf": ["y"]},
            r"but expected 'y' among the names. Correct per_graph, per_edge",
        ),
    ],
)
def test_features_that_cannot_be_of_some_vertices_are_rejected(x, options, message):
    with pytest.raises(ValueError, match=message):
        data.batch(tree_with(x), 1, **options)


def test_only_structures_have_vertices():
    tree = {"children": [[-1]]}
    pair = tf.data.Dataset.from_tensors({"a": tree, "x": VertexRows([1.0], [0])})
    with pytest.raises(ValueError, match=r"dataset\['x'\]: got VertexRows.* but expected a tensor"):
        data.batch(pair, 1)
