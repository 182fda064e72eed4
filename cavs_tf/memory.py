"""How much memory a step takes, before it runs."""

import dataclasses

import numpy as np

from cavs_tf._inputs import name_inputs
from cavs_tf._library import ops
from cavs_tf._resolve import call_of


@dataclasses.dataclass(frozen=True)
class PassMemory:
    """Bytes that one pass over a minibatch takes.

    Attributes:
      state: Of all vertices; of the backward pass, its gradient.
      tape: What the backward pass reads, beside the state.
      temporaries: What else the operators write; of the backward pass with `at`, a copy of the
        gradients of outputs.
      packed_weights: Weights in the layout in which products read them.
      results: Pushed outputs; of the backward pass, gradients of inputs and weights.
    """

    state: int
    tape: int
    temporaries: int
    packed_weights: int
    results: int

    @property
    def workspace(self) -> int:
        """All but the results: what the pass takes from its pool, or fails without."""
        return self.state + self.tape + self.temporaries + self.packed_weights

    @property
    def total(self) -> int:
        return self.workspace + self.results

    def __str__(self):
        parts = [f"{name.replace('_', ' ')} {size:,}" for name, size in vars(self).items()]
        return f"{self.total:,} bytes ({', '.join(parts)})"


@dataclasses.dataclass(frozen=True)
class MemoryPrediction:
    """What `predict_memory` found.

    Attributes:
      forward, backward: The passes of a training step; no backward pass if the vertex
        function has no derivative.
      inference: A call without gradients.
      training: Peak bytes of a training step. In the backward pass the state and the tape of the
        forward pass are there still, and what was pushed and its gradient. `CavsForward` fails
        if it will not fit.
    """

    forward: PassMemory
    backward: PassMemory | None
    inference: PassMemory
    training: int


def predict_memory(model, graphs, inputs=None, at=None) -> MemoryPrediction:
    """How much memory a model takes for a minibatch: computed, not measured. Eager only.

    Weights, inputs, and what the rest of the program takes are not part of it; nor is what
    TensorFlow's own kernels allocate where `explain` lists any.

    Args:
      model: A `GraphSupport`, a layer around one, or a Keras model that calls one once; only of
        the `GraphSupport` is it predicted.
      graphs, inputs: What the model is called with. Of a `GraphSupport` or a layer, inputs are
        needed unless it was called before, or have rows for some vertices only.
      at: As for calling a `GraphSupport`.

    Returns:
      A `MemoryPrediction`.

    The state of four vertices, after 64 bytes of zeros for children that are not there; every
    tensor begins at a multiple of 64 bytes:

    >>> import tensorflow as tf
    >>> import cavs_tf as cavs
    >>> @cavs.vertex_function(state_size=2, arity=1)
    ... def cell(v):
    ...     v.scatter(tf.tanh(v.pull() + v.gather(0)))
    >>> predict_memory(cell, cavs.GraphBatch.chain([3, 1]), tf.ones([4, 2])).inference.state
    128
    """
    call = call_of(model, graphs, inputs, at)
    cell, graphs, inputs, at = call.cell, call.graphs, call.inputs, call.at
    functions = functions_of(cell, graphs, inputs)
    given = {name: len(value) for name, value in name_inputs(inputs).items()}
    schedule = cell.schedule_of(graphs)
    found = ops.cavs_memory(
        schedule.order,
        schedule.task_splits,
        schedule.task_type,
        schedule.child_row,
        np.array([given.get(name, -1) for name in functions.pull_names], np.int64),
        np.int64(-1 if at is None else len(at)),
        Tpulls=[spec.dtype for spec in functions.pull_specs],
        **functions.attributes(),
        **cell.options.attributes(),
    )
    forward, backward, inference = (PassMemory(*sizes) for sizes in found.bytes.numpy().tolist())
    return MemoryPrediction(
        forward, backward if functions.backward else None, inference, int(found.training)
    )


def functions_of(cell, graphs=None, inputs=None):
    """The traced functions for such inputs, or of some earlier call if there are none."""
    if inputs is None and cell.last_functions() is not None:
        return cell.last_functions()
    pulls, _ = cell.prepare(graphs, inputs)
    return cell.functions_for(pulls)
