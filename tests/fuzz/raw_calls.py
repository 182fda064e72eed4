"""Malformed calls of the C++ ops, drawn from a seed.

A call begins as one that a model makes; then an input or an attribute of it is spoilt, or several.
What must come of it is an error or a result, never the end of the process.
"""

import contextlib
import random

import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._inputs.inputs import rows_of
from cavs_tf._native.library import ops
from cavs_tf.graphs._schedule import POLICIES
from tests.fuzz.raw_files import Files
from tests.fuzz.raw_functions import Spoiler
from tests.helpers import cells

_PARTIAL = ("partial_pulls", "partial_pull_grads", "child_pulls")

INTEGERS = [
    -1,
    0,
    1,
    2,
    3,
    5,
    7,
    64,
    999,
    2**15,
    2**31 - 1,
    -(2**31),
    2**31,
    2**32,
    2**62,
    2**63 - 1,
]
DTYPES = [
    "float32",
    "float64",
    "int32",
    "int64",
    "bool",
    "bfloat16",
    "uint8",
    "float16",
    "complex64",
]
# Errors with which an op, or TensorFlow before it, may refuse a call.
ANSWERS = (
    tf.errors.InvalidArgumentError,
    tf.errors.ResourceExhaustedError,
    tf.errors.UnimplementedError,
    tf.errors.NotFoundError,
    tf.errors.FailedPreconditionError,
    ValueError,
    TypeError,
    LookupError,
    OverflowError,
    NotImplementedError,
)


class Two(cavs.GraphSupport):
    """Two vertex types, one of which pulls words, and an output whose rows have two axes."""

    vertex_types = ("leaf", "inner")
    arity = 2

    def __init__(self):
        super().__init__(state_size=cells.STATE)
        self.w = tf.keras.layers.Dense(cells.STATE)
        self.table = self.add_weight(shape=(5, cells.STATE), name="table")

    def leaf(self):
        # Of the table itself, rows would be looked up before, and no words be pulled.
        rows = tf.gather(tf.tanh(self.table), self.pull("word"))
        state = rows + self.w(self.pull("x"))
        self.scatter(state)
        self.push(tf.reshape(state, [-1, 2, 2]))

    def inner(self):
        state = tf.math.cumulative_logsumexp(self.gather(0) * self.gather(1), axis=1)
        self.scatter(state)
        self.push(tf.reshape(state, [-1, 2, 2]))
        self.push(self.vertex_ids(), "ids")


class Edges(cavs.GraphSupport):
    """Any number of children, an input of edges, and a slot."""

    arity = None

    def __init__(self):
        super().__init__(state_size=cells.STATE)
        self.w = tf.keras.layers.Dense(cells.STATE)

    def vertex(self):
        gates = self.softmax_children(self.w(self.children()) + self.pull_edge("along"))
        message = self.sum_children(gates * self.to_children(self.w(self.pull("x"))))
        state = tf.tanh(message + self.max_children(self.children()) + self.gather(0))
        self.scatter(state)
        self.push(state)


class Call:
    """A call of an op: its inputs, some of which are lists, and its attributes by name."""

    def __init__(self, op, inputs, attributes):
        self.op, self.inputs, self.attributes = op, inputs, attributes

    def __call__(self):
        return self.op(*self.inputs, **self.attributes)


