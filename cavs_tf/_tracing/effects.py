"""Operators with effects, which are lost in a vertex function: it is compiled from its results."""

from cavs_tf._tracing.inference import graph_of

_CHANGES = ("Assign", "ResourceScatter", "ResourceApply")
_WITH_RESULTS = ("EagerPyFunc", "Print", "PyFunc")  # These types may have effects, too.


def check_effects(name: str, graph, results) -> None:
    """Raises ValueError if a vertex function does more than to compute its results.

    Assertions are allowed, as layers of Keras and models that were written elsewhere contain them;
    only `cavs_tf.reference.run` checks them.

    Args:
      name: The name of the vertex function.
      graph: Its graph.
      results: The tensors that it scatters and pushes.
    """
    needed = _behind(results)
    for op in graph.get_operations():
        if op.type.startswith(_CHANGES):
            raise ValueError(
                f"{name}: operator {op.name} ({op.type}) changes a variable but expected a "
                "function without effects: it runs once per task, in no fixed order. Change "
                "variables outside of the vertex function."
            )
        if id(op) not in needed and _is_lost(op):
            raise ValueError(
                f"{name}: got operator {op.name} ({op.type}), whose effect would be lost, but "
                "expected only what leads to a scatter or a push. Push the values and look at them "
                "outside, or print and check vertex by vertex in cavs_tf.reference.run, which does "
                "not compile the function."
            )


def _is_lost(op) -> bool:
    return bool(_effects(op) - {"Assert"})


def _effects(op) -> set[str]:
    """The types of operators, here or in functions, that have effects which no result shows."""
    names = [*called_functions(op)]
    if names:
        inner = (other for name in names for other in graph_of(op, name).get_operations())
        return set().union(*map(_effects, inner))
    silent = not op.op_def.is_stateful or op.outputs
    return set() if silent and op.type not in _WITH_RESULTS else {op.type}


def called_functions(op):
    """The names of the functions that an operator calls."""
    for attribute in op.node_def.attr.values():
        for function in (attribute.func, *attribute.list.func):
            if function.name:
                yield function.name


def _behind(tensors) -> dict:
    """The operators that tensors are computed by, by id."""
    found, waiting = {}, [tensor.op for tensor in tensors]
    while waiting:
        op = waiting.pop()
        if id(op) not in found:
            found[id(op)] = op
            waiting += [tensor.op for tensor in op.inputs]
    return found
