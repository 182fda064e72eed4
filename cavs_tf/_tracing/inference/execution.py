"""Runs single operators and subgraphs on given values."""

import tensorflow as tf
from tensorflow.python.eager import context, execute
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import ops


def run_operator(op: tf.Operation, inputs, retyped=None) -> list:
    """The results of one operator, which may be of any graph, on tensors or arrays.

    Args:
      op: The operator.
      inputs: Its operands.
      retyped: Types of operands and results that are replaced by others, if any.

    Raises:
      tf.errors.OpError: If the operator does not accept the values.
    """
    with tf.init_scope(), tf.device("CPU:0"):
        tensors = [
            value if isinstance(value, tf.Tensor) else tf.constant(value, tensor.dtype)
            for value, tensor in zip(inputs, op.inputs, strict=True)
        ]
        results = execute.quick_execute(
            op.type, len(op.outputs), tensors, _attributes(op, retyped or {}), context.context()
        )
    return list(results)


def _attributes(op, retyped):
    attributes = []
    for definition in op.op_def.attr:
        value = op.get_attr(definition.name)
        if definition.type == "type":
            value = retyped.get(value, value)
        attributes += [definition.name, _as_attribute(definition.type, value)]
    return tuple(attributes)


def _as_attribute(kind, value):
    if kind == "type":
        return tf.as_dtype(value).as_datatype_enum
    if kind == "list(type)":
        return [tf.as_dtype(item).as_datatype_enum for item in value]
    if kind == "shape":
        return execute.make_shape(tf.TensorShape(value), "shape")
    if kind == "list(shape)":
        return [execute.make_shape(tf.TensorShape(item), "shape") for item in value]
    if kind == "func":
        return value.name
    return value


def function_of(graph, inputs, fetches):
    """Makes a function of a subgraph, which takes any number of rows.

    Args:
      graph: A `FuncGraph`.
      inputs: Tensors of `graph` that are fed.
      fetches: Tensors of `graph` that are computed.

    Returns:
      A function from a list of values of `inputs` to a list of tensors.
    """
    kept = graph.inputs, graph.outputs
    graph.inputs, graph.outputs = list(inputs), list(fetches)
    try:
        function = atomic_function.from_func_graph(f"{graph.name}_part_{ops.uid()}", graph, {})
    finally:
        graph.inputs, graph.outputs = kept

    def run(values):
        with tf.init_scope():
            tensors = [v if isinstance(v, tf.Tensor) else tf.constant(v) for v in values]
            return list(function.call_flat(*tensors))

    return run
