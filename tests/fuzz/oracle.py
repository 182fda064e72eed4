"""The oracle: evaluates a program in eager TensorFlow, vertex by vertex, in float64.

Nothing of `cavs_tf` is used here: `GraphSupport` below is what programs derive from. It
can add noise to every line and to every gradient that passes one. How far results move
says how well the program determines them, whatever its operators are.
"""

import ast
import dataclasses
import types

import keras
import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_callbacks

from tests.fuzz import graphs
from tests.fuzz.programs import Program, load, namespace


class GraphSupport:
    """A base class with the methods of `cavs.GraphSupport`, for one vertex at a time."""

    def __init__(self, state_size, dtype):
        self.state_shape, self.dtype = state_size, tf.as_dtype(dtype)
        self.noise = lambda value, operands: value
        self.gathered, self.along, self.pulls, self.id = [], None, {}, 0
        self.state, self.pushes = None, {}

    def gather(self, slot):
        return self.gathered[slot]

    def gather_all(self):
        return tf.stack(self.gathered, axis=1)

    def pull(self, name):
        return self.pulls[name]

    def children(self):
        return self.along

    def to_children(self, x):
        return tf.repeat(x, tf.shape(self.along)[0], axis=0)

    def sum_children(self, x):
        return tf.reduce_sum(x, axis=0, keepdims=True)

    def mean_children(self, x):
        return self.sum_children(x) / tf.cast(tf.maximum(tf.shape(x)[0], 1), x.dtype)

    def max_children(self, x):
        if x.shape[0] == 0:
            return tf.zeros([1, *x.shape[1:]], x.dtype)
        return tf.reduce_max(x, axis=0, keepdims=True)

    def softmax_children(self, x):
        return tf.nn.softmax(x, axis=0)

    def num_children(self):
        return tf.shape(self.along)[:1]

    def pull_edge(self, name):
        return self.pulls[name]

    def vertex_ids(self):
        return tf.constant([self.id])

    def scatter(self, state):
        self.state = state

    def push(self, value, name):
        self.pushes[name] = value


class _NoisyLines(ast.NodeTransformer):
    """Rewrites `x1 = f(x0)` as `x1 = self.noise(f(x0), [x0])`."""

    def visit_Assign(self, node):
        if isinstance(node.targets[0], ast.Name) and _is_line(node.targets[0].id):
            read = {n.id: n for n in ast.walk(node.value) if isinstance(n, ast.Name)}
            operands = ast.List([n for name, n in read.items() if _is_line(name)], ast.Load())
            noise = ast.Attribute(ast.Name("self", ast.Load()), "noise", ast.Load())
            node.value = ast.Call(noise, [node.value, operands], [])
        return node


def _is_line(name):
    return name.startswith("x")


@dataclasses.dataclass(frozen=True)
class Extent:
    """The largest magnitude of a value, and of a gradient."""

    value: float
    gradient: float

    def rounding(self, eps) -> np.ndarray:
        """How much may be left where numbers cancel each other: of values, and of gradients."""
        return 4 * eps * np.array([self.value, self.gradient * max(1.0, self.value)])


class _Magnitudes:
    """The largest magnitude of what any operator returns that TensorFlow runs in the meantime."""

    def __init__(self):
        self.largest, self._is_looking = 0.0, False

    def __enter__(self):
        op_callbacks.add_op_callback(self._look)
        return self

    def __exit__(self, *_):
        op_callbacks.remove_op_callback(self._look)

    def _look(self, op_type, inputs, attrs, outputs, op_name=None, graph=None):
        if graph is None and not self._is_looking:
            self._is_looking = True  # Looking runs operators too.
            self.largest = max(self.largest, _largest(x for x in outputs if x.dtype.is_floating))
            self._is_looking = False


