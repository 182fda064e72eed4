"""Pictures of what runs in a step: `plot.timeline` and `plot.vertex_function`."""

import dataclasses
import functools
import itertools
import re

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect import plot
from cavs_tf.inspect._description import describe
from cavs_tf.inspect._figures import new_figure
from cavs_tf.inspect._profile import record
from cavs_tf.inspect._run_timeline import draw_run, size_of_run
from cavs_tf.inspect._stages import STAGES
from cavs_tf.inspect._vertex_layout import lay_out, operators
from cavs_tf.inspect._vertex_routes import Link, lines_between
from tests.helpers.cells import STATE, Fallback, TreeLSTM, Typed, inputs_for

pytest.importorskip("matplotlib")

from matplotlib.backends.backend_agg import FigureCanvasAgg

TREES = cavs.GraphBatch.complete_tree(depth=2, num_graphs=3)
INPUTS = np.ones([21, 8], "float32")


class Gates(cavs.GraphSupport):
    """Gates that are written one by one, and that `merge` and `fuse` join."""

    def __init__(self, **kwargs):
        super().__init__(state_size=16, arity=1, **kwargs)
        self.first = tf.keras.layers.Dense(16, use_bias=False, name="first")
        self.second = tf.keras.layers.Dense(16, use_bias=False, name="second")
        self.recurrent = tf.keras.layers.Dense(16, use_bias=False, name="recurrent")

    def vertex(self):
        x = self.pull()
        gate = tf.sigmoid(self.first(x) + self.recurrent(self.gather(0)))
        self.scatter(gate * tf.tanh(self.second(x)))
        self.push(x)


def called(make, **arguments):
    if make is cavs.keras.TreeLSTMCell:
        arguments["units"] = 8
    cell = make(**arguments)
    own = INPUTS[:3] if make in (Gates, cavs.keras.TreeLSTMCell) else None
    inputs = inputs_for(cell, 3, "float32", 0) if own is None else own
    cell(cavs.GraphBatch.chain([3]), inputs)
    return cell


def tree_lstm(**options):
    return cavs.keras.TreeLSTM(8, name="tree", options=cavs.Options(**options))


def test_profile_holds_stages_tasks_and_operators_by_name():
    panels = record(tree_lstm(disable=["specialize"]), (TREES, INPUTS))
    names = {span.name: span.stage for span in panels["forward"]}
    assert names["eager: 21 rows of TreeLSTMCell.vertex"] == "eager"
    assert names["task 0: 12 rows of TreeLSTMCell.vertex"] == "critical"
    assert names["task 2: 3 rows of TreeLSTMCell.vertex"] == "critical"
    assert names["scatter(0)"] == "critical"
    assert names["push(0)"] == "lazy"
    assert any(name.startswith("group of ") for name in names)
    backward = [span.name for span in panels["backward"] if span.name.startswith("task ")]
    assert backward == [
        f"task {task}: {rows} rows of TreeLSTMCell.vertex_gradient"
        for task, rows in ((2, 3), (1, 6), (0, 12))
    ]


def test_profile_names_the_program_of_leaves():
    panels = record(tree_lstm(), (TREES, INPUTS))
    names = {span.name for span in panels["forward"]}
    assert "eager: 12 rows of TreeLSTMCell.vertex (leaves)" in names
    assert "task 1: 6 rows of TreeLSTMCell.vertex" in names
    assert any("_gradient (leaves)" in span.name for span in panels["backward"])


def test_profile_names_the_program_of_vertices_with_all_children():
    @cavs.vertex_function(state_size=8, arity=2)
    def chosen(v):
        inner = tf.tanh(v.gather(0) + v.gather(1))
        h = tf.where(v.has_child(1)[:, tf.newaxis], inner, v.pull())
        v.scatter(h)
        v.push(h)

    panels = record(chosen, (TREES, INPUTS))
    for direction in panels.values():
        tasks = [span.name for span in direction if span.name.startswith("task ")]
        assert all(name.endswith(" (all children)") for name in tasks), tasks
    assert any(span.name.startswith("task 2: 3 rows of ") for span in panels["forward"])


def test_profile_of_foreign_operators_has_their_names():
    cell = Fallback()
    spans = record(cell, (TREES, inputs_for(cell, 21, "float32", 0)))["forward"]
    assert "CumulativeLogsumexp" in {span.name for span in spans}


