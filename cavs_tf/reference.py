"""Vertex by vertex in plain TensorFlow: see `cavs_tf.inspect`."""

from cavs_tf.inspect.reference import run as run
