"""Models whose vertex functions run on a GPU, if there is one, with the same results."""

import collections
import contextlib
import ctypes
import functools
import io
import os
import pathlib
import re
import tempfile

import keras
import numpy as np
import pytest
import tensorflow as tf

import benchmarks.workloads
import cavs_tf as cavs
from benchmarks import attention
from benchmarks.peers import cavs as cavs_peer
from cavs_tf import __main__ as program
from cavs_tf._native.library import ops as library
from cavs_tf._tracing.functions import Functions
from tests.accelerator import cases
from tests.accelerator.cases import GRAPHS, numbers, random, with_gradients
from tests.helpers import cells

OURS = (
    *("Forward", "Backward", "Gather", "Scatter", "ScatterMax", "Pull", "Push", "DropoutMask"),
    *("LookUp", "LookUpGrad", "CrossEntropy", "CrossEntropyGrad"),
    *("Adam", "LazyAdam", "Descent", "LazyDescent"),
)
# What users do, in groups that take about as long: a case of this name for each.
OF_USERS = {
    "users_call": ("control_flow", "lookups", "losses", "row_operators", "tools"),
    "users_fit": ("fit_with_mixed_bfloat16", "fit_with_mixed_float16"),
    "users_train": ("fit_with_steps_in_one_call", "mirrored", "optimizers", "variables_on_the_cpu"),
    "users_build": ("sequence_layers", "tree_layers", "vertex_functions"),
    "users_save": (),
}
COUNTED = ("launches", "host_waits", "uploads", "bytes_up", "memsets")


class Counts(ctypes.Structure):
    """FakeCounts of tests/cc/cuda/fake/control.h."""

    _fields_ = [
        (name, ctypes.c_int64)
        for name in [
            "launches",
            "cooperative",
            "compiles",
            "compiled",
            "modules",
            "host_waits",
            "uploads",
            "downloads",
            "copies",
            "bytes_up",
            "bytes_down",
            "bytes_copied",
            "memsets",
            "allocations",
            "frees",
            "bytes_in_use",
            "most_bytes_in_use",
            "pinned_bytes_in_use",
            "events",
            "event_waits",
            "faults",
        ]
    ]


def driver():
    return ctypes.CDLL(os.environ["CAVS_LIBCUDA"])


def counts() -> Counts:
    """What the emulated driver has done."""
    found = Counts()
    driver().fake_counts(ctypes.byref(found))
    return found


def graphs_and_rows():
    return cavs.GraphBatch.from_children(GRAPHS), tf.constant(random(9, cases.FEATURES))


def fit():
    """Eagerly, and in graph mode."""
    found = []
    for eagerly in (True, False):
        model = cases.functional(dropout=0)
        cases.compiled(model, cavs.keras.LazyAdam(0.01), run_eagerly=eagerly)
        data = cavs.keras.for_fit(cases.batches(), model, "label")
        found.append(cases.trained(model, data))
    return found


def gradients():
    """Of a Tree-LSTM, with one stream and with two."""
    found = []
    for streams in (1, 2):
        options = cavs.Options(streams=streams)
        cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2, options=options)
        found.append(cases.in_both_modes(cell, *graphs_and_rows()))
    return found


def dropout():
    """Of inputs and of states, by vertex and by graph: the masks are those of the CPU."""
    graphs, x = graphs_and_rows()
    chains = tf.constant(random(6, cases.FEATURES).reshape(2, 3, -1))
    lstm = cavs.keras.LSTM(cases.UNITS, dropout=0.25, recurrent_dropout=0.5)
    with tf.GradientTape() as tape:
        y = lstm(chains, training=True)
        loss = tf.reduce_sum(tf.sin(y))
    found = [(y, tape.gradient(loss, lstm.trainable_variables))]
    for streams in (1, 2):
        options = cavs.Options(streams=streams)
        rates = {"dropout": 0.25, "recurrent_dropout": 0.5}
        cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2, options=options, **rates)
        found.append(with_gradients(cell, graphs, x, training=True))
    return numbers(found)


