"""Runs a case and compares it with the oracle.

The oracle runs in float64. What differs from it by a few roundings of the largest number of
a row is right. The rest is compared with how far the oracle moves when it runs in the type of
the program, with noise of the size of rounding in every line: first in a few samples, then in
many, so that a discontinuity next to a value is found by the noise too, and then with noise on
zeros. What still differs may be left of numbers that cancel each other within a line, as in the
normalisation of one column: it is compared with a few roundings of the largest number that any
operator returns. Numbers that are not finite, or that noise makes so, are not compared; nor are
gradients that are NaN where some line overflows in numbers that nothing reads, such as the state of
a root: zero times infinity.

Every step runs twice, with the same numbers to the last bit.
"""

import dataclasses
import random
import re
import traceback

import ml_dtypes
import numpy as np
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf._inputs.inputs import rows_of
from cavs_tf.inspect._pieces import Pieces
from tests.fuzz.cases import Case, Step
from tests.fuzz.oracle import Oracle, largest, loss_of, noise_of, results_of, weights_of
from tests.fuzz.programs import input_rows, load, namespace
from tests.fuzz.verdict import Verdict

ROUNDINGS = {
    "float64": 64,
    "float32": 64,
    "bfloat16": 2,
    "float16": 8,
}  # Roundings that are allowed before the noise is asked for.
SAMPLES = (3, 10, 40, 60)
MOVE_ZEROS = 40  # Samples from this one on also add noise to zeros.
TIMES_NOISE = 4.0
A_SENTENCE = "but expected"
# Lines that Keras and AutoGraph put before a message.
_ADDED = re.compile(r"(\w+: .)?(Exception encountered|in user code|Graph execution|Detected)")


class _Wrong(Exception):
    """A result that is not the oracle's."""

    def __init__(self, where, text):
        super().__init__(text)
        self.where = where


def check(case: Case) -> Verdict:
    """The verdict on a case. It does not raise."""
    try:
        return _check_steps(case)
    except _Wrong as wrong:
        kind = "accepted" if case.program.coupled else "wrong"
        return Verdict(kind, wrong.where, str(wrong))
    except Exception as error:  # A fault of the fuzzer must not end the run.
        return Verdict("fault", _gist_of(error), traceback.format_exc())


def _check_steps(case):
    model, oracles, verdict = make_model(case), _Oracles(case.program), Verdict("void")
    run = _step_function(case, model)
    for number, step in enumerate(case.steps):
        inputs = inputs_of(case.program, step)
        inputs, given, rows = _given_inputs(case, step, inputs)
        try:
            found = run(step, given)
        except Exception as error:
            return _verdict_on_error(case, error)
        oracles.model = model
        try:
            comparison = _Comparison(case, oracles, step, inputs, rows)
        except tf.errors.OpError:  # Such as the gradient of a `tf.sort` of no columns.
            return Verdict("void", text=traceback.format_exc())
        except ValueError:
            # A layer of what `tf.map_fn` makes of the edges of vertices that have none.
            if "tf.map_fn" not in case.program.source():
                raise
            return Verdict("void", text=traceback.format_exc())
        comparison.compare(found, f"step {number}")
        _check_repetition(found, run(step, given), f"step {number}")
        verdict.compared += comparison.compared
        verdict.vague += comparison.vague
        for weight in weights_of(case.program, model):
            weight.assign(weight * tf.cast(0.75, weight.dtype))
    verdict.kind = "right" if verdict.compared else "void"
    return verdict


def _check_repetition(found, again, label):
    for name, value in found.items():
        if not np.array_equal(value, again[name], equal_nan=True):
            raise _Wrong("repetition", f"{label}, {name}: got {again[name]!r} after {value!r}")


def make_model(case):
    """The program as a `cavs.GraphSupport`."""
    # What Keras draws the seeds of initializers from. A new seed of TensorFlow would make it forget
    # all kernels, and make them again.
    random.seed(1)
    model = load(case.program.source(), namespace(case.program.dtype, cavs))
    return model()


def graphs_of(case, step):
    types = None if step.types is None else list(step.types)
    graphs = cavs.GraphBatch.from_children([[list(v) for v in g] for g in step.minibatch], types)
    if case.scheduled:
        options = {k: v for k, v in step.options.items() if k in ("policy", "micro_batch")}
        program = case.program
        graphs = graphs.with_schedule(
            program.arity, len(program.functions), edges=program.edges, **options
        )
    return graphs


def inputs_of(program, step) -> dict:
    """Inputs with a row for every vertex, or every edge."""
    rng = np.random.default_rng(step.seed)
    return {
        name: input_rows(
            rng.uniform(-1, 1, (step.num_edges if spec.edges else step.num_vertices, *spec.shape)),
            spec.kind,
            program.dtype,
        )
        for name, spec in program.inputs.items()
    }