class Oracle:
    """A program as a class of its own, with weights copied from a model.

    Args:
      program: The program.
      dtype: The type that it is evaluated in.
      static_rows: Whether static shapes have the number of rows. False only in a graph.
    """

    def __init__(self, program: Program, dtype="float64", static_rows=True):
        self._program, self._dtype, self._static_rows = program, dtype, static_rows
        source = ast.unparse(_NoisyLines().visit(ast.parse(program.source())))
        scope = namespace(dtype, types.SimpleNamespace(GraphSupport=GraphSupport))
        self._model = load(source, scope)()
        self._build_layers()
        self.extent = Extent(0.0, 0.0)
        self.overflows_unread = False

    def _build_layers(self):
        """Evaluates one vertex, so that layers create their weights."""
        self._push_specs = {}
        for kind in range(len(self._program.functions)):
            for name, value in self._evaluate_once(kind).items():
                self._push_specs[name] = value.shape[1:], value.dtype

    def _evaluate_once(self, kind):
        pulls = {
            name: self._zeros(spec.shape, self.dtype_of(spec.kind))
            for name, spec in self._program.inputs.items()
        }
        gathered = [self._no_state()] * self._program.arity
        return self._evaluate(kind, 0, gathered, self._no_state(), pulls)[1]

    def values_of_lines(self, kind) -> list:
        """The values of the lines of a vertex function at one vertex."""
        values = []
        self._model.noise = lambda value, operands: values.append(value) or value
        self._evaluate_once(kind)
        return values

    def differentiate_lines(self):
        """Adds the gradients of all lines to the present graph.

        Raises:
          TypeError, ValueError, LookupError: If TensorFlow cannot.
        """
        for kind in range(len(self._program.functions)):
            floats = [x for x in self.values_of_lines(kind) if x.dtype.is_floating]
            for line in floats:  # Together they would add up to other gradients.
                tf.gradients(line, floats)

    def dtype_of(self, kind):
        return {"float": tf.as_dtype(self._dtype), "id": tf.int32, "bool": tf.bool}[kind]

    def _no_state(self):
        return self._zeros(self._program.state, self._dtype)

    def _zeros(self, shape, dtype):
        """One row of zeros."""
        rows = tf.zeros([1, *shape], dtype)
        if self._static_rows:
            return rows
        return tf.compat.v1.placeholder_with_default(rows, [None, *shape])

    def copy_weights(self, model):
        """Copies all weights and captured tensors from a model."""
        for ours, theirs in zip(self.weights(), weights_of(self._program, model), strict=True):
            ours.assign(tf.cast(tf.convert_to_tensor(theirs), ours.dtype))

    def weights(self) -> list:
        return weights_of(self._program, self._model)

    def _evaluate(self, kind, v, gathered, along, pulls):
        model = self._model
        model.along = along
        model.gathered, model.pulls, model.id, model.pushes = gathered, pulls, v, {}
        getattr(model, self._program.functions[kind].name)()
        return model.state, model.pushes

    def run(self, step, inputs, noise=None) -> dict:
        """Outputs and gradients by name, as NumPy arrays; sets `extent`, `overflows_unread`.

        Args:
          step: A `Step`.
          inputs: One row per vertex, by name.
          noise: Adds noise to lines, as `noise_of` does; None: no noise.
        """
        lines = []
        self._model.noise = lambda value, operands: (
            lines.append(noise(value, operands) if noise else value) or lines[-1]
        )
        inputs = self._cast(inputs)
        tape, outputs, loss = self._recorded(step, inputs)
        floats = [value for value in lines if value.dtype.is_floating]
        results, gradients = results_of(
            self._program, tape, loss, inputs, outputs, self.weights(), floats
        )
        self.extent = Extent(_largest(floats), _largest(gradients))
        self.overflows_unread = any(
            np.any(~np.isfinite(_array(value)) & (_array(gradient) == 0))
            for value, gradient in zip(floats, gradients, strict=False)
        )
        return results

    def extent_of_operators(self, step, inputs) -> Extent:
        """As `extent`, but of all operators: also of those that one line, such as a layer, runs."""
        self._model.noise = lambda value, operands: value
        inputs = self._cast(inputs)
        with _Magnitudes() as values:
            tape, outputs, loss = self._recorded(step, inputs)
        with _Magnitudes() as gradients:
            results_of(self._program, tape, loss, inputs, outputs, self.weights())
        return Extent(values.largest, gradients.largest)

    def _cast(self, inputs):
        return {
            name: tf.cast(rows, self._dtype) if rows.dtype.is_floating else rows
            for name, rows in inputs.items()
        }

    def _recorded(self, step, inputs):
        """Outputs and loss, and the tape that they are recorded on."""
        with tf.GradientTape() as tape:
            tape.watch([rows for rows in inputs.values() if rows.dtype.is_floating])
            # What is gathered may depend on nothing else that has a gradient.
            tape.watch(no_state := self._no_state())
            outputs = self._outputs(step, inputs, no_state)
            loss = loss_of(outputs, step.seed)
        return tape, outputs, loss

    def _outputs(self, step, inputs, no_state):
        children = graphs.absolute(step.minibatch)
        kinds = step.types or [0] * len(children)
        states, pushed = {-1: no_state}, [None] * len(children)
        arity, specs = self._program.arity, self._program.inputs
        real = [[c for c in own if c >= 0] for own in children]
        ends = np.cumsum([0, *map(len, real)])
        for v in graphs.topological(children):
            slots = [*children[v], *[-1] * arity][:arity]
            row = {
                name: rows[ends[v] : ends[v + 1]] if specs[name].edges else rows[v : v + 1]
                for name, rows in inputs.items()
            }
            along = tf.concat([no_state[:0], *(states[c] for c in real[v])], 0)
            gathered = [states[c] for c in slots]
            states[v], pushed[v] = self._evaluate(kinds[v], v, gathered, along, row)
        wanted = range(len(children)) if step.at is None else step.at
        return {
            name: tf.concat(
                [tf.zeros([0, *shape], dtype)]
                + [pushed[v].get(name, tf.zeros([1, *shape], dtype)) for v in wanted],
                0,
            )
            for name, (shape, dtype) in self._push_specs.items()
        }


