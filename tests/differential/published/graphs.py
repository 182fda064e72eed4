"""Cells of directed acyclic graphs and of lattices."""

import keras
import numpy as np
import tensorflow as tf

from tests.differential.published._base import (
    UNITS,
    PublishedCell,
    affine,
    dense,
    lstm,
    matrix,
    normalised,
    sigmoid,
    softmax,
)


class _MaskedCell(PublishedCell):
    """A cell that is told which children there are."""

    arity = 3

    def inputs(self, graphs, generator):
        counts = np.diff(graphs.child_splits)[:, np.newaxis]
        x = super().inputs(graphs, generator)
        return {"x": x, "is_child": np.arange(self.arity) < counts}


class LatticeLSTM(_MaskedCell):
    """Zhang and Yang 2018, arXiv:1805.02023, equations 11 to 15: a character and its words.

    The first child is the character before, or the word's first character; others are words that
    end here.
    """

    vectors = 2

    def make(self):
        self.gates, self.word_gate = dense(3 * UNITS), dense()

    def vertex(self):
        x = self.pull("x")
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, o, g = tf.split(self.gates(tf.concat([x, h], axis=1)), 3, axis=1)
        words = self.gather_all()[:, 1:, :UNITS]
        shape = [tf.shape(x)[0], self.arity - 1, x.shape[1]]
        repeated = tf.broadcast_to(x[:, tf.newaxis], shape)
        scores = self.word_gate(tf.concat([repeated, words], axis=2))
        scores = tf.concat([tf.sigmoid(i)[:, tf.newaxis], tf.sigmoid(scores)], axis=1)
        is_word = self.pull("is_child")[:, 1:, tf.newaxis]
        mask = tf.concat([tf.ones_like(is_word[:, :1]), is_word], axis=1)
        weights = tf.nn.softmax(tf.where(mask, scores, -np.inf), axis=1)
        cells = tf.concat([tf.tanh(g)[:, tf.newaxis], words], axis=1)
        lattice = tf.reduce_sum(weights * cells, axis=1)
        plain = tf.sigmoid(i) * tf.tanh(g) + (1 - tf.sigmoid(i)) * c
        c = tf.where(tf.reduce_any(is_word, axis=1), lattice, plain)
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        x, (first, *words) = x["x"], self.in_slots(children[:1])[:1].tolist() + children[1:]
        c, h = np.split(np.array(first), 2)
        i, o, g = np.split(affine(self.gates, x, h), 3)
        if words:
            scores = [affine(self.word_gate, x, word[:UNITS]) for word in words]
            exponentials = np.exp(sigmoid(np.array([i, *scores])))
            cells = np.array([np.tanh(g), *(word[:UNITS] for word in words)])
            c = np.sum(exponentials / exponentials.sum(axis=0) * cells, axis=0)
        else:
            c = sigmoid(i) * np.tanh(g) + (1 - sigmoid(i)) * c
        h = sigmoid(o) * np.tanh(c)
        return np.concatenate([c, h]), h


class GraphLSTM(PublishedCell):
    """Peng et al. 2017, arXiv:1708.03743, section 3.3: edge types as embeddings."""

    arity, vectors, types, size = 3, 2, 4, 2

    def make(self):
        self.w_iou, self.w_f = dense(3 * UNITS), dense()
        for name, columns in (("u_iou", 3 * UNITS), ("u_f", UNITS)):
            shape = (UNITS, self.size, columns)
            weight = self.add_weight(shape=shape, initializer="glorot_uniform", name=name)
            setattr(self, name, weight)
        self.embedding = keras.layers.Embedding(self.types, self.size, dtype="float64")

    def inputs(self, graphs, generator):
        edges = generator.integers(0, self.types, [graphs.num_vertices, self.arity])
        return {"x": super().inputs(graphs, generator), "edge_types": edges.astype("int32")}

    def vertex(self):
        x, edges = self.pull("x"), self.embedding(self.pull("edge_types"))
        cells, states = tf.split(self.gather_all(), 2, axis=2)
        iou = self.w_iou(x) + tf.einsum("nkd,nke,deu->nu", states, edges, self.u_iou)
        i, o, u = tf.split(iou, 3, axis=1)
        f = self.w_f(x)[:, tf.newaxis] + tf.einsum("nkd,nke,deu->nku", states, edges, self.u_f)
        c = tf.sigmoid(i) * tf.tanh(u) + tf.reduce_sum(tf.sigmoid(f) * cells, axis=1)
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        table, (x, types) = self.embedding.get_weights()[0], (x["x"], x["edge_types"])
        iou, kept = affine(self.w_iou, x), 0
        for edge, child in zip(types, children, strict=False):
            c, h = np.split(child, 2)
            product = np.outer(h, table[edge])
            iou = iou + np.tensordot(product, self.u_iou.numpy(), 2)
            f = affine(self.w_f, x) + np.tensordot(product, self.u_f.numpy(), 2)
            kept = kept + sigmoid(f) * c
        i, o, u = np.split(iou, 3)
        c, h = lstm(i, kept, o, u)
        return np.concatenate([c, h]), h


