"""Large tables: lookups that read single rows, and an optimizer that updates single rows."""

import re

import keras
import ml_dtypes
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._native.library import ops
from tests.helpers import batches as make

WORDS, SIZE, ARITY = 20, 4, 2
IDS = tf.constant([3, 5, 3, 0, 7], tf.int32)


def table(layer=cavs.keras.Embedding, **kwargs):
    initializer = keras.initializers.RandomNormal(seed=1)
    made = layer(WORDS, SIZE, embeddings_initializer=initializer, **kwargs)
    made.build(None)
    return made


def gradient_of(layer, ids=IDS):
    """The gradient of a loss in which every looked up number has another factor."""
    with tf.GradientTape() as tape:
        looked_up = layer(ids)
        factors = tf.reshape(tf.range(tf.size(looked_up), dtype=tf.float32), looked_up.shape)
        loss = tf.reduce_sum(looked_up * factors)
    return tape.gradient(loss, layer.embeddings.value)


def dense(gradient):
    return tf.convert_to_tensor(gradient).numpy()


# --- lookups ----------------------------------------------------------------------------


@pytest.mark.parametrize("ids", [IDS, tf.cast(IDS, tf.int64), tf.cast(IDS, tf.float32), IDS[None]])
def test_looks_up_what_keras_looks_up(ids):
    ours, theirs = table(), table(keras.layers.Embedding)
    np.testing.assert_array_equal(ours(ids), theirs(ids))
    np.testing.assert_array_equal(dense(gradient_of(ours, ids)), dense(gradient_of(theirs, ids)))


