"""The gradient of CavsForward: CavsBackward."""

import tensorflow as tf
from tensorflow.python.ops.parallel_for.pfor import RegisterPFor

from cavs_tf._native.library import ops
from cavs_tf._tracing.partial_derivatives import partial_derivatives, wanted_pushes
from cavs_tf.graphs._options import ATTRIBUTES

# Attributes that say which inputs not every vertex has.
_PARTIAL = ("partial_pulls", "partial_pull_grads", "child_pulls")

# The inputs before the pulls and captures, and the lengths of the lists of inputs after them. They
# hold integers, which have no gradient.
_INPUTS_BEFORE = ("order", "task_splits", "task_type", "child_row")
_LISTS_AFTER = ("num_at", "num_partial", "num_edge_lists")


@tf.RegisterGradient("CavsForward")
def _forward_grad(op, *grads):
    error = op.get_attr("gradient_error").decode()
    if error:
        raise LookupError(error)
    pull_types = op.get_attr("Tpulls")
    pushes, tape = op.outputs[:-1], op.outputs[-1]
    if tf.is_symbolic_tensor(tape):
        # The op keeps no tape until a gradient is wanted.
        tape.op._set_attr("keep_tape", _true())
    functions, signatures = _gradient_functions(op, pushes, grads[:-1])
    push_grads = [
        tf.zeros_like(push) if grad is None else tf.convert_to_tensor(grad)
        for push, grad in zip(pushes, grads[:-1], strict=True)
    ]
    differentiable = [bool(d) for d in op.get_attr("differentiable")]
    pull_shapes = op.get_attr("pull_shapes")
    float_pulls = [tf.as_dtype(t).is_floating for t in pull_types]
    grad_types = [tf.as_dtype(t) for t in op.get_attr("capture_grad_types")]
    counts, first = [], 0
    for count in op.get_attr("capture_counts"):
        counts.append(sum(differentiable[first : first + count]))
        first += count
    # Only the device that has the tape can read it, whichever the caller has chosen by now.
    with tf.device(tape.device or None):
        results = ops.cavs_backward(
            tape,
            push_grads,
            vertex_functions=op.get_attr("vertex_functions"),
            vertex_signatures=op.get_attr("vertex_signatures"),
            gradient_functions=functions,
            gradient_signatures=signatures,
            capture_counts=counts,
            edge_pushes=op.get_attr("edge_pushes"),
            pulls=[i for i, f in enumerate(float_pulls) if f],
            pull_shapes=[s for s, f in zip(pull_shapes, float_pulls, strict=True) if f],
            capture_shapes=[
                s for s, d in zip(op.get_attr("capture_shapes"), differentiable, strict=True) if d
            ],
            Tpulls=[t for t, f in zip(pull_types, float_pulls, strict=True) if f],
            Tcaptures=[t for t, d in zip(grad_types, differentiable, strict=True) if d],
            **{name: op.get_attr(name) for name in (*ATTRIBUTES, *_PARTIAL)},
        )
    computed = iter([*results.pull_grads, *results.capture_grads])
    of_values = [next(computed) if has else None for has in (*float_pulls, *differentiable)]
    after = sum(op.get_attr(name) for name in _LISTS_AFTER)
    return [*(None for _ in _INPUTS_BEFORE), *of_values, *(None for _ in range(after))]


def _gradient_functions(op, pushes, grads):
    """The derivatives of the pushes whose gradients are wanted, and their signatures."""
    wanted = wanted_pushes(pushes, grads)
    if len(wanted) < sum(push.dtype.is_floating for push in pushes):
        partial = partial_derivatives(op)
        pairs = partial.of(wanted) if partial is not None else None
        if pairs is not None:
            return zip(*pairs, strict=True)
    return op.get_attr("gradient_functions"), op.get_attr("gradient_signatures")


def _true():
    from tensorflow.core.framework import attr_value_pb2

    return attr_value_pb2.AttrValue(b=True)


@tf.RegisterGradient("CavsBackward")
def _backward_grad(op, *grads):
    del op, grads
    raise NotImplementedError(
        "CavsBackward: second derivatives were asked for, or some by a "
        "tf.autodiff.ForwardAccumulator, but only first ones by tf.GradientTape exist. Compute "
        "them with cavs_tf.reference.run, which is plain TensorFlow."
    )


@RegisterPFor("CavsForward")
def _vectorized(pfor_input):
    del pfor_input
    raise NotImplementedError(
        "CavsForward: got a call inside tf.vectorized_map but expected one outside. Put the graphs "
        "of all calls into one minibatch, by GraphBatch.concat, which is faster, or use tf.map_fn."
    )