def row_ops():
    """Each by itself, with its gradient, and a layer of dropout."""
    found = []
    for dtype in ("float32", "float64", "bfloat16", "float16"):
        x = tf.Variable(tf.cast(random(9, cases.FEATURES), dtype)).read_value()
        with tf.GradientTape() as tape:
            tape.watch(x)
            rows = [cavs.ops.gather(x, [4, -1, 1, 4, 0])]
            rows.append(cavs.ops.scatter(rows[-1], [3, 3, -1, 0, 3], 4))
            rows.append(cavs.ops.pull(rows[-1], [2, 0, 3, 1]))
            rows.append(cavs.ops.push(rows[-1], [1, 3, 0, 2]))
            rows.append(library.cavs_scatter_max(rows[-1], [1, 0, 1, -1], 3))
            rows.append(cavs.keras.Dropout(0.5, seed=3)(rows[-1], training=True))
        assert {y.device for y in rows[:-1]} == {x.device}
        found.append((rows, tape.gradient(rows, x)))
    for kind in (tf.Variable(tf.range(12, dtype="int64")), tf.Variable([True, False, True, True])):
        whole = tf.reshape(kind.read_value(), [4, -1])
        rows = [cavs.ops.pull(whole, [2, 0, 3, 1]), cavs.ops.push(whole, [1, 3, 0, 2])]
        rows += [cavs.ops.gather(whole, [1, -1, 3])] if whole.dtype == tf.int64 else []
        assert {y.device for y in rows} == {x.device}
        found.append(rows)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"child_row\[1\]: got 9 but expected"):
        cavs.ops.gather(x, [0, 9])
    none = cavs.ops.gather(x, tf.zeros([0], "int32"))
    return numbers([*found, cavs.ops.scatter(none, tf.zeros([0], "int32"), 2)])


class Model:
    """Trees of words, their classes, a loss and an optimizer, without any operator of Keras."""

    def __init__(self, make_optimizer, dtype="int32"):
        self.embedding = cavs.keras.Embedding(cases.WORDS, cases.UNITS)
        self.tree = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2)
        self.dense = keras.layers.Dense(5)
        self.optimizer = make_optimizer()
        self.graphs = cavs.GraphBatch.from_children(GRAPHS)
        self.ids = tf.constant([3, 5, 3, 0, 7, 1, 1, 2, 9], dtype)
        self.labels = tf.constant([1, 0, 3] * 3, dtype)

    def step(self):
        with tf.GradientTape() as tape:
            logits = self.dense(self.tree(self.graphs, self.embedding(self.ids)))
            losses = cavs.ops.sparse_softmax_cross_entropy(self.labels, logits)
            loss = tf.reduce_mean(losses)
        self.optimizer.apply(tape.gradient(loss, self.weights), self.weights)
        return loss

    @property
    def weights(self):
        layers = (self.embedding, self.tree, self.dense)
        return [weight for layer in layers for weight in layer.trainable_variables]


OPTIMIZERS = {"LazyAdam": lambda: cavs.keras.LazyAdam(0.1), "SGD": lambda: cavs.keras.SGD(0.5)}


def training():
    """Whole steps, eagerly and in a `tf.function`; what was read of a variable before stays."""
    found = {}
    for (name, make), dtype in zip(OPTIMIZERS.items(), ("int32", "int64"), strict=True):
        model = Model(make, dtype)
        losses = [model.step()]
        before = [weight.value.read_value() for weight in model.weights]
        kept = numbers(before)
        losses += [model.step(), *(tf.function(model.step)() for _ in range(2))]
        tf.nest.map_structure(np.testing.assert_array_equal, numbers(before), kept)
        found[name] = numbers([losses, model.weights])
    return found


# What launches nothing: constants, reads, shapes, and what only the host sees.
NOT_LAUNCHED = (
    *("AssignVariableOp", "Const", "ExpandDims", "Identity", "IdentityN", "NoOp", "Placeholder"),
    *("ReadVariableOp", "Reshape", "Shape", "StridedSlice", "VariableShape", "ZerosLike"),
)


def operators_of_a_step():
    """TensorFlow's operators in a training step, by optimizer, that launch something on a GPU.

    Those of schedules run on the CPU.
    """
    found = {}
    for name, make in OPTIMIZERS.items():
        model = Model(make)
        model.step()
        made = tf.function(model.step).get_concrete_function().graph.get_operations()
        found[name] = collections.Counter(
            op.type
            for op in made
            if op.type not in NOT_LAUNCHED
            and not op.type.startswith("Cavs")
            and not any(output.dtype == tf.int32 for output in op.outputs)
            and not all(tensor.op.type == "Const" for tensor in op.inputs)
        )
    return found


