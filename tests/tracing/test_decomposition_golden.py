"""What operators on rows become, as text: see decomposition.txt beside this file.

A case is a claim, the shapes of rows and an expression; then, after ---, the operators that they
become. To write down what they become now, and look at the difference:

    CAVS_UPDATE_GOLDEN=1 make test-python ARGS="tests/tracing/test_decomposition_golden.py -n 0"
"""

import itertools
import os
import pathlib
import re

import numpy as np
import pytest
import tensorflow as tf

from cavs_tf._tracing.decomposition import decompose_operators
from cavs_tf._tracing.function_graph import FunctionGraph
from cavs_tf._tracing.inference import Analysis, abstract_rows, live_operations

_SIZES = ("N", "num", "num_split")  # Which the operands and results show.
PATH = pathlib.Path(__file__).with_name("decomposition.txt")
CASES = [case.partition("\n---\n")[::2] for case in PATH.read_text().strip("\n").split("\n\n")]


def weights(*shape):
    """An invariant tensor."""
    return tf.reshape(tf.range(float(np.prod(shape))), shape)


def gradient(of, by):
    """The gradient of the sum of all numbers."""
    return tf.gradients(of, by)[0]


def text_of(case: str) -> str:
    """The operators that the case's expression becomes."""
    _, rows, expression = case.split("\n")
    shapes = {name: eval(shape) for name, shape in re.findall(r"(\w+): (\[[^\]]*\])", rows)}
    with FunctionGraph("golden").as_default() as graph:
        names = {
            name: tf.compat.v1.placeholder(tf.float32, [None, *shape], name=name)
            for name, shape in shapes.items()
        }
        scope = {"tf": tf, "np": np, "weights": weights, "gradient": gradient}
        result = eval(expression, scope | names)
    inputs = [(tensor, abstract_rows(tensor.shape[1:])) for tensor in names.values()]
    return _print(decompose_operators(Analysis("golden", graph, inputs, [result]))(result))


def _print(result):
    names, lines, count = {}, [], itertools.count()
    for op in live_operations([result]):
        constant = tf.get_static_value(op.outputs[0])
        if constant is not None:
            names[op.outputs[0].ref()] = _print_constant(constant)
        elif op.type == "Placeholder":
            names[op.outputs[0].ref()] = op.name
        else:
            results = [f"%{next(count)}" for _ in op.outputs]
            names |= {o.ref(): r for o, r in zip(op.outputs, results, strict=True)}
            lines.append(_print_operator(op, results, [names[t.ref()] for t in op.inputs]))
    return "\n".join([*lines, f"result {names[result.ref()]}"])


def _print_operator(op, results, operands):
    defaults = {a.name: a for a in op.op_def.attr if a.type not in ("type", "list(type)", "shape")}
    attributes = [
        f"{name}={op.get_attr(name)}"
        for name, attribute in defaults.items()
        if name not in _SIZES and op.node_def.attr[name] != attribute.default_value
    ]
    shapes = ", ".join(str(output.shape.as_list()[1:]) for output in op.outputs)
    return f"{', '.join(results)} = {op.type}({', '.join(operands + attributes)}) : {shapes}"


def _print_constant(value):
    if np.size(value) > 8:
        return f"<constant {list(np.shape(value))}>"
    numbers = {"float_kind": "{:.4g}".format, "int_kind": str}
    return np.array2string(np.asarray(value), separator=", ", formatter=numbers)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].split("\n")[0])
def test_operators_become(case):
    program, text = case
    assert text_of(program) == text


def write():
    """Writes down what the operators become now."""
    texts = [f"{program}\n---\n{text_of(program)}" for program, _ in CASES]
    PATH.write_text("\n\n".join(texts) + "\n")


if os.environ.get("CAVS_UPDATE_GOLDEN"):
    write()
    CASES.clear()
