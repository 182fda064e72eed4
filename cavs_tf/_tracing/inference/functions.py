"""Transfer rules of control flow, of functions that are called, and of lists of tensors."""

from tensorflow.python.framework import function_def_to_graph

from cavs_tf._tracing.inference.abstract import (
    Abstract,
    Kind,
    invariant,
    is_same,
    join,
    of_integers,
    unknown_integers,
    with_layout,
)
from cavs_tf._tracing.inference.call import Call, Couples, NotKnown, unknown_axis
from cavs_tf._tracing.inference.integers import shape_of
from cavs_tf._tracing.inference.sizes import axis_of, has_rows, size

_MAX_ROUNDS = 12  # Rounds of inference for a loop; every round knows less of its variables.


def graph_of(op, name: str):
    """The graph of a function that `op` calls."""
    graph = op.graph
    while graph is not None:
        function = graph._get_function(name)
        if function is not None:
            inner = getattr(function, "graph", None)
            if inner is not None:
                return inner
            return function_def_to_graph.function_def_to_graph(function.function_def)
        graph = getattr(graph, "outer_graph", None)
    raise NotKnown


def function_rules(infer) -> dict:
    """Makes the rules of operators that call functions.

    Args:
      infer: A function that takes a graph, the abstract values of its inputs and a number of
        results, and returns the abstract values of the results.
    """

    def call_function(call: Call):
        return results_of(call, call.op.get_attr("f").name, call.inputs)

    def results_of(call: Call, name: str, operands):
        return infer(graph_of(call.op, name), operands, len(call.op.outputs))

    def conditional(call: Call):
        predicate, *operands = call.inputs
        names = [call.op.get_attr(side).name for side in ("then_branch", "else_branch")]
        known = predicate.scalar()
        if known is not None:
            return results_of(call, names[0 if known else 1], operands)
        return choose(call, predicate, names, operands)

    def case(call: Call):
        index, *operands = call.inputs
        names = [function.name for function in call.op.get_attr("branches")]
        if index.scalar() is not None:
            chosen = index.scalar() if 0 <= index.scalar() < len(names) else -1
            return results_of(call, names[chosen], operands)
        return choose(call, index, names, operands)

    def choose(call, condition, names, operands):
        if condition.kind is Kind.COUNT:
            raise NotKnown
        if condition.kind is not Kind.INVARIANT:
            raise Couples("Choose row by row: tf.where(condition, x, y).")
        results = [results_of(call, name, operands) for name in names]
        return [_joined(versions) for versions in zip(*results, strict=True)]

    def loop(call: Call):
        condition, body = (call.op.get_attr(side).name for side in ("cond", "body"))
        state = list(call.inputs)
        for _ in range(_MAX_ROUNDS):
            (goes_on,) = infer(graph_of(call.op, condition), state, 1)
            if goes_on.kind is Kind.COUNT:
                raise NotKnown
            if goes_on.kind is not Kind.INVARIANT:
                raise Couples("Repeat a number of times that is the same for all rows.")
            new = results_of(call, body, state)
            joined = [_joined(pair) for pair in zip(state, new, strict=True)]
            if all(is_same(x, y) for x, y in zip(state, joined, strict=True)):
                return state
            state = joined
        raise NotKnown

    return {
        "Case": case,
        "If": conditional,
        "PartitionedCall": call_function,
        "StatefulPartitionedCall": call_function,
        "StatelessCase": case,
        "StatelessIf": conditional,
        "StatelessWhile": loop,
        "While": loop,
    }


def _joined(versions):
    result = versions[0]
    for other in versions[1:]:
        result = join(result, other)
        if result is None:
            raise NotKnown
    return result


# --- lists of tensors -------------------------------------------------------------------


def list_of(element: Abstract | None, length: int | None = None) -> Abstract:
    kind = Kind.INVARIANT if element is None else element.kind
    return Abstract(kind, None, element=element, bound=length)


