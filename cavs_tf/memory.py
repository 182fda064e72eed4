"""How much memory a step takes, before it runs."""

import dataclasses

from cavs_tf._inputs import name_inputs
from cavs_tf._library import ops
from cavs_tf._micro_batches import row_bytes
from cavs_tf._resolve import call_of


@dataclasses.dataclass(frozen=True)
class PassMemory:
    """Bytes that one pass over a minibatch takes.

    Attributes:
      state: Of all vertices; of the backward pass, its gradient.
      tape: What the backward pass reads, beside the state.
      temporaries: What else the operators write.
      packed_weights: Weights in the layout in which products read them.
      results: Pushed outputs; of the backward pass, gradients of inputs and weights, and with
        `at` a copy of those of the outputs.
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
    """

    forward: PassMemory
    backward: PassMemory | None
    inference: PassMemory

    @property
    def training(self) -> int:
        """Peak bytes of a training step.

        In the backward pass the state and the tape of the forward pass are there still, and
        what was pushed and its gradient. `CavsForward` fails if it will not fit.
        """
        forward, backward = self.forward, self.backward
        if backward is None:
            return forward.total
        kept = forward.state + forward.tape + 2 * forward.results
        return max(forward.total, kept + backward.total)


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
    schedule = cell.schedule_of(graphs)
    rows = int(graphs.num_vertices)
    pushed = (rows if at is None else len(at)) * row_bytes(functions.push_specs)
    pulls = zip(functions.pull_names, functions.pull_specs, strict=True)
    given = {name: len(value) for name, value in name_inputs(inputs).items()}
    pulled = sum(given.get(n, rows) * row_bytes([s]) for n, s in pulls if s.dtype.is_floating)
    weights = sum(
        c.shape.num_elements() * c.dtype.size for c in functions.captures if c.differentiable
    )
    copied = 0 if at is None else pushed + row_bytes(functions.push_specs)
    forward, backward, inference = _workspaces(cell.options, functions, schedule)
    return MemoryPrediction(
        forward=PassMemory(*forward, results=pushed),
        backward=PassMemory(*backward, results=pulled + weights + copied)
        if functions.backward
        else None,
        inference=PassMemory(*inference, results=pushed),
    )


def functions_of(cell, graphs=None, inputs=None):
    """The traced functions for such inputs, or of some earlier call if there are none."""
    if inputs is None and cell.last_functions() is not None:
        return cell.last_functions()
    pulls, _ = cell.prepare(graphs, inputs)
    return cell.functions_for(pulls)


def _workspaces(options, functions, schedule) -> list[list[int]]:
    sizes = ops.cavs_memory(
        schedule.order,
        schedule.task_splits,
        schedule.task_type,
        schedule.child_row,
        vertex_functions=[function for function, _ in functions.forward],
        vertex_signatures=[signature for _, signature in functions.forward],
        gradient_functions=[function for function, _ in functions.backward],
        gradient_signatures=[signature for _, signature in functions.backward],
        **options.attributes(),
    )
    return sizes.numpy().tolist()
