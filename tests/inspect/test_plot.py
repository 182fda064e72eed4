import sys

import pytest

import cavs_tf as cavs
from cavs_tf.engine import Engine
from cavs_tf.inspect import plot

matplotlib = pytest.importorskip("matplotlib")

TREES = cavs.GraphBatch.complete_tree(depth=2, num_graphs=3)


def bars(axes):
    return [patch.get_height() for patch in axes.patches]


@pytest.mark.parametrize("graphs", [TREES, TREES.schedule()])
def test_schedule_draws_a_bar_per_task(graphs):
    assert bars(plot.schedule(graphs).axes[0]) == [12, 6, 3]


def test_schedule_tells_vertex_types_apart():
    graphs = cavs.GraphBatch.from_children([[[], [], [0, 1]]], vertex_type=[[0, 0, 1]])
    axes = plot.schedule(graphs, type_names=("leaf", "inner")).axes[0]
    assert sorted(bars(axes)) == [1, 2]
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["leaf", "inner"]


def test_many_tasks_are_not_labelled_one_by_one():
    axes = plot.schedule(cavs.GraphBatch.chain([100])).axes[0]
    assert len(axes.patches) == 100 and not axes.texts


def test_picture_is_saved_into_a_new_folder(tmp_path):
    path = tmp_path / "new" / "schedule.png"
    plot.schedule(TREES, path)
    assert path.read_bytes().startswith(b"\x89PNG")


def test_what_are_no_graphs_is_rejected():
    with pytest.raises(ValueError, match="graphs: got list but expected a GraphBatch"):
        plot.schedule([1, 2])


def test_pyplot_keeps_no_figure():
    from matplotlib import pyplot

    pyplot.close("all")
    plot.schedule(TREES)
    assert pyplot.get_fignums() == []


def trace_of_nothing():
    with Engine(policy="naive") as engine:
        engine.start_trace()
        engine.push(lambda: None, name="nothing")
        return engine.stop_trace()


DRAWN = {
    "schedule": lambda: plot.schedule(TREES),
    "graph": lambda: plot.graph(TREES[0]),
    "timeline of a trace": lambda: plot.timeline(trace_of_nothing()),
    "figure": lambda: plot.figure(3, 2),
}
each_picture = pytest.mark.parametrize("draw", DRAWN.values(), ids=list(DRAWN))


@each_picture
def test_missing_matplotlib_is_one_line_that_says_what_to_install(draw, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        ImportError, match=r"^matplotlib: got .* but expected .* `pip install matplotlib`\.$"
    ):
        draw()


@each_picture
def test_a_notebook_shows_every_picture(draw):
    assert draw()._repr_png_().startswith(b"\x89PNG")