class DAGNN(_MaskedCell):
    """Thost and Chen 2021, arXiv:2101.07965, equations 4 to 6: attention, then a GRU."""

    def make(self):
        self.of_vertex, self.of_child = matrix(1), matrix(1)
        self.gru = keras.layers.GRUCell(
            UNITS, reset_after=False, bias_initializer="random_normal", dtype="float64"
        )

    def vertex(self):
        x, states = self.pull("x"), self.gather_all()
        scores = self.of_vertex(x)[:, tf.newaxis] + self.of_child(states)
        scores = tf.where(self.pull("is_child")[:, :, tf.newaxis], scores, -1e9)
        message = tf.reduce_sum(tf.nn.softmax(scores, axis=1) * states, axis=1)
        h, _ = self.gru(x, [message])
        self.finish(h)

    def equations(self, x, children):
        message = np.zeros(UNITS)
        if children:
            states = np.array(children)
            scores = affine(self.of_vertex, x["x"]) + affine(self.of_child, states)
            message = softmax(scores[:, 0]) @ states
        h = gru(self.gru, x["x"], message)
        return h, h


class GatedSum(PublishedCell):
    """Zhang et al. 2019, D-VAE, arXiv:1904.11088, equations 4 and 5: a gated sum, then a GRU."""

    arity = 3

    def make(self):
        self.gate, self.map = dense(UNITS, "sigmoid"), matrix()
        self.gru = keras.layers.GRUCell(
            UNITS, reset_after=False, bias_initializer="random_normal", dtype="float64"
        )

    def vertex(self):
        states = self.gather_all()
        message = tf.reduce_sum(self.gate(states) * self.map(states), axis=1)
        h, _ = self.gru(self.pull(), [message])
        self.finish(h)

    def equations(self, x, children):
        gated = [sigmoid(affine(self.gate, h)) * affine(self.map, h) for h in children]
        h = gru(self.gru, x, sum(gated, np.zeros(UNITS)))
        return h, h


