"""Random models, as source code that a user could have written."""

import dataclasses
import linecache
import re
import string
import sys
import types
import uuid

import keras
import numpy as np
import tensorflow as tf

from tests.fuzz import operators

LARGEST = 1e4  # The largest magnitude that an operator may return for the sample rows.
SAMPLE_ROWS = 3
SAMPLE_EDGES = (0, 0, 2, 2)  # To which of the sample rows each sample edge belongs.
NAME = re.compile(r"\b(?:x\d+|self\.[a-z]+\d+)\b")


class UnavailableError(Exception):
    """No value that was computed so far can be the operand that a template asks for."""


@dataclasses.dataclass(frozen=True)
class Input:
    """An external input: the shape of a row, and its kind, "float", "id" or "bool".

    It has a row for each vertex, or for each edge.
    """

    shape: tuple
    kind: str
    edges: bool = False


@dataclasses.dataclass(frozen=True)
class Line:
    """`name = source` in a vertex function or, for weights and layers, in the constructor.

    Its value has rows of edges, or of vertices.
    """

    name: str
    source: str
    operator: str = ""
    edges: bool = False

    @property
    def reads(self) -> list[str]:
        return NAME.findall(self.source)

    def pulls(self, name: str) -> bool:
        return self.source in (f"self.pull({name!r})", f"self.pull_edge({name!r})")


@dataclasses.dataclass(frozen=True)
class VertexFunction:
    """A vertex type: its lines, and the names of the lines that are its state and pushes."""

    name: str
    lines: tuple[Line, ...]
    state: str
    pushes: tuple[tuple[str, str], ...]

    def source(self) -> list[str]:
        return [
            f"def {self.name}(self):",
            *(f"    {line.name} = {line.source}" for line in self.lines),
            f"    self.scatter({self.state})",
            *(f"    self.push({value}, {name!r})" for name, value in self.pushes),
        ]


@dataclasses.dataclass(frozen=True)
class Program:
    """A model.

    Attributes:
      dtype: The type of all floats.
      state: The shape of the state.
      arity: Number of slots.
      most_children: The number of children that a vertex may have; the model's arity is None
        if they are more than slots.
      edges: Whether lines may have rows of edges.
      inputs: The external inputs by name.
      members: Weights, captured tensors and layers, made in this order.
      functions: One for each vertex type.
      coupled: Whether rows depend on each other, so that the model must be refused.
    """

    dtype: str
    state: tuple
    arity: int
    inputs: dict[str, Input]
    members: tuple[Line, ...]
    functions: tuple[VertexFunction, ...]
    coupled: bool = False
    most_children: int = 0
    edges: bool = False

    def source(self) -> str:
        """The source of class `Model`. It uses `cavs`, `tf`, `np`, `keras`, D, P and NUM_IDS."""
        body = [
            f"arity = {self.arity if self.most_children <= self.arity else None}",
            f"vertex_types = {tuple(f.name for f in self.functions)}",
            "",
            "def __init__(self, **kwargs):",
            f"    super().__init__(state_size={self.state}, dtype=P, **kwargs)",
            *(f"    {line.name} = {line.source}" for line in self.members),
        ]
        for function in self.functions:
            body += ["", *function.source()]
        lines = (f"    {line}" if line else "" for line in body)
        return "\n".join(["class Model(cavs.GraphSupport):", *lines]) + "\n"

    @property
    def operators(self) -> list[str]:
        return [line.operator for f in self.functions for line in f.lines if line.operator]


def namespace(dtype: str, cavs) -> dict:
    """The names that source may use. `cavs` has a `GraphSupport`: ours or the oracle's."""
    return {
        "cavs": cavs,
        "tf": tf,
        "np": np,
        "keras": keras,
        "D": tf.as_dtype(dtype),
        "P": dtype,
        "NUM_IDS": operators.NUM_IDS,
    }


def load(source: str, scope: dict) -> type:
    """Class `Model` of some source, loaded so that Python and AutoGraph find its lines."""
    module = types.ModuleType(f"program_{uuid.uuid4().hex}")
    module.__file__ = f"<{module.__name__}>"
    linecache.cache[module.__file__] = len(source), None, source.splitlines(True), module.__file__
    sys.modules[module.__name__] = module
    vars(module).update(scope)
    exec(compile(source, module.__file__, "exec"), vars(module))
    return module.Model


