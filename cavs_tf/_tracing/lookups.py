"""Lookups of rows of variables by pulled ids, taken out of vertex functions.

Inside of a vertex function a table of embeddings would be an operand like any weight, read as a
whole, with a dense gradient. Which rows are looked up does not depend on any state, so they are
looked up for the whole minibatch before, and become one more input. The gradient of the table is
then the gradient of a lookup.
"""

import dataclasses

import tensorflow as tf
from tensorflow.python.eager.polymorphic_function import concrete_function

from cavs_tf._inputs.inputs import OWN_INPUTS, VertexRows
from cavs_tf._inputs.look_up import look_up_rows
from cavs_tf._tracing.function_graph import FunctionGraph
from cavs_tf._tracing.inference import live_operations
from cavs_tf._tracing.trace import TracedVertex

# Operators on ids that compute every element by itself.
_ELEMENTWISE = """
AddV2 BitwiseAnd Cast Equal FloorDiv FloorMod Greater GreaterEqual Identity Less LessEqual
LogicalAnd LogicalNot LogicalOr Maximum Minimum Mul NotEqual SelectV2 StopGradient Sub
"""
_PREFIX = ".look_up"
_COPIES = frozenset({"Cast", "Identity"})  # Operators that mixed precision puts on a table.


@dataclasses.dataclass(frozen=True)
class LookUp:
    """An input whose rows are looked up in a variable.

    Attributes:
      name: The name of the input, which no user's input has.
      variable: The table, [R, ...].
      source: The name of the pulled input that the ids are computed from.
      ids: A function that computes the ids from all rows of that input.
      spec: The spec of one row.
    """

    name: str
    variable: object
    source: str
    ids: concrete_function.ConcreteFunction
    spec: tf.TensorSpec

    def rows(self, pulls: dict, num_vertices) -> tf.Tensor:
        """The rows, as many as the source has; vertices that it lacks have the id zero."""
        value = pulls[self.source]
        if isinstance(value, VertexRows):
            shape = tf.concat([[num_vertices], tf.shape(value.rows)[1:]], 0)
            value = tf.scatter_nd(value.vertices[:, tf.newaxis], value.rows, shape)
        (ids,) = self.ids(value)
        return look_up_rows(self.variable, ids)


def is_looked_up(name: str) -> bool:
    """Whether an input has the name of a `LookUp`."""
    return name.startswith(_PREFIX)


def take_out_lookups(traced: TracedVertex) -> list[LookUp]:
    """Makes inputs of the rows that a vertex function looks up, and changes its graph."""
    tables = {id(c.placeholder): c for c in traced.captures if c.is_variable and not c.by_handle}
    made, looked_up_in = [], set()
    for op in live_operations(_results(traced)):
        table = _table(op, tables)
        source = None if table is None else _source(op.inputs[1], traced)
        if source is None:
            continue
        look_up = _look_up(f"{_PREFIX}:{traced.name}:{len(made)}", table.source, source, op, traced)
        with traced.graph.as_default(), tf.control_dependencies(None):
            rows = tf.compat.v1.placeholder(look_up.spec.dtype, [None, *look_up.spec.shape])
            _replace(traced, op.outputs[0], tf.cast(rows, op.outputs[0].dtype))
        made.append(look_up)
        looked_up_in.add(id(table.placeholder))
        traced.pulls[look_up.name] = rows
        traced.pulled.add(look_up.name)
        if source in traced.edge_pulls:
            traced.edge_pulls |= {look_up.name}
    _forget_unread(traced, looked_up_in, made)
    return made


def _results(traced: TracedVertex) -> list[tf.Tensor]:
    return [traced.scattered, *traced.pushes.values()]


def _table(op: tf.Operation, tables: dict):
    """The capture whose rows `op` looks up; None if it does something else."""
    if op.type != "GatherV2" or tf.get_static_value(op.inputs[2]) != 0 or op.get_attr("batch_dims"):
        return None
    table = op.inputs[0]
    while table.op.type in _COPIES:
        table = table.op.inputs[0]
    return tables.get(id(table))


def _source(ids: tf.Tensor, traced: TracedVertex) -> str | None:
    """The one input of which each id is computed, element by element; None if there is none."""
    names = {id(pull): name for name, pull in traced.pulls.items() if name not in OWN_INPUTS}
    found, varies = set(), set()
    for op in live_operations([ids]):
        if id(op.outputs[0]) in names:
            found.add(names[id(op.outputs[0])])
            varies.add(op)
        elif any(value.op in varies for value in op.inputs):
            # A tensor that is the same for all rows must have no axis that may hold rows.
            others = [value for value in op.inputs if value.op not in varies]
            if op.type not in _ELEMENTWISE.split() or any(
                value.shape.rank != 0 for value in others
            ):
                return None
            varies.add(op)
        elif op.type == "Placeholder" or op.op_def.is_stateful:
            return None
    is_known = ids.op in varies and ids.shape[1:].is_fully_defined()
    return found.pop() if is_known and len(found) == 1 else None


def _look_up(name, variable, source, op, traced) -> LookUp:
    ids, pull = op.inputs[1], traced.pulls[source]
    shape = [*ids.shape[1:], *variable.shape[1:]]
    function = _function_of(pull, ids)
    return LookUp(name, variable, source, function, tf.TensorSpec(shape, variable.dtype))


def _function_of(source: tf.Tensor, result: tf.Tensor) -> concrete_function.ConcreteFunction:
    """A function that computes a tensor of a graph from another one."""
    graph = FunctionGraph("ids")
    with graph.as_default():
        argument = tf.compat.v1.placeholder(source.dtype, source.shape)
        copies = {id(source): argument}
        for op in live_operations([result]):
            if op is not source.op:
                inputs, types = [copies[id(t)] for t in op.inputs], [t.dtype for t in op.outputs]
                copy = graph.create_op(op.type, inputs, types, attrs=op.node_def.attr)
                copies |= zip(map(id, op.outputs), copy.outputs, strict=True)
    graph.inputs, graph.outputs = [argument], [copies[id(result)]]
    return concrete_function.ConcreteFunction.from_func_graph(graph, None, {})


def _replace(traced: TracedVertex, old: tf.Tensor, new: tf.Tensor) -> None:
    for consumer in old.consumers():
        for index, value in enumerate(consumer.inputs):
            if value is old:
                consumer._update_input(index, new)
    if traced.scattered is old:
        traced.scattered = new
    traced.pushes = {name: new if value is old else value for name, value in traced.pushes.items()}


def _forget_unread(traced: TracedVertex, tables: set, lookups: list[LookUp]) -> None:
    """Removes captures of tables, and pulls of ids, that nothing else reads.

    Args:
      tables: The ids of the placeholders of tables.
      lookups: The lookups that were taken out.
    """
    read = {id(op) for op in live_operations(_results(traced))}
    traced.captures = [
        capture
        for capture in traced.captures
        if id(capture.placeholder) not in tables or id(capture.placeholder.op) in read
    ]
    for source in {look_up.source for look_up in lookups}:
        if id(traced.pulls[source].op) not in read:
            del traced.pulls[source]