class Model:
    """A traced model with a minibatch, and valid calls of its ops."""

    def __init__(self, layer, graphs, inputs, options, num_types=1):
        layer(graphs, inputs)
        self.options = options
        self.layer, self.graphs, self.inputs = layer, graphs, inputs
        self.functions = layer._cache.last
        self.arity, self.reads_edges = self.functions.arity, self.functions.reads_edges
        schedule = graphs.schedule(self.arity, num_types, edges=self.reads_edges)
        self.edges = schedule.edge_lists
        self.schedule = [getattr(schedule, f) for f in ("order", "task_splits", "task_type")]
        self.schedule.append(schedule.child_row)
        named = inputs if isinstance(inputs, dict) else {"default": inputs}
        given = [named[name] for name in self.functions.pull_names]
        self.pulls = [tf.convert_to_tensor(rows_of(value)) for value in given]
        self.partial = self.functions.partial_vertices(named)
        attributes = self.functions.attributes(named)
        self.is_partial = {name: attributes[name] for name in _PARTIAL}
        self.rows = int(graphs.num_vertices)
        self.tape = self.forward(keep_tape=True)().tape

    def forward(self, keep_tape=False, at=None) -> Call:
        f = self.functions
        attributes = dict(
            self._functions(),
            capture_counts=[len(traced.captures) for traced in f.traced],
            pulled_by=list(f.pulled_by),
            pull_shapes=[spec.shape.as_list() for spec in f.pull_specs],
            push_shapes=[spec.shape.as_list() for spec in f.push_specs],
            capture_shapes=[capture.shape.as_list() for capture in f.captures],
            capture_grad_types=[capture.dtype for capture in f.captures],
            differentiable=[capture.differentiable for capture in f.captures],
            Tpushes=[spec.dtype for spec in f.push_specs],
            keep_tape=keep_tape,
            edge_pulls=list(f.edge_pulls),
            **self.options.attributes(),
        )
        captures = f.capture_values()
        at = [] if at is None else [tf.constant(at, tf.int32)]
        return Call(
            ops.cavs_forward,
            [*self.schedule, self.pulls, captures, at, self.partial, list(self.edges)],
            attributes,
        )

    def backward(self) -> Call:
        f = self.functions
        captures = [c for c in f.captures if c.differentiable]
        pulls = [i for i, spec in enumerate(f.pull_specs) if spec.dtype.is_floating]
        grads = [tf.ones([self.rows, *spec.shape], spec.dtype) for spec in f.push_specs]
        attributes = dict(
            self._functions(),
            capture_counts=[sum(c.differentiable for c in t.captures) for t in f.traced],
            pulls=pulls,
            pull_shapes=[f.pull_specs[i].shape.as_list() for i in pulls],
            capture_shapes=[capture.shape.as_list() for capture in captures],
            Tpulls=[f.pull_specs[i].dtype for i in pulls],
            Tcaptures=[capture.dtype for capture in captures],
            **self.options.attributes(),
        )
        return Call(ops.cavs_backward, [self.tape, grads], attributes)

    def memory(self) -> Call:
        attributes = self.forward().attributes
        for name in ("capture_counts", "pulled_by", "keep_tape", "edge_pulls"):
            del attributes[name]
        attributes["Tpulls"] = [spec.dtype for spec in self.functions.pull_specs]
        pulled = tf.fill([len(self.pulls)], tf.constant(-1, tf.int64))
        rows = [pulled, tf.constant(-1, tf.int64), self.partial, list(self.edges)]
        return Call(ops.cavs_memory, [*self.schedule, *rows], attributes)

    def micro_batch(self) -> Call:
        memory, graphs = self.memory(), self.graphs
        batch = [graphs.child_splits, graphs.child_ids, graphs.graph_splits, graphs.vertex_type]
        memory.attributes["arity"] = self.arity
        *rows, partial, _ = memory.inputs[4:]
        inputs = [*batch, *rows, tf.constant(2**40, tf.int64), partial]
        return Call(ops.cavs_micro_batch, inputs, memory.attributes)

    def describe(self) -> Call:
        attributes = self._functions() | self.options.attributes()
        for name in ("gradient_functions", "gradient_signatures", "streams"):
            del attributes[name]
        return Call(ops.cavs_describe, [], attributes)

    def _functions(self) -> dict:
        f = self.functions
        return dict(
            vertex_functions=[function for function, _ in f.forward],
            vertex_signatures=[signature for _, signature in f.forward],
            gradient_functions=[function for function, _ in f.backward],
            gradient_signatures=[signature for _, signature in f.backward],
            **self.is_partial,
        )


def make_models(options=None) -> list[Model]:
    """Makes a few models that differ in everything that the ops check.

    Args:
      options: With which ops are called; the default ones if None.
    """
    options = cavs.Options() if options is None else options
    tf.keras.utils.set_random_seed(0)
    trees = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]], [[], [0], [1, 0]]])
    chains = cavs.GraphBatch.chain([3, 4])
    typed = cavs.GraphBatch.from_children([[[], [], [0, 1]], [[]], [[], [], [0, 1]]])
    types = [0, 0, 1, 0, 0, 0, 1]
    typed = cavs.GraphBatch(typed.child_splits, typed.child_ids, typed.graph_splits, types)
    x = tf.ones([7, cells.FEATURES])
    words = {"word": tf.zeros([7], tf.int64), "x": x}
    of_leaves = cavs.VertexRows(x[:4], tf.constant([0, 1, 3, 4]))
    made = [
        (cells.TreeLSTM(), trees, x),
        (cells.Elementwise(), trees, of_leaves),
        (cells.Linear(arity=1), chains, x),
        (cells.Elementwise(dtype="float64"), trees, tf.cast(x, tf.float64)),
        (cells.Linear(arity=2, dtype="bfloat16"), trees, tf.cast(x, tf.bfloat16)),
        (cells.Linear(arity=2, dtype="float16"), trees, tf.cast(x, tf.float16)),
    ]
    models = [Model(*arguments, options) for arguments in made]
    return [*models, Model(Two(), typed, words, options, num_types=2)]


