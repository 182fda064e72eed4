"""Graphs and data sets for tests of Keras layers."""

import numpy as np
import tensorflow as tf

import cavs_tf as cavs

FEATURES = 3


def random_trees(sizes, arity=2, seed=0) -> cavs.GraphBatch:
    """Trees with the root last and up to `arity` children each; size 0 is an empty graph."""
    random = np.random.default_rng(seed)
    parents = []
    for size in sizes:
        parent, slots = [-1] * size, [arity] * size
        for v in reversed(range(size - 1)):
            free = [p for p in range(v + 1, size) if slots[p]]
            parent[v] = int(random.choice(free))
            slots[parent[v]] -= 1
        parents.append(parent)
    return cavs.GraphBatch.from_parents(parents)


def random_rows(graphs, features=FEATURES, seed=0, dtype="float32"):
    rows = np.random.default_rng(seed).normal(size=(graphs.num_vertices, features))
    return tf.constant(rows, dtype)


def listops(num_examples=40, batch_size=8, arity=3, **kwargs):
    """(inputs, labels) minibatches of expressions, the graphs as plain tensors."""
    examples = cavs.data.listops(num_examples, seed=1, max_depth=2, max_args=arity)
    batches = cavs.data.batch(examples, batch_size, arity=arity, as_dict=True, **kwargs)
    graphs = cavs.keras.graph_inputs(arity)
    return cavs.keras.for_fit(batches, [*graphs, "token"], "label")
