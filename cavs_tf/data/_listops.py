"""ListOps: nested operations on lists of digits, each with its value.

Source: Nangia and Bowman 2018, "ListOps: a diagnostic dataset for latent tree learning",
arXiv:1804.06028. The generator is our own: all expressions of a round grow together, one
level at a time.
"""

import dataclasses

import numpy as np
import tensorflow as tf

from cavs_tf._values.integers import check_at_least
from cavs_tf.data._examples import from_arrays

# The token of a digit is its value.
LISTOPS_TOKENS = (*map(str, range(10)), "[MIN", "[MAX", "[MED", "[SM")
_FIRST_OPERATOR = 10
# Expressions that grow together. A constant, so that a seed gives the same first examples
# however many are wanted.
_ROUND = 1024


def listops(
    num_examples: int,
    seed: int = 0,
    *,
    max_depth: int = 4,
    max_args: int = 5,
    operator_probability: float = 0.25,
) -> tf.data.Dataset:
    """Generates expressions such as `[MAX 2 9 [MIN 4 7 ] 0 ]`, no two of them equal.

    An operator is an inner vertex with its arguments as children, a digit a leaf: MIN, MAX,
    MED (the median, rounded down) and SM (the sum modulo 10). The root is an operator; any
    other vertex is one with `operator_probability`, except at `max_depth`. Operators are
    equally likely, and so are the numbers of arguments from 2 to `max_args`, and digits. The
    vertices stand in the order of the written expression, the root first.

    Because no two expressions are equal, `take` and `skip` separate examples for training
    from unseen ones.

    Args:
      num_examples: Number of expressions, at least 0.
      seed: The seed of the expressions. The first ones do not depend on how many are made.
      max_depth: Most operators around a digit, at least 1.
      max_args: Most arguments of an operator, at least 2.
      operator_probability: In [0, 1].

    Returns:
      A dataset of one dict per expression of n vertices, for `cavs_tf.data.batch`:
        children: int32 [n, max_args], relative ids or -1.
        token: int32 [n], an index into LISTOPS_TOKENS: 0-9 digits, 10-13 operators.
        operator: int32 [n], 0 for a digit, 1-4 for MIN, MAX, MED, SM: a vertex type.
        inner: int32 [n], 0 for a digit, 1 for an operator: a vertex type.
        vertex_label: int32 [n], the value of each subexpression, in [0, 10).
        label: int32, the value of the expression.

    Raises:
      ValueError: If an argument is out of range, or there are too few different expressions.

    >>> for example in listops(2, seed=1, max_depth=2, max_args=3).as_numpy_iterator():
    ...     print(listops_text(example["children"], example["token"]), "=", example["label"])
    [SM [MAX 4 4 7 ] 8 ] = 5
    [MAX [MIN 4 6 ] 0 ] = 4
    """
    check_at_least(0, num_examples=num_examples)
    check_at_least(1, max_depth=max_depth)
    check_at_least(2, max_args=max_args)
    if not 0 <= operator_probability <= 1:
        raise ValueError(
            f"operator_probability: got {operator_probability} but expected a number in [0, 1]."
        )
    random = np.random.default_rng(seed)
    rounds, seen, num_found = [], set(), 0
    while num_found < num_examples:
        levels = _grow(random, _ROUND, max_depth, max_args, operator_probability)
        expressions = _write(levels, max_args)
        new = expressions.new_ones(seen)[: num_examples - num_found]
        if not new:
            raise ValueError(
                f"num_examples: got {num_examples} but expected about {num_found}, because a "
                "round found no other expressions. Raise max_depth or max_args."
            )
        num_found += len(new)
        rounds.append(expressions.select(new))
    return _dataset(rounds, max_args)


def listops_text(children, token) -> str:
    """Writes an expression of `listops` as text.

    Args:
      children: [n, K] ints, relative ids or -1.
      token: [n] ints, indices into LISTOPS_TOKENS, in the order of the expression.

    Returns:
      The expression, with a blank between tokens.

    >>> listops_text([[1, 2], [-1, -1], [-1, -1]], [11, 2, 9])
    '[MAX 2 9 ]'
    """
    # The number of brackets that close after each vertex: one for each operator that ends there.
    closing = [0] * len(token)
    last = list(range(len(token)))
    for vertex in reversed(range(len(token))):
        arguments = [child for child in children[vertex] if child >= 0]
        if arguments:
            last[vertex] = last[arguments[-1]]
            closing[last[vertex]] += 1
    words = (LISTOPS_TOKENS[t] + " ]" * n for t, n in zip(token, closing, strict=True))
    return " ".join(words)


@dataclasses.dataclass
class _Level:
    """The vertices of all expressions at one depth, in order."""

    # Index into the level above, ascending; at the top level, the number of the expression.
    parent: np.ndarray
    token: np.ndarray
    num_args: np.ndarray  # The number of arguments; 0 for a digit.