class GraphAttention(_MaskedCell):
    """Velickovic et al. 2018, arXiv:1710.10903, equations 3 to 6, over children."""

    heads = 2

    def make(self):
        self.own, self.map = dense(), matrix()
        shape = (self.heads, UNITS // self.heads)
        self.a_own = self.add_weight(shape=shape, initializer="random_normal", name="a_own")
        self.a_child = self.add_weight(shape=shape, initializer="random_normal", name="a_child")

    def vertex(self):
        own, children = self.own(self.pull("x")), self.map(self.gather_all())
        own = tf.reshape(own, [-1, self.heads, UNITS // self.heads])
        children = tf.reshape(children, [-1, self.arity, self.heads, UNITS // self.heads])
        scores = tf.reduce_sum(own * self.a_own, axis=2)[:, tf.newaxis]
        scores = tf.nn.leaky_relu(scores + tf.reduce_sum(children * self.a_child, axis=3))
        scores = tf.where(self.pull("is_child")[:, :, tf.newaxis], scores, -1e9)
        weights = tf.nn.softmax(scores, axis=1)
        total = own + tf.reduce_sum(weights[..., tf.newaxis] * children, axis=1)
        self.finish(tf.nn.elu(tf.reshape(total, [-1, UNITS])))

    def equations(self, x, children):
        own = affine(self.own, x["x"]).reshape(self.heads, -1)
        total = own
        if children:
            mapped = affine(self.map, np.array(children)).reshape(len(children), *own.shape)
            scores = np.sum(own * self.a_own.numpy(), 1) + np.sum(mapped * self.a_child.numpy(), 2)
            weights = softmax(np.where(scores < 0, 0.2 * scores, scores), axis=0)
            total = own + np.sum(weights[..., np.newaxis] * mapped, axis=0)
        total = total.ravel()
        return (np.where(total < 0, np.expm1(np.minimum(total, 0)), total),) * 2


class GATv2(_MaskedCell):
    """Brody, Alon and Yahav 2022, arXiv:2105.14491, equation 7, over children, with heads."""

    heads = 2

    def make(self):
        self.own, self.map = dense(), matrix()
        shape = (self.heads, UNITS // self.heads)
        self.a = self.add_weight(shape=shape, initializer="random_normal", name="a")

    def vertex(self):
        own = tf.reshape(self.own(self.pull("x")), [-1, *self.a.shape])
        children = tf.reshape(self.map(self.gather_all()), [-1, self.arity, *self.a.shape])
        joined = tf.nn.leaky_relu(own[:, tf.newaxis] + children)
        scores = tf.einsum("nkhd,hd->nkh", joined, self.a)
        scores = tf.where(self.pull("is_child")[:, :, tf.newaxis], scores, -1e9)
        total = own + tf.einsum("nkh,nkhd->nhd", tf.nn.softmax(scores, axis=1), children)
        self.finish(tf.nn.elu(tf.reshape(total, [-1, UNITS])))

    def equations(self, x, children):
        total = own = affine(self.own, x["x"]).reshape(self.a.shape)
        if children:
            mapped = affine(self.map, np.array(children)).reshape(-1, *self.a.shape)
            joined = own + mapped
            scores = np.sum(np.where(joined < 0, 0.2 * joined, joined) * self.a.numpy(), axis=2)
            total = own + np.sum(softmax(scores, axis=0)[..., np.newaxis] * mapped, axis=0)
        total = total.ravel()
        return (np.where(total < 0, np.expm1(np.minimum(total, 0)), total),) * 2


class LatticeAttention(PublishedCell):
    """Sperber et al. 2019, arXiv:1906.01617, equations 1 to 6: scores and log probabilities.

    A vertex attends to itself and to those before it, by how probable these are.
    """

    arity, heads = 3, 2

    def make(self):
        self.x, self.norm = dense(), keras.layers.LayerNormalization(dtype="float64")
        self.q, self.k, self.v, self.o = (matrix() for _ in range(4))

    def inputs(self, graphs, generator):
        is_child = np.arange(self.arity) < np.diff(graphs.child_splits)[:, np.newaxis]
        log_p = np.log(generator.uniform(0.1, 1, is_child.shape))
        x = super().inputs(graphs, generator)
        return {"x": x, "log_p": np.where(is_child, log_p, -np.inf)}

    def vertex(self):
        x, shape = self.x(self.pull("x")), [-1, 1 + self.arity, self.heads, UNITS // self.heads]
        everything = tf.concat([x[:, tf.newaxis], self.gather_all()], axis=1)
        k, v = (tf.reshape(part(everything), shape) for part in (self.k, self.v))
        q = tf.reshape(self.q(x), [-1, *shape[2:]])
        scores = tf.einsum("nhd,nkhd->nhk", q, k) / np.sqrt(shape[3])
        scores += tf.pad(self.pull("log_p"), [[0, 0], [1, 0]])[:, tf.newaxis]
        attended = tf.einsum("nhk,nkhd->nhd", tf.nn.softmax(scores), v)
        self.finish(self.norm(x + self.o(tf.reshape(attended, [-1, UNITS]))))

    def equations(self, x, children):
        log_p, x = np.append(0, x["log_p"][: len(children)]), affine(self.x, x["x"])
        states, attended = np.array([x, *children]), []
        split = [np.split(affine(part, states), self.heads, 1) for part in (self.k, self.v)]
        for q, k, v in zip(np.split(affine(self.q, x), self.heads), *split, strict=True):
            attended.append(softmax(k @ q / np.sqrt(q.size) + log_p) @ v)
        return (normalised(self.norm, x + affine(self.o, *attended)),) * 2


class SentenceStateLSTM(PublishedCell):
    """Zhang, Liu and Song 2018, S-LSTM, arXiv:1805.02474, equations 2 and 3: a word's step.

    The children are the word before, the word itself, the word after and the sentence, a step ago.
    """

    arity, vectors = 4, 2

    def make(self):
        self.gates, self.out, self.new = dense((1 + self.arity) * UNITS), dense(), dense()

    def vertex(self):
        cells, states = tf.split(self.gather_all(), 2, axis=2)
        both = tf.concat([self.pull(), tf.reshape(states, [-1, self.arity * UNITS])], axis=1)
        gates = tf.reshape(tf.sigmoid(self.gates(both)), [-1, 1 + self.arity, UNITS])
        cells = tf.concat([tf.tanh(self.new(both))[:, tf.newaxis], cells], axis=1)
        c = tf.einsum("nku,nku->nu", tf.nn.softmax(gates, axis=1), cells)
        self.finish(c, tf.sigmoid(self.out(both)) * tf.tanh(c))

    def equations(self, x, children):
        cells, states = np.split(self.in_slots(children), 2, axis=1)
        both = x, states.ravel()
        gates = softmax(sigmoid(affine(self.gates, *both)).reshape(-1, UNITS), axis=0)
        c = np.sum(gates * [np.tanh(affine(self.new, *both)), *cells], axis=0)
        h = sigmoid(affine(self.out, *both)) * np.tanh(c)
        return np.concatenate([c, h]), h


class GraphIsomorphism(PublishedCell):
    """Xu et al. 2019, GIN, arXiv:1810.00826, equation 4.1: a weight of its own for the vertex."""

    arity = 3

    def make(self):
        self.x, self.wide, self.narrow = dense(), dense(2 * UNITS, "relu"), dense()
        self.epsilon = self.add_weight(shape=(), initializer="random_normal", name="epsilon")

    def vertex(self):
        own = (1 + self.epsilon) * self.x(self.pull())
        total = own + tf.reduce_sum(self.gather_all(), axis=1)
        self.finish(self.narrow(self.wide(total)))

    def equations(self, x, children):
        own = (1 + self.epsilon.numpy()) * affine(self.x, x)
        wide = np.maximum(affine(self.wide, sum(children, own)), 0)
        return (affine(self.narrow, wide),) * 2


class PrincipalAggregation(_MaskedCell):
    """Corso et al. 2020, PNA, arXiv:2004.05718, equations 1 to 8: four aggregators, three scalers.

    The statistics of no children are zero.
    """

    def make(self):
        self.x, self.message, self.mix = dense(), dense(), matrix()

    def vertex(self):
        messages, is_child = (
            self.message(self.gather_all()),
            self.pull("is_child")[:, :, tf.newaxis],
        )
        mask = tf.cast(is_child, messages.dtype)
        count = tf.reduce_sum(mask, axis=1)
        mean, square = (
            tf.math.divide_no_nan(tf.reduce_sum(mask * values, axis=1), count)
            for values in (messages, messages**2)
        )
        deviation = (tf.nn.relu(square - mean**2) + 1e-5) ** 0.5
        largest = tf.reduce_max(tf.where(is_child, messages, -np.inf), axis=1)
        smallest = tf.reduce_min(tf.where(is_child, messages, np.inf), axis=1)
        extremes = [tf.where(tf.math.is_finite(found), found, 0.0) for found in (largest, smallest)]
        found = tf.concat([mean, deviation, *extremes], axis=1)
        scale = tf.math.log(count + 1)
        found = tf.concat([found, found * scale, tf.math.divide_no_nan(found, scale)], axis=1)
        self.finish(tf.tanh(self.x(self.pull("x")) + self.mix(found)))

    def equations(self, x, children):
        found = np.repeat([0, 1e-5**0.5, 0, 0], UNITS)
        scale, unscaled = np.log(len(children) + 1), 0
        if children:
            messages = affine(self.message, np.array(children))
            deviation = np.sqrt(np.maximum(np.var(messages, axis=0), 0) + 1e-5)
            found = [messages.mean(0), deviation, messages.max(0), messages.min(0)]
            found = np.concatenate(found)
            unscaled = found / scale
        found = np.concatenate([found, found * scale, unscaled + np.zeros_like(found)])
        return (np.tanh(affine(self.x, x["x"]) + affine(self.mix, found)),) * 2


def gru(layer, x, h):
    """What a GRUCell computes that resets before its product."""
    kernel, recurrent, bias = layer.get_weights()
    (k_z, k_r, k_h), (u_z, u_r, u_h) = np.split(kernel, 3, 1), np.split(recurrent, 3, 1)
    b_z, b_r, b_h = np.split(bias, 3)
    z, r = sigmoid(x @ k_z + h @ u_z + b_z), sigmoid(x @ k_r + h @ u_r + b_r)
    return z * h + (1 - z) * np.tanh(x @ k_h + (r * h) @ u_h + b_h)


GRAPH_CELLS = (
    LatticeLSTM,
    GraphLSTM,
    DAGNN,
    GatedSum,
    GraphAttention,
    GATv2,
    LatticeAttention,
    SentenceStateLSTM,
    GraphIsomorphism,
    PrincipalAggregation,
)
