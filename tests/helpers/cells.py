"""Vertex functions that the tests run: a few of every kind, and graphs to run them on."""

import numpy as np
import tensorflow as tf

import cavs_tf as cavs

FEATURES = 3
STATE = 4


class Linear(cavs.GraphSupport):
    """One weight for the input, and one for the sum of the children."""

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(STATE, dtype=self.dtype_policy)
        self.u = tf.keras.layers.Dense(STATE, use_bias=False, dtype=self.dtype_policy)

    def vertex(self):
        children = [self.u(self.gather(k)) for k in range(self.arity)]
        state = tf.tanh(tf.add_n([self.w(self.pull()), *children]))
        self.scatter(state)
        self.push(state)


class TreeLSTM(cavs.GraphSupport):
    """A child-sum cell with a forget gate for each child; one product computes several gates."""

    def __init__(self, arity=2, units=STATE, **kwargs):
        super().__init__(state_size=2 * units, arity=arity, **kwargs)
        self.iou = tf.keras.layers.Dense(3 * units, dtype=self.dtype)
        self.wf = tf.keras.layers.Dense(units, dtype=self.dtype)
        self.uf = tf.keras.layers.Dense(units, dtype=self.dtype)

    def vertex(self):
        x = self.pull()
        pairs = [tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)]
        total = tf.add_n([h for _, h in pairs])
        i, o, u = tf.split(self.iou(tf.concat([x, total], 1)), 3, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u)
        for c_k, h_k in pairs:
            c += tf.sigmoid(self.wf(x) + self.uf(h_k)) * c_k
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)


class JointGates(cavs.GraphSupport):
    """One product of the input and all children gives all gates, of which leaves need some."""

    transpose = False

    def __init__(self, arity=2, units=STATE, **kwargs):
        super().__init__(state_size=2 * units, arity=arity, **kwargs)
        shape = (FEATURES + arity * units, (3 + arity) * units)
        self.w = self.add_weight(shape=shape[::-1] if self.transpose else shape, name="w")
        self.b = self.add_weight(shape=shape[1:], name="b")

    def vertex(self):
        pairs = [tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)]
        x = tf.concat([self.pull(), *(h for _, h in pairs)], axis=1)
        gates = tf.matmul(x, self.w, transpose_b=self.transpose) + self.b
        i, *fs, o, u = tf.split(gates, 3 + self.arity, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u)
        for f, (c_k, _) in zip(fs, pairs, strict=True):
            c += tf.sigmoid(f) * c_k
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)


class TransposedGates(JointGates):
    """The same with the weight that other libraries have."""

    transpose = True


class RepeatedProducts(cavs.GraphSupport):
    """Equal products of one operand: their gradients are summed before they are multiplied."""

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(STATE, dtype=self.dtype)
        self.u = self.add_weight(shape=(STATE, STATE), name="u")

    def vertex(self):
        state = self.w(self.pull()) + tf.sin(self.w(self.pull()))
        for k in range(self.arity):
            child = self.gather(k)
            gated = tf.sigmoid(tf.matmul(child, self.u)) * tf.tanh(tf.matmul(child, self.u))
            state += gated + tf.sin(child)
        self.scatter(state)
        self.push(tf.tanh(state))


class Elementwise(cavs.GraphSupport):
    """Every native elementwise operator, on rows, vectors and scalars."""

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(STATE, dtype=self.dtype)
        self.scale = self.add_weight(shape=(STATE,), initializer="ones")

    def vertex(self):
        x = self.w(self.pull())
        s = tf.add_n([self.gather(k) for k in range(self.arity)]) if self.arity else x
        a = tf.sigmoid(x) * self.scale + tf.exp(-tf.square(s)) / 2.0
        b = tf.sqrt(1.0 + tf.abs(s)) - tf.math.log(2.0 + tf.square(x)) + tf.nn.relu(x)
        c = tf.maximum(a, b) + tf.minimum(a, 1.0) - tf.math.squared_difference(a, b)
        d = tf.math.rsqrt(2.0 + tf.square(c)) * tf.math.reciprocal(1.0 + tf.square(b))
        total = tf.reduce_sum(d, axis=1, keepdims=True)
        state = tf.tanh(d * total + tf.identity(s))
        self.scatter(state)
        self.push(-state)


