"""Prints the predicted and the measured memory of a step, as JSON.

It runs in a process of its own, since resident memory is a matter of the whole process.
"""

import ctypes
import json
import pathlib

import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import cells

UNITS = 128


class TreeFC(cavs.GraphSupport):
    """A dense layer over two children."""

    arity = 2

    def __init__(self):
        super().__init__(state_size=UNITS)
        self.dense = tf.keras.layers.Dense(UNITS, activation="tanh")

    def vertex(self):
        children = tf.concat([self.pull(), self.gather(0), self.gather(1)], axis=1)
        state = self.dense(children)
        self.scatter(state)
        self.push(state)


def tree_lstm(arity=2, **options):
    return cells.TreeLSTM(arity, UNITS, options=cavs.Options(**options))


def trees(count):
    return cells.random_graphs(0, count, 60)


def chains(count):
    return cavs.GraphBatch.chain([20 + i % 50 for i in range(count)])


def lattices(count, length):
    """Chains with edges that skip a vertex: every vertex but two has two parents."""
    children = [[v - k for k in (1, 2) if v >= k] for v in range(length)]
    return cavs.GraphBatch.from_children([children] * count)


MODELS = {
    "tree_lstm": (tree_lstm, lambda n: trees(8 * n)),
    "micro_batches": (lambda: tree_lstm(micro_batch=16), lambda n: trees(12 * n)),
    "bfloat16": (
        lambda: cells.TreeLSTM(units=UNITS, dtype="bfloat16"),
        lambda n: trees(12 * n),
    ),
    "float16": (
        lambda: cells.TreeLSTM(units=UNITS, dtype="float16"),
        lambda n: trees(12 * n),
    ),
    "two_types": (
        lambda: cells.FullyConnected(units=UNITS),
        lambda n: cells.in_types(trees(16 * n)),
    ),
    "tree_fc": (TreeFC, lambda n: cavs.GraphBatch.complete_tree(num_leaves=64, num_graphs=2 * n)),
    "chain": (lambda: tree_lstm(arity=1), lambda n: chains(5 * n)),
    "two_streams": (lambda: tree_lstm(arity=1, streams=2), lambda n: chains(5 * n)),
    "lattice": (tree_lstm, lambda n: lattices(4 * n, 60)),
}


def status(name):
    """A number in /proc/self/status, in bytes."""
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(name))


def train(cell, graphs, x):
    with tf.GradientTape() as tape:
        tape.watch(x)
        outputs = cell(graphs, x)
    return outputs, tape.gradient(outputs, [x, *cell.trainable_variables])


def infer(cell, graphs, x):
    return cell(graphs, x)


def measure(step, cell, graphs):
    x = tf.zeros([graphs.num_vertices, cells.FEATURES], cell.dtype)
    # What was freed before would be used again, and not add to resident memory.
    ctypes.CDLL(None).malloc_trim(0)
    pathlib.Path("/proc/self/clear_refs").write_text("5")  # Resets the peak.
    before = status("VmRSS")
    step(cell, graphs, x)
    return status("VmHWM") - before


def main(name, size):
    make_cell, make_graphs = MODELS[name]
    cell = make_cell()
    train(cell, *first_minibatch(cell, make_graphs))
    cell(*first_minibatch(cell, make_graphs))
    graphs = make_graphs(size)
    graphs = graphs.with_schedule(
        cell.arity, len(cell.vertex_types), cell.options.policy, cell.options.micro_batch
    )
    memory = cavs.predict_memory(cell, graphs)
    found = {
        "predicted_inference": memory.inference.total,
        "predicted_training": memory.training,
        "inference": measure(infer, cell, graphs),
        "training": measure(train, cell, graphs),
    }
    print(json.dumps(found))


def first_minibatch(cell, make_graphs):
    graphs = make_graphs(1)
    return graphs, tf.zeros([graphs.num_vertices, cells.FEATURES], cell.dtype)