def _grow(random, num_expressions, max_depth, max_args, operator_probability) -> list[_Level]:
    levels = []
    parent = np.arange(num_expressions)
    for depth in range(max_depth + 1):
        probability = (depth < max_depth) * (operator_probability if depth else 1.0)
        is_operator = random.random(len(parent)) < probability
        digit = random.integers(_FIRST_OPERATOR, size=len(parent))
        operator = random.integers(_FIRST_OPERATOR, len(LISTOPS_TOKENS), size=len(parent))
        num_args = random.integers(2, max_args + 1, size=len(parent)) * is_operator
        levels.append(_Level(parent, np.where(is_operator, operator, digit), num_args))
        parent = np.repeat(np.arange(len(parent)), num_args)
    return levels


@dataclasses.dataclass
class _Expressions:
    """Expressions one after another, each in the order in which it is written."""

    splits: np.ndarray
    children: np.ndarray
    token: np.ndarray
    value: np.ndarray

    def new_ones(self, seen: set[bytes]) -> list[int]:
        """The expressions that are not in `seen`, to which they are added."""
        # The shape follows from the tokens and the number of arguments of each.
        num_args = np.count_nonzero(self.children >= 0, axis=1)
        spelled = np.stack([self.token, num_args], axis=1).astype(np.int32)
        new = []
        for i, (begin, end) in enumerate(zip(self.splits, self.splits[1:], strict=False)):
            key = spelled[begin:end].tobytes()
            if key not in seen:
                seen.add(key)
                new.append(i)
        return new

    def select(self, indices) -> "_Expressions":
        sizes = np.diff(self.splits)[indices]
        splits = np.concatenate([[0], np.cumsum(sizes)])
        shift = np.repeat(self.splits[indices] - splits[:-1], sizes)
        rows = np.arange(splits[-1]) + shift
        return _Expressions(splits, self.children[rows], self.token[rows], self.value[rows])


def _write(levels: list[_Level], max_args: int) -> _Expressions:
    """Computes values from the bottom up, then positions in the expression from the top down."""
    values, sizes = [None] * len(levels), [None] * len(levels)
    below_value = below_size = np.zeros(0, np.int64)
    for depth in reversed(range(len(levels))):
        level = levels[depth]
        values[depth] = _evaluate(level, below_value, max_args)
        arguments_end = np.cumsum(level.num_args)
        size_before = np.concatenate([[0], np.cumsum(below_size)])
        sizes[depth] = 1 + size_before[arguments_end] - size_before[arguments_end - level.num_args]
        below_value, below_size = values[depth], sizes[depth]

    splits = np.concatenate([[0], np.cumsum(sizes[0])])
    num_vertices = splits[-1]
    children = np.full([num_vertices, max_args], -1, np.int32)
    token = np.zeros(num_vertices, np.int32)
    value = np.zeros(num_vertices, np.int32)
    # For the vertices of the level above: their positions, and where their expressions begin.
    place = begin = splits[:-1]
    for depth, level in enumerate(levels):
        if depth:
            # Arguments follow the parent and the siblings to their left.
            slot = _position_in_group(level.parent)
            size_before = np.cumsum(sizes[depth]) - sizes[depth]
            first_sibling = np.arange(len(slot)) - slot
            parent_place, begin = place[level.parent], begin[level.parent]
            place = parent_place + 1 + size_before - size_before[first_sibling]
            children[parent_place, slot] = place - begin
        token[place] = level.token
        value[place] = values[depth]
    return _Expressions(splits, children, token, value)


def _evaluate(level: _Level, below: np.ndarray, max_args: int) -> np.ndarray:
    """The values of a level's vertices; `below` holds those of their arguments, in order."""
    value = level.token.copy()
    operators = np.flatnonzero(level.num_args)
    present = np.arange(max_args) < level.num_args[operators, None]
    padded = np.full(present.shape, 10)  # Sorts behind all digits.
    padded[present] = below
    padded.sort(axis=1)
    count = level.num_args[operators]
    row = np.arange(len(operators))
    largest = padded[row, count - 1]
    median = (padded[row, (count - 1) // 2] + padded[row, count // 2]) // 2
    total = np.where(present, padded, 0).sum(axis=1) % 10
    kind = level.token[operators] - _FIRST_OPERATOR
    value[operators] = np.choose(kind, [padded[:, 0], largest, median, total])
    return value


def _position_in_group(group: np.ndarray) -> np.ndarray:
    """0, 1, ... within each run of equal values; `group` ascends."""
    return np.arange(len(group)) - np.searchsorted(group, group)


def _dataset(rounds: list[_Expressions], max_args: int) -> tf.data.Dataset:
    nothing = _Expressions(
        np.zeros(1, np.int64), np.zeros([0, max_args], np.int32), *np.zeros([2, 0], np.int32)
    )
    rounds = [nothing, *rounds]
    sizes = np.concatenate([np.diff(r.splits) for r in rounds])
    splits = np.concatenate([[0], np.cumsum(sizes)])
    token = np.concatenate([r.token for r in rounds])
    value = np.concatenate([r.value for r in rounds])
    operator = np.maximum(token - (_FIRST_OPERATOR - 1), 0)
    features = {
        "children": np.concatenate([r.children for r in rounds]),
        "token": token,
        "operator": operator,
        "inner": np.minimum(operator, 1),
        "vertex_label": value,
    }
    return from_arrays(splits, features, {"label": value[splits[:-1]]})