@dataclasses.dataclass(frozen=True)
class Value:
    """The result of a line, with its values for a few sample rows."""

    name: str
    sample: tf.Tensor
    edges: bool = False

    def __str__(self):
        return self.name

    @property
    def shape(self) -> tuple:
        """The shape of one row."""
        return tuple(self.sample.shape[1:])

    @property
    def rank(self) -> int:
        return len(self.shape)

    @property
    def width(self) -> int:
        """The number of elements of a row."""
        return int(np.prod(self.shape))

    @property
    def is_float(self) -> bool:
        return self.sample.dtype.is_floating


class _Self:
    """Takes the place of `self` while sample rows are computed: it has the members by name."""

    def vertex_ids(self):
        return tf.range(SAMPLE_ROWS)

    def to_children(self, x):
        return tf.gather(x, SAMPLE_EDGES)

    def sum_children(self, x):
        return tf.math.unsorted_segment_sum(x, SAMPLE_EDGES, SAMPLE_ROWS)

    def num_children(self):
        return self.sum_children(tf.ones([len(SAMPLE_EDGES)], tf.int32))

    # The numbers do not matter.
    mean_children = max_children = sum_children

    def softmax_children(self, x):
        return tf.sigmoid(x)


class Members:
    """Weights, captured tensors and layers of a program that is being drawn."""

    def __init__(self, rng, dtype):
        self.lines = []
        self.scope = namespace(dtype, None) | {"self": _Self()}
        self._rng = rng
        self._shapes = {}

    def add(self, prefix, source) -> str:
        name = f"self.{prefix}{len(self.lines)}"
        exec(f"{name} = {source}", self.scope)
        self.lines.append(Line(name, source))
        return name

    def weight(self, shape) -> str:
        """A weight of `shape`, new or already in use."""
        shape = tuple(int(d) for d in shape)
        known = [line.name for line in self.lines if self._shapes.get(line.name) == shape]
        if known and self._rng.random() < 0.4:
            return known[self._rng.integers(len(known))]
        scale = float(2.0 ** -np.round(np.log2(max(1, shape[0] if shape else 1)) / 2))
        normal = f"tf.random.stateless_normal({list(shape)}, [7, {len(self.lines)}], dtype=D)"
        name = self.add("w", f"tf.Variable({scale} * {normal})")
        self._shapes[name] = shape
        return name

    def integer(self) -> str:
        number = self._rng.integers(1, 4)
        return self.add("k", self._rng.choice([f"tf.Variable({number})", f"tf.constant({number})"]))

    def flag(self) -> str:
        return self.add("f", f"tf.Variable({bool(self._rng.integers(2))})")

    def layer(self, source) -> str:
        name, _, arguments = source.partition("(")
        separator = "" if arguments == ")" else ", "
        return self.add("l", f"tf.keras.layers.{name}({arguments[:-1]}{separator}dtype=P)")

    def forget_after(self, count):
        """Drops all but the first `count` members: a line that failed has asked for the others."""
        for line in self.lines[count:]:
            self._shapes.pop(line.name, None)
        del self.lines[count:]


class _Layer:
    """The field `{layer:Dense(3)}`, which makes a layer."""

    def __init__(self, members):
        self._members = members

    def __format__(self, source):
        return self._members.layer(source)


