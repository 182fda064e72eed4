"""Graphs of a minibatch, and the plan by which they are evaluated. Both are integers only."""

from cavs_tf.graphs._graph_batch import GraphBatch as GraphBatch
from cavs_tf.graphs._options import Options as Options
from cavs_tf.graphs._schedule import Schedule as Schedule
