"""The fuzzer itself: it can draw every operator that it knows, and finds wrong results."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.fuzz import check as checks
from tests.fuzz import graphs, operators
from tests.fuzz.cases import Case, Process, Step, draw_case
from tests.fuzz.check import check
from tests.fuzz.oracle import Oracle, noise_of
from tests.fuzz.programs import (
    SAMPLE_ROWS,
    Draw,
    Input,
    Line,
    Members,
    Program,
    ProgramDraw,
    VertexFunction,
    input_rows,
)
from tests.fuzz.shrink import shrink
from tests.fuzz.verdict import Verdict
from tests.fuzz.worker import Worker

SUM = Program(
    "float32",
    state=(2,),
    arity=2,
    inputs={"a": Input((2,), "float")},
    members=(Line("self.w0", "tf.Variable(tf.constant([[1.0, 0.5], [0.0, 2.0]], D))"),),
    functions=(
        VertexFunction(
            "vertex",
            (
                Line("x0", "self.pull('a')"),
                Line("x1", "self.gather(0)"),
                Line("x2", "tf.matmul(x1, self.w0)"),
                Line("x3", "x0 + x2"),
                Line("x4", "tf.tanh(x0)"),
            ),
            "x3",
            (("p", "x3"), ("q", "x4")),
        ),
    ),
)
CHAIN = Step((((), (0,), (1,)),), None, seed=3, options={})
CASE = Case(SUM, (CHAIN,))


def draw_with_rows_of_every_kind(seed):
    rng = np.random.default_rng(seed)
    draw = Draw(rng, Members(rng, "float32"), widest=4096)
    for shape in [(), (4,), (4,), (3, 3), (2, 3), (2, 3), (2, 2, 3)]:
        draw.add("", sample=input_rows(rng.uniform(-1, 1, (3, *shape)), "float", "float32"))
    draw.add("", sample=input_rows(rng.uniform(-1, 1, 3), "id", "float32"))
    draw.add("", sample=input_rows(rng.uniform(-1, 1, (3, 1)), "bool", "float32"))
    return draw


@pytest.mark.parametrize("table", [*(t for _, t in operators.FAMILIES), operators.COUPLED])
def test_every_operator_can_be_drawn(table):
    never = [
        name
        for name, template in table.items()
        if not any(
            draw_with_rows_of_every_kind(seed).try_template(name, template) for seed in range(20)
        )
    ]
    assert not never


def test_there_are_at_least_120_operators():
    assert len(operators.OPERATORS) >= 120
    assert len(operators.OPERATORS) == sum(len(table) for _, table in operators.FAMILIES)


def test_a_seed_stands_for_one_case():
    assert draw_case(11) == draw_case(11)
    assert draw_case(11) != draw_case(12)


def test_the_oracle_evaluates_children_first():
    oracle = Oracle(SUM)
    inputs = {"a": tf.constant([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])}
    results = oracle.run(dataclasses.replace(CHAIN, minibatch=(((1,), (2,), ()),)), inputs)
    np.testing.assert_allclose(results["output p"], [[1.0, 2.0], [0.0, 1.0], [0.0, 0.0]])
    assert results["gradient of weight 0"].shape == (2, 2)


def test_a_right_case_is_right():
    verdict = check(CASE)
    assert verdict.kind == "right", verdict.text
    assert verdict.compared == 4
    assert verdict.vague == 0


@pytest.mark.in_turns
@pytest.mark.parametrize("name", ["output p", "gradient of input a", "gradient of weight 0"])
def test_one_wrong_number_is_found(monkeypatch, name):
    results_of = checks.results_of

    def wrong(*args):
        results, gradients = results_of(*args)
        results[name].flat[-1] += 1e-4
        return results, gradients

    monkeypatch.setattr(checks, "results_of", wrong)
    verdict = check(CASE)
    assert verdict.kind == "wrong"
    assert f"step 0, {name}" in verdict.text


def test_numbers_that_nothing_determines_are_not_called_wrong():
    # The difference of two roundings is multiplied until nothing else is left.
    program = with_lines(x3="((x0 + 1024.0) - 1024.0 - x0) * 1048576.0")
    verdict = check(Case(program, (CHAIN,)))
    assert verdict.kind == "right", verdict.text


def test_zeros_are_noisy_where_numbers_may_have_cancelled_each_other():
    noise = noise_of("float32", seed=0, move_zeros=True)
    zeros, numbers = tf.zeros([1, 3]), tf.constant([[0.0, -8.0]])
    moved = noise(zeros, [numbers, tf.constant([3])]).numpy()
    assert np.all(moved != 0)
    assert np.max(np.abs(moved)) < 8 * 1e-6
    np.testing.assert_array_equal(noise(zeros, [zeros]), zeros)
    np.testing.assert_array_equal(noise_of("float32", seed=0)(zeros, [numbers]), zeros)


@pytest.mark.in_turns
def test_the_sign_of_what_is_left_of_equal_numbers_is_not_called_wrong(monkeypatch):
    results_of = checks.results_of

    def one_rounding_left(program, tape, loss, inputs, outputs, weights):
        outputs = outputs | {"q": tf.ones_like(outputs["q"])}
        return results_of(program, tape, loss, inputs, outputs, weights)

    monkeypatch.setattr(checks, "results_of", one_rounding_left)
    verdict = check(Case(with_lines(x3="x0 - x0", x4="tf.sign(x3)"), (CHAIN,)))
    assert verdict.kind == "right", verdict.text
    assert check(Case(with_lines(x3="x0 + x2", x4="0.0 * x3"), (CHAIN,))).kind == "wrong"


@pytest.mark.in_turns
@pytest.mark.parametrize(("left", "kind"), [(3e-6, "right"), (1e-4, "wrong")])
def test_what_cancels_within_a_line_is_compared_with_what_the_line_computes(
    monkeypatch, left, kind
):
    results_of = checks.results_of

    def with_rest(*args):
        results, gradients = results_of(*args)
        results["output q"].flat[-1] += left
        return results, gradients

    monkeypatch.setattr(checks, "results_of", with_rest)
    # One column divided by its standard deviation of 0, which epsilon makes 0.03, less the same.
    program = with_lines(x4="self.l1(x0[:, :1])")
    layer = Line("self.l1", "tf.keras.layers.LayerNormalization(dtype=P)")
    program = dataclasses.replace(program, members=(*program.members, layer))
    assert check(Case(program, (CHAIN,))).kind == kind


@pytest.mark.in_turns
@pytest.mark.filterwarnings("ignore:You are using a softmax")
def test_equal_lines_are_drawn():
    programs = [draw_case(seed).program for seed in range(60)]
    lines = [[line.source for line in f.lines] for p in programs for f in p.functions]
    assert sum(len(set(sources)) < len(sources) for sources in lines) >= 3


def test_zeros_have_the_type_that_the_oracle_runs_in():
    rng = np.random.default_rng(0)
    drawing = ProgramDraw(rng)
    drawing._members = Members(rng, "bfloat16")
    draw = Draw(rng, drawing._members, widest=64)
    draw.add("", sample=tf.ones([SAMPLE_ROWS, 1], tf.bool))
    drawing._cast_to(draw, (2,), tf.bfloat16)
    assert draw.lines[-1].source == "tf.zeros([tf.shape(x0)[0], *(2,)], D)"
    drawing._cast_to(draw, (2,), tf.int32)
    assert draw.lines[-1].source == "tf.zeros([tf.shape(x1)[0], *(2,)], tf.int32)"


@pytest.mark.parametrize("shape", [(0,), (2, 0)])
def test_rows_without_elements_remain_as_many(shape):
    rng = np.random.default_rng(0)
    drawing = ProgramDraw(rng)
    draw = Draw(rng, Members(rng, "float32"), widest=64)
    value = draw.add("", sample=tf.zeros([SAMPLE_ROWS, 0]))
    assert drawing._projected(draw, value, shape).sample.shape == (SAMPLE_ROWS, *shape)


def test_a_state_that_overflows_and_that_nothing_reads_may_have_any_gradient():
    program = with_lines(x3="tf.sin(tf.exp(200.0 + x0))", x4="tf.tanh(x1)")
    function = dataclasses.replace(program.functions[0], pushes=(("p", "x4"),))
    program = dataclasses.replace(program, functions=(function,))
    verdict = check(Case(program, (dataclasses.replace(CHAIN, minibatch=(((),),)),)))
    assert verdict.kind == "right", verdict.text


@pytest.mark.in_turns
def test_a_number_that_overflows_and_that_is_read_excuses_no_gradient(monkeypatch):
    results_of = checks.results_of

    def with_nan(*args):
        results, gradients = results_of(*args)
        results["gradient of weight 0"].flat[0] = np.nan
        return results, gradients

    monkeypatch.setattr(checks, "results_of", with_nan)
    program = with_lines(x4="tf.exp(200.0 + x0)")
    assert check(Case(program, (CHAIN,))).kind == "wrong"


def with_lines(**sources):
    function = SUM.functions[0]
    lines = tuple(Line(x.name, sources.get(x.name, x.source)) for x in function.lines)
    functions = (dataclasses.replace(function, lines=lines),)
    return dataclasses.replace(SUM, functions=functions)


def test_a_refusal_is_right_only_where_rows_are_coupled():
    program = with_lines(x4="x0 - tf.reduce_mean(x0, 0)")
    assert check(Case(program, (CHAIN,))).kind == "raised"
    assert check(Case(dataclasses.replace(program, coupled=True), (CHAIN,))).kind == "refused"


def test_what_tensorflow_cannot_differentiate_in_a_state_is_void():
    # The derivative of tf.sort has a range from 0 to 0 in steps of 0.
    program = with_lines(x3="tf.reduce_sum(tf.sort((x0 + x2)[:, :0]), 1, keepdims=True) + x2")
    function = dataclasses.replace(program.functions[0], pushes=(("q", "x1"),))
    program = dataclasses.replace(program, functions=(function,))
    assert check(Case(program, (CHAIN,))).kind == "void"


def test_what_only_the_oracle_differentiates_is_void_where_tensorflow_cannot():
    # Nothing asks for a derivative through tf.floor but the oracle, for each of its lines.
    program = with_lines(
        x1="tf.floor(self.gather(0)[:, :0])",
        x2="tf.reduce_sum(tf.sort(x1), 1, keepdims=True)",
    )
    assert check(Case(program, (CHAIN,))).kind == "void"


def test_what_tensorflow_cannot_differentiate_in_what_is_gathered_is_void():
    # The derivative of digamma has no kernel for float16.
    program = dataclasses.replace(with_lines(x2="tf.math.digamma(1.0 + x1)"), dtype="float16")
    assert check(Case(program, (CHAIN,))).kind == "void"
    function = dataclasses.replace(program.functions[0], state="x2", pushes=(("q", "x2"),))
    program = dataclasses.replace(program, functions=(function,), members=())
    lines = tuple(line for line in function.lines if line.name in ("x1", "x2"))
    program = dataclasses.replace(program, functions=(dataclasses.replace(function, lines=lines),))
    assert check(Case(program, (CHAIN,))).kind == "void"


def test_what_tensorflow_cannot_differentiate_without_a_number_of_rows_is_void():
    # The gradient of tf.recompute_grad takes no tf.IndexedSlices.
    program = with_lines(
        x2="tf.recompute_grad(lambda a: tf.tanh(tf.matmul(a, self.w0)))(x1)",
        x3="x0 + tf.vectorized_map(lambda a: a * tf.reduce_sum(a), x2)",
    )
    assert check(Case(program, (CHAIN,))).kind == "void"


def test_layers_that_no_graph_can_build_are_void():
    line = "tf.gather(x0, tf.where([True, False])[:, 0], axis=1)"  # Of unknown width.
    layer = Line("self.l1", "tf.keras.layers.LSTMCell(2)")
    program = with_lines(x2=line, x3="self.l1(x2, [x1, x1])[0]")
    program = dataclasses.replace(program, members=(*program.members, layer))
    with pytest.warns(UserWarning, match="unbuilt state"):
        assert check(Case(program, (CHAIN,))).kind == "void"


def test_layers_that_tensorflow_cannot_build_without_a_width_are_void():
    line = "tf.experimental.numpy.take_along_axis(x1, tf.zeros([tf.shape(x1)[0], 1], tf.int32), 1)"
    layer = Line("self.l1", "tf.keras.layers.LayerNormalization()")
    program = with_lines(x2=line, x3="self.l1(x2) + x0")
    program = dataclasses.replace(program, members=(*program.members, layer))
    assert check(Case(program, (CHAIN,))).kind == "void"


@pytest.mark.in_turns
def test_layers_over_what_tensorflow_maps_to_no_rows_are_void():
    # Of no rows tf.map_fn makes rows of no columns, in the oracle as in TensorFlow.
    lines = (
        Line("x0", "self.pull('a')"),
        Line("x1", "tf.map_fn(lambda a: a * tf.reduce_sum(a), self.pull_edge('along'))"),
        Line("x2", "self.l1(tf.linalg.diag(x1))"),
        Line("x3", "self.sum_children(x2)"),
    )
    program = dataclasses.replace(
        SUM,
        most_children=3,
        inputs={**SUM.inputs, "along": Input((1,), "float", edges=True)},
        members=(Line("self.l1", "tf.keras.layers.Dense(7, dtype=D)"),),
        functions=(VertexFunction("vertex", lines, "x0", (("p", "x3"),)),),
    )
    one_vertex = Step((((),),), None, seed=3, options={})
    assert check(Case(program, (one_vertex,))).kind == "void"


def test_the_death_of_a_process_is_a_verdict():
    program = with_lines(x4="__import__('os').abort()")
    with Worker(Process(threads=1, guarded=True)) as worker:
        verdict = worker.check(Case(program, (CHAIN,)))
        assert (verdict.kind, verdict.where) == ("died", "SIGABRT")
        assert worker.check(CASE).ok


def test_shrinking_keeps_what_fails():
    big = dataclasses.replace(CHAIN, minibatch=(((), (0,), (1,)), ((), (0, -1)), ((),)))
    case = dataclasses.replace(CASE, steps=(big, CHAIN), as_function=True)

    def fails(candidate):
        reads = [line.source for f in candidate.program.functions for line in f.lines]
        deep = any(v for step in candidate.steps for g in step.minibatch for v in g)
        if deep and any("tf.tanh" in source for source in reads):
            return Verdict("wrong", "output q")
        return Verdict("right")

    small = shrink(case, fails(case), fails)
    (step,), (function,) = small.steps, small.program.functions
    assert sum(map(len, step.minibatch)) <= 2
    assert not small.as_function
    assert [line.source for line in function.lines if "matmul" in line.source] == []
    assert not small.program.members


@pytest.mark.parametrize("kind", graphs.KINDS, ids=lambda k: k.__name__)
def test_graphs_have_no_cycles(kind):
    rng = np.random.default_rng(0)
    for n in (0, 1, 2, 9):
        children = graphs._shuffled(rng, kind(rng, n, 2))
        assert sorted(graphs.topological(children)) == list(range(n))
        cavs.GraphBatch.from_children([children]).schedule(arity=2)