def _given_inputs(case, step, inputs):
    """Rows for all vertices, the arguments of the model, and the vertices that have rows.

    These are by name; None: all. Others have zeros.
    """
    functions = case.program.functions
    if step.partial and len(functions) == 1:
        return _without_some_rows(case.program, step, inputs)
    if not step.partial or step.types is None:
        return inputs, inputs, dict.fromkeys(inputs)
    rows = {}
    for name in inputs:
        if case.program.inputs[name].edges:
            rows[name] = np.arange(step.num_edges)
            continue
        pulling = [any(line.pulls(name) for line in f.lines) for f in functions]
        rows[name] = np.flatnonzero(np.array(pulling)[list(step.types)])
    return inputs, {name: tf.gather(inputs[name], rows[name]) for name in inputs}, rows


def _without_some_rows(program, step, inputs):
    """As `_given_inputs`: some vertices, or all that have a child, lack some inputs."""
    rng = np.random.default_rng([step.seed, 1])
    has_children = np.array([bool(v) for graph in step.minibatch for v in graph], bool)
    whole, given, rows = dict(inputs), dict(inputs), dict.fromkeys(inputs)
    for name, value in inputs.items():
        if not value.dtype.is_floating or rng.random() < 0.3 or program.inputs[name].edges:
            continue
        has_row = ~has_children if rng.random() < 0.6 else rng.random(step.num_vertices) < 0.5
        rows[name] = rng.permutation(np.flatnonzero(has_row))
        shape = [-1] + [1] * (value.shape.rank - 1)
        whole[name] = tf.where(tf.reshape(has_row, shape), value, tf.zeros_like(value))
        vertices = tf.constant(rows[name], tf.int32)
        given[name] = cavs.VertexRows(tf.gather(value, vertices), vertices)
    return whole, given, rows


def _step_function(case, model):
    """A function that takes a step and inputs and returns results by name."""

    def call(graphs, inputs, at):
        return model(graphs, inputs or None, at=at, training=case.training)

    if case.as_function:
        call = tf.function(call, reduce_retracing=True)

    def run(step, inputs):
        model.options = cavs.Options(**step.options)
        rows = {name: rows_of(value) for name, value in inputs.items()}
        watched = [value for value in rows.values() if value.dtype.is_floating]
        with tf.GradientTape() as tape:
            tape.watch(watched)
            if step.pieces:
                outputs = _in_pieces(case, model, step, inputs)
            else:
                outputs = call(graphs_of(case, step), inputs, _at_of(step))
            loss = loss_of(outputs, step.seed)
        weights = weights_of(case.program, model)
        return results_of(case.program, tape, loss, rows, outputs, weights)[0]

    return run


def _in_pieces(case, model, step, inputs):
    """What the model returns, by calls of `extend`."""
    pieces = Pieces(graphs_of(case, step), step.pieces, step.seed)

    def run(inputs):
        return pieces.run(model, inputs or None, training=case.training)

    # The cut needs to know which vertices have rows.
    in_function = case.as_function and not step.partial
    outputs = (tf.function(run) if in_function else run)(inputs)
    if step.at is None:
        return outputs
    of_edges = model._cache.edge_pushes
    return {n: v if n in of_edges else tf.gather(v, _at_of(step)) for n, v in outputs.items()}


def _at_of(step):
    return None if step.at is None else tf.constant(step.at, tf.int32)


def _verdict_on_error(case, error):
    text = "".join(traceback.format_exception(error))
    is_sentence = isinstance(error, ValueError) and A_SENTENCE in str(error)
    if case.program.coupled and is_sentence:
        return Verdict("refused", text=text)
    if _has_captured_size(case.program) and is_sentence:
        return Verdict("declined", text=text)
    if _tensorflow_fails_too(case.program):
        return Verdict("void", text=text)
    return Verdict("raised", f"{type(error).__name__} {_place_of(error)}: {_gist_of(error)}", text)


def _tensorflow_fails_too(original) -> bool:
    """Whether plain TensorFlow too fails to build, or to differentiate, vertices of some type."""
    program = _with_pushed_states(original)
    step = _leaves_and_parents(program)
    try:
        Oracle(program, program.dtype).run(step, inputs_of(program, step))
        with tf.Graph().as_default():  # Keras builds the layers of a layer in such a graph.
            Oracle(program, program.dtype, static_rows=False).differentiate_lines()
    except (tf.errors.OpError, TypeError, ValueError, LookupError):
        return True
    return False


def _leaves_and_parents(program):
    """A step with a leaf of each type, and a parent of each type of these leaves."""
    count = len(program.functions)
    children = tuple(slot % count for slot in range(program.arity))
    graph = ((),) * count + (children,) * count
    return Step((graph,), 2 * tuple(range(count)), seed=0, options={})


def _with_pushed_states(program):
    """The program with all states pushed, so that its loss depends on them."""
    functions = tuple(
        dataclasses.replace(f, pushes=(*f.pushes, ("state", f.state))) for f in program.functions
    )
    return dataclasses.replace(program, functions=functions)


def _has_captured_size(program):
    return any(line.name.startswith("self.k") for line in program.members)


