"""What users do, on whatever device TensorFlow prefers.

Each case returns a nest of numbers, which are to be the same with and without the test device.
"""

import concurrent.futures
import contextlib
import io

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf import __main__ as program
from cavs_tf._native.library import devices_of_operators
from cavs_tf._native.library import ops as library
from tests.accelerator.device import TYPE
from tests.helpers import cells

FEATURES, UNITS, ARITY, WORDS = 3, 4, 3, len(cavs.data.LISTOPS_TOKENS)
GRAPHS = [[[], [], [0, 1]], [[]], [[], [], [0, 1], [], [2, 3]]]
# Functions that make a layer, which is called with (graphs, rows of vertices).
LAYERS = {
    "DAGNN": lambda: cavs.keras.DAGNN(UNITS, return_vertices=True),
    "DAGNNCell": lambda: cavs.keras.DAGNNCell(UNITS),
    "GGNN": lambda: cavs.keras.GGNN(UNITS, dropout=0.5),
    "GGNNCell": lambda: cavs.keras.GGNNCell(UNITS),
    "Graph": lambda: cavs.keras.Graph(cells.Linear()),
    "Pool": lambda: cavs.keras.Pool("attention"),
    "Roots": lambda: cavs.keras.Roots("mean"),
    "Split": lambda: cavs.keras.Split(),
    "TreeGRU": lambda: cavs.keras.TreeGRU(UNITS, mode="n_ary"),
    "TreeGRUCell": lambda: cavs.keras.TreeGRUCell(UNITS, arity=2),
    "TreeLSTM": lambda: cavs.keras.TreeLSTM(UNITS, recurrent_dropout=0.5),
    "TreeLSTMCell": lambda: cavs.keras.TreeLSTMCell(UNITS, arity=None),
}
SEQUENCE_LAYERS = {
    "GRU": lambda: cavs.keras.GRU(UNITS, return_sequences=True),
    "LSTM": lambda: cavs.keras.LSTM(UNITS, return_sequences=True, dropout=0.5),
}
OPTIMIZERS = {
    "Adam": lambda: keras.optimizers.Adam(0.01),
    "LazyAdam": lambda: cavs.keras.LazyAdam(0.01),
    "LazyAdam, amsgrad": lambda: cavs.keras.LazyAdam(0.01, amsgrad=True),
    "LazyAdam, clipped": lambda: cavs.keras.LazyAdam(0.01, global_clipnorm=0.1),
    "LazyAdam, weight decay": lambda: cavs.keras.LazyAdam(0.01, weight_decay=0.1),
    "SGD": lambda: cavs.keras.SGD(0.1),
    "SGD, clipped": lambda: cavs.keras.SGD(0.1, clipnorm=0.1),
    "SGD, momentum": lambda: cavs.keras.SGD(0.1, momentum=0.9),
}


def preferred_device() -> str:
    """The type of the device that variables are put on."""
    return TYPE if tf.config.list_logical_devices(TYPE) else "CPU"


def check_devices(variables) -> None:
    """Checks that variables are where TensorFlow puts them: on the test device, if there is one."""
    assert variables
    for variable in variables:
        value = variable.value if isinstance(variable, keras.Variable) else variable
        assert f":{preferred_device()}:" in value.device, variable


