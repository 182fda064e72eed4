"""The calculator: a vertex function for each operator."""

import types

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline


class Model(cavs.GraphSupport):
    """The state of a number is its embedding."""

    arity = 2
    stacked = types.MappingProxyType({})
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

    @classmethod
    def batches(cls, examples, size, micro_batch):
        """Minibatches; the type of a vertex is its operator."""
        kind = examples.kind
        return _pipeline.batches(examples, size, cls, kind=kind, micro_batch=micro_batch)

    @staticmethod
    def pulled(inputs, embedding):
        """Rows of numbers; operators pull nothing."""
        is_number = inputs["graphs"].vertex_type == 0
        return cavs.ops.look_up(embedding, tf.boolean_mask(inputs["token"], is_number))