def _element(call, i=0):
    if call.inputs[i].element is None:
        raise NotKnown
    return call.inputs[i].element


def _new_element(call, i, item, length=None):
    own = call.inputs[i].element
    if call.inputs[i].axes is not None or (own is None and call.inputs[i].kind is Kind.ROWS):
        raise NotKnown
    joined = item if own is None else join(own, item)
    if joined is None:
        raise NotKnown
    return list_of(joined, length)


def empty_list(call: Call):
    if any(x.kind is Kind.COUNT and x.rank == 0 for x in call.inputs[1:]):
        raise NotKnown  # The list has as many elements as there are rows.
    reserved = call.type == "TensorListReserve"
    return [list_of(None, call.inputs[1].scalar() if reserved else None)]


def push_back(call: Call):
    return [_new_element(call, 0, call.inputs[1])]


def pop_back(call: Call):
    return [call.inputs[0], _element(call)]


def set_item(call: Call):
    if call.inputs[1].kind is not Kind.INVARIANT:
        raise NotKnown
    return [_new_element(call, 0, call.inputs[2], call.inputs[0].bound)]


def get_item(call: Call):
    if call.inputs[1].kind is not Kind.INVARIANT:
        raise NotKnown
    return [_element(call)]


def stack(call: Call):
    element = _element(call)
    if element.axes is None:
        raise NotKnown
    count = call.attr("num_elements")
    count = call.inputs[0].bound if count < 0 else count
    axis = unknown_axis() if count is None else axis_of(count)
    axes = (axis, *element.axes)
    if element.kind in (Kind.SUM, Kind.COUNT):
        return [Abstract(element.kind, axes)]
    return [with_layout(axes, fill=element.fill)]


def from_tensor(call: Call):
    first, *axes = call.axes(0)
    if has_rows(first):
        raise NotKnown
    x = call.inputs[0]
    if x.kind in (Kind.SUM, Kind.COUNT):
        return [list_of(Abstract(x.kind, tuple(axes)), size(first).constant)]
    return [list_of(with_layout(axes, fill=x.fill), size(first).constant)]


def added_lists(call: Call):
    """Adds lists element by element, as gradients of lists are added."""
    elements = [x.element for x in call.inputs if x.element is not None]
    if not elements or any(x.axes is not None for x in call.inputs):
        raise NotKnown
    if any(x.element is None and x.kind is not Kind.INVARIANT for x in call.inputs):
        raise NotKnown
    known = [Abstract(x.kind, x.axes, element=x.element) for x in elements]
    return [list_of(_joined(known))]


def list_length(call: Call):
    return [unknown_integers(())]


def element_shape(call: Call):
    dims = shape_of(_element(call))
    if dims is None:
        raise NotKnown
    return [of_integers(dims, (len(dims),))]


def resource_gather(call: Call):
    """Rows of a variable that a called function reads by its handle."""
    indices = call.axes(1)
    if call.inputs[1].position is not None:
        raise Couples("Look up by what a row knows of itself.")
    if call.type == "ResourceGatherNd":
        return [with_layout([*indices[:-1], *call.result_axes()[len(indices) - 1 :]])]
    if call.attr("batch_dims"):
        raise NotKnown
    return [with_layout([*indices, *call.result_axes()[len(indices) :]])]


def read_variable(call: Call):
    return [call.inputs[0].element or invariant(call.any_result_axes())]


LISTS = {
    "VariableShape": element_shape,
    "EmptyTensorList": empty_list,
    "ReadVariableOp": read_variable,
    "ResourceGather": resource_gather,
    "ResourceGatherNd": resource_gather,
    "TensorListElementShape": element_shape,
    "TensorListFromTensor": from_tensor,
    "TensorListGetItem": get_item,
    "TensorListLength": list_length,
    "TensorListPopBack": pop_back,
    "TensorListPushBack": push_back,
    "TensorListReserve": empty_list,
    "TensorListSetItem": set_item,
    "TensorListStack": stack,
}