class Calls:
    """Draws calls by seed. Whatever takes long is made once."""

    def __init__(self):
        self._models = make_models()
        self._others = [
            tf.zeros([]),
            tf.stack([self._models[0].tape]),
            tf.raw_ops.EmptyTensorList(
                element_shape=tf.zeros([0], tf.int32), max_num_elements=1, element_dtype=tf.float32
            ),
            tf.zeros_like(self._models[0].tape),
            *(model.tape for model in self._models),
        ]
        self._spoiler = Spoiler()
        self._files = Files(self._models, self._spoil_scalar)
        self._kinds = {
            self._row_op: 30,
            self._schedule: 20,
            self._extend: 10,
            self._forward: 20,
            self._backward: 15,
            self._dictionary: 5,
            self._memory: 3,
            self._describe: 2,
            self._row_count: 2,
            self._in_graph: 2,
            self._function: 5,
            self._signature: 5,
            self._file: 1,  # It takes long.
        }

    def run(self, seed: int, only: str = "") -> str:
        """Draws and runs one call, of kind `only` if given; returns what it was and its outcome."""
        r = random.Random(seed)
        kind = r.choices(list(self._kinds), weights=list(self._kinds.values()))[0]
        kind = getattr(self, f"_{only}") if only else kind
        label = kind.__name__.strip("_")
        try:
            kind(r)
        except ANSWERS as error:
            return f"{label}: {type(error).__name__}"
        return f"{label}: ok"

    # --- kinds of calls ---------------------------------------------------------

    def _model(self, r) -> Model:
        return r.choice(self._models)

    def _spoilt(self, r, call: Call) -> Call:
        # With other attributes TensorFlow makes another kernel, which takes long.
        names = list(call.attributes) if r.random() < 0.2 or not call.inputs else []
        for _ in range(r.choice([1, 1, 1, 2, 3])):
            i = r.randrange(len(call.inputs) + len(names))
            if i < len(call.inputs):
                call.inputs[i] = self._spoil_input(r, call.inputs[i])
            else:
                name = names[i - len(call.inputs)]
                call.attributes[name] = self._spoil_attribute(r, call.attributes[name])
        return call

    def _signature(self, r):
        model = self._model(r)
        call = r.choice([model.forward, model.backward, model.describe, model.memory])()
        name = r.choice([n for n in call.attributes if n.endswith("_signatures")])
        functions = name.replace("signatures", "functions")
        with contextlib.ExitStack() as stack:
            copies = [self._spoiler.changed(f) for f in call.attributes[functions]]
            call.attributes[functions] = [stack.enter_context(copy) for copy in copies]
            call.attributes[name] = self._spoil_attribute(r, call.attributes[name])
            call()

    def _forward(self, r):
        model = self._model(r)
        at = [r.randrange(-1, model.rows + 1) for _ in range(r.randrange(4))]
        call = self._spoilt(r, model.forward(r.random() < 0.5, r.choice([None, at])))
        tape = call().tape
        if r.random() < 0.5:
            backward = self._model(r).backward() if r.random() < 0.3 else model.backward()
            backward.inputs[0] = tape
            backward()

    def _backward(self, r):
        self._spoilt(r, self._model(r).backward())()

    def _memory(self, r):
        model = self._model(r)
        self._spoilt(r, r.choice([model.memory, model.micro_batch])())()

    def _describe(self, r):
        self._spoilt(r, self._model(r).describe())()

    def _function(self, r):
        model = self._model(r)
        call = r.choice([model.forward, model.forward, model.backward, model.describe])()
        name = r.choice([n for n in call.attributes if n.endswith("_functions")])
        functions = list(call.attributes[name])
        if not functions:
            return
        i = r.randrange(len(functions))
        with self._spoiler.spoilt(r, functions[i]) as functions[i]:
            call.attributes[name] = functions
            call()

    def _file(self, r):
        self._files.run(r)

    def _in_graph(self, r):
        model = self._model(r)
        makers = [model.forward, model.backward, model.memory, model.micro_batch, model.describe]
        call = r.choice(makers)()
        with tf.Graph().as_default():
            for i, value in enumerate(call.inputs):
                values = value if isinstance(value, list) else [value]
                stand_ins = [_placeholder(r, v) for v in values]
                call.inputs[i] = stand_ins if isinstance(value, list) else stand_ins[0]
            self._spoilt(r, call)()

    def _schedule(self, r):
        child_splits, child_ids, graph_splits, vertex_type = self._graphs(r)
        arity = r.choice([0, 1, 2, 2, 2, 3, r.choice(INTEGERS)])
        inputs = [child_splits, child_ids, graph_splits, vertex_type, tf.constant(r.choice([1, 9]))]
        attributes = {
            "arity": arity,
            "num_types": r.choice([1, 2, 3, r.choice(INTEGERS)]),
            "policy": r.choice([*POLICIES, "ratio", "deep", ""]),
        }
        if r.random() < 0.4:
            attributes["num_edge_lists"] = r.choice([0, 3, 3, 3, 1, r.choice(INTEGERS)])
        call = Call(ops.cavs_schedule, inputs, attributes)
        if r.random() < 0.7:
            i = r.randrange(5)
            call.inputs[i] = self._spoil_input(r, call.inputs[i])
        schedule = call()
        if r.random() < 0.2:
            forward = self._model(r).forward()
            forward.inputs[:4] = list(schedule[:4])
            forward.inputs[8] = list(schedule[4])
            forward()

    def _extend(self, r):
        child_splits, child_ids, _, vertex_type = self._graphs(r)
        inputs = [child_splits, child_ids, vertex_type, tf.constant(r.choice([0, 1, 9]))]
        attributes = {
            "arity": r.choice([-1, 0, 2, 3, r.choice(INTEGERS)]),
            "num_types": r.choice([1, 2, 3, r.choice(INTEGERS)]),
        }
        call = Call(ops.cavs_extend, inputs, attributes)
        if r.random() < 0.7:
            i = r.randrange(4)
            call.inputs[i] = self._spoil_input(r, call.inputs[i])
        call()

    def _dictionary(self, r):
        model = self._model(r)
        tensors = dict(
            model.graphs.with_schedule(model.arity, 2, edges=model.reads_edges).to_dict()
        )
        for _ in range(r.choice([1, 1, 2, 3])):
            name = r.choice(list(tensors) or ["child_ids"])
            if r.random() < 0.1:
                tensors.pop(name, None)
            elif name in tensors:
                tensors[name] = self._spoil_input(r, tensors[name])
        model.layer(cavs.GraphBatch.from_dict(tensors), model.inputs)

    def _row_op(self, r):
        dtype = r.choice(DTYPES)
        rows, columns, count = (r.choice([0, 1, 2, 3, 17]) for _ in range(3))
        shape = r.choice([[rows], [rows, columns], [rows, 2, columns], [], [0, 2**62]])
        table = tf.constant(np.zeros(shape, np.uint8), tf.uint8)
        table = tf.cast(table, dtype)
        index = [r.randrange(-1, rows + 1) for _ in range(count)]
        if r.random() < 0.3:
            index = r.sample(range(rows), rows)
        index = tf.constant(index, tf.int32)
        name = r.choice(["gather", "scatter", "pull", "push"])
        inputs = [table, index]
        if name == "scatter":
            inputs.append(tf.constant(r.choice([rows, rows, 0, 2**31 - 1, -1])))
        if r.random() < 0.7:
            i = r.randrange(len(inputs))
            inputs[i] = self._spoil_input(r, inputs[i])
        module = cavs.ops if r.random() < 0.3 else None
        function = getattr(module, name) if module else getattr(ops, f"cavs_{name}")
        function(*inputs)

    def _row_count(self, r):
        shape = r.choice([[], [2], [2, 1], [0], [2**40], None, [None]])
        n = r.choice([0, 1, 2, 3])
        ops.cavs_row_count(
            self._spoil_input(r, tf.zeros([3, 2])),
            out_type=r.choice([tf.int32, tf.int64, tf.float32]),
            scale=[r.choice(INTEGERS) for _ in range(n)],
            bias=[r.choice(INTEGERS) for _ in range(r.choice([n, n, n + 1]))],
            shape=shape,
        )

    # --- parts of calls -----------------------------------------------------------

    def _graphs(self, r):
        sizes = [r.randrange(6) for _ in range(r.randrange(4))]
        splits, ids, graph_splits = [0], [], [0]
        for size in sizes:
            first = graph_splits[-1]
            for v in range(size):
                for _ in range(r.randrange(3) if v else 0):
                    ids.append(first + r.randrange(v) if r.random() < 0.9 else -1)
                splits.append(len(ids))
            graph_splits.append(first + size)
        types = [r.randrange(2) for _ in range(graph_splits[-1])] if r.random() < 0.5 else []
        return [tf.constant(x, tf.int32) for x in (splits, ids, graph_splits, types)]

    def _spoil_input(self, r, value):
        if isinstance(value, list):
            return self._spoil_list(r, value, lambda v: self._spoil_tensor(r, v))
        return self._spoil_tensor(r, value)

    def _spoil_list(self, r, values, spoil):
        values = list(values)
        what = r.randrange(6)
        if what == 0 and values:
            del values[r.randrange(len(values))]
        elif what == 1 and values:
            values.insert(r.randrange(len(values)), r.choice(values))
        elif what == 2:
            r.shuffle(values)
        elif values:
            i = r.randrange(len(values))
            values[i] = spoil(values[i])
        return values

    def _spoil_tensor(self, r, tensor):
        if not hasattr(tensor, "numpy"):
            return _placeholder(r, tensor, spoilt=True)
        if tensor.dtype in (tf.variant, tf.resource):
            return r.choice(self._others)
        what = r.randrange(10)
        if tensor.dtype.is_integer and what < 4 and tf.size(tensor) > 0:
            array = tensor.numpy()
            limits = np.iinfo(array.dtype)
            new = r.choice(INTEGERS)
            if limits.min <= new <= limits.max:
                array.flat[r.randrange(array.size)] = new
            return tf.constant(array)
        if what == 4:
            return tf.cast(tf.zeros(tensor.shape), r.choice(DTYPES))
        if what == 5:
            return r.choice([tf.constant("text"), tf.constant(["a", "b"]), tf.constant(1.0)])
        if what == 6:
            return tf.zeros(r.choice([[0], [0, 0], [0, 2**40], [1] * 8, []]), tensor.dtype)
        if what == 7 and tensor.shape.rank:
            return tensor[r.choice([1, -1]) :]
        if what == 8:
            return tf.expand_dims(tensor, r.choice([0, -1]))
        if what == 9:
            return r.choice(self._others)
        return tf.concat([tensor, tensor], 0) if tensor.shape.rank else tensor[None]

    def _spoil_attribute(self, r, value):
        if isinstance(value, list):
            shapes = value and isinstance(value[0], list)
            extra = [[3], [2**40], [None], None, [1] * 254, [2**31, 2**31], [-1], []]
            if not value:
                return [r.choice([1, -1, True, tf.float32, [3], "pull:0->", ""])]
            spoil = (lambda _: r.choice(extra)) if shapes else (lambda v: self._spoil_scalar(r, v))
            return self._spoil_list(r, value, spoil)
        return self._spoil_scalar(r, value)

    def _spoil_scalar(self, r, value):
        if isinstance(value, bool):
            return not value
        if isinstance(value, int):
            return r.choice(INTEGERS)
        if isinstance(value, tf.DType):
            return tf.as_dtype(r.choice([*DTYPES, "string", "variant", "resource"]))
        if isinstance(value, str):
            return _spoil_text(r, value)
        model = self._model(r)
        return r.choice([f for f, _ in [*model.functions.forward, *model.functions.backward]])


