"""TensorFlow Fold as a system that is compared."""

import dataclasses
import importlib.util

import numpy as np
import tensorflow as tf

from benchmarks.fold import wiring
from benchmarks.fold.compiler import compile_block
from benchmarks.fold.loom import Loom
from benchmarks.fold.weaver import Weaver
from benchmarks.peers import _base, _tensorflow

# Up to these hidden sizes, calling operators takes longer than their work.
_SMALL = 64
# Other models have a module of the workload's name.
_MODULES = {"fixed_lstm": "lstm", "var_lstm": "lstm"}


class Peer(_tensorflow.TensorFlowPeer):
    """Dynamic batching; a step schedules its examples, merges them, and runs the loop.

    Args:
      schedulers: Threads that schedule.

    Attributes:
      program: What the model was compiled to.
      schedules: Of all minibatches.
    """

    construct_in_step = True

    def __init__(self, workload, threads, schedulers=1):
        _refuse_shared_vertices(workload)
        self._model = _model(workload.name)
        self._schedulers = schedulers
        super().__init__(workload, threads)
        self.version = f"dynamic batching of TensorFlow Fold anew, {self.version}"

    def prepare(self):
        batches = self.workload.minibatches
        fields = [fields_of(batch, self.workload.vertex_types) for batch in batches]
        is_list = {name: isinstance(column, tuple) for name, column in fields[0].items()}
        block = self._model.block(self.variables, self.workload.units)
        self.program = compile_block(block, is_list)
        self._weaver = Weaver(self.program, self._schedulers)
        self._examples = [
            (columns, np.arange(batch.num_graphs))
            for columns, batch in zip(fields, batches, strict=True)
        ]
        self.construct()
        self._loom = Loom(self.program, self._shared_types())

    def construct(self):
        """Schedules all minibatches."""
        self.schedules = [self._schedule(index) for index in range(len(self._examples))]

    def single_threaded(self):
        # Then the loop's body is called by the thread of the loop, and a value that is kept for
        # the way back costs no nodes of its own at every depth.
        return self.workload.units <= _SMALL

    def signature(self):
        return [[tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.int32)]]

    def first_inputs(self):
        return self.next_inputs(0)

    def next_inputs(self, index):
        return [tf.constant(part) for part in self._schedule(index % len(self._examples))]

    def loss(self, inputs):
        return self._model.loss(self.variables, *self._loom.run(*inputs))

    def _shared_types(self):
        wirings = [wiring.of_arrays(self.program, *schedule) for schedule in self.schedules]
        shared = np.any([made.shared for made in wirings], axis=0)
        return [
            kind for kind, is_shared in zip(self.program.types, shared, strict=True) if is_shared
        ]

    def _schedule(self, number):
        return self._weaver.merge([self._weaver.weave(*self._examples[number])])


def fields_of(minibatch, vertex_types=()) -> dict:
    """The columns for the weaver.

    An example is its number, with the fields `root`, `vertices`, and for every vertex type
    `<name>_vertices`: those of that type. A vertex has every array of the minibatch that has an
    item for each vertex, `inner` (whether it has children), `children`, and if there are two slots
    for them `left` and `right`.
    """
    splits, children = minibatch.graph_splits, minibatch.children
    exists = children >= 0
    child_splits = np.concatenate([[0], np.cumsum(exists.sum(axis=1))])
    arrays = {field.name: getattr(minibatch, field.name) for field in dataclasses.fields(minibatch)}
    of_vertices = (minibatch.num_vertices,)
    fields = {name: array for name, array in arrays.items() if np.shape(array) == of_vertices}
    fields |= {
        "root": splits[1:] - 1,
        "vertices": (splits, np.arange(minibatch.num_vertices)),
        "inner": exists.any(axis=1),
        "children": (child_splits, children[exists]),
    }
    for kind, vertex_type in enumerate(vertex_types):
        (own,) = np.nonzero(minibatch.kind == kind)
        fields[f"{vertex_type.name}_vertices"] = np.searchsorted(own, splits), own
    if children.shape[1] == 2:
        fields |= {"left": children[:, 0], "right": children[:, 1]}
    as_ints = {"dtype": np.int32, "copy": False}
    return tf.nest.map_structure(lambda column: column.astype(**as_ints), fields)


def _refuse_shared_vertices(workload) -> None:
    children = workload.minibatches[0].children
    if np.bincount(children[children >= 0]).max(initial=0) > 1:
        raise _base.Unsupported(
            "a vertex with several parents would be computed once for each: blocks are functions "
            "of trees and sequences"
        )


def _model(workload: str):
    """The module with the block of one example, and the loss of its outputs."""
    name = f"benchmarks.fold.models.{_MODULES.get(workload, workload)}"
    if importlib.util.find_spec(name):
        return importlib.import_module(name)
    raise _base.Unsupported(f"no model in blocks of {workload}")
