"""Arithmetic on trees: a vertex type for each operator.

Source: the calculator example of TensorFlow Fold (Looks et al. 2017, arXiv:1702.02181): digits,
four operators, and the sign of the result as the label of the root.
"""

import numpy as np

from benchmarks.workloads import _base

OPERATORS = ("plus", "minus", "times", "divide")
_MAX_DEPTH = 10
# The probability that a child is a number; expressions have 16 digits on average.
_NUMBER_SHARE = 0.45


class Workload(_base.Workload):
    """h = tanh([h_left, h_right] W + b), with W and b of the operator; numbers are embedded.

    4 units² FLOP forward per operator. Fold's example has no bias and a rectifier instead.
    """

    arity = 2
    unit = "expressions"
    num_states = 1
    vertex_types = (
        _base.VertexType("number", pulls=True),
        *(_base.VertexType(name, pulls=False, slots=2) for name in OPERATORS),
    )

    def make_examples(self):
        generator = np.random.default_rng([self.settings.seed, 2])
        expressions = [_Expression(generator) for _ in range(self.settings.num_examples)]
        sizes = [len(expression.kind) for expression in expressions]
        children, kind, token = (
            np.concatenate([np.asarray(getattr(e, part), np.int32) for e in expressions])
            for part in ("children", "kind", "token")
        )
        splits = np.concatenate([[0], np.cumsum(sizes)])
        label = np.full(len(kind), -1, np.int32)
        label[splits[1:] - 1] = [np.sign(expression.value) + 1 for expression in expressions]
        return _base.Examples(splits, children, token, label, 10, kind)

    def weight_shapes(self):
        h = self.units
        shapes = ((f"{name}_kernel", (2 * h, h)) for name in OPERATORS)
        return dict(shapes) | {f"{name}_bias": (h,) for name in OPERATORS}

    def given(self, xp, w, kind, x):
        return x

    def vertex(self, xp, w, kind, given, slots, edges):
        if kind == 0:
            return (given,)
        name = OPERATORS[kind - 1]
        (left,), (right,) = slots
        return (xp.tanh(xp.concat([left, right]) @ w[f"{name}_kernel"] + w[f"{name}_bias"]),)

    def forward_flops_of(self, minibatch):
        return 4 * self.units**2 * int((minibatch.kind > 0).sum())


class _Expression:
    """A random expression: its vertices in post-order, and its value."""

    def __init__(self, generator):
        self.children, self.kind, self.token = [], [], []
        self._generator = generator
        # There is at least one operator: for a number alone, no cell would run.
        self.value = self._add_operator(_MAX_DEPTH)

    def _add_operator(self, depth: int) -> int:
        operands, places = [], []
        for _ in range(2):
            is_number = depth == 1 or self._generator.random() < _NUMBER_SHARE
            operands.append(self._add_number() if is_number else self._add_operator(depth - 1))
            places.append(len(self.kind) - 1)
        kind = int(self._generator.integers(1, len(OPERATORS) + 1))
        self._add(places, kind, 0)
        return _evaluate(OPERATORS[kind - 1], *operands)

    def _add_number(self) -> int:
        digit = int(self._generator.integers(10))
        self._add([-1, -1], 0, digit)
        return digit

    def _add(self, children, kind, token) -> None:
        self.children.append(children)
        self.kind.append(kind)
        self.token.append(token)


def _evaluate(operator: str, left: int, right: int) -> int:
    if operator == "plus":
        return left + right
    if operator == "minus":
        return left - right
    if operator == "times":
        return left * right
    return left // right if right else 0
