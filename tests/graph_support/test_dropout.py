"""Dropout in vertex functions: masks that belong to vertices, whatever is evaluated together."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import ops
from cavs_tf._running.evaluation import evaluation_by
from cavs_tf.inspect import reference
from tests.helpers import cells

UNITS = 8


class Cell(cavs.GraphSupport):
    """Drops inputs and children's states, each by a mask of its own."""

    arity = 2

    def __init__(self, rate=0.5, **kwargs):
        super().__init__(state_size=UNITS, **{"dtype": "float64"} | kwargs)
        self.rate = rate
        self.w = keras.layers.Dense(UNITS, dtype="float64")

    def vertex(self):
        children = [self.dropout(self.gather(k), 0.25) for k in range(2)]
        state = tf.tanh(self.w(self.dropout(self.pull(), self.rate)) + tf.add_n(children))
        self.scatter(state)
        self.push(state)


class Passing(cavs.GraphSupport):
    """Pushes what is left of the input, by vertex and by graph."""

    arity = 1

    def __init__(self, shape=(UNITS,)):
        super().__init__(state_size=shape)

    def vertex(self):
        x = self.pull("x")
        self.scatter(x)
        self.push(self.dropout(x, 0.75), "vertex")
        self.push(self.dropout(x, 0.75), "again")
        self.push(self.dropout(x, 0.75, rows="graph"), "graph")


def ones(graphs, shape=(UNITS,)):
    return {"x": tf.ones([graphs.num_vertices, *shape])}


def seeded(cell, number):
    cell._seed_generator.state.assign([7, number])


def results(cell, graphs, inputs):
    """Output and gradients of a step in training, from a seed that is always the same."""
    seeded(cell, 1)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        output = cell(graphs, inputs, training=True)
        loss = tf.reduce_sum(tf.sin(output))
    return [output, *tape.gradient(loss, [inputs, *(v.value for v in cell.trainable_variables)])]


def minibatch(seed=0):
    graphs = cells.random_graphs(seed, 6, 9)
    return graphs, tf.constant(
        np.random.default_rng(seed).normal(size=[graphs.num_vertices, UNITS])
    )


def tensors(values):
    return [tf.convert_to_tensor(value) for value in values]