def weights_of(program, model) -> list:
    """All floating-point variables of a model, in the order of the program's members."""
    found = []
    for line in program.members:
        member = getattr(model, line.name.removeprefix("self."))
        if isinstance(member, tf.Variable):
            found += [member] if member.dtype.is_floating else []
        elif not tf.is_tensor(member):
            found += [v for v in member.weights if tf.as_dtype(v.dtype).is_floating]
    return found


def loss_of(outputs, seed):
    """The sum of all outputs times random numbers, so that no gradient is trivial."""
    rng, terms = np.random.default_rng(seed), []
    for name in sorted(outputs):
        value = outputs[name]
        if value.dtype.is_floating:
            factors = np.round(rng.uniform(-1, 1, value.shape) * 64) / 64
            terms.append(tf.reduce_sum(value * tf.constant(factors, value.dtype)))
    return tf.add_n(terms) if terms else None


def results_of(program, tape, loss, inputs, outputs, weights, lines=()) -> tuple:
    """Outputs and gradients of inputs and weights by name; and the gradients of `lines`."""
    results = {f"output {name}": _array(value) for name, value in outputs.items()}
    if loss is None:
        return results, []
    named = {f"input {n}": rows for n, rows in inputs.items() if rows.dtype.is_floating}
    named |= {f"weight {i}": w for i, w in enumerate(weights)}
    sources = [s.value if isinstance(s, keras.Variable) else s for s in named.values()]
    gradients = tape.gradient(loss, [*sources, *lines], unconnected_gradients="zero")
    gradients = [tf.convert_to_tensor(gradient) for gradient in gradients]
    for name, gradient in zip(named, gradients, strict=False):
        results[f"gradient of {name}"] = _array(gradient)
    return results, gradients[len(named) :]


def _array(tensor):
    if tensor.dtype.is_floating:
        return tf.cast(tensor, tf.float64).numpy()
    return tensor.numpy()


def _largest(tensors) -> float:
    return max((largest(_array(tensor)) for tensor in tensors), default=0.0)


def largest(values) -> float:
    """The largest magnitude of finite numbers; 0 if there are none."""
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0))


NOISE = {"float64": 4.0, "float32": 4.0, "bfloat16": 1.0, "float16": 1.0}  # In roundings.


def noise_of(dtype, seed, move_zeros=False):
    """A function that adds noise of the size of rounding to values and to their gradients.

    Args:
      dtype: The type of the program.
      seed: The seed of the noise.
      move_zeros: Whether zeros get noise too, as large as that of the largest operand: they may
        be left of numbers that cancel each other.
    """
    generator = tf.random.Generator.from_seed(seed)
    amplitude = NOISE[dtype] * float(ml_dtypes.finfo(tf.as_dtype(dtype).as_numpy_dtype).eps)

    def noise_for(value):
        uniform = generator.uniform(tf.shape(value), -amplitude, amplitude, tf.float64)
        return tf.cast(uniform, value.dtype)

    @tf.custom_gradient
    def noisy(value):
        return value * (1.0 + noise_for(value)), lambda g: g * (1.0 + noise_for(g))

    def noise(value, operands):
        if not value.dtype.is_floating:
            return value
        if move_zeros:
            scale = tf.cast(_largest(x for x in operands if x.dtype.is_floating), value.dtype)
            value += tf.where(value == 0, scale * noise_for(value), 0)
        return noisy(value)

    return noise
