"""What `cavs.explain` says: to whom, by which names, and of which tasks."""

import re

import keras
import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs

TREES = cavs.GraphBatch.from_children([[[], [], [0, 1], [2, 0]], [[]]])
ROWS = np.ones([5, 3], "float32")


class Attention(cavs.GraphSupport):
    """Layers, lines and all methods that read edges."""

    arity = None

    def __init__(self, units=4, **kwargs):
        super().__init__(state_size=units, **kwargs)
        self.query = keras.layers.Dense(units, name="query")
        self.mlp = keras.Sequential(
            [keras.layers.Dense(units, name="keys"), keras.layers.LayerNormalization(name="norm")],
            name="mlp",
        )

    def vertex(self):
        x, h = self.pull("words"), self.children() + self.pull_edge("relation")
        score = tf.reduce_sum(self.to_children(self.query(x)) * self.mlp(h), axis=1, keepdims=True)
        weights = self.softmax_children(score)
        h = tf.tanh(self.query(x) + self.sum_children(weights * h))
        self.scatter(h)
        self.push(tf.math.cumulative_logsumexp(h, axis=1), "sums")


INPUTS = {"words": ROWS, "relation": np.ones([4, 4], "float32")}


def number_of_line(beginning):
    with open(__file__) as lines:
        return next(i for i, line in enumerate(lines, 1) if line.strip().startswith(beginning))


def line_with(text, *parts):
    (found,) = [line for line in text.splitlines() if all(part in line for part in parts)]
    return found


def test_text_is_returned_and_nothing_is_printed(capsys):
    text = cavs.explain(Attention(), TREES, INPUTS)
    assert capsys.readouterr().out == ""
    assert isinstance(text, str) and text.startswith("F of Attention.vertex\n")


def test_a_notebook_shows_the_text_and_not_its_representation():
    text = cavs.explain(Attention(), TREES, INPUTS)
    assert repr(text) == str(text) and "\n" in repr(text)


def test_operators_have_the_layers_and_the_lines_of_the_user():
    text = cavs.explain(Attention(), TREES, INPUTS)
    forward, backward, _ = text.split("\n\n")
    line = number_of_line("score = ")
    query = line_with(forward, "MatMul", "layer query")
    assert query.endswith(f"test_explain.py:{line}  score = tf.reduce_sum(self.to_children(self...")
    assert line_with(forward, "MatMul", "layer mlp/keys").endswith(f"test_explain.py:{line}")
    assert line_with(forward, "Rsqrt", "layer mlp/norm").endswith(f"test_explain.py:{line}")
    softmax = number_of_line("weights = ")
    assert re.search(f"max_children.* test_explain.py:{softmax}  weights = self.softm", forward)
    assert re.search(f"Exp.* test_explain.py:{softmax}\n", forward)
    assert re.search(f"weight gradient.* layer mlp/keys  test_explain.py:{line}", backward)
    fallback = number_of_line("self.push(tf.math.cumulative")
    of_foreign = f"kernels: CumulativeLogsumexp (test_explain.py:{fallback})"
    assert of_foreign in forward


def test_operators_have_no_names_that_the_user_did_not_write():
    text = cavs.explain(Attention(), TREES, INPUTS)
    assert re.findall(r"\b\w+_\d+\b|Cavs\w+|_Arg|_Retval|\bpull\(\d|\bpush\(\d", text) == []
    for method in ("children", "to_children", "sum_children", "max_children"):
        assert re.search(rf"\b{method}\b", text), method
    assert "pull('words')" in text and "pull_edge('relation')" in text
    assert "push('sums')" in text and "pull_edge_grad('relation')" in text


def test_layers_of_equal_names_and_numbers_are_told_apart():
    class Two(cavs.GraphSupport):
        arity = 1

        def __init__(self):
            super().__init__(state_size=4)
            self.first = keras.layers.Dense(4, name="dense")
            self.second = keras.layers.Dense(4, name="dense_1")

        def vertex(self):
            h = tf.tanh(self.first(self.pull()))
            h = tf.sin(self.second(h + self.gather(0)))
            self.scatter(h)
            self.push(h)

    text = cavs.explain(Two(), cavs.GraphBatch.chain([3, 2]), np.ones([5, 4], "float32"))
    forward = text.partition("dF of")[0]
    first, second = number_of_line("h = tf.tanh(self.first"), number_of_line("h = tf.sin(self.sec")
    assert line_with(forward, "MatMul", "layer dense  ", f"test_explain.py:{first}")
    assert line_with(forward, "MatMul", "layer dense_1  ", f"test_explain.py:{second}")


