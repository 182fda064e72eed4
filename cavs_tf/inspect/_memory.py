"""Predicts how much memory a training step takes, before it runs."""

import dataclasses

import numpy as np

from cavs_tf._inputs.inputs import name_inputs
from cavs_tf._native.library import ops
from cavs_tf.inspect._resolve import CellCall, call_of


@dataclasses.dataclass(frozen=True)
class DirectionMemory:
    """Bytes that one direction, forward or backward, takes for a minibatch.

    Attributes:
      state: The states of all vertices; backward, the gradients of these states.
      tape: The values that the backward direction reads, without the states; on a GPU, also lists
        of row numbers, and constants.
      temporaries: The other values that operators write; backward with `at`, also a copy of the
        gradients of outputs; on a GPU without a tape, also lists of row numbers, and constants.
      packed_weights: Weights in the layout in which matrix products read them; on a GPU, memory in
        which sums over rows are formed, and for the arguments of kernels.
      results: Pushed outputs; backward, the gradients of inputs and weights.
    """

    state: int
    tape: int
    temporaries: int
    packed_weights: int
    results: int

    @property
    def workspace(self) -> int:
        """Bytes of all but the results: the op allocates them first, and fails without them."""
        return self.state + self.tape + self.temporaries + self.packed_weights

    @property
    def total(self) -> int:
        """Bytes of the workspace and the results together."""
        return self.workspace + self.results

    def __str__(self):
        sizes = [f"{name.replace('_', ' ')} {size:,}" for name, size in vars(self).items()]
        return f"{self.total:,} bytes ({', '.join(sizes)})"


@dataclasses.dataclass(frozen=True)
class MemoryPrediction:
    """The memory that a model takes for a minibatch, as `predict_memory` computes it.

    Attributes:
      forward: The memory of the forward direction of a training step.
      backward: The memory of its backward direction; None if the vertex function has no derivative.
      inference: The memory of a call without gradients.
      training: Peak bytes of a training step: while it runs backward, the state and the tape of
        the forward direction, the outputs and their gradients still take memory. `CavsForward`
        fails before anything is computed if that many bytes are not available.
    """

    forward: DirectionMemory
    backward: DirectionMemory | None
    inference: DirectionMemory
    training: int


def predict_memory(model, graphs, inputs=None, at=None) -> MemoryPrediction:
    """Computes, without running the model, how much memory it takes for a minibatch. Eager only.

    Weights, inputs and the rest of the program are not counted, nor is the memory that TensorFlow's
    own kernels allocate: `explain` lists the operators that run through them. The prediction is for
    the device on which a call in this place would run, as `tf.device` says.

    Args:
      model: A `GraphSupport`, a layer around one, or a Keras model that calls one once. Only the
        memory of its `GraphSupport` is predicted.
      graphs, inputs: The arguments of the model. A `GraphSupport` or layer that was called
        before needs no inputs, unless they have rows for some vertices only.
      at: int32 or int64 [n], the vertices whose outputs are wanted, as for calling a
        `GraphSupport`.

    Returns:
      A `MemoryPrediction`, in bytes.

    Raises:
      ValueError: If the model, the graphs or the inputs do not fit together, or the inputs are
        missing.

    The state of four vertices takes 128 bytes: 64 bytes of zeros for missing children, then the
    states, rounded up because every tensor begins at a multiple of 64 bytes:

    >>> import tensorflow as tf
    >>> import cavs_tf as cavs
    >>> @cavs.vertex_function(state_size=2, arity=1)
    ... def cell(v):
    ...     v.scatter(tf.tanh(v.pull() + v.gather(0)))
    >>> predict_memory(cell, cavs.GraphBatch.chain([3, 1]), tf.ones([4, 2])).inference.state
    128
    """
    call = call_of(model, graphs, inputs, at)
    return predict_step(call).memory


@dataclasses.dataclass(frozen=True)
class StepPrediction:
    """The prediction of a training step before it runs.

    Attributes:
      memory: The memory that it takes.
      task_traits: int32 [T]: the traits of the program that evaluates each task, as in the
        "variants" of `CavsDescribe`; 0: the program of all vertices of its type.
    """

    memory: MemoryPrediction
    task_traits: np.ndarray


def predict_step(call: CellCall) -> StepPrediction:
    """Predicts a call and its gradient."""
    cell, graphs, inputs, at = call.cell, call.graphs, call.inputs, call.at
    functions = functions_of(cell, graphs, inputs, call.pushes)
    inputs = name_inputs(inputs)
    schedule = cell._schedule_of(graphs, inputs, at)
    with functions.place_of_ops(cell.options):
        found = ops.cavs_memory(
            schedule.order,
            schedule.task_splits,
            schedule.task_type,
            schedule.child_row,
            functions.pulled_rows(inputs),
            np.int64(-1 if at is None else len(at)),
            functions.partial_vertices(inputs),
            schedule.edge_lists,
            Tpulls=[spec.dtype for spec in functions.pull_specs],
            **functions.attributes(inputs),
            **cell.options.attributes(),
        )
    forward, backward, inference = (
        DirectionMemory(*sizes) for sizes in found.bytes.numpy().tolist()
    )
    memory = MemoryPrediction(
        forward, backward if functions.backward else None, inference, int(found.training)
    )
    return StepPrediction(memory, found.task_traits.numpy())


def functions_of(cell, graphs=None, inputs=None, pushes=None):
    """The `Functions` traced for these inputs and the pushes that are wanted.

    If `inputs` is None, they are the functions of the last call.
    """
    if inputs is None and cell._cache.last is not None:
        return cell._cache.last
    pulls, known = cell._prepared(graphs, inputs)
    return cell._functions_for(known, pulls, pushes=pushes)
