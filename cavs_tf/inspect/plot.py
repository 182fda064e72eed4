"""Pictures of graphs and schedules, and of what runs in a step.

Needs matplotlib (`pip install matplotlib`).

Every function returns a `matplotlib.figure.Figure` that belongs to the caller and that a notebook
shows; pyplot and its global state are not used.
"""

import os

import numpy as np

from cavs_tf._inputs.inputs import as_graph_batch
from cavs_tf.engine._trace import Trace
from cavs_tf.graphs._graph_batch import GraphBatch
from cavs_tf.graphs._schedule import Schedule
from cavs_tf.inspect._description import describe
from cavs_tf.inspect._engine_timeline import timeline as draw_trace
from cavs_tf.inspect._figures import new_figure
from cavs_tf.inspect._graph_picture import draw_graph, texts_of, values_of
from cavs_tf.inspect._profile import record
from cavs_tf.inspect._resolve import arguments_of, cell_of
from cavs_tf.inspect._run_timeline import draw_run, size_of_run
from cavs_tf.inspect._vertex_picture import draw_programs, picture_size
from cavs_tf.inspect.reference import depth_of

__all__ = ["figure", "graph", "save", "schedule", "timeline", "vertex_function"]

_COLOURS = ("#2f6db3", "#d9822b", "#4c9f70", "#a05195", "#8c6d46", "#5b8c9b")


def graph(
    graphs, words=None, predictions=None, labels=None, *, edge_values=None, path=None, axes=None
):
    """Draws one tree or DAG with its words, labels and predictions.

    Children stand below their parents. If every vertex has a word, vertices stand from left to
    right in the order of their numbers, as the words of a sentence; else leaves do in the
    order of the tree. A vertex with a label and a prediction is green if they are equal, and red if
    not. A vertex without any text shows its number.

    Args:
      graphs: A `GraphBatch` of one graph, or its `to_dict()`. Pass `graphs[i]` if there are more.
      words, predictions, labels: [V], one for each vertex: strings, or numbers; None or "" for
        a vertex that has none.
      edge_values: [E], a number in [0, 1] for each edge, in the order of `graphs.edges`: attention
        weights. It decides how thick the edge is.
      path, axes: As for `schedule`.

    Returns:
      The figure.

    Raises:
      ImportError: If matplotlib is not installed.
      ValueError: If there is not one graph, or not one word, label, prediction or value for each.
      tf.errors.InvalidArgumentError: If the graph has a cycle.

    >>> tree = GraphBatch.from_children([[[], [], [0, 1]]])
    >>> figure = graph(tree, ["not", "bad", None], predictions=[1, 1, 3], labels=[2, 1, 3])
    >>> figure.axes[0].texts[0].get_text().splitlines()
    ['not', 'label 2', 'predicted 1']
    """
    graphs = as_graph_batch(graphs)
    if graphs.num_graphs != 1:
        raise ValueError(
            f"graphs: got {int(graphs.num_graphs)} graphs but expected one. Pass graphs[i] "
            "with the words of its vertices."
        )
    edges, vertices = graphs.edges.numpy().tolist(), int(graphs.num_vertices)
    texts = texts_of(vertices, words, predictions, labels)
    values = None if edge_values is None else values_of(len(edges), edge_values)
    axes = draw_graph(edges, depth_of(graphs).numpy().tolist(), texts, values, axes)
    if path is not None:
        save(axes.figure, path)
    return axes.figure


