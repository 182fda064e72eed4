"""The calculator: a vertex function for each operator."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class Model(cavs.GraphSupport):
    """The state of a number is its embedding."""

    arity = 2
    vertex_types = ("number", "plus", "minus", "times", "divide")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=units, **kwargs)
        self.w = w

    def number(self):
        self.finish(tf.identity(self.pull()))

    def plus(self):
        self.operate("plus")

    def minus(self):
        self.operate("minus")

    def times(self):
        self.operate("times")

    def divide(self):
        self.operate("divide")

    def operate(self, name):
        operands = tf.concat([self.gather(0), self.gather(1)], axis=1)
        self.finish(tf.tanh(operands @ self.w[f"{name}_kernel"] + self.w[f"{name}_bias"]))

    def finish(self, h):
        self.scatter(h)
        self.push(h)


def batches(examples, size, micro_batch=None):
    """Minibatches; the type of a vertex is its operator."""
    return _pipeline.batches(
        examples, size, Model, policy="ratio", kind=examples.kind, micro_batch=micro_batch
    )