class Fallback(cavs.GraphSupport):
    """Operators that are run by TensorFlow's kernels."""

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(STATE, dtype=self.dtype)
        self.norm = tf.keras.layers.LayerNormalization(dtype=self.dtype)
        self.table = self.add_weight(shape=(5, STATE), initializer="glorot_uniform", name="table")

    def vertex(self):
        x = self.w(self.pull("x"))
        total = tf.add_n([self.gather(k) for k in range(self.arity)]) if self.arity else x
        state = self.norm(x + total)
        state = tf.nn.softmax(state) * tf.nn.elu(tf.math.cumulative_logsumexp(state, axis=1))
        state += tf.gather(self.table, self.pull("token"))
        mask = tf.ones([1, STATE], state.dtype)
        mask = tf.nn.experimental.stateless_dropout(mask, 0.5, seed=[1, 2])
        state = tf.where(state > 0.1, state * mask, tf.sin(state))
        self.scatter(state)
        self.push(tf.reduce_max(state, axis=1), "largest")
        self.push(tf.reshape(state, [-1, 2, STATE // 2]), "folded")


class Typed(cavs.GraphSupport):
    """Three vertex types with one kind of state and different outputs."""

    vertex_types = ("leaf", "inner", "bag")

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(STATE, dtype=self.dtype)
        self.u = tf.keras.layers.Dense(STATE, dtype=self.dtype)

    def leaf(self):
        state = tf.tanh(self.w(self.pull()))
        self.scatter(state)
        self.push(state)

    def inner(self):
        total = tf.add_n([self.gather(k) for k in range(self.arity)])
        state = tf.tanh(self.u(total))
        self.scatter(state)
        self.push(state)
        self.push(tf.reduce_sum(state, axis=1), "sum")

    def bag(self):
        state = tf.add_n([self.gather(k) for k in range(self.arity)]) + self.w(self.pull())
        self.scatter(0.5 * state)
        self.push(state)


class FullyConnected(cavs.GraphSupport):
    """A product of the concatenated states of all children: a view, if these are adjacent."""

    vertex_types = ("leaf", "inner")

    def __init__(self, arity=2, units=STATE, **kwargs):
        super().__init__(state_size=units, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(units, dtype=self.dtype)
        self.u = tf.keras.layers.Dense(units, activation="tanh", dtype=self.dtype)

    def leaf(self):
        self.finish(self.w(self.pull()))

    def inner(self):
        self.finish(self.u(tf.concat([self.gather(k) for k in range(self.arity)], axis=1)))

    def finish(self, state):
        self.scatter(state)
        self.push(state)


class PushOnly(cavs.GraphSupport):
    """The state depends on inputs only; what is gathered is only pushed."""

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(STATE, dtype=self.dtype)

    def vertex(self):
        x = self.w(self.pull())
        self.scatter(x)
        self.push(tf.add_n([x, *(self.gather(k) for k in range(self.arity))]))


class Branching(cavs.GraphSupport):
    """A loop, a condition on weights and a nested function, each of which captures variables."""

    def __init__(self, arity=2, **kwargs):
        super().__init__(state_size=STATE, arity=arity, **kwargs)
        self.w = tf.keras.layers.Dense(STATE, dtype=self.dtype)
        self.gain = self.add_weight(shape=(), initializer="ones", name="gain")
        # Made here, it is not traced for every vertex that the reference executor evaluates.
        self.amplify = tf.function(lambda x: x * tf.convert_to_tensor(self.gain))

    def vertex(self):
        total = tf.add_n([self.w(self.pull()), *(self.gather(k) for k in range(self.arity))])
        for _ in range(2):
            total = tf.tanh(self.amplify(total))
        _, total = tf.while_loop(
            lambda i, _: i < 3, lambda i, x: (i + 1, tf.sin(x) + 0.1), (0, total)
        )
        self.scatter(total)
        self.push(total)


CELLS = (
    Linear,
    TreeLSTM,
    JointGates,
    TransposedGates,
    RepeatedProducts,
    Elementwise,
    PushOnly,
    Fallback,
    Typed,
    Branching,
)


def inputs_for(cell, num_vertices, dtype, seed):
    """Random inputs of the types and shapes that `cell` pulls."""
    generator = np.random.default_rng(seed)
    x = tf.constant(generator.standard_normal((num_vertices, FEATURES)), dtype)
    if isinstance(cell, Fallback):
        return {"x": x, "token": tf.constant(generator.integers(0, 5, num_vertices), tf.int32)}
    return x


def random_children(generator, num_vertices, arity, kind):
    """Child lists of one random graph; children precede parents unless they are shuffled."""
    children = [[] for _ in range(num_vertices)]
    if arity == 0:
        kind = "lone"
    if kind == "chain":
        for v in range(1, num_vertices):
            children[v] = [v - 1]
    elif kind == "tree":
        free = []
        for v in range(num_vertices):
            count = int(generator.integers(0, min(arity, len(free)) + 1))
            if v == num_vertices - 1:
                count = min(arity, len(free))
            children[v] = [free.pop() for _ in range(count)]
            free.append(v)
    elif kind == "dag":
        for v in range(1, num_vertices):
            count = int(generator.integers(0, arity + 1))
            children[v] = [int(c) for c in generator.integers(-1, v, count)]
    names = generator.permutation(num_vertices)
    shuffled = [None] * num_vertices
    for v, own in enumerate(children):
        shuffled[names[v]] = [int(names[c]) if c >= 0 else -1 for c in own]
    return shuffled


def random_graphs(seed, num_graphs, largest, arity=2, num_types=1):
    """Random graphs, some empty, some of one vertex."""
    generator = np.random.default_rng(seed)
    kinds = ("chain", "tree", "dag", "lone")
    children = [
        random_children(
            generator,
            int(generator.integers(0, largest + 1)),
            arity,
            kinds[int(generator.integers(len(kinds)))],
        )
        for _ in range(num_graphs)
    ]
    total = sum(map(len, children))
    types = generator.integers(0, num_types, total).tolist() if num_types > 1 else None
    return cavs.GraphBatch.from_children(children, types)


def in_types(graphs):
    """The graphs with type 0 for vertices without children and type 1 for others."""
    splits = graphs.child_splits
    types = tf.cast(splits[1:] > splits[:-1], tf.int32)
    return cavs.GraphBatch(splits, graphs.child_ids, graphs.graph_splits, types)
