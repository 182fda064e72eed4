"""This project in bfloat16 with float32 weights, as under Keras's policy `mixed_bfloat16`."""

import collections.abc

import tensorflow as tf

from benchmarks.peers import _base, cavs
from cavs_tf import GraphSupport


class Peer(cavs.Peer):
    """As `cavs`, but the vertex function and what it pulls are bfloat16."""

    slack = 50.0  # bfloat16 has 16 bits less.

    def make_model(self, model_class):
        if not issubclass(model_class, GraphSupport):
            raise _base.Unsupported("more than one GraphSupport")
        weights = _Cast(self.variables)
        units = self.workload.units
        return model_class(units, weights, options=self.options, dtype="bfloat16")

    def embed(self, inputs):
        return tf.cast(super().embed(inputs), tf.bfloat16)

    def run(self, inputs, at=None):
        return tf.cast(super().run(inputs, at), tf.float32)


class _Cast(collections.abc.Mapping):
    """Variables by name, as bfloat16 where they are read."""

    def __init__(self, variables):
        self._variables = variables

    def __getitem__(self, name):
        return tf.cast(self._variables[name], tf.bfloat16)

    def __iter__(self):
        return iter(self._variables)

    def __len__(self):
        return len(self._variables)