def exported():
    """What a model predicts that is exported here and loaded here."""
    model = cases.functional(dropout=0)
    inputs, _ = cases.first_batch(model)
    with tempfile.TemporaryDirectory() as folder:
        model.export(folder, verbose=False)
        loaded = tf.saved_model.load(folder)
        return numbers([model(inputs), loaded.serve(inputs)])


def rejected():
    """What is said of ids and labels that are out of range."""
    table, logits = tf.Variable(random(4, 3)), tf.Variable(random(2, 3)).read_value()
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"ids\[1\]: got 4 but expected a row"):
        cavs.ops.look_up(table, [0, 4])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"labels\[0\]: got 3 but expected a"):
        cavs.ops.sparse_softmax_cross_entropy([3, 0], logits)
    if cases.preferred_device() != "CPU":  # Which has lists of 64 bits.
        many, gradient = tf.Variable(tf.zeros([2**31 + 1, 0])), tf.zeros([1, 0])
        message = "got row 2147483648 but expected fewer than 2.31 rows on a GPU. Put the variable"
        with pytest.raises(tf.errors.UnimplementedError, match=message):
            library.cavs_lazy_descent(many.handle, 0.1, gradient, tf.constant([2**31], tf.int64))
    empty = tf.zeros([0], tf.int32)
    with tf.GradientTape() as tape:
        none = cavs.ops.look_up(table, empty)
        losses = cavs.ops.sparse_softmax_cross_entropy(empty, none)
    gradient = tape.gradient(losses, table)
    optimizer = cavs.keras.LazyAdam(0.1)
    optimizer.build([table])
    optimizer.apply([gradient], [table])
    return numbers([none, losses, gradient.values, gradient.indices, table])


def inference():
    cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2)
    graphs, x = graphs_and_rows()
    cell(graphs, x)
    return numbers([cell(graphs, x), tf.function(cell)(graphs, x)])


def loop(cell=None):
    """Tapes of a loop lie in a list."""
    graphs, x = graphs_and_rows()
    cell = cell or cavs.keras.TreeGRUCell(cases.FEATURES, arity=2)
    cell(graphs, x)

    @tf.function
    def in_loop(x):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.while_loop(lambda i, _: i < 3, lambda i, x: (i + 1, cell(graphs, x)), (0, x))[1]
            loss = tf.reduce_sum(tf.sin(y))
        return y, tape.gradient(loss, [x, *cell.trainable_variables])

    return numbers(in_loop(x))


def vertex_types():
    cell = cells.Typed()
    graphs = cells.random_graphs(3, 4, 6, num_types=len(cell.vertex_types))
    pulls = cells.inputs_for(cell, int(graphs.num_vertices), "float32", 3)
    return numbers(with_gradients(cell, graphs, pulls, training=False))


class Normalised(cavs.GraphSupport):
    """Computes values from a weight that no kernel of the GPU computes."""

    arity = 2

    def build(self, inputs_shape=None):
        self.w = self.add_weight(shape=[cases.FEATURES, cases.UNITS], name="w")

    def vertex(self):
        w = self.w / tf.norm(self.w, axis=0)
        state = tf.tanh(tf.matmul(self.pull(), w) + (self.gather(0) - self.gather(1)) * w[1])
        self.scatter(state)
        self.push(state)


def derived():
    """Layers whose weights TensorFlow casts, normalises or takes apart, and whose rows are cast."""
    graphs, x = graphs_and_rows()
    sequences = tf.constant(random(6, cases.FEATURES).reshape(2, 3, -1))
    found = {
        "normalised": cases.in_both_modes(Normalised(state_size=cases.UNITS), graphs, x),
        "columns": cases.in_both_modes(cavs.keras.GRU(cases.UNITS, reset_after=False), sequences),
    }
    rounds, _ = cavs.GraphBatch.from_rounds([4], [[(0, 1), (1, 2), (2, 3), (3, 0), (1, 0)]], 2)
    of_rounds = tf.constant(random(int(rounds.num_vertices), cases.FEATURES))
    for dtype in ("bfloat16", "float16"):
        ggnn = cavs.keras.GGNN(cases.FEATURES, dtype=f"mixed_{dtype}")
        found[f"GGNN, {dtype}"] = cases.in_both_modes(ggnn, rounds, of_rounds)
        for layer in (cavs.keras.TreeLSTM, cavs.keras.TreeGRU):
            made = layer(cases.FEATURES, dtype=f"mixed_{dtype}")
            found[f"{layer.__name__}, {dtype}"] = cases.in_both_modes(made, graphs, x)
        gru = cavs.keras.GRU(cases.UNITS, dtype=f"mixed_{dtype}")
        found[f"GRU, {dtype}"] = cases.in_both_modes(gru, sequences)
    return found