class Fields(dict):
    """The operands of one line. Each is drawn when the template asks for it."""

    def __init__(self, rng, values, unread, members):
        super().__init__()
        self._rng, self._values, self._members = rng, values, members
        self._unread = unread  # The names of values that no line reads yet.

    def __missing__(self, name):
        self[name] = getattr(self, f"_{name}")()
        return self[name]

    def _pick(self, wanted) -> Value:
        """A value that meets a condition, preferably a recent one or one that is not read yet."""
        found = [value for value in self._values if wanted(value)]
        unread = [value for value in found if value.name in self._unread]
        if unread and self._rng.random() < 0.5:
            found = unread
        if not found:
            raise UnavailableError
        age = min(int(self._rng.geometric(0.25)) - 1, len(found) - 1)
        return found[-1 - age]

    def _floats(self, *ranks):
        return self._pick(lambda value: value.is_float and value.rank in ranks)

    def _x(self):
        return self._floats(0, 1, 2, 3)

    def _d(self):
        return self._floats(1, 2, 3)

    def _v(self):
        return self._floats(1)

    def _m(self):
        return self._floats(2)

    def _t(self):
        return self._floats(3)

    def _like(self, other):
        return self._pick(lambda value: value.is_float and value.shape == other.shape)

    def _s(self):
        return self._like(self["x"])

    def _u(self):
        return self._like(self["v"])

    def _i(self):
        return self._pick(lambda value: value.sample.dtype.is_integer and value.rank == 0)

    def _b(self):
        return self._pick(lambda value: value.sample.dtype.is_bool)

    def _y(self):
        """Rows, a weight or a number that can be broadcast to the rows of x."""
        x, choice = self["x"], self._rng.random()
        if choice < 0.5:
            return self._pick(lambda value: value.is_float and _broadcasts(value.shape, x.shape))
        if choice < 0.8:
            shape = x.shape[int(self._rng.integers(len(x.shape) + 1)) :]
            return self._members.weight(shape)
        return f"tf.constant({self._c()}, D)"

    def _c(self):
        """A number with few bits, which no type rounds."""
        if self._rng.random() < 0.15:
            return repr(float(self._rng.choice([2.0**-20, 2.0**-10, 2.0**6, 2.0**10])))
        return repr(float(self._rng.integers(-16, 17)) / 8)

    def _n(self):
        return int(self._rng.choice([1, 2, 3, 4, 5, 7, 8, 16]))

    def _axis(self):
        rank = self["d"].rank
        axis = int(self._rng.integers(1, rank + 1))
        return axis - rank - 1 if self._rng.random() < 0.3 else axis

    def _stride(self):
        return self._rng.choice(["1:", ":-1", "::2", "::-1", "-2:", "1:3", "2::-1", "-1::-2", ":"])

    def _folded(self):
        width = self["d"].width
        divisors = [k for k in range(1, width + 1) if width % k == 0] or [1]
        first = int(self._rng.choice(divisors))
        return [-1, first, width // first]

    def _kernel(self):
        return self._members.weight([self["v"].width, self["n"]])

    def _kernel_of_m(self):
        return self._members.weight([self["m"].shape[1], self["n"]])

    def _square(self):
        return self._members.weight([self["v"].width] * 2)

    _square2 = _square

    def _vector(self):
        return self._members.weight([self["v"].width])

    def _vector_of_d(self):
        return self._members.weight([self["d"].shape[-1]])

    def _scalar(self):
        return self._members.weight([])

    def _table(self):
        return self._members.weight([operators.NUM_IDS, self["n"]])

    def _full(self):
        """A matrix with elements: for others TensorFlow leaves gradients of filters unwritten."""
        return self._pick(lambda value: value.is_float and value.rank == 2 and 0 not in value.shape)

    def _filters(self):
        return self._members.weight([2, self["full"].shape[1], self["n"]])

    def _depthwise(self):
        return self._members.weight([2, 1, self["full"].shape[1], 1])

    def _k(self):
        return self._members.integer()

    def _flag(self):
        return self._members.flag()

    def _layer(self):
        return _Layer(self._members)


def _broadcasts(shape, target) -> bool:
    padded = (1,) * (len(target) - len(shape)) + shape
    # A row of lower rank would be aligned with the wrong axes.
    return len(shape) == len(target) and all(
        p in (1, t) for p, t in zip(padded, target, strict=True)
    )


class Draw:
    """Draws the lines of one vertex function."""

    def __init__(self, rng, members, widest):
        self.values = []
        self.lines = []
        self.pushes = []  # (name, value) pairs.
        self._rng, self._members, self._widest = rng, members, widest

    def add(self, source, operator="", sample=None, edges=False) -> Value:
        """Appends a line. Its sample is computed unless it is given."""
        name = f"x{len(self.lines)}"
        if sample is None:
            sample = eval(source, self._members.scope)
        self.lines.append(Line(name, source, operator, edges))
        self.values.append(Value(name, sample, edges))
        self._members.scope[name] = sample
        return self.values[-1]

    def unread(self) -> set[str]:
        """The names of values that no line reads yet."""
        read = {name for line in self.lines for name in line.reads}
        return {value.name for value in self.values} - read

    def of(self, edges: bool) -> list[Value]:
        """The values with rows of edges, or of vertices."""
        return [value for value in self.values if value.edges == edges]

    def try_template(self, operator, template, edges=False, result=None) -> Value | None:
        """Appends a line with the operator, unless no operands fit or its result is of no use.

        Operands have rows of edges, or of vertices; `result` says the same of the result, if it
        differs.
        """
        members = len(self._members.lines)
        result = edges if result is None else result
        fields = Fields(self._rng, self.of(edges), self.unread(), self._members)
        try:
            source = string.Formatter().vformat(template, (), fields)
            sample = eval(source, self._members.scope)
        except Exception:  # TensorFlow rejects these operands, or this type.
            sample = None
        rows = len(SAMPLE_EDGES) if result else SAMPLE_ROWS
        if sample is None or not self._is_useful(sample, rows):
            self._members.forget_after(members)
            return None
        return self.add(source, operator, sample, result)

    def repeat(self, rng):
        """Appends one of the last lines again: equal values are computed once, if all is well."""
        lines = [
            (line, v) for line, v in zip(self.lines, self.values, strict=True) if line.operator
        ]
        if lines:
            line, value = lines[-min(int(rng.geometric(0.5)), len(lines))]
            self.add(line.source, line.operator, value.sample, value.edges)

    def _is_useful(self, sample, rows) -> bool:
        if not tf.is_tensor(sample) or sample.shape.rank == 0 or sample.shape[0] != rows:
            return False
        dtype = self._members.scope["D"]
        if sample.dtype != dtype or sample.shape.rank > 4:
            return False
        if sample.shape.num_elements() > rows * self._widest:
            return False
        numbers = tf.cast(sample, tf.float64).numpy()
        return bool(np.all(np.isfinite(numbers)) and np.max(np.abs(numbers), initial=0) <= LARGEST)


# (weight, choice) pairs.
DTYPES = ((56, "float32"), (24, "float64"), (10, "bfloat16"), (10, "float16"))
STATES = ((4, 1), (4, 2), (4, 3), (6, 4), (4, 5), (4, 8), (2, 16), (1, 17))
BOUNDS = (
    (8, "tf.tanh({x})"),
    (3, "tf.sigmoid({x})"),
    (2, "tf.nn.softsign({x})"),
    (2, "tf.clip_by_value({x}, -1.0, 1.0)"),
    (2, "tf.sin({x})"),
    (1, "0.25 * {x}"),
)


def choose(rng, weighted):
    """Draws from (weight, choice) pairs."""
    weights = np.array([weight for weight, _ in weighted], np.float64)
    return weighted[rng.choice(len(weighted), p=weights / weights.sum())][1]


class ProgramDraw:
    """Draws one program."""

    def __init__(self, rng):
        self._rng = rng
        self._repeats = rng.spawn(1)[0]  # It leaves programs without repeated lines as they are.
        self._edges = rng.spawn(1)[0]  # Likewise of programs without edges.
        self._has_edges = self._edges.random() < 0.3
        self._dtype = choose(rng, DTYPES)
        wide = rng.random() < 0.06
        self._widest = 1024 if wide else 96
        self._sizes = ((1, 0), (3, 64), (2, 256), (1, 1024)) if wide else ((1, 0), *STATES)
        self._state = self._state_shape(wide)
        self._arity = int(choose(rng, ((1, 0), (3, 1), (5, 2), (2, 3))))
        self._num_types = int(choose(rng, ((12, 1), (3, 2), (1, 3))))
        self._coupled = rng.random() < 0.03
        self._stop = 0.35 if rng.random() < 0.8 else 0.12  # Small programs are fast.
        self._most_children = self._arity
        if self._has_edges:
            self._most_children = int(choose(self._edges, ((2, self._arity), (4, 4), (1, 40))))
        self._inputs = self._draw_inputs()
        self._members = Members(rng, self._dtype)
        self._pushes = {}  # Shapes and types by name, of all vertex types.

    def draw(self) -> Program:
        names = ["vertex"] if self._num_types == 1 else ["leaf", "inner", "other"]
        functions = tuple(self._function(names[k], k == 0) for k in range(self._num_types))
        used = {name for f in functions for line in f.lines for name in line.reads}
        members = tuple(line for line in self._members.lines if line.name in used)
        return Program(
            self._dtype,
            self._state,
            self._arity,
            self._pulled_inputs(functions),
            members,
            functions,
            self._coupled,
            max(self._arity, self._most_children),
            self._has_edges,
        )

    def _pulled_inputs(self, functions):
        """The inputs, but those of edges only where something reads them."""
        lines = [line for function in functions for line in function.lines]
        return {
            name: spec
            for name, spec in self._inputs.items()
            if not spec.edges or any(line.pulls(name) for line in lines)
        }

    def _state_shape(self, wide):
        rank = int(choose(self._rng, ((7, 1), (2, 2), (1, 3))))
        if rank == 1:
            return (int(choose(self._rng, ((1, 64), (1, 256), (1, 1024)) if wide else STATES)),)
        return tuple(int(d) for d in self._rng.integers(1, 5, rank))

    def _draw_inputs(self):
        count = int(choose(self._rng, ((1, 0), (5, 1), (3, 2), (1, 3))))
        count = max(count, 1 if self._arity == 0 else 0)
        inputs = {}
        for name in "abc"[:count]:
            rank = int(choose(self._rng, ((1, 0), (7, 1), (2, 2), (1, 3))))
            shape = tuple(int(d) for d in self._rng.integers(1, 5, rank))
            inputs[name] = Input(
                (int(choose(self._rng, self._sizes)),) if rank == 1 else shape, "float"
            )
        if self._rng.random() < 0.5:
            inputs["ids"] = Input((), "id")
        if self._rng.random() < 0.15:
            inputs["mask"] = Input((1,), "bool")
        if self._has_edges and self._edges.random() < 0.6:
            inputs["along"] = Input((int(choose(self._edges, STATES)),), "float", edges=True)
        return inputs

    def _sample(self, shape, kind):
        numbers = self._rng.uniform(-1, 1, (SAMPLE_ROWS, *shape))
        return input_rows(numbers, kind, self._dtype)

    def _function(self, name, is_first):
        draw = Draw(self._rng, self._members, self._widest)
        self._read(draw)
        for _ in range(1 + int(self._rng.geometric(self._stop))):
            self._draw_line(draw)
        if self._coupled and is_first:
            self._draw_coupled(draw)
        if self._has_edges:
            self._reduce_edges(draw)
        pushes = self._finish_pushes(draw, is_first)
        state = self._finish_state(draw)
        return without_dead_lines(VertexFunction(name, tuple(draw.lines), state, pushes))

    def _read(self, draw):
        """Draws lines that pull and gather."""
        if self._has_edges:
            self._read_edges(draw)
        for name, spec in self._inputs.items():
            if spec.edges:
                continue
            if self._rng.random() < 0.85 or not draw.lines:
                draw.add(f"self.pull({name!r})", sample=self._sample(spec.shape, spec.kind))
        for slot in range(self._arity):
            if self._rng.random() < 0.9 or not draw.lines:
                draw.add(f"self.gather({slot})", sample=self._sample(self._state, "float"))
        if self._arity and self._rng.random() < 0.15 and self._most_children <= self._arity:
            sample = self._sample((self._arity, *self._state), "float")
            draw.add("self.gather_all()", sample=sample)

    def _read_edges(self, draw):
        """Draws lines that read the children's states and inputs along edges."""
        count = len(SAMPLE_EDGES)
        for name, spec in self._inputs.items():
            if spec.edges and self._edges.random() < 0.9:
                numbers = self._edges.uniform(-1, 1, (count, *spec.shape))
                rows = input_rows(numbers, spec.kind, self._dtype)
                draw.add(f"self.pull_edge({name!r})", sample=rows, edges=True)
        if self._edges.random() < 0.9 or not draw.lines:
            numbers = self._edges.uniform(-1, 1, (count, *self._state))
            rows = input_rows(numbers, "float", self._dtype)
            draw.add("self.children()", sample=rows, edges=True)

    def _draw_line(self, draw):
        edges = self._has_edges and self._edges.random() < 0.4
        if self._has_edges and self._edges.random() < 0.35 and self._cross(draw):
            return
        for _ in range(8):
            family = choose(self._rng, operators.FAMILIES)
            operator = self._rng.choice(list(family))
            if draw.try_template(str(operator), family[operator], edges):
                if self._repeats.random() < 0.08:
                    draw.repeat(self._repeats)
                return

    def _cross(self, draw):
        """Draws a line between rows of vertices and rows of edges."""
        operator = str(self._edges.choice(list(operators.CROSSINGS)))
        template, edges, result = operators.CROSSINGS[operator]
        return draw.try_template(operator, template, edges, result)

    def _reduce_edges(self, draw):
        """Draws sums of rows of edges that no line reads yet."""
        if not any(value.is_float for value in draw.of(edges=False)):
            unread = [v for v in draw.of(edges=True) if v.is_float]
        else:
            unread = [v for v in draw.of(edges=True) if v.is_float and v.name in draw.unread()]
        for value in unread[-2:]:
            draw.add(f"self.sum_children({value})")

    def _draw_coupled(self, draw):
        for operator in self._rng.permutation(list(operators.COUPLED)):
            if draw.try_template(str(operator), operators.COUPLED[operator]):
                return

    def _finish_pushes(self, draw, is_first):
        if is_first:
            for name in ("p", "q", "r")[: int(choose(self._rng, ((6, 1), (3, 2), (1, 3))))]:
                value = self._pushable(draw)
                self._pushes[name] = value.shape, value.sample.dtype
                draw.pushes.append((name, value.name))
        else:
            for name, (shape, dtype) in self._pushes.items():
                if self._rng.random() < 0.85:
                    draw.pushes.append((name, self._cast_to(draw, shape, dtype).name))
        return tuple(draw.pushes)

    def _pushable(self, draw):
        """A value to push, preferably one that no line reads yet."""
        unread = [v for v in draw.of(edges=False) if v.name in draw.unread() and v.is_float]
        choices = unread if unread and self._rng.random() < 0.7 else draw.of(edges=False)
        return choices[-min(len(choices), int(self._rng.geometric(0.5)))]

    def _cast_to(self, draw, shape, dtype):
        """A value with rows of the shape; converts another one if there is none."""
        values = draw.of(edges=False)
        same = [v for v in values if v.shape == shape and v.sample.dtype == dtype]
        if same and (self._rng.random() < 0.7 or not dtype.is_floating):
            return same[self._rng.integers(len(same))]
        floats = [v for v in values if v.is_float]
        if not dtype.is_floating or not floats:
            anything = values[-1].name
            name = "D" if dtype == self._members.scope["D"] else f"tf.{dtype.name}"
            return draw.add(f"tf.zeros([tf.shape({anything})[0], *{shape}], {name})")
        return self._projected(draw, floats[-1], shape)

    def _projected(self, draw, value, shape):
        size = int(np.prod(shape))
        if value.rank != 1:
            rows = -1 if value.width else f"tf.shape({value})[0]"
            value = draw.add(f"tf.reshape({value}, [{rows}, {value.width}])")
        if value.width != size:
            value = draw.add(f"tf.matmul({value}, {self._members.weight([value.width, size])})")
        if value.shape != tuple(shape):
            rows = -1 if size else f"tf.shape({value})[0]"
            value = draw.add(f"tf.reshape({value}, [{', '.join(map(str, (rows, *shape)))}])")
        return value

    def _finish_state(self, draw):
        """Makes the state of values that no line reads yet, or of one of the last lines."""
        floats = [v for v in draw.of(edges=False) if v.is_float]
        unread = [v for v in floats if v.name in draw.unread()]
        if not floats:
            dtype = self._members.scope["D"]
            return self._cast_to(draw, self._state, dtype).name
        parts = [self._projected(draw, v, self._state) for v in (unread or floats[-1:])[-3:]]
        value = parts[0]
        for part in parts[1:]:
            value = draw.add(f"{value} + {part}")
        return draw.add(choose(self._rng, BOUNDS).format(x=value)).name


def without_dead_lines(function: VertexFunction) -> VertexFunction:
    """The function without lines that neither its state nor a push needs."""
    needed = {function.state, *(value for _, value in function.pushes)}
    kept = []
    for line in reversed(function.lines):
        if line.name in needed:
            needed.update(line.reads)
            kept.append(line)
    return dataclasses.replace(function, lines=tuple(reversed(kept)))


def input_rows(numbers, kind, dtype) -> tf.Tensor:
    """Converts numbers in [-1, 1] to rows of an input of some kind."""
    if kind == "float":
        return tf.constant(numbers, dtype)
    if kind == "id":
        ids = np.floor((numbers + 1) / 2 * operators.NUM_IDS)
        return tf.constant(np.minimum(ids, operators.NUM_IDS - 1), tf.int32)
    return tf.constant(numbers > 0)


def draw_program(rng) -> Program:
    return ProgramDraw(rng).draw()