def test_looks_up_ragged_ids_as_keras_does():
    ids = tf.ragged.constant([[3, 5, 3], [], [0]])
    found, wanted = table()(ids), table(keras.layers.Embedding)(ids)
    assert found.shape.as_list() == wanted.shape.as_list()
    np.testing.assert_array_equal(found.flat_values, wanted.flat_values)
    np.testing.assert_array_equal(found.row_splits, wanted.row_splits)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_the_table_is_never_read_as_a_whole(dtype):
    layer = cavs.keras.Embedding(WORDS, SIZE, dtype=dtype)
    layer.build(None)

    @tf.function
    def step(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(layer(ids) ** 2)
        gradient = tape.gradient(loss, layer.embeddings.value)
        layer.embeddings.value.scatter_sub(gradient)

    kinds = [op.type for op in step.get_concrete_function(IDS).graph.get_operations()]
    assert "CavsLookUp" in kinds
    assert "ReadVariableOp" not in kinds


@pytest.mark.parametrize("wrong", [-1, WORDS])
def test_an_id_without_a_row_is_rejected(wrong):
    with pytest.raises(tf.errors.InvalidArgumentError, match=rf"ids\[1\]: got {wrong} but"):
        table()(tf.constant([0, wrong]))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("shape", [[0], [], [700], [3, 0], [2, 3]])
def test_looks_up_what_gather_does(dtype, shape):
    rows = np.random.default_rng(0).normal(size=[50, 3, 11])
    variable = tf.Variable(tf.cast(rows, dtype))
    ids = tf.constant(np.random.default_rng(1).integers(50, size=shape), tf.int64)
    results = []
    for look_up in (cavs.ops.look_up, tf.gather):
        with tf.GradientTape() as tape:
            found = look_up(variable, ids)
            loss = tf.reduce_sum(found * found)
        gradient = tape.gradient(loss, variable)
        # Else narrow types would be rounded after each addition.
        wide = tf.IndexedSlices(
            tf.cast(gradient.values, tf.float64), gradient.indices, gradient.dense_shape
        )
        results.append([tf.cast(found, tf.float64), tf.convert_to_tensor(wide)])
    (ours, our_gradient), (theirs, their_gradient) = results
    np.testing.assert_array_equal(ours, theirs)
    precision = float(ml_dtypes.finfo(variable.dtype.as_numpy_dtype).eps)
    np.testing.assert_allclose(
        our_gradient, their_gradient, rtol=10 * precision, atol=10 * precision
    )


def gradient_of_squares(variable, ids):
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(cavs.ops.look_up(variable, ids) ** 2)
    return tape.gradient(loss, variable)


@pytest.mark.parametrize("ids_type", [tf.int32, tf.int64])
def test_gradients_of_lookups_name_each_row_once(ids_type):
    variable = tf.Variable(tf.reshape(tf.range(12.0), [4, 3]))
    gradient = gradient_of_squares(variable, tf.constant([[3, 1, 3], [3, 0, 1]], ids_type))
    np.testing.assert_array_equal(gradient.indices, [0, 1, 3])
    assert gradient.indices.dtype == ids_type
    times = np.float32([[1], [2], [3]])
    np.testing.assert_array_equal(gradient.values, 2 * times * tf.gather(variable, [0, 1, 3]))


@pytest.mark.parametrize("kind", ["Adam", "AdamW", "Adagrad", "RMSprop"])
def test_optimizers_of_keras_get_the_gradient_of_each_row(kind):
    """They square gradients, and the sum of squares is not the square of the sum."""
    sparse, dense = tf.Variable(tf.ones([5, 3])), tf.Variable(tf.ones([5, 3]))
    gradient = gradient_of_squares(sparse, tf.constant([1, 1, 1, 2]))
    for variable, own in ((sparse, gradient), (dense, tf.convert_to_tensor(gradient))):
        getattr(keras.optimizers, kind)(0.1, epsilon=0.01).apply([own], [variable])
    np.testing.assert_allclose(sparse, dense, rtol=1e-6)
    norms = [tf.linalg.global_norm([g]) for g in (gradient, tf.convert_to_tensor(gradient))]
    np.testing.assert_allclose(*norms, rtol=1e-6)


def test_second_derivatives_of_lookups():
    variable, ids = (
        tf.Variable(tf.reshape(tf.range(1.0, 13.0), [4, 3])),
        tf.constant([[3, 1], [3, 0]]),
    )
    found = []
    for look_up in (cavs.ops.look_up, tf.gather):
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_sum(look_up(variable, ids) ** 3)
            (gradient,) = inner.gradient(loss, [variable])
            loss = tf.reduce_sum(tf.convert_to_tensor(gradient) ** 2)
        found.append(tf.convert_to_tensor(outer.gradient(loss, variable)))
    np.testing.assert_allclose(*found, rtol=1e-6)


@pytest.mark.parametrize("shape", [[3, 2], [2], [3]])
def test_a_gradient_of_lookups_of_another_shape_is_rejected(shape):
    message = re.escape("grad: got shape") + ".*" + re.escape("but expected [2,2]")
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ops.cavs_look_up_grad(tf.zeros([2, 2], tf.int32), tf.ones(shape))


def test_ids_of_a_gradient_may_be_large():
    """As there is no table, no id is too large for it."""
    sums, rows = ops.cavs_look_up_grad(tf.constant([2**63 - 1, 0, 2**63 - 1]), tf.ones([3, 2]))
    np.testing.assert_array_equal(rows, [0, 2**63 - 1])
    np.testing.assert_array_equal(sums, [[1, 1], [2, 2]])


def test_a_negative_id_of_a_gradient_is_rejected():
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ids\[1\]: got -2 but"):
        ops.cavs_look_up_grad([0, -2], tf.ones([2, 3]))


def test_lookups_know_their_shapes():
    variable = tf.Variable(tf.ones([50, 3]))
    ids = tf.TensorSpec([None, 2], tf.int32)
    traced = tf.function(lambda i: cavs.ops.look_up(variable, i)).get_concrete_function(ids)
    assert traced.structured_outputs.shape.as_list() == [None, 2, 3]
    traced = tf.function(lambda i: gradient_of_squares(variable, i)).get_concrete_function(ids)
    gradient = traced.structured_outputs
    assert gradient.values.shape.as_list() == [None, 3]
    assert gradient.indices.shape.as_list() == [None]


def test_malformed_lookups():
    variable = tf.Variable(tf.ones([4, 2]))
    wrong = {
        r"ids\[1\]: got 4 but expected a row in \[0, 4\)": (variable, [0, 4]),
        r"ids\[0\]: got -1 but": (variable, [[-1]]),
        r"table: got double \[2\] but expected float": (tf.Variable(tf.ones([2], tf.float64)), [0]),
        r"table: got float \[\] but": (tf.Variable(1.0), [0]),
    }
    for message, (table_, ids) in wrong.items():
        with pytest.raises((tf.errors.InvalidArgumentError, ValueError), match=message):
            ops.cavs_look_up(table_.handle, ids, dtype=tf.float32)


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_lookups_with_lora_are_those_of_keras(dtype):
    ours, theirs = table(dtype=dtype), table(keras.layers.Embedding, dtype=dtype)
    for layer in (ours, theirs):
        layer.enable_lora(2)
        layer.lora_embeddings_b.assign(tf.ones_like(layer.lora_embeddings_b))
        layer.lora_embeddings_a.assign(tf.fill([WORDS, 2], 0.5))
    np.testing.assert_array_equal(ours(IDS), theirs(IDS))


def test_lookups_in_mixed_precision():
    layer = cavs.keras.Embedding(WORDS, SIZE, dtype="mixed_bfloat16")
    assert layer(IDS).dtype == tf.bfloat16
    assert layer.embeddings.dtype == "float32"


# --- updates ----------------------------------------------------------------------------

OPTIONS = [
    {},
    {"learning_rate": 0.1, "beta_1": 0.5, "beta_2": 0.9, "epsilon": 1e-3},
    {"amsgrad": True},
    {"weight_decay": 0.1},
    {"clipnorm": 0.01},
    {"global_clipnorm": 0.01},
    {"use_ema": True},
    {"gradient_accumulation_steps": 2},
]


def trained(optimizer, steps=4):
    """Weights after some steps in which every row of the table is looked up, some twice."""
    layer, other = table(), tf.Variable(np.arange(6.0).reshape(2, 3), dtype=tf.float32)
    other = keras.Variable(other)
    every = tf.concat([tf.range(WORDS), IDS], 0)
    for _ in range(steps):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(3 * layer(every))) + tf.reduce_sum(other.value**2)
        weights = [layer.embeddings, other]
        optimizer.apply(tape.gradient(loss, [w.value for w in weights]), weights)
    return [w.numpy() for w in weights]