def random(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def numbers(value):
    """The same nest of arrays; narrow floats as float32."""

    def of_tensor(x):
        x = tf.convert_to_tensor(x)
        return tf.cast(x, tf.float32).numpy() if x.dtype.is_floating else x.numpy()

    return tf.nest.map_structure(of_tensor, value)


def with_gradients(layer, *arguments, training=True):
    """The results of a layer, and gradients of its weights and of its last argument."""
    *before, x = arguments
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = layer(*before, x, **({"training": True} if training else {}))
        loss = tf.add_n([tf.reduce_sum(tf.sin(part)) for part in tf.nest.flatten(y)])
    return y, tape.gradient(loss, [*tf.nest.flatten(x), *layer.trainable_variables])


def in_both_modes(layer, *arguments):
    """`with_gradients`, eagerly and in a `tf.function`."""
    eager = with_gradients(layer, *arguments)
    graph = tf.function(lambda *arguments: with_gradients(layer, *arguments))(*arguments)
    if layer.weights:
        check_devices(layer.weights)
    return numbers([eager, graph])


def tree_layers():
    graphs, x = cavs.GraphBatch.from_children(GRAPHS), tf.constant(random(9, FEATURES))
    return {name: in_both_modes(make(), graphs, x) for name, make in LAYERS.items()}


def sequence_layers():
    x = tf.constant(random(2, 5, FEATURES))
    ragged = tf.RaggedTensor.from_row_lengths(tf.constant(random(4, FEATURES)), [3, 1])
    chains = cavs.GraphBatch.from_children([[[], [0], [1]], [[]]])
    found = {"GRUCell": in_both_modes(cavs.keras.GRUCell(UNITS), chains, ragged.flat_values)}
    for name, make in SEQUENCE_LAYERS.items():
        found[name] = in_both_modes(make(), x)
        found[f"{name}, ragged"] = numbers(make()(ragged).flat_values)
    return found


def vertex_functions():
    """Vertex functions of all kinds; operators that ours do not know among them."""
    found = {}
    for number, cell_class in enumerate(cells.CELLS):
        cell = cell_class()
        types = len(cell.vertex_types)
        graphs = cells.random_graphs(number, 4, 6, num_types=types)
        vertices = int(graphs.num_vertices)
        pulls = cells.inputs_for(cell, vertices, "float32", number)
        with tf.GradientTape() as tape:
            pushed = cell(graphs, pulls)
            loss = tf.add_n([tf.reduce_sum(tf.sin(part)) for part in tf.nest.flatten(pushed)])
        gradients = tape.gradient(loss, cell.trainable_variables)
        check_devices(cell.weights)
        found[cell_class.__name__] = numbers([pushed, gradients])
    return found


def calls():
    """What a call of a vertex function takes beside inputs, graphs that grow, and a metric."""
    cell = cavs.keras.TreeGRUCell(UNITS, arity=2)
    graphs, x = cavs.GraphBatch.from_children(GRAPHS), tf.Variable(random(9, FEATURES))
    states = tf.Variable(random(3, UNITS, seed=1))
    cell(graphs, x)
    check_devices([x, states, *cell.weights])
    metric = cavs.keras.Pearson()

    def all_of_them():
        with tf.GradientTape() as tape:
            some = cell(graphs, x, at=graphs.roots, initial_state=states)
            _, leaves = cell.extend(None, tf.zeros([2, 0], tf.int32), x[:2])
            grown, _ = cell.extend(leaves, [[0, 1], [2, -1]], x[2:4])
            loss = tf.reduce_sum(tf.sin(some)) + tf.reduce_sum(tf.sin(grown))
        metric.update_state(x[:, 0], x[:, 1])
        return some, grown, tape.gradient(loss, [x, states, *cell.trainable_variables])

    found = [all_of_them(), tf.function(all_of_them)()]
    return numbers([found, metric.result()])


class Lookups(cavs.GraphSupport):
    """Looks rows up in a plain variable, and drops some."""

    arity = 2

    def __init__(self, **kwargs):
        super().__init__(state_size=UNITS, **kwargs)
        self.table = tf.Variable(random(WORDS, UNITS))

    def vertex(self):
        word = cavs.ops.look_up(self.table, self.pull("word"))
        state = tf.tanh(word + self.dropout(self.gather(0), 0.5) + self.gather(1))
        self.scatter(state)
        self.push(state)


def lookups():
    """Rows of tables, inside and outside of vertex functions; and losses, and dropout."""
    ids = tf.constant([3, 5, 3, 0, 7, 1, 1, 2, 9])
    table = tf.Variable(random(WORDS, UNITS))
    embedding = cavs.keras.Embedding(WORDS, UNITS)
    masked = cavs.keras.Embedding(WORDS, UNITS, mask_id=0)
    cell, dropout = Lookups(), cavs.keras.Dropout(0.5, seed=1)
    graphs = cavs.GraphBatch.from_children(GRAPHS)
    check_devices([table, cell.table])

    def all_of_them():
        with tf.GradientTape() as tape:
            words = [cavs.ops.look_up(table, ids), embedding(ids), masked(ids).rows]
            words += [cell(graphs, {"word": ids}, training=True)]
            words += [dropout(words[0], training=True)]
            words += [cavs.ops.sparse_softmax_cross_entropy(ids % UNITS, words[0])]
            loss = tf.add_n([tf.reduce_sum(tf.sin(part)) for part in words])
        weights = [table, *embedding.trainable_variables, *masked.trainable_variables, cell.table]
        return words, [tf.convert_to_tensor(g) for g in tape.gradient(loss, weights)]

    return numbers([all_of_them(), tf.function(all_of_them)()])


def losses():
    """Those of logits on the device, which are not copied to the host, unless ours run there."""
    logits, labels = tf.Variable(random(3, UNITS)).read_value(), tf.constant([1, 0, 3])
    op, called = library.cavs_cross_entropy, []

    def loss(logits):
        with tf.GradientTape() as tape:
            tape.watch(logits)
            losses = cavs.ops.sparse_softmax_cross_entropy(labels, logits)
        return losses, tape.gradient(losses, logits)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "cavs_cross_entropy", lambda *args: called.append(1) or op(*args))
        found = [loss(logits), tf.function(loss)(logits)]
        assert len(called) == (2 if preferred_device() in devices_of_operators() else 0)
        with tf.device("CPU:0"):
            found.append(loss(tf.identity(logits)))
        assert called
    return numbers(found)


