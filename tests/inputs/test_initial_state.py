"""The state that vertices without children gather, compared with a vertex that scatters it."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells
from tests.helpers.pairwise import each_in_one_of

# A tree, one that is a slot with no child and one with, no vertices, and a chain.
CHILDREN = [[[], [], [0, 1], []], [[], [-1, 0], [-1]], [], [[], [0], [1]]]
GRAPHS = cavs.GraphBatch.from_children(CHILDREN)
X = tf.random.stateless_normal([10, cells.FEATURES], [1, 2])
STATES = tf.random.stateless_normal([4, 2 * cells.STATE], [3, 4])


class WithStarts(cells.TreeLSTM):
    """Has a type of vertices more, which scatter the initial state."""

    vertex_types = ("vertex", "start")

    def pull(self, name="x"):
        return super().pull(name)

    def start(self):
        self.scatter(self.pull("state"))


def run_with_starts(cell, x, states):
    """`cell` over graphs with a vertex more in each, which is a child of those without any."""
    children, types, rows = [], [], []
    for graph in CHILDREN:
        start = len(graph)
        children.append([c if max(c, default=-1) >= 0 else [start] for c in graph] + [[]])
        rows += range(sum(map(len, children[:-1])), sum(map(len, children)) - 1)
        types += [0] * len(graph) + [1]
    graphs = cavs.GraphBatch.from_children(children, types)
    return cell(graphs, {"x": x, "state": states}, at=rows)


@pytest.mark.in_turns
@pytest.mark.parametrize("in_function", [False, True])
def test_is_a_vertex_that_scatters_it(in_function):
    cell, other = cells.TreeLSTM(), WithStarts()
    cell(GRAPHS, X), run_with_starts(other, X, STATES)
    other.set_weights(cell.get_weights())

    def run(weights, evaluate):
        with tf.GradientTape() as tape:
            tape.watch([X, STATES])
            outputs = evaluate()
            loss = tf.reduce_sum(tf.sin(outputs) * tf.range(10.0)[:, None])
        sources = [X, STATES, *weights]
        return outputs, *map(tf.convert_to_tensor, tape.gradient(loss, sources))

    ours = lambda: run(cell.trainable_weights, lambda: cell(GRAPHS, X, initial_state=STATES))  # noqa: E731
    got = (tf.function(ours) if in_function else ours)()
    want = run(other.trainable_weights, lambda: run_with_starts(other, X, STATES))
    assert np.abs(want[2]).min(1).tolist()[2] == 0 < np.abs(want[2]).max(1)[0]
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


@keras.saving.register_keras_serializable("test_initial_state")
class RunningSum(cavs.GraphSupport):
    arity = 1

    def vertex(self):
        total = self.pull() + self.gather(0)
        self.scatter(total)
        self.push(total)

    def get_config(self):
        return super().get_config() | {"state_size": self.state_size}


class Decoder(keras.Model):
    def __init__(self, cell):
        super().__init__(dtype=cell.dtype)
        self.cell = cell

    def call(self, features):
        return self.cell(features, features["x"], initial_state=features["state"])


@pytest.mark.in_turns
@pytest.mark.parametrize(
    ("dtype", "make"),
    each_in_one_of(["float32", "float64", "bfloat16", "float16"], [cells.TreeLSTM, cells.Typed]),
)
def test_equals_the_reference(make, dtype):
    cell = make(dtype=dtype)
    graphs = GRAPHS
    if len(cell.vertex_types) > 1:
        graphs = cells.in_types(GRAPHS)
    state = tf.cast(STATES[:, : cell.state_shape[0]], dtype)
    features = graphs.to_dict() | {"x": tf.cast(X, dtype), "state": state}
    model = Decoder(cell)
    report = cavs.check_equivalence(model, features)
    assert report.ok and "state" in str(report), report
    without = cell(graphs, features["x"])
    changed = model(features)
    assert any(
        np.any(np.not_equal(*pair))
        for pair in zip(tf.nest.flatten(without), tf.nest.flatten(changed), strict=True)
    )
    assert "10 vertices" in cavs.explain(model, features)
    memory = cavs.predict_memory(model, features)
    assert memory.training > cavs.predict_memory(cell, graphs, features["x"]).training


def test_zeros_change_nothing():
    cell = cells.TreeLSTM()
    np.testing.assert_array_equal(
        cell(GRAPHS, X, initial_state=tf.zeros_like(STATES)), cell(GRAPHS, X)
    )


def test_gather_all_has_it_too():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        v.scatter(tf.ones_like(v.gather(0)))
        v.push(v.gather_all()[..., 0])

    chains = cavs.GraphBatch.chain([2, 0, 1])
    pushed = cell(chains, initial_state=[[5.0], [6.0], [7.0]])
    assert pushed.numpy().tolist() == [[5, 0], [1, 0], [7, 0]]


def test_an_encoder_gives_it_to_a_decoder_in_a_functional_model(tmp_path):
    keras.utils.set_random_seed(0)
    source, target = (cavs.keras.graph_inputs(name=name) for name in ("source", "target"))
    tokens = {n: keras.Input((), dtype="int32", name=f"{n}_token") for n in ("source", "target")}
    rows = {n: keras.layers.Embedding(9, cells.FEATURES)(token) for n, token in tokens.items()}
    encoder, decoder = RunningSum(3), RunningSum(3)
    last = cavs.keras.Graph(encoder)(source, rows["source"])
    output = decoder(target, rows["target"], initial_state=last)
    inputs = {
        "source": {**source, "token": tokens["source"]},
        "target": {**target, "token": tokens["target"]},
    }
    model = keras.Model(inputs, output)

    def features(lengths, token):
        return cavs.GraphBatch.chain(lengths).to_dict() | {"token": tf.constant(token)}

    batch = {
        "source": features([2, 1], [1, 2, 3]),
        "target": features([1, 3], [4, 5, 6, 7]),
    }
    tables = [layer.embeddings for layer in model.layers if hasattr(layer, "embeddings")]
    of_source, of_target = (
        tf.gather(table, batch[name]["token"]).numpy()
        for name, table in zip(("source", "target"), tables, strict=True)
    )
    want = np.array(of_target)
    want[0] += of_source[:2].sum(0)
    want[1] += of_source[2]
    want[1:] = want[1:].cumsum(0)
    np.testing.assert_allclose(model(batch), want, rtol=1e-5)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded(batch), model(batch))


def test_rejections():
    cell = RunningSum(cells.FEATURES)
    chains = cavs.GraphBatch.chain([4, 3, 0, 3])
    state = tf.ones([4, cells.FEATURES])

    def rejects(message, **kwargs):
        return pytest.raises(kwargs.get("error", ValueError), match=re.escape(message))

    with rejects("initial_state: got shape (4, 2) but expected [B, 3], a state for each graph"):
        cell(chains, X, initial_state=state[:, :2])
    with rejects("initial_state: got 3 rows but expected 4, one for each graph"):
        cell(chains, X, initial_state=state[:3])
    later = tf.function(
        lambda state: cell(chains, X, initial_state=state),
        input_signature=[tf.TensorSpec([None, cells.FEATURES])],
    )
    for wrong in (state[:3], tf.concat([state, state], 0)):
        with rejects(
            "initial_state: got another number of rows than of graphs",
            error=tf.errors.InvalidArgumentError,
        ):
            later(wrong)

    leaf = cavs.vertex_function(state_size=3)(lambda v: (v.scatter(v.pull()), v.push(v.pull())))
    with rejects("initial_state: got one but expected None, as the arity is 0"):
        leaf(chains, X, initial_state=state)

    missing = cavs.vertex_function(state_size=3, arity=1)(lambda v: v.scatter(v.pull("words")))
    with rejects("pull: got 'words' but expected one of ['default']"):
        missing(GRAPHS, X, initial_state=state)