def several_gpus():
    """Steps on each of them in turn; on one, with weights of the other; and a replica on each."""
    devices = [device.name for device in tf.config.list_logical_devices(cases.preferred_device())]
    assert len(devices) == (1 if cases.preferred_device() == "CPU" else 2)
    graphs, x = graphs_and_rows()
    found = {}
    for number in (0, 1, 0):
        device = devices[number % len(devices)]
        for streams in (1, 2):
            with tf.device(device):
                options = cavs.Options(streams=streams)
                cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2, options=options)
                got = with_gradients(cell, graphs, x)
            assert all(part.device == cell.weights[0].value.device for part in tf.nest.flatten(got))
            found[len(found)] = numbers(got)
        assert cell.weights[0].value.device == f"/job:localhost/replica:0/task:0{device}"
    with tf.device(devices[-1]):  # The weights of the last cell are on the first one.
        elsewhere = with_gradients(cell, graphs, x)
    assert all(part.device.endswith(devices[-1]) for part in tf.nest.flatten(elsewhere))
    apart = {name: updated_apart(make(), devices) for name, make in OPTIMIZERS.items()}
    return [found, numbers(elsewhere), apart, cases.mirrored(devices, dropout=0)]


def updated_apart(optimizer, devices):
    """Variables on several devices, the CPU too, after updates by one optimizer."""
    weights = []
    for device in (*(devices * 2)[:2], "CPU:0"):
        with tf.device(device):
            weights += [tf.Variable(random(*shape)) for shape in ([4, 3], [3])]
    optimizer.build(weights)
    gradients = [tf.constant(random(*weight.shape, seed=1)) for weight in weights]
    gradients[2] = tf.IndexedSlices(gradients[2][:2], tf.constant([3, 1]), [4, 3])
    optimizer.apply(gradients, weights)
    tf.function(lambda: optimizer.apply(gradients, weights))()
    return numbers(weights)


def gradients_elsewhere():
    """Of calls on one device, asked for in the scope of another."""
    found_devices = tf.config.list_logical_devices(cases.preferred_device())
    first, last, cpu = found_devices[0].name, found_devices[-1].name, "CPU:0"
    graphs, x = graphs_and_rows()
    cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2)
    cell(graphs, x)
    labels = tf.range(len(x)) % cases.UNITS

    def gradients(x, forward, backward):
        with tf.GradientTape() as tape:
            tape.watch(x)
            with tf.device(forward):
                rows = cell(graphs, x, training=True)
                losses = cavs.ops.sparse_softmax_cross_entropy(labels, rows)
                loss = tf.reduce_sum(tf.sin(rows)) + tf.reduce_sum(losses)
        with tf.device(backward):
            return tape.gradient(loss, [x, *cell.trainable_variables])

    found = []
    for pair in ((cpu, None), (last, None), (None, cpu), (last, cpu), (first, last)):
        for run in (gradients, tf.function(gradients)):
            found.append(numbers(run(x, *pair)))
    if cases.preferred_device() == "CPU":
        return found
    for forward, backward in ((first, cpu), (cpu, first), (last, first)):
        message = _said_by_backward_on(backward, lambda on=forward: gradients(x, on, None))
        tape_on, op_on = ("the host" if on == cpu else on for on in (forward, backward))
        assert re.search(rf"tape: got one in memory of \S*{tape_on} but expected", message), message
        assert op_on == "the host" or f"{op_on}, where its CavsBackward is." in message, message
    assert counts().faults == 0
    return found


