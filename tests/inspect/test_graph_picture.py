"""`plot.graph`: one tree or DAG with what is known of its vertices and edges."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import cavs_tf as cavs
from cavs_tf.inspect import plot
from cavs_tf.inspect._graph_layout import lay_out_graph
from cavs_tf.inspect.reference import depth_of

pytest.importorskip("matplotlib")

TREE = cavs.GraphBatch.from_children([[[], [], [0, 1], [], [3, 2]]])
WORDS = ["not", b"bad", None, "film", ""]
DAG = cavs.GraphBatch.from_children([[[], [], [0, 1], [0, 2], [1], [3, 4, 0], [5, 2], [6, 5, 1]]])
GRAPHS = {
    "tree": TREE,
    "dag": DAG,
    "complete tree": cavs.GraphBatch.complete_tree(depth=4),
    "chain": cavs.GraphBatch.chain([6]),
    "star": cavs.GraphBatch.from_parents([[5, 5, 5, 5, 5, -1]]),
    "forest": cavs.GraphBatch.from_parents([[1, -1, 3, -1, -1]]),
    "equal edges": cavs.GraphBatch.from_children([[[], [0, 0], [1, 0, -1]]]),
    "no vertex": cavs.GraphBatch.from_children([[]]),
}
each_graph = pytest.mark.parametrize("name", GRAPHS)


def texts(figure):
    return [text.get_text() for text in figure.axes[0].texts]


def colours(figure):
    boxes = [text.get_bbox_patch() for text in figure.axes[0].texts]
    return [box.get_facecolor()[:3] for box in boxes]


def test_vertices_have_words_labels_and_predictions():
    figure = plot.graph(TREE, WORDS, [1, 2, 3, 2, 1], [1, 2, 3, 2, 2])
    assert texts(figure) == [
        "not\nlabel 1\npredicted 1",
        "bad\nlabel 2\npredicted 2",
        "label 3\npredicted 3",
        "film\nlabel 2\npredicted 2",
        "label 2\npredicted 1",
    ]
    assert figure.axes[0].get_title(loc="left") == "4 of 5 predicted right"


def test_right_and_wrong_predictions_have_two_colours():
    of_vertices = colours(plot.graph(TREE, WORDS, [1, 2, 3, 2, 1], [1, 2, None, 2, 2]))
    right, wrong, unknown = of_vertices[0], of_vertices[4], of_vertices[2]
    assert of_vertices == [right, right, unknown, right, wrong]
    assert right[1] > right[0] and wrong[0] > wrong[1] and len({right, wrong, unknown}) == 3


def test_what_is_known_of_nothing_is_its_number():
    assert texts(plot.graph(TREE)) == ["#0", "#1", "#2", "#3", "#4"]
    assert texts(plot.graph(TREE, WORDS))[2] == "#2"


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        (tf.constant(["a", "b", "", "d", "e"]), ["a", "b", "#2", "d", "e"]),
        (np.array(["ü", "b", "", "d", "e"]), ["ü", "b", "#2", "d", "e"]),
        (["ü".encode(), "b", None, "d", "e"], ["ü", "b", "#2", "d", "e"]),
        (tf.range(5), ["0", "1", "2", "3", "4"]),
        (tf.constant([[0.12345], [1.0], [2.0], [3.0], [-4.5]]), ["0.123", "1", "2", "3", "-4.5"]),
        (["a very long word indeed", "b", "c", "d", "e"], ["a very long word …", *"bcde"]),
    ],
)
def test_words_may_be_of_any_type(values, shown):
    assert texts(plot.graph(TREE, values)) == shown


def test_labels_without_predictions_stand_by_themselves():
    assert texts(plot.graph(TREE, labels=[0, 1, 2, 3, 4])) == ["0", "1", "2", "3", "4"]
    assert texts(plot.graph(TREE, predictions=[0] * 5))[0] == "predicted 0"


def layout_of(graphs, in_order=False):
    edges = graphs.edges.numpy().tolist()
    return edges, lay_out_graph(edges, depth_of(graphs).numpy().tolist(), in_order)


@each_graph
@pytest.mark.parametrize("in_order", [False, True])
def test_children_stand_below_and_nothing_stands_on_another(name, in_order):
    edges, layout = layout_of(GRAPHS[name], in_order)
    assert all(layout.level[child] < layout.level[parent] for child, parent in edges)
    places = list(zip(layout.x, layout.level, strict=True))
    for (x, level), (other, other_level) in itertools.combinations(places, 2):
        assert level != other_level or abs(x - other) > 0.999


@each_graph
@pytest.mark.parametrize("in_order", [False, True])
def test_lines_meet_no_vertex_between_their_ends(name, in_order):
    edges, layout = layout_of(GRAPHS[name], in_order)
    for (child, parent), bends in zip(edges, layout.bends, strict=True):
        ends = [(layout.x[v], layout.level[v] + up) for v, up in ((child, 0.25), (parent, -0.25))]
        points = [ends[0], *bends, ends[1]]
        for (x, y), (end_x, end_y) in itertools.pairwise(points):
            for vertex, at in enumerate(zip(layout.x, layout.level, strict=True)):
                if vertex in (child, parent):
                    continue
                for share in np.linspace(0, 1, 50):
                    where = x + share * (end_x - x), y + share * (end_y - y)
                    near = abs(where[0] - at[0]) < 0.4 and abs(where[1] - at[1]) < 0.24
                    assert not near, (child, parent, vertex)


def test_words_of_a_sentence_stand_in_their_order():
    figure = plot.graph(cavs.GraphBatch.from_parents([[2, 0, -1, 2]]), ["a", "b", "c", "d"])
    positions = [text.get_position() for text in figure.axes[0].texts]
    assert [x for x, _ in positions] == [0, 1, 2, 3]
    assert [y for _, y in positions] == [1, 0, 2, 0]


def test_leaves_of_a_parse_stand_in_the_order_of_the_tree():
    figure = plot.graph(TREE, WORDS)
    x = {text.get_text(): text.get_position()[0] for text in figure.axes[0].texts}
    assert x["film"] < x["not"] < x["#2"] < x["bad"]


@each_graph
def test_edges_are_as_thick_as_their_values(name):
    graphs = GRAPHS[name]
    values = np.linspace(0, 1, int(graphs.num_edges))
    figure = plot.graph(graphs, edge_values=values[:, None])
    widths = [line.get_linewidth() for line in figure.axes[0].lines]
    assert len(widths) == len(values) and sorted(widths) == widths
    assert len(set(widths)) == len(set(values))
    if "dag" in name:
        assert "0.083" in texts(figure) and "1" in texts(figure)


@pytest.mark.in_turns
def test_everything_is_inside_of_the_picture():
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for graphs in GRAPHS.values():
        figure = plot.graph(graphs, edge_values=np.ones(int(graphs.num_edges)))
        axes, renderer = figure.axes[0], FigureCanvasAgg(figure).get_renderer()
        figure.draw_without_rendering()
        for artist in (*axes.texts, *axes.lines):
            box = artist.get_window_extent(renderer)
            assert box.x0 >= -1 and box.y0 >= -1
            assert box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1


def test_picture_is_saved(tmp_path):
    plot.graph(DAG, path=tmp_path / "new" / "graph.png")
    assert (tmp_path / "new" / "graph.png").stat().st_size > 1000


def test_axes_of_another_figure_are_drawn_into():
    axes = plot.figure(6, 4).add_subplot()
    assert plot.graph(TREE, axes=axes) is axes.figure and len(axes.texts) == 5


def test_a_dict_of_tensors_is_a_graph():
    assert len(texts(plot.graph(TREE.to_dict()))) == 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"graphs": cavs.GraphBatch.chain([2, 1])}, r"graphs: got 2 graphs but expected one. Pass"),
        ({"graphs": [1]}, "graphs: got list but expected a GraphBatch"),
        ({"words": ["a"]}, "words: got 1 of them but expected 5, one for each vertex of the graph"),
        ({"labels": [1, 2]}, "labels: got 2 of them but expected 5"),
        ({"predictions": np.ones([5, 3])}, "predictions: got rows of shape .3,. but expected one"),
        (
            {"edge_values": [1.0]},
            r"edge_values: got shape \(1,\) but expected \(4,\), one for each",
        ),
    ],
)
def test_rejections(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot.graph(**{"graphs": TREE, **arguments})


@each_graph
def test_lines_leave_children_upwards_and_never_turn_down(name):
    figure = plot.graph(GRAPHS[name])
    places = {text.get_position() for text in figure.axes[0].texts}
    for line in figure.axes[0].lines:
        x, y = line.get_data()
        assert (x[0], y[0]) in places and (x[-1], y[-1]) in places
        assert y[0] < y[-1] and np.all(np.diff(y) >= 0)
