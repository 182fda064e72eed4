"""Cells of sequences; the child of a vertex is the token before it."""

import keras
import numpy as np
import tensorflow as tf

from tests.differential.published._base import (
    FEATURES,
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


class _SequenceCell(PublishedCell):
    arity = 1

    def before(self, children):
        return np.split(self.in_slots(children)[0], self.vectors)


class LayerNormLSTM(_SequenceCell):
    """Ba, Kiros and Hinton 2016, arXiv:1607.06450, equations 20 to 22."""

    vectors = 2

    def make(self):
        self.w, self.u = dense(4 * UNITS), matrix(4 * UNITS)
        self.of_x, self.of_h, self.of_c = (
            keras.layers.LayerNormalization(dtype="float64") for _ in range(3)
        )

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = self.of_x(self.w(self.pull())) + self.of_h(self.u(h))
        f, i, o, g = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        self.finish(c, tf.sigmoid(o) * tf.tanh(self.of_c(c)))

    def equations(self, x, children):
        c, h = self.before(children)
        gates = normalised(self.of_x, affine(self.w, x)) + normalised(self.of_h, affine(self.u, h))
        f, i, o, g = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(normalised(self.of_c, c))
        return np.concatenate([c, h]), h


class OrderedNeurons(_SequenceCell):
    """Shen et al. 2019, ON-LSTM, arXiv:1810.09536, equations 7 to 14."""

    vectors = 2

    def make(self):
        self.gates, self.master = dense(4 * UNITS), dense(2 * UNITS)

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        both = tf.concat([self.pull(), h], axis=1)
        f, i, o, g = tf.split(self.gates(both), 4, axis=1)
        forget, keep = tf.split(self.master(both), 2, axis=1)
        master_f = tf.cumsum(tf.nn.softmax(forget), axis=1)
        master_i = 1 - tf.cumsum(tf.nn.softmax(keep), axis=1)
        overlap = master_f * master_i
        f = tf.sigmoid(f) * overlap + (master_f - overlap)
        i = tf.sigmoid(i) * overlap + (master_i - overlap)
        c = f * c + i * tf.tanh(g)
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        c, h = self.before(children)
        f, i, o, g = np.split(affine(self.gates, x, h), 4)
        forget, keep = np.split(affine(self.master, x, h), 2)
        master_f, master_i = np.cumsum(softmax(forget)), 1 - np.cumsum(softmax(keep))
        overlap = master_f * master_i
        f = sigmoid(f) * overlap + (master_f - overlap)
        i = sigmoid(i) * overlap + (master_i - overlap)
        c = f * c + i * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        return np.concatenate([c, h]), h


class MultiplicativeLSTM(_SequenceCell):
    """Krause et al. 2017, arXiv:1609.07959, equations 18 to 22."""

    vectors = 2

    def make(self):
        self.m_x, self.m_h = matrix(), matrix()
        self.w, self.u = dense(4 * UNITS), matrix(4 * UNITS)

    def vertex(self):
        x, (c, h) = self.pull(), tf.split(self.gather(0), 2, axis=1)
        m = self.m_x(x) * self.m_h(h)
        u, i, o, f = tf.split(self.w(x) + self.u(m), 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(u)
        self.finish(c, tf.sigmoid(o) * tf.tanh(c))

    def equations(self, x, children):
        c, h = self.before(children)
        m = affine(self.m_x, x) * affine(self.m_h, h)
        u, i, o, f = np.split(affine(self.w, x) + affine(self.u, m), 4)
        c, h = lstm(i, sigmoid(f) * c, o, u)
        return np.concatenate([c, h]), h


class QRNN(_SequenceCell):
    """Bradbury et al. 2017, arXiv:1611.01576, equations 2 and 5: width 2, fo-pooling."""

    vectors = 2  # The token, padded, and c.

    def make(self):
        self.now, self.then = dense(3 * UNITS), matrix(3 * UNITS)

    def vertex(self):
        x, (token, c) = self.pull(), tf.split(self.gather(0), 2, axis=1)
        z, f, o = tf.split(self.now(x) + self.then(token[:, :FEATURES]), 3, axis=1)
        f = tf.sigmoid(f)
        c = f * c + (1 - f) * tf.tanh(z)
        token = tf.pad(x, [[0, 0], [0, UNITS - FEATURES]])
        self.finish(token, c, push=tf.sigmoid(o) * c)

    def equations(self, x, children):
        token, c = self.before(children)
        z, f, o = np.split(affine(self.now, x) + affine(self.then, token[:FEATURES]), 3)
        f = sigmoid(f)
        c = f * c + (1 - f) * np.tanh(z)
        return np.concatenate([np.pad(x, (0, UNITS - FEATURES)), c]), sigmoid(o) * c


class SRU(_SequenceCell):
    """Lei et al. 2018, arXiv:1709.02755, equations 1 to 4."""

    def make(self):
        self.w, self.w_f, self.w_r, self.skip = matrix(), dense(), dense(), matrix()
        self.v_f, self.v_r = (
            self.add_weight(shape=(UNITS,), initializer="random_normal", name=name)
            for name in ("v_f", "v_r")
        )

    def vertex(self):
        x, before = self.pull(), self.gather(0)
        f = tf.sigmoid(self.w_f(x) + self.v_f * before)
        c = f * before + (1 - f) * self.w(x)
        r = tf.sigmoid(self.w_r(x) + self.v_r * before)
        self.finish(c, push=r * c + (1 - r) * self.skip(x))

    def equations(self, x, children):
        (before,) = self.before(children)
        f = sigmoid(affine(self.w_f, x) + self.v_f.numpy() * before)
        c = f * before + (1 - f) * affine(self.w, x)
        r = sigmoid(affine(self.w_r, x) + self.v_r.numpy() * before)
        return c, r * c + (1 - r) * affine(self.skip, x)


class MinimalGatedUnit(_SequenceCell):
    """Zhou et al. 2016, arXiv:1603.09420, equations 11 to 13."""

    def make(self):
        self.forget, self.new = dense(UNITS, "sigmoid"), dense(UNITS, "tanh")

    def vertex(self):
        x, h = self.pull(), self.gather(0)
        f = self.forget(tf.concat([h, x], axis=1))
        self.finish((1 - f) * h + f * self.new(tf.concat([f * h, x], axis=1)))

    def equations(self, x, children):
        (h,) = self.before(children)
        f = sigmoid(affine(self.forget, h, x))
        return ((1 - f) * h + f * np.tanh(affine(self.new, f * h, x)),) * 2


class CoupledLSTM(_SequenceCell):
    """Greff et al. 2017, arXiv:1503.04069, appendix A3: f = 1 - i, with peepholes."""

    vectors = 2

    def make(self):
        self.gates = dense(3 * UNITS)
        self.p_i, self.p_o = (
            self.add_weight(shape=(UNITS,), initializer="random_normal", name=name)
            for name in ("p_i", "p_o")
        )

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, o, z = tf.split(self.gates(tf.concat([self.pull(), h], axis=1)), 3, axis=1)
        i = tf.sigmoid(i + self.p_i * c)
        c = i * tf.tanh(z) + (1 - i) * c
        self.finish(c, tf.sigmoid(o + self.p_o * c) * tf.tanh(c))

    def equations(self, x, children):
        c, h = self.before(children)
        i, o, z = np.split(affine(self.gates, x, h), 3)
        i = sigmoid(i + self.p_i.numpy() * c)
        c = i * np.tanh(z) + (1 - i) * c
        h = sigmoid(o + self.p_o.numpy() * c) * np.tanh(c)
        return np.concatenate([c, h]), h


class IndRNN(_SequenceCell):
    """Li et al. 2018, arXiv:1803.04831, equation 2."""

    def make(self):
        self.w = dense()
        self.u = self.add_weight(shape=(UNITS,), initializer="random_normal", name="u")

    def vertex(self):
        self.finish(tf.nn.relu(self.w(self.pull()) + self.u * self.gather(0)))

    def equations(self, x, children):
        (h,) = self.before(children)
        return (np.maximum(affine(self.w, x) + self.u.numpy() * h, 0),) * 2


class RecurrentHighway(_SequenceCell):
    """Zilly et al. 2017, arXiv:1607.03474, equations 6 to 9, of depth 3, coupled."""

    depth = 3

    def make(self):
        self.x = dense(2 * UNITS)
        self.r = [dense(2 * UNITS) for _ in range(self.depth)]

    def vertex(self):
        s = self.gather(0)
        for layer, r in enumerate(self.r):
            gates = r(s) + self.x(self.pull()) if layer == 0 else r(s)
            h, t = tf.split(gates, 2, axis=1)
            s = tf.tanh(h) * tf.sigmoid(t) + s * (1 - tf.sigmoid(t))
        self.finish(s)

    def equations(self, x, children):
        (s,) = self.before(children)
        for layer, r in enumerate(self.r):
            h, t = np.split(affine(r, s) + (affine(self.x, x) if layer == 0 else 0), 2)
            s = np.tanh(h) * sigmoid(t) + s * (1 - sigmoid(t))
        return s, s


SEQUENCE_CELLS = (
    LayerNormLSTM,
    OrderedNeurons,
    MultiplicativeLSTM,
    QRNN,
    SRU,
    MinimalGatedUnit,
    CoupledLSTM,
    IndRNN,
    RecurrentHighway,
)
