"""listops: compares every value with an evaluator that reads the text of the expression."""

import doctest
import importlib
import itertools

import numpy as np
import pytest

from cavs_tf import data
from cavs_tf.graphs import GraphBatch


def evaluate(text):
    """Evaluates the text of an expression with a stack, without code of the generator."""
    stack = [[]]
    for word in text.split(" "):
        if word.startswith("["):
            stack.append([word])
        elif word == "]":
            name, *values = stack.pop()
            ordered = sorted(values)
            middle = ordered[(len(values) - 1) // 2], ordered[len(values) // 2]
            results = {
                "[MIN": ordered[0],
                "[MAX": ordered[-1],
                "[MED": int(sum(middle) / 2),
                "[SM": sum(values) % 10,
            }
            stack[-1].append(results[name])
        else:
            stack[-1].append(int(word))
    [[value]] = stack
    return value


def subtree_text(example, vertex):
    """The text of the subexpression of a vertex, made by recursion."""
    name = data.LISTOPS_TOKENS[example["token"][vertex]]
    arguments = [c for c in example["children"][vertex] if c >= 0]
    if not arguments:
        return name
    return " ".join([name, *(subtree_text(example, c) for c in arguments), "]"])


def examples(*args, **options):
    """The examples as dicts of arrays. as_numpy_iterator would make them too, but slowly."""
    found = []
    for batch in data.listops(*args, **options).batch(10_000):
        splits = batch["token"].row_splits.numpy()
        flat = {k: v.values.numpy() for k, v in batch.items() if k != "label"}
        for label, begin, end in zip(batch["label"].numpy(), splits, splits[1:], strict=False):
            found.append({"label": label} | {k: v[begin:end] for k, v in flat.items()})
    return found


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"seed": 7, "max_depth": 1},
        {"seed": 8, "max_depth": 8, "max_args": 3, "operator_probability": 0.4},
        {"seed": 9, "max_depth": 2, "max_args": 2, "operator_probability": 1.0},
    ],
)
def test_every_value_is_right(options):
    for example in examples(300, **options):
        text = data.listops_text(example["children"], example["token"])
        assert text == subtree_text(example, 0)
        assert evaluate(text) == example["label"] == example["vertex_label"][0]
        for vertex, value in enumerate(example["vertex_label"]):
            assert evaluate(subtree_text(example, vertex)) == value


def test_shape_of_expressions():
    max_depth, max_args = 3, 4
    for example in examples(300, max_depth=max_depth, max_args=max_args):
        children, token = example["children"], example["token"]
        assert children.shape == (len(token), max_args) and children.dtype == np.int32
        counts = np.count_nonzero(children >= 0, axis=1)
        assert set(counts) <= {0, 2, 3, 4} and counts[0] > 0
        np.testing.assert_array_equal(counts > 0, token >= 10)
        np.testing.assert_array_equal(example["inner"], token >= 10)
        np.testing.assert_array_equal(example["operator"], np.maximum(token - 9, 0))
        # Missing children come last, and vertices are in the order of the text.
        assert all((slots[:n] >= 0).all() for slots, n in zip(children, counts, strict=True))
        assert sorted(children[children >= 0]) == list(range(1, len(token)))
        graphs = GraphBatch.from_children([children])
        assert graphs.schedule(max_args).num_tasks <= max_depth + 1


@pytest.mark.in_turns
def test_expressions_differ_and_follow_the_seed():
    def texts(seed, num_examples=1500):
        return [
            data.listops_text(e["children"], e["token"])
            for e in examples(num_examples, seed=seed, max_depth=2, max_args=3)
        ]

    assert len(set(texts(0))) == 1500
    assert texts(0) == texts(0)
    assert texts(0)[:70] == texts(0, 70)
    assert texts(0) != texts(1)


def test_all_tokens_are_drawn_evenly():
    token = np.concatenate([e["token"] for e in examples(3000)])
    digits, operators = token[token < 10], token[token >= 10]
    assert np.bincount(digits, minlength=10).min() > 0.09 * len(digits)
    assert np.bincount(operators - 10, minlength=4).min() > 0.22 * len(operators)


def test_finds_all_expressions_there_are():
    found = {
        data.listops_text(e["children"], e["token"]) for e in examples(390, max_depth=1, max_args=2)
    }
    names = ("[MIN", "[MAX", "[MED", "[SM")
    every = {f"{n} {a} {b} ]" for n, a, b in itertools.product(names, range(10), range(10))}
    assert len(found) == 390 and found < every


def test_batches_with_schedules():
    for batch in data.batch(data.listops(50), 16, vertex_type="operator", num_types=5):
        graphs = batch["graphs"]
        np.testing.assert_array_equal(np.diff(graphs.roots), np.diff(graphs.graph_splits)[:-1])
        np.testing.assert_array_equal(
            batch["label"], batch["vertex_label"].numpy()[graphs.roots.numpy()]
        )


def test_no_examples():
    assert examples(0) == []


@pytest.mark.parametrize(
    "args, options, message",
    [
        ((-1,), {}, r"num_examples: got -1 but expected an int of at least 0\."),
        ((1,), {"max_depth": 0}, r"max_depth: got 0 but expected an int of at least 1\."),
        ((1,), {"max_args": 1}, r"max_args: got 1 but expected an int of at least 2\."),
        ((1,), {"operator_probability": 1.5}, r"operator_probability: got 1\.5 but expected"),
        (
            (500,),
            {"max_depth": 1, "max_args": 2},
            r"num_examples: got 500 but expected about \d+, because a round found no other "
            r"expressions\. Raise max_depth or max_args\.",
        ),
    ],
)
def test_rejects(args, options, message):
    with pytest.raises(ValueError, match=message):
        data.listops(*args, **options)


def test_docstring_examples_run():
    assert doctest.testmod(importlib.import_module("cavs_tf.data._listops")).failed == 0
