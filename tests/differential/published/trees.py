"""Cells of trees."""

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


class ChildSumTreeLSTM(PublishedCell):
    """Tai, Socher and Manning 2015, arXiv:1503.00075, equations 2 to 8."""

    arity, vectors = 3, 2

    def make(self):
        self.w_iou, self.u_iou = dense(3 * UNITS), matrix(3 * UNITS)
        self.w_f, self.u_f = dense(), matrix()

    def vertex(self):
        x = self.pull()
        children = [tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)]
        total = tf.add_n([h for _, h in children])
        i, o, u = tf.split(self.w_iou(x) + self.u_iou(total), 3, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u)
        for c_k, h_k in children:
            c += tf.sigmoid(self.w_f(x) + self.u_f(h_k)) * c_k
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        pairs = [np.split(child, 2) for child in children]
        total = sum((h for _, h in pairs), np.zeros(UNITS))
        i, o, u = np.split(affine(self.w_iou, x) + affine(self.u_iou, total), 3)
        kept = sum(sigmoid(affine(self.w_f, x) + affine(self.u_f, h)) * c for c, h in pairs)
        c, h = lstm(i, kept, o, u)
        return np.concatenate([c, h]), h


class NaryTreeLSTM(PublishedCell):
    """Tai, Socher and Manning 2015, arXiv:1503.00075, equations 9 to 14."""

    arity, vectors = 2, 2

    def make(self):
        self.w = {gate: dense() for gate in "ifou"}
        self.u = {gate: [matrix() for _ in range(self.arity)] for gate in "iou"}
        self.u_f = [[matrix() for _ in range(self.arity)] for _ in range(self.arity)]

    def vertex(self):
        x = self.pull()
        cells, states = zip(
            *[tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)], strict=True
        )

        def gate(name, matrices):
            terms = [u(h) for u, h in zip(matrices, states, strict=True)]
            return self.w[name](x) + tf.add_n(terms)

        i, o, u = (gate(name, self.u[name]) for name in "iou")
        c = tf.sigmoid(i) * tf.tanh(u)
        for c_k, matrices in zip(cells, self.u_f, strict=True):
            c += tf.sigmoid(gate("f", matrices)) * c_k
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        pairs = [np.split(child, 2) for child in children]

        def gate(name, matrices):
            terms = zip(matrices, pairs, strict=False)
            return affine(self.w[name], x) + sum(affine(u, h) for u, (_, h) in terms)

        kept = sum(
            sigmoid(gate("f", matrices)) * c
            for (c, _), matrices in zip(pairs, self.u_f, strict=False)
        )
        c, h = lstm(*(gate("i", self.u["i"]), kept), *(gate(g, self.u[g]) for g in "ou"))
        return np.concatenate([c, h]), h


class AttentiveTreeLSTM(PublishedCell):
    """Zhou, Liu and Pan 2016, arXiv:1610.02806, section 3: attention instead of a sum."""

    arity, vectors = 3, 2

    def make(self):
        self.key, self.query, self.score = matrix(), matrix(), matrix(1)
        self.mix = dense(UNITS, "tanh")
        self.w_iou, self.u_iou = dense(3 * UNITS), matrix(3 * UNITS)
        self.w_f, self.u_f = dense(), matrix()

    def inputs(self, graphs, generator):
        return _with_mask(super().inputs(graphs, generator), graphs, self.arity)

    def vertex(self):
        x = self.pull("x")
        c_k, h_k = tf.split(self.gather_all(), 2, axis=2)
        scores = self.score(tf.tanh(self.key(h_k) + self.query(x)[:, tf.newaxis]))
        scores = tf.where(self.pull("is_child")[:, :, tf.newaxis], scores, -1e9)
        attended = tf.reduce_sum(tf.nn.softmax(scores, axis=1) * h_k, axis=1)
        i, o, u = tf.split(self.w_iou(x) + self.u_iou(self.mix(attended)), 3, axis=1)
        f = tf.sigmoid(self.w_f(x)[:, tf.newaxis] + self.u_f(h_k))
        c = tf.sigmoid(i) * tf.tanh(u) + tf.reduce_sum(f * c_k, axis=1)
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        x, attended, kept = x["x"], np.zeros(UNITS), 0
        if children:
            cells, states = np.split(np.array(children), 2, axis=1)
            keys = np.tanh(affine(self.key, states) + affine(self.query, x))
            attended = softmax(affine(self.score, keys), axis=0).T @ states
            f = sigmoid(affine(self.w_f, x) + affine(self.u_f, states))
            attended, kept = attended[0], np.sum(f * cells, axis=0)
        mixed = np.tanh(affine(self.mix, attended))
        i, o, u = np.split(affine(self.w_iou, x) + affine(self.u_iou, mixed), 3)
        c, h = lstm(i, kept, o, u)
        return np.concatenate([c, h]), h