def _placeholder(r, tensor, spoilt=False):
    shape = list(tensor.shape) if tensor.shape.rank is not None else None
    if shape and r.random() < 0.5:
        shape[r.randrange(len(shape))] = None
    if spoilt:
        shape = r.choice([None, [], [0], [None], [2**40, 2**20], [1] * 9, [None, 3], [2, 3, 4]])
    return tf.compat.v1.placeholder(tensor.dtype, shape)


def _spoil_text(r, text):
    """A signature with another role, number or character."""
    parts = text.replace("->", ",->,").split(",")
    i = r.randrange(len(parts))
    numbers = ["-1", "-3", "0", "1", "999", "2147483647", "4294967296", "x", ""]
    roles = ["gather", "pull", "capture", "saved", "scatter", "push", "vertex_ids", "push_grad"]
    roles += ["scatter_grad", "gather_grad", "pull_grad", "capture_grad", "", "->"]
    what = r.randrange(5)
    if what == 0:
        parts[i] = f"{parts[i].split(':')[0]}:{r.choice(numbers)}"
    elif what == 1:
        parts[i] = f"{r.choice(roles)}:{r.choice(numbers)}"
    elif what == 2:
        parts[i] = r.choice(roles)
    elif what == 3:
        del parts[i]
    else:
        r.shuffle(parts)
    return ",".join(parts).replace(",->,", "->")