def row_operators():
    """The ops by themselves, on rows that lie on the device."""
    x = tf.Variable(random(3, FEATURES)).read_value()
    check_devices([x])
    graphs = cavs.GraphBatch.from_children(GRAPHS)
    for part in (graphs, graphs.reverse(), graphs[1:], cavs.GraphBatch.concat([graphs, graphs])):
        of_vertices = [part.num_children, part.vertex_graph, part.root_graph, part.root_splits]
        for tensor in (*part.to_dict().values(), *of_vertices):
            assert ":CPU:" in tensor.device  # Where our operators read it.
    present = cavs.ops.present_ids(tf.constant([7, -1, 3], tf.int64))
    return numbers(
        {
            "gather": cavs.ops.gather(x, [1, -1, 2]),
            "scatter": cavs.ops.scatter(x, [1, -1, 1], num_rows=2),
            "pull": cavs.ops.pull(x, [2, 0, 1]),
            "push": cavs.ops.push(x, [2, 0, 1]),
            "present": [present.rows, present.vertices],
            "roots": graphs.roots,
            "reverse": graphs.reverse().child_ids,
            "part": graphs[1:].child_ids,
            "both": cavs.GraphBatch.concat([graphs, graphs]).child_ids,
        }
    )


def optimizers():
    """Each kind of gradient, in two types of numbers for each optimizer, in turns."""
    dtypes = ("float32", "float64", "bfloat16", "float16")
    return {
        f"{name}, {dtype}": updated(make(), dtype)
        for number, (name, make) in enumerate(OPTIMIZERS.items())
        for dtype in (dtypes[number % 4], dtypes[(number + 1 + number // 4) % 4])
    }


def updated(optimizer, dtype):
    """A table after updates of some rows, and a vector after updates of the whole."""
    weights = [keras.Variable(random(*s), dtype=dtype) for s in ([WORDS, UNITS], [UNITS])]
    optimizer.build(weights)
    check_devices([*weights, *optimizer.variables])

    def step():
        rows = tf.constant(random(4, UNITS, seed=1), dtype)
        of_table = tf.IndexedSlices(rows, tf.constant([3, 0, 3, 5]), [WORDS, UNITS])
        optimizer.apply([of_table, tf.constant(random(UNITS, seed=2), dtype)], weights)

    step()
    tf.function(step)()
    return numbers(weights)


def variables_on_the_cpu():
    """A large table is kept on the CPU, where its optimizer's moments are too."""
    with tf.device("CPU:0"):
        embedding = cavs.keras.Embedding(WORDS, UNITS)
        embedding.build(None)
    dense, optimizer = keras.layers.Dense(2), cavs.keras.LazyAdam(0.01)
    ids = tf.constant([3, 5, 3, 0])

    @tf.function
    def step():
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(dense(embedding(ids))))
        weights = [*embedding.trainable_variables, *dense.trainable_variables]
        optimizer.apply(tape.gradient(loss, weights), weights)
        return loss

    losses = [step() for _ in range(3)]
    moments = [v for v in optimizer.variables if v.shape == embedding.embeddings.shape]
    assert len(moments) == 2
    assert all(":CPU:" in v.value.device for v in (embedding.embeddings, *moments))
    check_devices(dense.weights)
    return numbers([losses, embedding.weights, dense.weights])


def batches(**kwargs):
    examples = cavs.data.listops(24, seed=1, max_depth=2, max_args=ARITY)
    return cavs.data.batch(examples, 8, arity=ARITY, as_dict=True, **kwargs)


def functional(embedding=cavs.keras.Embedding, dropout=0.2):
    graphs = cavs.keras.graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    rows = embedding(WORDS, UNITS)(token)
    root = cavs.keras.TreeLSTM(UNITS, arity=ARITY, dropout=dropout)(graphs, rows)
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root))