class TreeTransformer(PublishedCell):
    """Ahmed, Samee and Mercer 2019, "You Only Need Attention to Traverse Trees", section 3."""

    arity, heads = 3, 2

    def make(self):
        self.x = dense()
        self.q, self.k, self.v, self.o = (matrix() for _ in range(4))
        self.first, self.second = (keras.layers.LayerNormalization(dtype="float64") for _ in "12")
        self.wide, self.narrow = dense(2 * UNITS, "relu"), dense()

    def inputs(self, graphs, generator):
        return _with_mask(super().inputs(graphs, generator), graphs, self.arity)

    def vertex(self):
        children = self.gather_all()
        x = self.x(self.pull("x"))
        shape = [-1, self.arity, self.heads, UNITS // self.heads]
        q, k, v = (tf.reshape(part(children), shape) for part in (self.q, self.k, self.v))
        scores = tf.einsum("nqhd,nkhd->nhqk", q, k) / np.sqrt(UNITS // self.heads)
        mask = tf.cast(self.pull("is_child"), tf.float64)
        scores += (1.0 - mask[:, tf.newaxis, tf.newaxis]) * -1e9
        attended = tf.einsum("nhqk,nkhd->nqhd", tf.nn.softmax(scores), v)
        attended = self.o(tf.reshape(attended, [-1, self.arity, UNITS]))
        once = self.first(children + attended)
        twice = self.second(once + self.narrow(self.wide(once)))
        total = tf.reduce_sum(twice * mask[:, :, tf.newaxis], axis=1)
        self.finish(tf.tanh(x + total))

    def equations(self, x, children):
        total = affine(self.x, x["x"])
        if children:
            states = np.array(children)
            q, k, v = (affine(part, states) for part in (self.q, self.k, self.v))
            heads = []
            for q_h, k_h, v_h in zip(*(np.split(a, self.heads, 1) for a in (q, k, v)), strict=True):
                heads.append(softmax(q_h @ k_h.T / np.sqrt(UNITS // self.heads)) @ v_h)
            for row in states + affine(self.o, np.concatenate(heads, axis=1)):
                once = normalised(self.first, row)
                wide = np.maximum(affine(self.wide, once), 0)
                total = total + normalised(self.second, once + affine(self.narrow, wide))
        return (np.tanh(total),) * 2


class TreeGRU(PublishedCell):
    """Kokkinos and Potamianos 2017, arXiv:1701.01811, section 2.1, child-sum."""

    arity = 3

    def make(self):
        self.w_z, self.w_r, self.w_h = dense(), dense(), dense()
        self.u_z, self.u_r, self.u_h = matrix(), matrix(), matrix()

    def vertex(self):
        x = self.pull()
        children = [self.gather(k) for k in range(self.arity)]
        total = tf.add_n(children)
        z = tf.sigmoid(self.w_z(x) + self.u_z(total))
        reset = [tf.sigmoid(self.w_r(x) + self.u_r(h_k)) * h_k for h_k in children]
        candidate = tf.tanh(self.w_h(x) + self.u_h(tf.add_n(reset)))
        self.finish(z * total + (1 - z) * candidate)

    def equations(self, x, children):
        total = sum(children, np.zeros(UNITS))
        z = sigmoid(affine(self.w_z, x) + affine(self.u_z, total))
        reset = [sigmoid(affine(self.w_r, x) + affine(self.u_r, h)) * h for h in children]
        reset = sum(reset, np.zeros(UNITS))
        h = z * total + (1 - z) * np.tanh(affine(self.w_h, x) + affine(self.u_h, reset))
        return h, h


class SPINN(PublishedCell):
    """Bowman et al. 2016, arXiv:1603.06021, equations 4 to 6, without tracking."""

    arity, vectors = 2, 2
    vertex_types = ("leaf", "inner")

    def make(self):
        self.embed, self.compose = dense(2 * UNITS), dense(5 * UNITS)

    def leaf(self):
        c, h = tf.split(self.embed(self.pull()), 2, axis=1)
        self.finish(c, h)

    def inner(self):
        (c_l, h_l), (c_r, h_r) = (tf.split(self.gather(k), 2, axis=1) for k in range(2))
        i, f_l, f_r, o, g = tf.split(self.compose(tf.concat([h_l, h_r], 1)), 5, axis=1)
        c = tf.sigmoid(f_l) * c_l + tf.sigmoid(f_r) * c_r + tf.sigmoid(i) * tf.tanh(g)
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        if not children:
            state = affine(self.embed, x)
            return state, state[UNITS:]
        (c_l, h_l), (c_r, h_r) = (np.split(child, 2) for child in self.in_slots(children))
        i, f_l, f_r, o, g = np.split(affine(self.compose, h_l, h_r), 5)
        c, h = lstm(i, sigmoid(f_l) * c_l + sigmoid(f_r) * c_r, o, g)
        return np.concatenate([c, h]), h


class GumbelTreeLSTM(PublishedCell):
    """Choi, Yoo and Lee 2018, arXiv:1707.02786: composition and the score of a candidate."""

    arity, vectors = 2, 2

    def make(self):
        self.leaf_transform, self.compose = dense(2 * UNITS), dense(5 * UNITS)
        self.query = self.add_weight(shape=(UNITS,), initializer="random_normal", name="query")

    def inputs(self, graphs, generator):
        is_leaf = np.diff(graphs.child_splits) == 0
        return {"x": super().inputs(graphs, generator), "is_leaf": is_leaf}

    def vertex(self):
        (c_l, h_l), (c_r, h_r) = (tf.split(self.gather(k), 2, axis=1) for k in range(2))
        gates = tf.split(self.compose(tf.concat([h_l, h_r], axis=1)), 5, axis=1)
        i, f_l, f_r, o = (tf.sigmoid(gate) for gate in gates[:4])
        c = f_l * c_l + f_r * c_r + i * tf.tanh(gates[4])
        composed = tf.concat([c, o * tf.tanh(c)], axis=1)
        leaf = self.leaf_transform(self.pull("x"))
        state = tf.where(self.pull("is_leaf")[:, tf.newaxis], leaf, composed)
        h = state[:, UNITS:]
        self.finish(state, push=tf.reduce_sum(h * self.query, axis=1, keepdims=True))

    def equations(self, x, children):
        if children:
            (c_l, h_l), (c_r, h_r) = (np.split(child, 2) for child in self.in_slots(children))
            i, f_l, f_r, o, g = np.split(affine(self.compose, h_l, h_r), 5)
            state = np.concatenate(lstm(i, sigmoid(f_l) * c_l + sigmoid(f_r) * c_r, o, g))
        else:
            state = affine(self.leaf_transform, x["x"])
        return state, [state[UNITS:] @ self.query.numpy()]


class RNTN(PublishedCell):
    """Socher et al. 2013, recursive neural tensor network, section 4.3."""

    arity = 2

    def make(self):
        self.embed, self.linear = dense(), dense()
        shape = (UNITS, 2 * UNITS, 2 * UNITS)
        self.tensor = self.add_weight(shape=shape, initializer="random_normal", name="tensor")

    def vertex(self):
        both = tf.concat([self.gather(0), self.gather(1)], axis=1)
        bilinear = tf.einsum("ni,kij,nj->nk", both, self.tensor, both)
        self.finish(tf.tanh(bilinear + self.linear(both) + self.embed(self.pull())))

    def equations(self, x, children):
        both = np.concatenate(self.in_slots(children))
        bilinear = [both @ slice_k @ both for slice_k in self.tensor.numpy()]
        h = np.tanh(bilinear + affine(self.linear, both) + affine(self.embed, x))
        return h, h


class MVRNN(PublishedCell):
    """Socher et al. 2012, matrix-vector recursive neural network, section 2.2."""

    arity = 2
    vectors = 1 + UNITS  # A vector and a matrix.

    def make(self):
        self.vector, self.matrices = dense(UNITS, "tanh"), matrix()
        self.embed = dense(self.vectors * UNITS)

    def vertex(self):
        a, of_a = self.parts(self.gather(0))
        b, of_b = self.parts(self.gather(1))
        crossed = tf.concat([tf.linalg.matvec(of_b, a), tf.linalg.matvec(of_a, b)], axis=1)
        p, of_p = self.parts(self.embed(self.pull()))
        p += self.vector(crossed)
        stacked = tf.concat([of_a, of_b], axis=1)
        of_p += tf.linalg.matrix_transpose(self.matrices(tf.linalg.matrix_transpose(stacked)))
        self.scatter(tf.concat([p, tf.reshape(of_p, [-1, UNITS * UNITS])], axis=1))
        self.push(p)

    @staticmethod
    def parts(state):
        return state[:, :UNITS], tf.reshape(state[:, UNITS:], [-1, UNITS, UNITS])

    def equations(self, x, children):
        states = [*self.in_slots(children), affine(self.embed, x)]
        (a, of_a), (b, of_b), (p, of_p) = (
            (s[:UNITS], s[UNITS:].reshape(UNITS, UNITS)) for s in states
        )
        p = p + np.tanh(affine(self.vector, of_b @ a, of_a @ b))
        of_p = of_p + self.matrices.get_weights()[0].T @ np.vstack([of_a, of_b])
        return np.concatenate([p, of_p.ravel()]), p


class RecursiveAutoencoder(PublishedCell):
    """Socher et al. 2011, semi-supervised recursive autoencoders, equations 2, 3 and 5."""

    arity = 2

    def make(self):
        self.embed, self.encode, self.decode = dense(), dense(), dense(2 * UNITS)

    def vertex(self):
        both = tf.concat([self.gather(0), self.gather(1)], axis=1)
        p = tf.tanh(self.encode(both) + self.embed(self.pull()))
        p /= tf.norm(p, axis=1, keepdims=True)
        error = tf.reduce_sum(tf.math.squared_difference(both, self.decode(p)), axis=1)
        self.finish(p, push=error)

    def equations(self, x, children):
        both = np.concatenate(self.in_slots(children))
        p = np.tanh(affine(self.encode, both) + affine(self.embed, x))
        p = p / np.linalg.norm(p)
        return p, np.sum((both - affine(self.decode, p)) ** 2)


class TreeFC(PublishedCell):
    """Looks et al. 2017, arXiv:1702.02181, section 3.1."""

    arity = 2
    vertex_types = ("leaf", "inner")

    def make(self):
        self.embed, self.compose = matrix(), dense(UNITS, "relu")

    def leaf(self):
        self.finish(self.embed(self.pull()))

    def inner(self):
        self.finish(self.compose(tf.concat([self.gather(0), self.gather(1)], axis=1)))

    def equations(self, x, children):
        if not children:
            return (affine(self.embed, x),) * 2
        return (np.maximum(affine(self.compose, *self.in_slots(children)), 0),) * 2


class GatedRecursiveConvolution(PublishedCell):
    """Cho et al. 2014, arXiv:1409.1259, equations 5 and 6."""

    arity = 2

    def make(self):
        self.embed, self.new, self.choose = dense(), dense(), dense(3)

    def vertex(self):
        left, right = self.gather(0), self.gather(1)
        both = tf.concat([left, right], axis=1)
        new = tf.tanh(self.new(both) + self.embed(self.pull()))
        weights = tf.nn.softmax(self.choose(both))
        self.finish(weights[:, :1] * new + weights[:, 1:2] * left + weights[:, 2:] * right)

    def equations(self, x, children):
        left, right = self.in_slots(children)
        new = np.tanh(affine(self.new, left, right) + affine(self.embed, x))
        h = softmax(affine(self.choose, left, right)) @ np.array([new, left, right])
        return h, h


class ASTNN(PublishedCell):
    """Zhang et al. 2019, ASTNN, equations 2 and 3: the maximum of all vertices of a subtree."""

    arity, vectors = 3, 2

    def make(self):
        self.embed, self.bias = dense(), dense()

    def vertex(self):
        pooled, states = tf.split(self.gather_all(), 2, axis=2)
        h = self.bias(self.embed(self.pull())) + tf.reduce_sum(states, axis=1)
        self.finish(h, tf.maximum(h, tf.reduce_max(pooled, axis=1)))

    def equations(self, x, children):
        pooled, states = np.split(self.in_slots(children), 2, axis=1)
        h = affine(self.bias, affine(self.embed, x)) + states.sum(axis=0)
        pooled = np.maximum(h, pooled.max(axis=0))
        return np.concatenate([h, pooled]), pooled


class TBCNN(PublishedCell):
    """Mou et al. 2016, arXiv:1409.5718, section 3.2: a convolution with weights by position."""

    arity = 3

    def make(self):
        self.top, self.left, self.right = dense(), matrix(), matrix()

    def inputs(self, graphs, generator):
        counts = np.diff(graphs.child_splits)[:, np.newaxis]
        to_the_right = np.arange(self.arity) / np.maximum(counts - 1, 1)
        return {"x": super().inputs(graphs, generator), "to_the_right": to_the_right}

    def vertex(self):
        children = self.gather_all()
        to_the_right = self.pull("to_the_right")[:, :, tf.newaxis]
        moved = (1 - to_the_right) * self.left(children) + to_the_right * self.right(children)
        self.finish(tf.tanh(self.top(self.pull("x")) + tf.reduce_sum(moved, axis=1)))

    def equations(self, x, children):
        total = affine(self.top, x["x"])
        for share, child in zip(x["to_the_right"], children, strict=False):
            total = total + (1 - share) * affine(self.left, child)
            total = total + share * affine(self.right, child)
        return (np.tanh(total),) * 2


class MaxOverChildren(PublishedCell):
    """Zaheer et al. 2017, Deep Sets, arXiv:1703.06114, equation 4, with a maximum."""

    arity = 3

    def make(self):
        self.embed, self.gamma, self.lam = dense(), matrix(), matrix()

    def vertex(self):
        largest = tf.reduce_max(self.lam(self.gather_all()), axis=1)
        self.finish(tf.nn.elu(self.embed(self.pull()) + self.gamma(largest)))

    def equations(self, x, children):
        largest = affine(self.lam, self.in_slots(children)).max(axis=0)
        total = affine(self.embed, x) + affine(self.gamma, largest)
        return (np.where(total < 0, np.expm1(np.minimum(total, 0)), total),) * 2


def _with_mask(x, graphs, arity):
    counts = np.diff(graphs.child_splits)
    return {"x": x, "is_child": np.arange(arity) < counts[:, np.newaxis]}


TREE_CELLS = (
    ChildSumTreeLSTM,
    NaryTreeLSTM,
    AttentiveTreeLSTM,
    TreeTransformer,
    TreeGRU,
    SPINN,
    GumbelTreeLSTM,
    RNTN,
    MVRNN,
    RecursiveAutoencoder,
    TreeFC,
    GatedRecursiveConvolution,
    ASTNN,
    TBCNN,
    MaxOverChildren,
)