@pytest.mark.parametrize("options", OPTIONS, ids=lambda o: "-".join(o) or "defaults")
def test_is_adam_where_every_row_is_looked_up(options):
    class DenseAdam(keras.optimizers.Adam):
        """Of gradients with several terms for one row, Keras squares each term by itself."""

        def apply(self, grads, trainable_variables=None):
            super().apply([tf.convert_to_tensor(g) for g in grads], trainable_variables)

    wanted = trained(DenseAdam(**options))
    for ours, theirs in zip(trained(cavs.keras.LazyAdam(**options)), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize(
    "options",
    [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}, *OPTIONS[3:]],
    ids=lambda o: "-".join(o) or "defaults",
)
def test_descent_is_that_of_keras(options):
    options = {"learning_rate": 0.05} | options
    wanted = trained(keras.optimizers.SGD(**options))
    for ours, theirs in zip(trained(cavs.keras.SGD(**options)), wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-6)


# Each moves a weight by 0.125 against a gradient of 1.
KINDS = {
    "adam": lambda: cavs.keras.LazyAdam(0.125, epsilon=1e-3),
    "descent": lambda: cavs.keras.SGD(0.125),
}


@pytest.mark.parametrize("kind", KINDS)
def test_variables_of_several_types_are_updated_by_an_operator_each(kind):
    dtypes = ("float32", "float64", "bfloat16", "float16")
    shapes = ([], [3], [5, 7], [0, 2], [2, 33, 40])
    weights = [keras.Variable(tf.ones(s, d)) for d in dtypes for s in shapes]
    weights.append(tf.Variable([1.0]))
    optimizer = KINDS[kind]()
    optimizer.build(weights)

    @tf.function
    def step():
        optimizer.apply([tf.ones(weight.shape, weight.dtype) for weight in weights], weights)

    made = step.get_concrete_function().graph.get_operations()
    ours = [op.type for op in made if op.type in ("CavsAdam", "CavsDescent")]
    assert len(ours) == len(dtypes)
    assert not [op.type for op in made if op.type.startswith(("ResourceApply", "AssignSub"))]
    step()
    for weight in weights:
        np.testing.assert_allclose(tf.cast(weight, tf.float32), 0.875, atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_read_of_a_variable_stays(kind):
    weight, optimizer = keras.Variable(tf.ones([3, 2])), KINDS[kind]()
    optimizer.build([weight])
    read = weight.value.read_value()
    optimizer.apply([tf.ones([3, 2])], [weight])
    np.testing.assert_array_equal(read, np.ones([3, 2]))
    np.testing.assert_allclose(weight.value, 0.875, atol=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_variables_are_updated_inside_of_xla(kind):
    weight, optimizer = keras.Variable(tf.ones([3, 2])), KINDS[kind]()
    optimizer.build([weight])
    tf.function(lambda: optimizer.apply([tf.ones([3, 2])], [weight]), jit_compile=True)()
    np.testing.assert_allclose(weight.value, 0.875, atol=0.01)


def test_other_rows_and_their_moments_stay():
    layer, optimizer = table(), cavs.keras.LazyAdam(0.1)
    before = layer.embeddings.numpy()
    optimizer.build([layer.embeddings])
    moments = [v for v in optimizer.variables if v.shape == (WORDS, SIZE)]
    assert len(moments) == 2
    for moment in moments:
        moment.assign(tf.ones([WORDS, SIZE]))
    optimizer.apply([gradient_of(layer)], [layer.embeddings])
    others = np.setdiff1d(np.arange(WORDS), IDS)
    np.testing.assert_array_equal(layer.embeddings.numpy()[others], before[others])
    assert np.all(layer.embeddings.numpy()[np.unique(IDS)[1:]] != before[np.unique(IDS)[1:]])
    for moment in moments:
        np.testing.assert_array_equal(moment.numpy()[others], np.ones([len(others), SIZE]))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
def test_updates_tables_of_other_types(dtype):
    layer = cavs.keras.Embedding(WORDS, SIZE, dtype=dtype)
    layer.build(None)
    optimizer, before = cavs.keras.LazyAdam(0.125, epsilon=1e-3), tf.identity(layer.embeddings)
    optimizer.build([layer.embeddings])
    gradient = tf.IndexedSlices(tf.ones([3, SIZE], dtype), [3, 5, 3], [WORDS, SIZE])
    optimizer.apply([gradient], [layer.embeddings])
    moved = tf.cast(before - layer.embeddings, tf.float32).numpy()
    wanted = np.zeros([WORDS, SIZE])
    wanted[[3, 5]] = 0.125  # The first step is as long as the learning rate.
    np.testing.assert_allclose(moved, wanted, atol=0.01)


def test_is_compiled_by_xla():
    columns, generator = 150, np.random.default_rng(0)
    values = tf.constant(generator.normal(size=[7, columns]), tf.float32)
    results = []
    for compiled in (True, False):
        optimizer, layer = cavs.keras.LazyAdam(0.1), cavs.keras.Embedding(WORDS, columns)
        layer.build(None)
        layer.embeddings.assign(tf.ones([WORDS, columns]))
        optimizer.build([layer.embeddings])

        @tf.function(jit_compile=compiled)
        def step(layer=layer, optimizer=optimizer):
            gradient = tf.IndexedSlices(values, [3, 5, 3, 0, 19, 3, 0], [WORDS, columns])
            optimizer.apply([gradient], [layer.embeddings])

        step()
        step()
        results.append(layer.embeddings.numpy())
    np.testing.assert_allclose(*results, rtol=1e-5)
    assert np.unique(np.nonzero(results[0] != 1)[0]).tolist() == [0, 3, 5, 19]


@pytest.mark.parametrize("rows", [1, 2, 2048, 2049, 5000])
def test_rows_of_tables_of_all_sizes_are_found(rows):
    indices = np.random.default_rng(rows).integers(rows, size=3000)
    values = np.random.default_rng(0).integers(-8, 8, size=[3000, 3]).astype(np.float32)
    variable, wanted = tf.Variable(tf.zeros([rows, 3])), np.zeros([rows, 3], np.float32)
    np.subtract.at(wanted, indices, values / 2)
    ops.cavs_lazy_descent(variable.handle, 0.5, values, indices)
    np.testing.assert_array_equal(variable, wanted)


@pytest.mark.parametrize("kind", [cavs.keras.LazyAdam, cavs.keras.SGD])
def test_what_was_read_before_an_update_stays(kind):
    layer, optimizer = table(), kind(0.1)
    optimizer.build([layer.embeddings])
    for _ in range(2):
        read = layer.embeddings.value.read_value()
        before = read.numpy().copy()
        optimizer.apply([gradient_of(layer)], [layer.embeddings])
        np.testing.assert_array_equal(read, before)
        assert not np.array_equal(layer.embeddings, before)


def test_malformed_calls_of_the_update():
    var, m, v = (tf.Variable(tf.zeros([4, 2])) for _ in range(3))

    def update(grad, indices, m=m, rate=1.0):
        scalars = (rate, tf.constant(0, tf.int64), 0.9, 0.99, 1e-7)
        ops.cavs_lazy_adam(var.handle, m.handle, v.handle, *scalars, grad, indices)

    wrong = {
        r"indices\[1\]: got 4 but expected a row in \[0, 4\)": (tf.ones([2, 2]), [0, 4]),
        r"indices\[0\]: got -1": (tf.ones([1, 2]), [-1]),
        r"got shapes \[2,3\] and \[2\] but expected \[2,2\]": (tf.ones([2, 3]), [0, 1]),
        r"got shapes \[2,2\] and \[1,2\]": (tf.ones([2, 2]), [[0, 1]]),
        r"m: got float \[3\] but expected float \[4,2\]": (
            tf.ones([1, 2]),
            [0],
            tf.Variable(tf.zeros([3])),
        ),
        r"rate: got shape \[2\] but expected a scalar": (tf.ones([1, 2]), [0], m, [1.0, 2.0]),
    }
    for message, arguments in wrong.items():
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            update(*arguments)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"indices\[1\]: got 4 but expected a"):
        ops.cavs_lazy_descent(var.handle, 1.0, tf.ones([2, 2]), [0, 4])
    update(tf.ones([0, 2]), tf.zeros([0], tf.int32))
    ops.cavs_lazy_descent(var.handle, 1.0, tf.ones([0, 2]), tf.zeros([0], tf.int32))
    for unchanged in (var, m, v):
        np.testing.assert_array_equal(unchanged, tf.zeros([4, 2]))


def test_malformed_calls_of_the_update_of_several_variables():
    parts = [[tf.Variable(tf.zeros([4, 2])) for _ in range(2)] for _ in range(3)]
    handles = [[variable.handle for variable in part] for part in parts]
    double = tf.Variable(tf.zeros([4, 2], tf.float64)).handle
    good = [tf.ones([4, 2])] * 2

    def update(handles, grads, rate=1.0):
        ops.cavs_adam(*handles, rate, tf.constant(0, tf.int64), 0.9, 0.99, 1e-7, grads)

    wrong = {
        r"grads\[1\]: got shape \[4,3\] but expected \[4,2\]": (
            handles,
            [tf.ones([4, 2]), tf.ones([4, 3])],
        ),
        r"rate: got shape \[2\] but expected a scalar": (handles, good, [1.0, 2.0]),
        r"m\[0\]: got double \[4,2\] but expected float": (
            [handles[0], [double, handles[1][1]], handles[2]],
            good,
        ),
        "got 4 variables but expected 6 distinct ones": (
            [handles[0], handles[0], handles[2]],
            good,
        ),
    }
    for message, arguments in wrong.items():
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            update(*arguments)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"grads\[1\]: got shape \[4,3\] but"):
        ops.cavs_descent(handles[0], 1.0, [tf.ones([4, 2]), tf.ones([4, 3])])
    for unchanged in (variable for part in parts for variable in part):
        np.testing.assert_array_equal(unchanged, tf.zeros([4, 2]))