def _said_by_backward_on(device, call):
    """The error of a call in which CavsBackward runs on a device that cannot read the tape."""
    op = library.cavs_backward

    def there(*args, **kwargs):
        with tf.device(device):
            return op(*args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(library, "cavs_backward", there)
        with pytest.raises(tf.errors.InvalidArgumentError) as error:
            call()
    return str(error.value)


def one_after_another():
    """Cases of one process; the last two leave little memory, and no GPU."""
    return {
        case.__name__: case()
        for case in (
            repeated,
            operators_of_a_step,
            tensor_float_32,
            said_of_operators_of_tensorflow,
            command,
            predictions,
            without_compiler,
            out_of_memory,
            lost,
        )
    }


def of_several_gpus():
    found = {"several_gpus": several_gpus()}
    if cases.preferred_device() != "CPU":
        driver().fake_set(b"lag", ctypes.c_int64(1))
    return {**found, "gradients_elsewhere": gradients_elsewhere()}


def of_all_kinds():
    tf.debugging.set_log_device_placement(True)
    return {
        case.__name__: case()
        for case in (
            fit,
            gradients,
            dropout,
            row_ops,
            training,
            rejected,
            inference,
            loop,
            vertex_types,
            calls,
            threads,
        )
    }


def _of_users(name):
    found = {}
    for case in OF_USERS[name]:
        keras.utils.set_random_seed(0)
        found[case] = getattr(cases, case)()
    return found


def users_call():
    found = _of_users("users_call")
    found["tools"] = found["tools"][1:]  # Predicted memory is that of another device.
    return found


users_fit = functools.partial(_of_users, "users_fit")
users_train = functools.partial(_of_users, "users_train")
users_build = functools.partial(_of_users, "users_build")


def users_save():
    """Models that are saved, loaded and exported."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found = {}
        for case in ("save_and_load", "load", "portable"):
            keras.utils.set_random_seed(0)
            found[case] = getattr(cases, case)(folder)
        return found | {"exported": exported()}


def repeated():
    """The same bits every time; and how often the host waits in a step, by direction."""
    graphs = cavs.GraphBatch.from_children(GRAPHS * 10)
    x = tf.constant(random(90, cases.FEATURES))
    cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2)
    first = numbers(with_gradients(cell, graphs, x))
    for _ in range(3):
        again = numbers(with_gradients(cell, graphs, x))
        tf.nest.map_structure(np.testing.assert_array_equal, again, first)
    found = []
    for make in OPTIMIZERS.values():
        model = Model(make)
        for _ in range(2):  # The first time, constants are copied to the GPU.
            calls = counts_of(model.step)
        found.append({op: [call["host_waits"] for call in own] for op, own in calls.items()})
    assert counts().faults == 0
    return found


def tensor_float_32():
    """How far a step in float32 is from one in float64, with TensorFlow's switch off and on."""
    keras.utils.set_random_seed(0)
    graphs = cavs.GraphBatch.from_children(GRAPHS * 20)
    x = tf.constant(random(180, cases.FEATURES))
    cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2)
    cell(graphs, x)
    with tf.device("CPU:0"):
        exact = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2, dtype="float64")
        exact(graphs, tf.cast(x, "float64"))
        exact.set_weights(cell.get_weights())
        want = numbers(with_gradients(exact, graphs, tf.cast(x, "float64")))
    found = []
    for enabled in (False, True, False):
        tf.config.experimental.enable_tensor_float_32_execution(enabled)
        got = numbers(with_gradients(cell, graphs, x))
        pairs = zip(tf.nest.flatten(got), tf.nest.flatten(want), strict=True)
        found.append([float(np.max(np.abs(a - b)) / np.max(np.abs(b))) for a, b in pairs])
    return found


def counts_of(step):
    """What each call of our ops asks of the driver while `step` runs eagerly, by op."""
    found = {}

    def counted(name, op):
        def call(*args, **kwargs):
            before = counts()
            results = op(*args, **kwargs)
            after = counts()
            found.setdefault(name, []).append(
                {field: getattr(after, field) - getattr(before, field) for field in COUNTED}
            )
            return results

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in (re.sub("([A-Z])", r"_\1", f"Cavs{op}").lower()[1:] for op in OURS):
            patch.setattr(library, name, counted(name, getattr(library, name)))
        step()
    return found


def counted_steps():
    """By part of `workloads.json`. Workloads set the number of threads, so that they come first."""
    return {"steps": workloads(), "steps of layers": counts_of_layers()}