def compiled(model, optimizer, **kwargs):
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer, loss, metrics=["accuracy"], **kwargs)
    return model


def trained(model, data, **kwargs):
    history = model.fit(data, epochs=2, shuffle=False, verbose=0, **kwargs).history
    check_devices(model.weights)
    return [history, numbers(model.get_weights()), model.predict(data, verbose=0)]


def fit():
    model = compiled(functional(), cavs.keras.LazyAdam(0.01))
    return trained(model, cavs.keras.for_fit(batches(), model.input, "label"))


def fit_eagerly():
    model = compiled(functional(), cavs.keras.LazyAdam(0.01), run_eagerly=True)
    return trained(model, cavs.keras.for_fit(batches(), model.input, "label"))


def fit_with_steps_in_one_call():
    model = compiled(functional(), cavs.keras.SGD(0.1), steps_per_execution=3)
    return trained(model, cavs.keras.for_fit(batches(), model.input, "label"))


def fit_with_mixed_bfloat16():
    return fit_in("mixed_bfloat16")


def fit_with_mixed_float16():
    return fit_in("mixed_float16")


def fit_in(dtype):
    graphs = cavs.keras.graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    rows = cavs.keras.Embedding(WORDS, UNITS, dtype=dtype)(token)
    root = cavs.keras.TreeLSTM(UNITS, arity=ARITY, dtype=dtype)(graphs, rows)
    model = keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root))
    optimizer = keras.optimizers.LossScaleOptimizer(cavs.keras.LazyAdam(0.01))
    data = cavs.keras.for_fit(batches(), model.input, "label")
    return {dtype: trained(compiled(model, optimizer), data)}


def save_and_load(folder):
    """A model that is saved here, and what it predicts: the other device loads it."""
    model = compiled(functional(), cavs.keras.LazyAdam(0.01))
    inputs, labels = first_batch(model)
    model.train_on_batch(inputs, labels)
    model.save(folder / "model.keras")
    model.save_weights(folder / "model.weights.h5")
    tf.train.Checkpoint(model=model).write(str(folder / "checkpoint"))
    model.export(folder / "exported", verbose=False)
    return numbers(model(inputs))


def first_batch(model):
    inputs, labels = next(iter(cavs.keras.for_fit(batches(), model.input, "label")))
    return {name: value for name, value in inputs.items() if name in model.input}, labels


def load(folder):
    """What loaded models predict, those from an exported model too, and how one trains on."""
    loaded = keras.models.load_model(folder / "model.keras")
    inputs, labels = first_batch(loaded)
    of_weights, of_checkpoint = functional(), functional()
    of_weights.load_weights(folder / "model.weights.h5")
    checkpoint = tf.train.Checkpoint(model=of_checkpoint)
    status = checkpoint.read(str(folder / "checkpoint"))
    status.assert_existing_objects_matched().expect_partial()  # Without the optimizer.
    with tf.device("CPU:0"):  # Where the variables of its operators have to be.
        exported = tf.saved_model.load(str(folder / "exported"))
    predicted = [m(inputs) for m in (loaded, of_weights, of_checkpoint)] + [exported.serve(inputs)]
    losses = [loaded.train_on_batch(inputs, labels)[0] for _ in range(2)]
    check_devices(loaded.weights)
    return numbers([predicted, losses])


