"""Traced functions that were changed afterwards, as a file may contain them."""

import contextlib
import dataclasses
import itertools

from tensorflow.core.framework import attr_value_pb2, types_pb2
from tensorflow.python.eager import context

_OPS = ["Add", "AddV2", "Mul", "MatMul", "Tanh", "Sum", "ConcatV2", "Identity", "Reshape", "Const"]
_SIZES = [-1, 0, 1, 2, 3, 4, 5, 8, 12, 1000, 2**31, 2**40, 2**62]


@dataclasses.dataclass(frozen=True)
class Named:
    """A function of the eager context, in the form that ops take."""

    name: bytes

    def add_to_graph(self, graph):
        del graph


class Spoiler:
    """Makes changed copies of functions."""

    def __init__(self):
        self._numbers = itertools.count()

    @contextlib.contextmanager
    def spoilt(self, r, function):
        """A changed copy, which exists as long as the block runs."""
        with self.changed(function, lambda definition: spoil_function(r, definition)) as named:
            yield named

    @contextlib.contextmanager
    def changed(self, function, change=lambda definition: None):
        """A copy that `change` was applied to, which exists as long as the block runs.

        Of another name, so that TensorFlow makes a kernel for it: it takes kernels to be the same
        whose attributes differ only in the middle of a long text.
        """
        definition = type(function.function_def)()
        definition.CopyFrom(function.function_def)
        name = f"__inference_Changed.vertex_{next(self._numbers)}"
        definition.signature.name = name
        change(definition)
        context.context().add_function_def(definition)
        try:
            yield Named(name.encode())
        finally:
            context.context().remove_function(name.encode())


def spoil_function(r, definition, constants=True):
    """Changes something in a `FunctionDef`, and values of constants too if that is wanted."""
    for _ in range(r.choice([1, 1, 2, 4])):
        _spoil(r, definition, constants)


def _spoil(r, definition, constants):
    arguments = list(definition.arg_attr)
    if arguments and r.random() < 0.2:
        attributes = definition.arg_attr[r.choice(arguments)].attr
        _spoil_shapes(r, attributes["_cavs_shapes"])
        return
    if not definition.node_def:
        return
    node = r.choice(definition.node_def)
    what = r.randrange(8)
    if what < 3:
        _spoil_shapes(r, node.attr["_cavs_shapes"])
    elif what == 3:
        node.op = r.choice(_OPS)
    elif what == 4 and len(node.input) > 1:
        inputs = list(node.input)
        r.shuffle(inputs)
        del node.input[:]
        node.input.extend(inputs)
    elif what == 5:
        found = [n for n in definition.node_def if n.op == "Const"]
        if found and constants:
            _spoil_constant(r, r.choice(found).attr["value"].tensor)
    elif node.attr:
        _spoil_attribute(r, node.attr, r.choice(sorted(node.attr)))


def _spoil_shapes(r, attribute):
    shapes = attribute.list.shape
    if not shapes or r.random() < 0.1:
        shapes.add()
    shape = r.choice(shapes)
    what = r.randrange(4)
    if what == 0:
        shape.unknown_rank = not shape.unknown_rank
        del shape.dim[:]
    elif what == 1:
        shape.dim.add(size=r.choice(_SIZES))
    elif what == 2 and shape.dim:
        del shape.dim[r.randrange(len(shape.dim))]
    elif shape.dim:
        r.choice(shape.dim).size = r.choice(_SIZES)


def _spoil_constant(r, tensor):
    what = r.randrange(3)
    if what == 0 and tensor.tensor_shape.dim:
        r.choice(tensor.tensor_shape.dim).size = r.choice([0, 1, 2, 3, 5])
    elif what == 1:
        tensor.dtype = r.choice([types_pb2.DT_INT32, types_pb2.DT_INT64, types_pb2.DT_FLOAT])
    else:
        number = r.choice([-3, -1, 0, 1, 2, 5, 2**31 - 1])
        tensor.ClearField("tensor_content")
        del tensor.int_val[:]
        tensor.int_val.append(number)


def _spoil_attribute(r, attributes, name):
    value = attributes[name]
    kind = value.WhichOneof("value")
    if kind == "b":
        value.b = not value.b
    elif kind == "i":
        # With -1 or 2**62 inputs, TensorFlow ends the process.
        value.i = r.choice([0, 1, 2, 3, 7, 99])
    elif kind == "type":
        value.type = r.choice(
            [types_pb2.DT_FLOAT, types_pb2.DT_DOUBLE, types_pb2.DT_INT32, types_pb2.DT_STRING]
        )
    elif r.random() < 0.5:
        del attributes[name]
    else:
        value.CopyFrom(attr_value_pb2.AttrValue(i=1))