def assert_equal(found, wanted):
    for one, other in zip(*map(tensors, (found, wanted)), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


def test_the_share_of_what_is_dropped_and_the_scale_of_what_is_left():
    graphs = cavs.GraphBatch.chain([400, 100])
    out = Passing()(graphs, ones(graphs), training=True)
    for mask in (out["vertex"].numpy(), out["again"].numpy()):
        assert set(np.unique(mask)) == {0, 4}
        assert abs((mask == 0).mean() - 0.75) < 0.02
        assert abs((mask == 0).mean(axis=0) - 0.75).max() < 0.1
    assert not np.array_equal(out["vertex"], out["again"])


def test_one_mask_for_each_graph():
    graphs = cavs.GraphBatch.chain([30, 50])
    out = Passing()(graphs, ones(graphs), training=True)["graph"].numpy()
    assert (out[:30] == out[0]).all() and (out[30:] == out[30]).all()
    assert not np.array_equal(out[0], out[30])


def test_rows_of_equal_numbers_have_one_mask():
    keras.utils.set_random_seed(1)

    @cavs.vertex_function(state_size=UNITS)
    def cell(v):
        x = v.dropout(v.pull("x"), 0.75, rows=v.pull("number"))
        v.scatter(x)
        v.push(x)

    graphs, number = cavs.GraphBatch.chain([1] * 6), tf.constant([0, 1, 0, 1, 2, 2])
    out = cell(graphs, {**ones(graphs), "number": number}, training=True).numpy()
    np.testing.assert_array_equal(out[[2, 3, 5]], out[[0, 1, 4]])
    assert len(np.unique(out, axis=0)) == 3


def test_a_trace_learns_that_masks_belong_to_graphs():
    """The first trace does not read the numbers of graphs, the second does."""

    class Changing(cavs.GraphSupport):
        rows = "vertex"

        def vertex(self):
            x = tf.cond(tf.constant(True), lambda: self.dropped(self.pull()), self.pull)
            self.scatter(x)
            self.push(x)

        def dropped(self, x):
            return self.dropout(x, 0.75, self.rows)

    cell, graphs = Changing(state_size=UNITS), cavs.GraphBatch.from_parents([[-1] * 9])
    x = tf.ones([9, UNITS])
    assert len(np.unique(cell(graphs, x, training=True), axis=0)) > 1
    cell.rows = "graph"
    assert len(np.unique(cell(graphs, x, training=True), axis=0)) == 1


def test_types_of_which_one_has_masks_of_graphs():
    class Typed(cavs.GraphSupport):
        arity = 1
        vertex_types = ("kept", "dropped")

        def kept(self):
            self.scatter(self.pull())
            self.push(self.pull())

        def dropped(self):
            x = self.dropout(self.pull(), 0.5, rows="graph")
            self.scatter(x)
            self.push(x)

    graphs = cavs.GraphBatch.from_parents([[-1, 0], [-1, 0]], vertex_type=[[0, 1], [1, 1]])
    cell, x = Typed(state_size=64), tf.ones([4, 64])
    out = cell(graphs, x, training=True).numpy()
    assert (out[0] == 1).all() and set(np.unique(out[1:])) == {0, 2}
    np.testing.assert_array_equal(out[2], out[3])
    assert not np.array_equal(out[1], out[2])
    cavs.check_equivalence(cell, graphs, x)


def test_nothing_is_dropped_in_inference():
    graphs = cavs.GraphBatch.chain([3])
    for training in (None, False):
        out = Passing()(graphs, ones(graphs), training=training)
        assert (out["vertex"].numpy() == 1).all()


def test_every_step_has_a_seed_of_its_own_that_follows_from_keras():
    graphs, runs = cavs.GraphBatch.chain([20]), []
    for _ in range(2):
        keras.utils.set_random_seed(5)
        cell = Passing()
        step = tf.function(lambda cell=cell: cell(graphs, ones(graphs), training=True)["vertex"])
        runs.append([step().numpy(), step().numpy()])
    assert not np.array_equal(*runs[0])
    np.testing.assert_array_equal(runs[0], runs[1])


def test_rows_of_any_shape():
    graphs, shape = cavs.GraphBatch.chain([50]), (2, 3)
    out = Passing(shape)(graphs, ones(graphs, shape), training=True)["vertex"].numpy()
    assert out.shape == (50, 2, 3) and set(np.unique(out)) == {0, 4}


@pytest.mark.parametrize(
    "options",
    [
        {"policy": "serial"},
        {"micro_batch": 1},
        {"streams": 2},
        {"disable": ["eager", "lazy"]},
        {"disable": ["views", "fuse", "skip_zeros"]},
    ],
    ids=str,
)
def test_masks_do_not_depend_on_what_runs_together(options):
    graphs, inputs = minibatch()
    cell = Cell()
    cell(graphs, inputs)
    wanted = results(cell, graphs, inputs)
    cell.options = cavs.Options(**options)
    assert_equal(results(cell, graphs, inputs), wanted)


@pytest.mark.parametrize("seed", range(3))
def test_the_numbers_of_the_reference_executor(seed):
    graphs, inputs = minibatch(seed)
    cell = Cell()
    cell(graphs, inputs)
    found = results(cell, graphs, inputs)
    seeded(cell, 2)  # What the step before has used.
    with tf.GradientTape() as tape, evaluation_by(reference._run_cell):
        tape.watch(inputs)
        output = cell(graphs, inputs, training=True)
        loss = tf.reduce_sum(tf.sin(output))
    sources = [inputs, *(variable.value for variable in cell.trainable_variables)]
    assert_equal(found, [output, *tape.gradient(loss, sources)])


def test_masks_are_drawn_again_instead_of_being_kept():
    graphs, inputs = minibatch()
    kept = []
    for rate in (0.0, 0.5):
        cell = Cell(rate)
        cell(graphs, inputs, training=True)
        (backward,) = (f for f, _ in cell._cache.last.backward)
        kept.append(sum(op.type == "CavsDropoutMask" for op in backward.graph.get_operations()))
    assert kept == [2, 3]


@pytest.mark.in_turns
def test_fit_save_and_load(tmp_path):
    graphs = cavs.keras.graph_inputs(arity=2)
    x = keras.Input([UNITS], dtype="float64", name="x")
    model = keras.Model({**graphs, "x": x}, cavs.keras.Graph(Cell())(graphs, x))
    model.compile("sgd", "mse")
    batch, inputs = minibatch()
    batch = batch.with_schedule(2, 1)
    arguments = {**batch.to_dict(), "x": inputs}
    wanted = tf.zeros_like(model(arguments))
    model.train_on_batch(arguments, wanted)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras", {"Cell": Cell})
    np.testing.assert_allclose(loaded(arguments), model(arguments))


@pytest.mark.parametrize(
    ("x", "rate", "rows", "message"),
    [
        (tf.ones([1, 2]), 1.0, "vertex", r"got rate 1.0 but expected a number in \[0, 1\)"),
        (tf.ones([1, 2]), "half", "graph", "got rate 'half'"),
        (tf.ones([1, 2], tf.int32), 0.5, "graph", "int32.*floating-point rows"),
        (
            tf.ones([1, 2]),
            0.5,
            tf.zeros([1]),
            r"got rows float32 \(1,\) but expected 'vertex', 'gr",
        ),
        (tf.ones([1, 2]), 0.5, "graphs", "got rows 'graphs' but expected 'vertex', 'graph' or int"),
    ],
)
def test_what_cannot_be_dropped(x, rate, rows, message):
    @cavs.vertex_function(state_size=2)
    def cell(v):
        v.scatter(v.dropout(x, rate, rows))

    with pytest.raises(ValueError, match=message):
        cell(cavs.GraphBatch.chain([1]))


def test_dropout_outside_of_a_vertex_function():
    with pytest.raises(RuntimeError, match="dropout: called outside of a vertex function"):
        Cell().dropout(tf.ones([1, 2]), 0.5)


def test_malformed_calls_of_the_op():
    rows, seed = tf.range(3), tf.constant([1, 2], tf.int64)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"rate: got 2 but expected one in"):
        ops.cavs_dropout_mask(rows, seed, T=tf.float32, shape=[2], rate=2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"rows, seed: got shapes"):
        ops.cavs_dropout_mask(rows, seed[:1], T=tf.float32, shape=[2], rate=0.5)
    for dtype in (tf.float32, tf.float64, tf.bfloat16, tf.half):
        mask = ops.cavs_dropout_mask(rows, seed, T=dtype, shape=[5], rate=0.5)
        assert set(np.unique(tf.cast(mask, tf.float32))) == {0, 2}