def workloads():
    """What our ops ask of the driver in a training step, by workload of the benchmarks."""
    tf.config.run_functions_eagerly(True)
    settings = benchmarks.workloads.Settings(units=8, batch=4, minibatches=2, leaves=8, steps=6)
    found = {}
    for name in benchmarks.workloads.names():
        peer = cavs_peer.Peer(benchmarks.workloads.make(name, settings), threads=1)
        for _ in range(2):  # The first time, kernels are compiled and constants copied.
            found[name] = counts_of(lambda peer=peer: peer.train(0))
    assert counts().faults == 0
    return found


def calls_of_layers():
    """By layer of the package, or of the benchmarks: what makes it, and its arguments."""
    graphs, x = graphs_and_rows()
    sequences = tf.constant(random(6, cases.FEATURES).reshape(2, 3, -1))
    calls = {name: (make, (graphs, x)) for name, make in cases.LAYERS.items()}
    calls["TreeLSTM"] = (lambda: cavs.keras.TreeLSTM(cases.UNITS), (graphs, x))
    for layer in (cavs.keras.LSTM, cavs.keras.GRU):
        calls[layer.__name__] = (lambda layer=layer: layer(cases.UNITS), (sequences,))
    for cell in attention.Cell.__subclasses__():
        calls[cell.title] = (lambda cell=cell: cell(cases.UNITS), (graphs, x))
    return calls


def layers():
    return {
        name: numbers(with_gradients(make(), *arguments))
        for name, (make, arguments) in calls_of_layers().items()
    }


def counts_of_layers():
    """What our ops ask of the driver in a training step, by layer."""
    found, calls = {}, calls_of_layers()
    narrow = lambda: cavs.keras.TreeLSTM(cases.UNITS, dtype="mixed_bfloat16")  # noqa: E731
    calls["TreeLSTM in bfloat16"] = (narrow, calls["TreeLSTM"][1])
    for name, (make, arguments) in calls.items():
        step = functools.partial(with_gradients, make(), *arguments)
        for _ in range(2):  # The first time, kernels are compiled and constants copied.
            found[name] = counts_of(step)
    assert counts().faults == 0
    return found


command = cases.command
calls = cases.calls
threads = cases.threads


@keras.saving.register_keras_serializable("tests")
class Accumulated(cavs.GraphSupport):
    """Has an operator that GPUs have no kernel of."""

    def __init__(self, state_size, arity, options=None, **kwargs):
        super().__init__(state_size, arity, options, **kwargs)
        self.w = keras.layers.Dense(state_size)

    def vertex(self):
        children = tf.add_n([self.gather(slot) for slot in range(self.arity)])
        state = self.w(self.pull()) + self.dropout(children, 0.5)
        state = tf.tanh(tf.math.cumulative_logsumexp(state, axis=1))
        self.scatter(state)
        self.push(state)


def accumulating(dropout=0):
    """As `cases.functional`, around another vertex function."""
    graphs = cavs.keras.graph_inputs(cases.ARITY)
    token = keras.Input((), dtype="int32", name="token")
    rows = cavs.keras.Embedding(cases.WORDS, cases.UNITS)(token)
    cell = Accumulated(cases.UNITS, cases.ARITY)
    root = cavs.keras.Graph(cell)(graphs, rows)
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root))


def operators_of_tensorflow():
    """What users do with vertex functions that have operators without kernels for GPUs."""
    keras.utils.set_random_seed(0)
    graphs, x = graphs_and_rows()
    found = {"functions": cases.in_both_modes(cells.Branching(), graphs, x)}
    found["loop"] = loop(Accumulated(cases.FEATURES, 2))
    for options in ({"streams": 2}, {"micro_batch": "auto"}, {"disable": ["fuse"]}):
        cell = Accumulated(cases.UNITS, 2, cavs.Options(**options))
        found[str(options)] = cases.in_both_modes(cell, graphs, x)
    _, states = cell.extend(None, [[], []], x[:2])
    found["extended"] = numbers(cell.extend(states, [[0, 1], [2, 0]], x[:2]))
    with tf.device(f"{cases.preferred_device()}:0"):
        found["placed"] = numbers(with_gradients(cell, graphs, x))
    tf.config.set_soft_device_placement(False)
    found["placed exactly"] = cases.in_both_modes(cell, graphs, x)
    tf.config.set_soft_device_placement(True)
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory() as folder:
        patch.setattr(cases, "functional", accumulating)
        found["fit"], found["mirrored"] = cases.fit(), cases.mirrored(dropout=0)
        folder = pathlib.Path(folder)
        found["files"] = [cases.save_and_load(folder), cases.load(folder)]
    return found


