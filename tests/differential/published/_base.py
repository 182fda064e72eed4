"""What published cells share: their sizes, their layers, and these in NumPy."""

import keras
import numpy as np

import cavs_tf as cavs

FEATURES, UNITS = 3, 4


class PublishedCell(cavs.GraphSupport):
    """A vertex function, and the equations it was written from.

    Attributes:
      vectors: The state has this many vectors of `UNITS` elements.
    """

    vectors = 1

    def __init__(self, **kwargs):
        super().__init__(state_size=self.vectors * UNITS, dtype="float64", **kwargs)
        self.make()

    def make(self):
        """Creates the layers."""

    def inputs(self, graphs, generator):
        """What the cell is called with."""
        return generator.normal(size=[graphs.num_vertices, FEATURES])

    def equations(self, x, children):
        """One vertex.

        Args:
          x: Its row of the input, or a dict of rows.
          children: The states of its children; there may be fewer than `arity`.

        Returns:
          (state, pushed).
        """
        raise NotImplementedError

    def in_slots(self, children):
        """The children's states, and zeros where there is no child: [arity, state]."""
        empty = self.arity - len(children)
        return np.array([*children, *np.zeros([empty, *self.state_shape])])

    def finish(self, *state, push=None):
        """Scatters the vectors and pushes the last."""
        self.scatter(keras.ops.concatenate(state, axis=1) if len(state) > 1 else state[0])
        self.push(state[-1] if push is None else push)


def dense(units=UNITS, activation=None, **kwargs):
    kwargs.setdefault("bias_initializer", keras.initializers.RandomNormal(stddev=0.3))
    return keras.layers.Dense(units, activation, dtype="float64", **kwargs)


def matrix(units=UNITS):
    return dense(units, use_bias=False)


def affine(layer, *parts):
    """What a Dense layer without activation computes of what is concatenated."""
    kernel, *bias = layer.get_weights()
    return np.concatenate(parts, axis=-1) @ kernel + (bias[0] if bias else 0)


def normalised(layer, x):
    """What a LayerNormalization layer computes."""
    scale, shift = layer.get_weights()
    variance = np.mean((x - x.mean()) ** 2)
    return (x - x.mean()) / np.sqrt(variance + layer.epsilon) * scale + shift


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softmax(x, axis=-1):
    exponentials = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return exponentials / np.sum(exponentials, axis=axis, keepdims=True)


def lstm(i, f_times_c, o, u):
    """(c, h) of gates before their activations."""
    c = sigmoid(i) * np.tanh(u) + f_times_c
    return c, sigmoid(o) * np.tanh(c)