def mirrored(devices=None, dropout=0.2):
    """A strategy of one replica, on the test device if there is one; or of one for each device."""
    devices = devices or [f"{preferred_device()}:0"]
    # Nothing else adds up what devices of the tests have computed.
    together = tf.distribute.ReductionToOneDevice()
    strategy = tf.distribute.MirroredStrategy(devices, cross_device_ops=together)
    with strategy.scope():
        model = compiled(functional(dropout=dropout), cavs.keras.LazyAdam(0.01))

    def data(replicas=None):
        weight = None if replicas is None else "graph_weight"
        made = batches(replicas=replicas)
        return cavs.keras.for_fit(made, model.input, "label", sample_weight=weight)

    return trained(model, cavs.keras.for_replicas(model, data))


def control_flow():
    """Layers in loops and branches, and gradients through them."""
    graphs, cell = cavs.GraphBatch.from_children(GRAPHS), cavs.keras.TreeGRUCell(FEATURES, arity=2)
    x = tf.constant(random(9, FEATURES))
    cell(graphs, x)

    def loop(x):
        return tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, cell(graphs, x)), (0, x))[1]

    def branch(x):
        return tf.cond(tf.reduce_sum(x) > 0, lambda: cell(graphs, x), lambda: cell(graphs, -x))

    def mapped(x):
        return tf.map_fn(lambda x: cell(graphs, x), tf.stack([x, -x]))

    found = {}
    for function in (loop, branch, mapped):

        def gradients(x, function=function):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = function(x)
                loss = tf.reduce_sum(tf.sin(y))
            return y, tape.gradient(loss, [x, *cell.trainable_variables])

        found[function.__name__] = numbers([gradients(x), tf.function(gradients)(x)])
    return found


def tools():
    """What looks at models: its texts and numbers are those of the CPU."""
    cell = cavs.keras.TreeLSTMCell(UNITS, arity=2)
    graphs, x = cavs.GraphBatch.from_children(GRAPHS), tf.constant(random(9, FEATURES))
    cell(graphs, x)
    report = cavs.check_equivalence(cell, graphs, x)
    assert report.ok, report
    with contextlib.redirect_stdout(io.StringIO()):
        cavs.explain(cell, graphs, x, program=True)
    memory = cavs.predict_memory(cell, graphs, x)
    reference = cavs.reference.run(cell, graphs, x)
    options = [cavs.Options(micro_batch=1), cavs.Options(streams=2), cavs.Options(disable=["fuse"])]
    others = [cavs.keras.TreeLSTMCell(UNITS, arity=2, options=each) for each in options]
    found = [numbers(with_gradients(other, graphs, x)) for other in others]
    return [memory.training, numbers(reference), found]


def portable(folder):
    """A model that is exported as TensorFlow's operators, for another device."""
    layer = cavs.keras.TreeLSTM(UNITS)
    graphs, x = cavs.GraphBatch.from_children(GRAPHS), tf.constant(random(9, FEATURES))
    layer(graphs, x)
    cavs.export_portable(layer, str(folder / "portable"), graphs, x)
    names = ("child_splits", "child_ids", "graph_splits")
    inputs = {name: getattr(graphs, name) for name in names} | {"inputs": x}
    exported = tf.saved_model.load(str(folder / "portable"))
    return numbers(exported(inputs))


def threads():
    """One layer, called from two threads."""
    layer = cavs.keras.TreeLSTM(UNITS)
    graphs, x = cavs.GraphBatch.from_children(GRAPHS), tf.constant(random(9, FEATURES))
    layer(graphs, x)
    step = tf.function(lambda: with_gradients(layer, graphs, x))
    step()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda _: numbers(step()), range(8)))


def command():
    """What `python -m cavs_tf` prints."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        assert program.main() == 0, printed.getvalue()
    return printed.getvalue()