def said_of_operators_of_tensorflow():
    """What tools say of such a vertex function, and the op itself, if it is on the GPU."""
    graphs, x = graphs_and_rows()
    cell = Accumulated(cases.UNITS, 2)
    assert cell(graphs, x).device.endswith("CPU:0")
    found = [str(cavs.explain(cell, graphs, x)), str(cavs.explain(cell)), []]
    for device in (None, "CPU:0"):
        with tf.device(device):
            found[-1].append(cavs.predict_memory(cell, graphs, x))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Functions, "runs_on_gpus", lambda self, options: True)
        with pytest.raises(tf.errors.UnimplementedError) as error:
            cell(graphs, x)
    return [*found, str(error.value)]


def predictions():
    """What is said of the programs of the GPU; and of those of the CPU, in its scope."""
    graphs, x = graphs_and_rows()
    options = cavs.Options(micro_batch="auto")
    cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2, options=options)
    cell(graphs, x)
    found = []
    for device in (None, "CPU:0"):
        with tf.device(device):
            text = cavs.explain(cell, graphs, x, program=True)
            found.append((str(text), cavs.predict_memory(cell, graphs, x)))
    before = memory_in_use_and_available(x.device)
    more = tf.Variable(tf.zeros([2**20]))
    return found, before, memory_in_use_and_available(more.device)


def memory_in_use_and_available(device):
    in_use = tf.config.experimental.get_memory_info(device)["current"]
    with tf.device(device):
        return in_use, int(library.cavs_available_memory())


def out_of_memory():
    """What it says where the GPU has no memory left; and that the next call has some again."""
    graphs, x = graphs_and_rows()
    cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2)
    cell(graphs, x)
    many = cavs.GraphBatch.from_children(GRAPHS * 20000)
    rows = tf.Variable(tf.zeros([many.num_vertices, cases.FEATURES])).read_value()
    few = many.roots[:1]
    predicted = cavs.predict_memory(cell, many, rows, at=few)
    in_use, messages = counts().bytes_in_use, []
    for trains, at in ((False, None), (False, few), (True, few)):
        driver().fake_set(b"memory", ctypes.c_int64(in_use))
        scope = tf.GradientTape() if trains else contextlib.nullcontext()
        with pytest.raises(tf.errors.ResourceExhaustedError) as error, scope:
            cell(many, rows, at=at)
        messages.append(str(error.value))
    assert counts().faults == 0
    return messages, predicted, numbers(cell(graphs, x))


def lost():
    """What Keras shows of a GPU that fails, whose graphs the error describes."""
    graphs, x = graphs_and_rows()
    layer = cavs.keras.TreeLSTM(cases.UNITS)
    numbers(layer(graphs, x))
    driver().fake_reset()
    driver().fake_fail(b"cuLaunchKernel", ctypes.c_int64(0), ctypes.c_int(719))
    with pytest.raises(tf.errors.OpError) as error:
        numbers(layer(graphs, x))
    with tf.device("CPU:0"):
        other, rows = cavs.keras.TreeLSTM(cases.UNITS), random(9, cases.FEATURES)
        return str(error.value), numbers(other(graphs, tf.constant(rows)))


def without_compiler():
    """What a GPU that was not used before says where NVIDIA's run-time compiler is missing."""
    graphs, x = graphs_and_rows()
    cell = cavs.keras.TreeLSTMCell(cases.UNITS, arity=2)
    last = tf.config.list_logical_devices(cases.preferred_device())[-1]
    with pytest.MonkeyPatch.context() as patch, tf.device(last.name):
        patch.setenv("CAVS_LIBNVRTC", "/missing/libnvrtc.so")
        with pytest.raises(tf.errors.UnimplementedError) as error:
            cell(graphs, x)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            assert program.main() == 1
    with tf.device("CPU:0"):
        return str(error.value), printed.getvalue(), numbers(cell(graphs, x))