def schedule(graphs, path=None, *, type_names=(), axes=None):
    """Draws the tasks of a schedule and how many vertices each evaluates together.

    Args:
      graphs: A `GraphBatch`, or a `Schedule`.
      path: The file to which the picture is saved, or None.
      type_names: Names of the vertex types, for the legend.
      axes: A `matplotlib.axes.Axes` to draw into instead of a figure of its own.

    Returns:
      The figure.

    Raises:
      ImportError: If matplotlib is not installed.

    >>> figure = schedule(GraphBatch.complete_tree(depth=3, num_graphs=4))
    >>> figure.axes[0].get_title()
    '60 vertices in 4 tasks'
    """
    plan = graphs if isinstance(graphs, Schedule) else _plan(graphs)
    splits, types = plan.task_splits.numpy(), plan.task_type.numpy()
    sizes = np.diff(splits)
    axes = new_figure(7, 3.5).add_subplot() if axes is None else axes
    used = sorted(set(types.tolist()))
    for kind in used:
        tasks = np.flatnonzero(types == kind)
        label = type_names[kind] if kind < len(type_names) else f"type {kind}"
        colour = _COLOURS[kind % len(_COLOURS)]
        axes.bar(tasks, sizes[tasks], width=0.8, color=colour, label=label)
    if len(sizes) <= 30:
        for task, size in enumerate(sizes):
            axes.annotate(
                f"{size:,}",
                (task, size),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
        axes.set_xticks(range(len(sizes)))
    axes.margins(y=0.12)
    axes.set_title(f"{splits[-1]:,} vertices in {len(sizes):,} tasks")
    axes.set_xlabel("task, in the order of evaluation")
    axes.set_ylabel("vertices evaluated together")
    axes.set_ylim(bottom=0)
    if len(used) > 1:
        axes.legend(frameon=False)
    return _finish(axes, path)


def timeline(source, graphs=None, inputs=None, path=None):
    """Draws what ran when and where, in a step of a model or in the trace of an engine.

    A step of a model is its call and, below, its gradient if it has weights, each to its own scale;
    a first call is not shown. Each thread has a row, and with `Options(streams=2)` each stream.
    Operators are bars, coloured by stage; behind them are paler bands, the stages and tasks that
    they belong to. TensorFlow's profiler records the step, so no other profile may be in progress.

    In the picture of a trace each worker or stream has a row, with a bar for each operation.

    Args:
      source: A `GraphSupport`, or any layer or model that calls some; or the `Trace` of
        `Engine.stop_trace()`.
      graphs, inputs: The arguments of the model. For a trace, the second argument may be the path.
      path: As for `schedule`.

    Returns:
      The figure.

    Raises:
      ImportError: If matplotlib is not installed.

    >>> import cavs_tf as cavs
    >>> model = cavs.keras.TreeLSTM(units=8)
    >>> trees = GraphBatch.complete_tree(depth=3, num_graphs=4)
    >>> picture = timeline(model, trees, np.ones([60, 8], "float32"))
    >>> picture.axes[0].get_yticklabels()[0].get_text()
    'the calling thread'

    >>> from cavs_tf.engine import Engine
    >>> with Engine(policy="naive") as engine:
    ...     engine.start_trace()
    ...     engine.push(lambda: None, name="nothing")
    ...     picture = timeline(engine.stop_trace())
    >>> [label.get_text() for label in picture.axes[0].get_yticklabels()]
    ['the pushing thread']
    """
    if isinstance(source, Trace):
        return draw_trace(source, graphs if path is None else path)
    if graphs is None:
        raise ValueError(
            "graphs: got None but expected what the model is called with. Call "
            "timeline(model, graphs, inputs)."
        )
    panels = record(source, arguments_of(source, graphs, inputs))
    picture = draw_run(panels, new_figure(*size_of_run(panels)))
    if path is not None:
        save(picture, path)
    return picture


def vertex_function(model, path=None):
    """Draws F and dF of every vertex type, like Figure 7 of arXiv:1712.04048.

    Operators stand from left to right by dependency, coloured by when they run: once, eager,
    critical (task by task) or lazy. A frame holds a group that is fused into one kernel, a
    thick box is several products that were merged into one, and "+=" is a sum that is formed
    in place. Below an operator's name stands the Keras layer or the line of the vertex function
    that it comes from. `cavs_tf.explain` says the same in words.

    Args:
      model: A `GraphSupport`, a layer around one, such as `cavs_tf.keras.TreeLSTM`, or a Keras
        model with one. It must have been called, so that its functions are traced.
      path: As for `schedule`.

    Returns:
      The figure: axes for every F, then for every dF.

    Raises:
      ImportError: If matplotlib is not installed.
      ValueError: If there is no GraphSupport in `model` or several, or it was not called.

    >>> import cavs_tf as cavs
    >>> tree_lstm = cavs.keras.TreeLSTM(units=8)
    >>> roots = tree_lstm(GraphBatch.complete_tree(depth=1), np.ones([3, 8], "float32"))
    >>> picture = vertex_function(tree_lstm)
    >>> [axes.get_title(loc="left") for axes in picture.axes]
    ['F of TreeLSTMCell.vertex', 'dF of TreeLSTMCell.vertex']
    """
    cell = cell_of(model)
    if cell._cache.last is None:
        raise ValueError(
            f"model: got {cell.name}, which was never called, but expected traced vertex "
            "functions. Call it with graphs and inputs first."
        )
    programs = [p for p in describe(cell) if p["nodes"]]
    picture = draw_programs(programs, new_figure(*picture_size(programs)))
    if path is not None:
        save(picture, path)
    return picture


def figure(width: float, height: float):
    """An empty figure of that many inches, to whose axes other functions draw."""
    return new_figure(width, height)


def save(picture, path) -> None:
    """Writes a figure to a file, making the folder if it is not there."""
    folder = os.path.dirname(os.fspath(path))
    if folder:
        os.makedirs(folder, exist_ok=True)
    picture.savefig(path, dpi=150, facecolor="white")


def _plan(graphs) -> Schedule:
    if not isinstance(graphs, GraphBatch):
        raise ValueError(
            f"graphs: got {type(graphs).__name__} but expected a GraphBatch or a Schedule. Make "
            "one with GraphBatch.from_children."
        )
    types = graphs.vertex_type.numpy()
    return graphs.schedule(num_types=int(types.max(initial=0)) + 1)


def _finish(axes, path):
    axes.spines[["top", "right"]].set_visible(False)
    if path is not None:
        save(axes.figure, path)
    return axes.figure