def test_timeline_draws_a_panel_per_direction(tmp_path):
    figure = plot.timeline(tree_lstm(), TREES, INPUTS, path=tmp_path / "timeline.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["forward", "backward"]
    assert figure.axes[0].get_yticklabels()[0].get_text() == "the calling thread"
    assert (tmp_path / "timeline.png").stat().st_size > 1000
    for axes in figure.axes:  # One below the other, each as wide as the picture.
        assert axes.get_subplotspec().get_gridspec().ncols == 1


def evenly(intervals):
    """The intervals with the same order and one length between any begin or end and the next."""
    times = sorted({time for interval in intervals for time in (interval.began, interval.ended)})
    ranks = {time: 1e-6 * rank for rank, time in enumerate(times)}
    return [
        dataclasses.replace(each, began=ranks[each.began], ended=ranks[each.ended])
        for each in intervals
    ]


def test_timeline_names_tasks_and_operators_where_there_is_room():
    panels = record(tree_lstm(), (TREES, INPUTS))
    panels = {name: evenly(intervals) for name, intervals in panels.items()}
    figure = draw_run(panels, new_figure(*size_of_run(panels)))
    for axes in figure.axes:
        texts = [text.get_text() for text in axes.texts]
        assert sum(text.startswith("task ") for text in texts) >= 2
        assert sum(text.startswith(("MatMul", "group of")) for text in texts) >= 2


@pytest.mark.parametrize("streams", [1, 2])
def test_timeline_says_which_row_is_which_stream(streams):
    cell = TreeLSTM(options=cavs.Options(streams=streams))
    figure = plot.timeline(cell, TREES, inputs_for(cell, 21, "float32", 0))
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    names = ["critical stream", "eager and lazy stream"]
    assert labels == (names if streams == 2 else ["the calling thread"])


def test_profile_has_the_streams_of_both_directions_by_the_same_names():
    cell = TreeLSTM(options=cavs.Options(streams=2))
    panels = record(cell, (TREES, inputs_for(cell, 21, "float32", 0)))
    stages = {
        name: [{span.stage for span in spans if span.thread == name} for spans in panels.values()]
        for name in ("the calling thread", "critical stream", "eager and lazy stream")
    }
    assert stages == {
        "the calling thread": [set(), set()],
        "critical stream": [{"prologue", "critical"}, {"prologue", "critical"}],
        "eager and lazy stream": [{"eager", "lazy"}, {"lazy"}],
    }


def test_timeline_without_weights_shows_forward_only():
    @cavs.vertex_function(state_size=1, arity=2)
    def cell(v):
        v.scatter(v.pull() + v.gather(0))
        v.push(v.gather(1))

    figure = plot.timeline(cell, TREES, np.ones([21, 1], "float32"))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["forward"]


def test_timeline_of_a_model_needs_graphs():
    with pytest.raises(ValueError, match="graphs: got None but expected what the model is called"):
        plot.timeline(tree_lstm())


def test_description_says_what_waits_for_what():
    forward = describe(called(Gates))[0]["nodes"]
    flat = [operator for node in forward for operator in operators(node)]
    assert [operator["id"] for operator in flat] == list(range(len(flat)))
    assert all(before < o["id"] for o in flat for before in o["after"])
    by_name = {operator["name"]: operator for operator in flat}
    gather = next(o["id"] for node in forward if node["kind"] == "gather" for o in operators(node))
    product = next(node for node in forward if node["kind"] == "matmul" and node["adds"])
    sigmoid = next(o for o in by_name.values() if o["op"] == "Sigmoid")
    assert gather in product["after"] and product["id"] in sigmoid["after"]


def test_explain_names_merged_products_and_fused_groups():
    text = cavs.explain(called(Gates))
    assert re.search(r"merged: MatMul x2 +layer first, second  test_step_pictures.py:\d+, ", text)
    assert "MatMul adding in place" in text
    assert "fused: group of 2: Sigmoid, Mul" in text
    plain = cavs.explain(called(Gates, options=cavs.Options(disable=["merge", "fuse"])))
    assert "merged: " not in plain and "fused: " not in plain and "adding in" not in plain


@functools.cache
def programs_of(make, disable):
    return describe(called(make, options=cavs.Options(disable=disable)))


each_program = pytest.mark.parametrize(
    "make, disable",
    [*itertools.product([Gates, Typed, Fallback, cavs.keras.TreeLSTMCell], [(), ("fuse",)])],
)


@pytest.mark.in_turns
@each_program
def test_layout_follows_dependencies_and_nothing_overlaps(make, disable):
    for program in programs_of(make, disable):
        boxes = lay_out(program["nodes"])
        assert len(boxes) == len(program["nodes"])
        places = {i: place for box in boxes for i, place in box.places.items()}
        for box in boxes:
            for operator in operators(box.node):
                x = places[operator["id"]][0]
                assert all(places[before][0] < x for before in operator["after"])
        cells = [
            (box.x + i, box.y + j)
            for box in boxes
            for i in range(box.width)
            for j in range(box.height)
        ]
        assert len(cells) == len(set(cells))
        stages = [box.node["stage"] for box in sorted(boxes, key=lambda box: box.x)]
        assert stages == sorted(stages, key=list(STAGES).index)


@pytest.mark.in_turns
def test_vertex_function_draws_every_type_and_derivative(tmp_path):
    cell = called(Typed)
    path = tmp_path / "cell.png"
    figure = plot.vertex_function(cell, path)
    names = [f"Typed.{name}" for name in cell.vertex_types]
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == [f"F of {name}" for name in names] + [f"dF of {name}" for name in names]
    assert path.stat().st_size > 1000


def test_vertex_function_marks_groups_products_and_sums():
    figure = plot.vertex_function(called(Gates))
    texts = {text.get_text() for text in figure.axes[0].texts}
    assert {"MatMul x2\nfirst, second", "MatMul +=\nrecurrent", "gather(0)", "eager"} <= texts
    assert any(re.fullmatch(r"Sigmoid\nline \d+", text) for text in texts)


def test_names_that_are_too_long_for_a_box_are_cut():
    class Deep(cavs.GraphSupport):
        arity = 1

        def __init__(self):
            super().__init__(state_size=4)
            inner = tf.keras.layers.Dense(4, name="inner")
            self.outer = tf.keras.Sequential([inner], name="a_long_name_of_a_layer")
            self.long = tf.keras.layers.Dense(4, name="another_long_name_of_a_layer")

        def vertex(self):
            h = self.long(self.outer(self.pull() + self.gather(0)))
            self.scatter(h)
            self.push(h)

    cell = Deep()
    cell(cavs.GraphBatch.chain([3]), INPUTS[:3, :4])
    texts = {text.get_text() for text in plot.vertex_function(cell).axes[0].texts}
    assert {"MatMul\ninner", "MatMul\nanother_long_nam…"} <= texts


def is_inside(artist, figure, renderer):
    box = artist.get_window_extent(renderer)
    return box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 and box.y1 <= figure.bbox.y1


@pytest.mark.in_turns
@pytest.mark.parametrize("make", [Gates, Typed, Fallback, cavs.keras.TreeLSTMCell])
def test_legend_and_texts_are_inside_of_the_picture(make):
    figure = plot.vertex_function(called(make))
    figure.draw_without_rendering()
    renderer = FigureCanvasAgg(figure).get_renderer()
    assert is_inside(figure.legends[0], figure, renderer)
    texts = [text for axes in figure.axes for text in axes.texts]
    assert all(is_inside(text, figure, renderer) for text in texts)


@each_program
def test_lines_cross_no_operator(make, disable):
    width, height = 0.72, 0.62
    for program in programs_of(make, disable):
        boxes = lay_out(program["nodes"])
        places = {i: place for box in boxes for i, place in box.places.items()}
        links = [
            Link(before, operator["id"], places[before], places[operator["id"]])
            for box in boxes
            for operator in operators(box.node)
            for before in operator["after"]
        ]
        for link, line in zip(links, lines_between(links, width, height), strict=True):
            assert line[0][0] == link.begin[0] + (1 + width) / 2
            assert line[-1][0] == link.end[0] + (1 - width) / 2
            assert all(a == c or b == d for (a, b), (c, d) in itertools.pairwise(line))
            for (x, y), (end_x, end_y) in itertools.pairwise(line):
                for at_x, at_y in places.values():
                    left, top = at_x + (1 - width) / 2 + 1e-6, at_y + (1 - height) / 2 + 1e-6
                    meets_x = max(x, end_x) > left and min(x, end_x) < left + width - 2e-6
                    meets_y = max(y, end_y) > top and min(y, end_y) < top + height - 2e-6
                    assert not (meets_x and meets_y), (link, line, at_x, at_y)


def test_lines_of_different_operators_do_not_lie_on_each_other():
    links = [Link(0, 4, (0, 0), (3, 1)), Link(1, 5, (0, 1), (3, 2)), Link(0, 5, (0, 0), (3, 2))]
    lines = lines_between(links, 0.7, 0.6)
    uprights = [{x for (x, y), (end, _) in itertools.pairwise(line) if x == end} for line in lines]
    assert uprights[0].isdisjoint(uprights[1])
    assert uprights[0] & uprights[2]  # Those of one operator begin together.


def test_vertex_function_of_what_was_never_called_is_rejected():
    with pytest.raises(ValueError, match="model: got gates, which was never called, but expected"):
        plot.vertex_function(Gates(name="gates"))


def test_vertex_function_of_what_has_none_is_rejected():
    with pytest.raises(ValueError, match="model: got a Dense but expected a GraphSupport, a layer"):
        plot.vertex_function(tf.keras.layers.Dense(STATE))