def test_operators_of_layers_that_are_decomposed_keep_their_layer():
    class Stacked(cavs.GraphSupport):
        arity = 2

        def __init__(self):
            super().__init__(state_size=4)
            self.attend = keras.layers.MultiHeadAttention(2, 2, name="attend")

        def vertex(self):
            h = self.attend(self.pull()[:, None], self.gather_all())[:, 0]
            self.scatter(h)
            self.push(h)

    text = cavs.explain(Stacked(), cavs.GraphBatch.chain([3]), np.ones([3, 4], "float32"))
    assert re.search(r"MatMul.* layer attend/key  test_explain.py:\d+\n", text)
    assert re.search(r"Exp.* layer attend  test_explain.py:\d+", text)


def test_cells_of_the_package_are_shown_by_their_own_lines():
    text = cavs.explain(cavs.keras.TreeLSTM(4), cavs.GraphBatch.chain([3]), ROWS[:3])
    assert re.search(r"MatMul .* _tree_lstm.py:\d+  \S", text)


@pytest.mark.parametrize("disable", [(), ("specialize",)])
def test_each_task_has_the_program_that_runs_it(disable):
    layer = cavs.keras.TreeLSTM(64, options=cavs.Options(disable=disable))
    trees = cavs.GraphBatch.complete_tree(depth=3, num_graphs=8)
    text = cavs.explain(layer, trees, np.ones([120, 64], "float32"))
    own = "TreeLSTMCell.vertex"
    if disable:
        assert f"  tasks 0 to 3: 120 vertices by {own}\n" in text
        return
    assert f"  task 0: 64 vertices by {own} (leaves)\n" in text
    assert f"  tasks 1 to 3: 56 vertices by {own}\n" in text


def test_a_program_without_inputs_is_named():
    trees = cavs.GraphBatch.complete_tree(depth=3, num_graphs=8)
    leaves = cavs.VertexRows(np.ones([64, 64], "float32"), np.flatnonzero(trees.num_children == 0))
    text = cavs.explain(cavs.keras.TreeLSTM(64), trees, leaves)
    assert "  tasks 1 to 3: 56 vertices by TreeLSTMCell.vertex (no input)\n" in text


def test_programs_are_called_in_the_text_what_profiles_call_them():
    from cavs_tf.inspect._profile import record

    layer = cavs.keras.TreeLSTM(64)
    trees = cavs.GraphBatch.complete_tree(depth=2, num_graphs=8)
    rows = np.ones([56, 64], "float32")
    text = cavs.explain(layer, trees, rows, program=True)
    names = {span.name for span in record(layer, (trees, rows))["forward"]}
    assert "eager: 32 rows of TreeLSTMCell.vertex (leaves)" in names
    assert "task 0: 32 vertices by TreeLSTMCell.vertex (leaves)" in text
    assert "F of TreeLSTMCell.vertex (leaves), in tasks in which no vertex has a child\n" in text


def test_many_tasks_are_counted_by_program():
    class Typed(cavs.GraphSupport):
        arity = 1
        vertex_types = ("even", "odd")

        def even(self):
            self.scatter(tf.tanh(self.pull() + self.gather(0)))
            self.push(self.gather(0))

        def odd(self):
            self.scatter(tf.sin(self.pull() + self.gather(0)))
            self.push(self.gather(0))

    children = [[[]] + [[v] for v in range(39)]]
    chain = cavs.GraphBatch.from_children(children, vertex_type=[[0, 1] * 20])
    cell = Typed(state_size=3, options=cavs.Options(disable=["specialize"]))
    text = cavs.explain(cell, chain, np.ones([40, 3], "float32"))
    assert "  20 tasks: 20 vertices by Typed.even\n  20 tasks: 20 vertices by Typed.odd\n" in text