def _place_of(error) -> str:
    """The innermost function of `cavs_tf` in the traceback of the error."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/cavs_tf/" in frame.filename]
    return f"in {ours[-1].name}" if ours else ""


def _gist_of(error) -> str:
    """The message without numbers and names, which is equal for equal errors."""
    text = re.sub(r'File ".*\n.*\n', "", str(error).replace("\\n", "\n"))
    text = re.sub(r"\x1b\[\dm|\{\{.*?\}\}|operator \S+|'.*?'|\S+:\d+, `.*?`,", "", text)
    lines = [line.strip() for line in text.splitlines()]
    said = [line for line in lines if line and not _ADDED.match(line)]
    return re.sub(r"[-+]?[\d.]+(e[-+]?\d+)?", "#", said[0] if said else "")[:90].strip()


class _Oracles:
    """The oracles of a program, by type, with the present weights of `model`."""

    def __init__(self, program):
        self._program, self._made = program, {}
        self.model = None

    def get(self, dtype) -> Oracle:
        if dtype not in self._made:
            self._made[dtype] = Oracle(self._program, dtype)
        self._made[dtype].copy_weights(self.model)
        return self._made[dtype]


class _Comparison:
    """Compares the results of one step. Makes noisy samples of the oracle when it needs them."""

    def __init__(self, case, oracles, step, inputs, rows):
        self._dtype = case.program.dtype
        self._eps = float(ml_dtypes.finfo(tf.as_dtype(self._dtype).as_numpy_dtype).eps)
        self._rows = rows
        exact = oracles.get("float64")
        self._wanted = self._selected(exact.run(step, inputs))
        self._oracle = oracles.get(self._dtype)
        self._sample = lambda noise: self._selected(self._oracle.run(step, inputs, noise))
        self._left = exact.extent.rounding(min(self._eps, 2.0**-23))
        self._extent_of_operators = lambda: exact.extent_of_operators(step, inputs)
        self._samples = []
        self.compared = self.vague = 0

    def _selected(self, results):
        """Keeps only those rows of input gradients that the model has been given."""
        for name, rows in self._rows.items():
            key = f"gradient of input {name}"
            if rows is not None and key in results:
                results[key] = results[key][rows]
        return results

    def compare(self, found, label):
        if found.keys() != self._wanted.keys():
            raise _Wrong("names", f"{label}: {sorted(found)} instead of {sorted(self._wanted)}")
        for name, wanted in self._wanted.items():
            self._compare_one(f"{label}, {name}", name, found[name], wanted)

    def _compare_one(self, label, name, found, wanted):
        where = re.sub(r"\d+", "", name)
        if found.shape != wanted.shape:
            raise _Wrong(where, f"{label}: shape {found.shape} instead of {wanted.shape}")
        if not wanted.size:
            return
        finite = np.isfinite(wanted)
        self.compared += bool(finite.any())
        allowed = self._roundings(name, wanted)
        for count in (0, *SAMPLES):
            if count:
                allowed, finite = self._allowed(name, wanted, count)
            if count and name.startswith("gradient") and self._oracle.overflows_unread:
                finite &= ~np.isnan(found)
            if not np.any(_differs(found, wanted, allowed) & finite):
                self.vague += bool(count and np.max(allowed) > 0.1 * largest(wanted) > 0)
                return
        rounding = self._extent_of_operators().rounding(self._eps)
        allowed = allowed + rounding[int(name.startswith("gradient"))]
        bad = _differs(found, wanted, allowed) & finite
        if not np.any(bad):
            self.vague += 1
            return
        at = tuple(int(i) for i in np.argwhere(bad)[0])
        raise _Wrong(
            where,
            f"{label}{list(at)}: got {found[at]!r} but expected {wanted[at]!r}, "
            f"up to {allowed[at]:.2g}; {int(bad.sum())} of {bad.size} differ",
        )

    def _roundings(self, name, wanted):
        if not np.issubdtype(wanted.dtype, np.floating):
            return np.zeros(wanted.shape)
        of_rows = _largest_of_rows(np.where(np.isfinite(wanted), np.abs(wanted), 0))
        left = self._left[int(name.startswith("gradient"))]
        return ROUNDINGS[self._dtype] * self._eps * of_rows + left

    def _allowed(self, name, wanted, count):
        """The difference that noise explains, and where numbers are finite in all samples."""
        while len(self._samples) < count:
            seed = len(self._samples)
            self._samples.append(self._sample(noise_of(self._dtype, seed, seed >= MOVE_ZEROS)))
        values = np.stack([sample[name] for sample in self._samples]).astype(np.float64)
        finite = np.isfinite(wanted) & np.all(np.isfinite(values), 0)
        moved = np.where(finite, np.max(np.abs(values - wanted), 0), 0)
        around = np.maximum(0.25 * _largest_of_rows(moved), 0.02 * np.max(moved))
        return TIMES_NOISE * np.maximum(moved, around) + self._roundings(name, wanted) / 8, finite


def _largest_of_rows(values):
    """The largest number of each row, or of all rows if these are single numbers."""
    axes = tuple(range(1, values.ndim)) or None
    return np.broadcast_to(np.max(values, axis=axes, keepdims=True, initial=0), values.shape)


def _differs(found, wanted, allowed):
    with np.errstate(invalid="ignore", over="ignore"):
        return ~(np.abs(np.asarray(found, np.float64) - wanted) <= allowed)