def model_of_trees(embedding):
    graphs = cavs.keras.graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    hidden = cavs.keras.TreeLSTM(6, ARITY)(graphs, embedding(token))
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(2)(hidden))


@pytest.mark.in_turns
def test_a_model_trains_and_continues_after_it_was_loaded(tmp_path):
    keras.utils.set_random_seed(0)
    batch = make.random_trees([3, 2, 4], ARITY).with_schedule(ARITY)
    inputs = {**batch.to_dict(), "token": np.arange(batch.num_vertices, dtype=np.int32) % WORDS}
    model = model_of_trees(cavs.keras.Embedding(WORDS, SIZE))
    model.compile(cavs.keras.LazyAdam(0.05), "mse")
    target = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], np.float32)
    losses = [model.train_on_batch(inputs, target) for _ in range(30)]
    assert losses[-1] < 0.3 * losses[0]
    model.save(tmp_path / "trees.keras")
    loaded = keras.models.load_model(tmp_path / "trees.keras")
    assert isinstance(loaded.optimizer, cavs.keras.LazyAdam)
    for _ in range(3):
        again = [m.train_on_batch(inputs, target) for m in (model, loaded)]
        assert again[0] == pytest.approx(again[1], rel=1e-5)


def test_under_a_strategy():
    devices = tf.config.list_logical_devices("CPU")
    strategy = tf.distribute.MirroredStrategy([d.name for d in devices[:1]])
    with strategy.scope():
        layer, optimizer = table(), cavs.keras.LazyAdam(0.1)
        optimizer.build([layer.embeddings])

    @tf.function
    def step():
        strategy.run(lambda: optimizer.apply([gradient_of(layer)], [layer.embeddings]))

    step()
    alone, other = table(), cavs.keras.LazyAdam(0.1)
    other.apply([gradient_of(alone)], [alone.embeddings])
    np.testing.assert_allclose(layer.embeddings.numpy(), alone.embeddings.numpy(), rtol=1e-6)
