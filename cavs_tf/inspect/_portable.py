"""A saved model of plain TensorFlow operators, which needs no library of ours.

Vertices of the same depth are evaluated together, as with `policy="depth"`, by a `tf.while_loop`
over depths.
"""

import tensorflow as tf

from cavs_tf._inputs.edges import PlainEdges
from cavs_tf._inputs.inputs import VertexRows, chosen_pushes, unnamed
from cavs_tf._running.evaluation import evaluation_by
from cavs_tf._tracing.trace import Slots, Vertex
from cavs_tf.graph_support._graph_support import GraphSupport
from cavs_tf.graphs._graph_batch import (
    CHILD_ROW,
    EDGE_SPLITS,
    LAST_INPUT,
    LOSS_ROWS,
    PACKED,
    TENSOR_NAMES,
    GraphBatch,
    pack_lists,
    with_lists,
)
from cavs_tf.inspect._resolve import arguments_of, cells_of
from cavs_tf.inspect.reference import Evaluation

_TYPES = "vertex_type"


def export_portable(model, path: str, graphs, inputs=None) -> None:
    """Saves a model for inference where this package is not installed.

    The SavedModel is called with one dict of tensors: those of the graphs (`child_splits`,
    `child_ids` and `graph_splits`; `vertex_type` too if there are several vertex types), and the
    inputs by name, "inputs" for a single tensor; a `VertexRows` is a dict of "rows" and
    "vertices". It needs no schedule. Its signature
    "serving_default" takes the same tensors by name, those of nested dicts joined by "_".

    Args:
      model: A `GraphSupport`, a layer of ours, or any model that calls some.
      path: The folder to write.
      graphs, inputs: An example of the arguments of the model, as for `cavs_tf.explain`; a
        functional model takes one dict.

    Raises:
      ValueError: If the model is not called with graphs, or uses other ops of this package.

    >>> import tempfile
    >>> import cavs_tf as cavs
    >>> layer, trees = cavs.keras.TreeLSTM(4), cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     cavs.export_portable(layer, folder, trees, tf.ones([3, 2]))
    ...     loaded = tf.saved_model.load(folder)
    >>> names = ("child_splits", "child_ids", "graph_splits")
    >>> example = {name: getattr(trees, name) for name in names} | {"inputs": tf.ones([3, 2])}
    >>> bool(tf.reduce_all(tf.abs(loaded(example) - layer(trees, tf.ones([3, 2]))) < 1e-6))
    True
    """
    arguments = arguments_of(model, graphs, inputs)
    with evaluation_by(lambda cell, *call: cell._zeros(*call)):
        model(*arguments)  # Builds the weights.
    example = _one_dict(arguments)
    call = _ExportedCall(model, example, with_inputs=len(arguments) > 1)
    # TensorFlow would save the traces of our op with the model itself.
    exported = tf.Module()
    exported.weights = [getattr(variable, "value", variable) for variable in model.variables]
    specs = _specs_of(example, _is_typed(model))
    exported.__call__ = tf.function(call, input_signature=[specs])
    signature = _signature(call, specs)
    _check_operators(signature.graph)
    tf.saved_model.save(exported, path, signatures=signature)


class _ExportedCall:
    """Calls a model with a dict without schedules, and evaluates it in plain TensorFlow."""

    def __init__(self, model, example, with_inputs):
        self._model = model
        self._example = example
        self._with_inputs = with_inputs

    def __call__(self, given):
        whole = _completed(given, self._example)
        with evaluation_by(run_by_depth):
            if not self._with_inputs:
                return self._model(whole)
            graphs = {name: whole[name] for name in TENSOR_NAMES if name in whole}
            inputs = {name: value for name, value in whole.items() if name not in TENSOR_NAMES}
            return self._model(graphs, inputs.get("inputs", inputs))


def _signature(call, specs):
    """A concrete function that takes tensors by their names, and returns a dict."""

    @tf.function
    def serve(**tensors):
        outputs = call(_nested(specs, tensors))
        return _flat(outputs if isinstance(outputs, dict) else {"output": outputs})

    return serve.get_concrete_function(
        **{name: tf.TensorSpec(s.shape, s.dtype, name) for name, s in _flat(specs).items()}
    )


def run_by_depth(cell: GraphSupport, graphs, inputs, at, pushes=None):
    """Evaluates all vertices of a depth at a time, in plain TensorFlow."""
    evaluation = Evaluation(cell, graphs, *cell._prepared(graphs, inputs))
    outputs = evaluation.rows_at(_by_depth(evaluation), at)
    return unnamed(chosen_pushes(outputs, pushes))


def _by_depth(of: Evaluation) -> dict:
    # The state after the last is that of missing children.
    missing = of.num_vertices
    states = tf.repeat(of.no_state, missing + 1, axis=0)
    num_edges = tf.size(of.edge_child)
    outputs = {
        name: tf.zeros(
            tf.concat([[num_edges if name in of.edge_pushes else missing], spec.shape], 0),
            spec.dtype,
        )
        for name, spec in of.pushed.items()
    }

    def evaluate(rows, function, states, outputs):
        children = tf.gather(of.children, rows)
        slots = tf.where(children < 0, missing, children)
        gathered = Slots(lambda k: tf.gather(states, slots[:, k]))
        owners, edges = _edges_of(of.edge_splits, rows)
        pulled = {name: tf.gather(value, rows) for name, value in of.pulls.items()}
        pulled |= {name: tf.gather(value, edges) for name, value in of.edge_pulls.items()}
        numbers, along = tf.cast(rows, tf.int32), tf.gather(of.edge_child, edges)
        plain = PlainEdges(tf.gather(states, along), owners, numbers)
        vertex = Vertex(gathered, pulled, numbers, plain).run(function)
        index = rows[:, None]
        states = _updated(states, index, vertex.scattered)
        for name, value in vertex.pushes.items():
            where = tf.cast(edges, tf.int64)[:, None] if name in of.edge_pushes else index
            outputs = outputs | {name: _updated(outputs[name], where, value)}
        return states, outputs

    def level(depth, states, outputs):
        for kind, function in enumerate(of.functions):
            rows = tf.where((of.depth == depth) & (of.types == kind))[:, 0]
            states, outputs = evaluate(rows, function, states, outputs)
        return depth + 1, states, outputs

    last = tf.reduce_max(tf.concat([of.depth, [-1]], 0))
    _, _, outputs = tf.while_loop(lambda d, *_: d <= last, level, (0, states, outputs))
    return {name: tf.ensure_shape(v, [None, *of.pushed[name].shape]) for name, v in outputs.items()}


def _updated(tensor, index, rows):
    """`tensor` with these rows; TensorFlow's operator takes none without elements."""
    return tensor if 0 in tensor.shape[1:] else tf.tensor_scatter_nd_update(tensor, index, rows)


def _edges_of(splits, rows) -> tuple:
    """The edges of these vertices, and for each the position of its vertex among `rows`."""
    first, end = tf.gather(splits, rows), tf.gather(splits, rows + 1)
    ranges = tf.ragged.range(first, end)
    return tf.cast(ranges.value_rowids(), tf.int32), ranges.values


def _one_dict(arguments) -> dict:
    graphs, *inputs = (a.to_dict() if isinstance(a, GraphBatch) else a for a in arguments)
    if not isinstance(graphs, dict):
        raise ValueError(
            f"graphs: got {type(graphs).__name__} but expected a GraphBatch, or a dict with the "
            "tensors of graphs. Pass an example of what the model is called with."
        )
    if not inputs:
        return graphs
    return graphs | (inputs[0] if isinstance(inputs[0], dict) else {"inputs": inputs[0]})


def _is_typed(model) -> bool:
    return any(len(cell.vertex_types) > 1 for cell in cells_of(model))


def _specs_of(example, typed) -> dict:
    """The specs of the inputs of a saved model: no schedules, and any number of rows."""
    left_out = {LOSS_ROWS, LAST_INPUT, CHILD_ROW, EDGE_SPLITS, PACKED} | (
        set() if typed else {_TYPES}
    )
    specs = {}
    for name, value in with_lists(example).items():
        if isinstance(value, VertexRows):
            value = value._asdict()
        if isinstance(value, dict):
            specs[name] = _specs_of(value, typed)
        elif name not in left_out:
            tensor = tf.convert_to_tensor(value)
            specs[name] = tf.TensorSpec([None, *tensor.shape[1:]], tensor.dtype)
    return specs


def _completed(given, example) -> dict:
    """A dict with all arguments of the model."""
    whole = {}
    for name, value in example.items():
        if isinstance(value, dict):
            whole[name] = _completed(given[name], value)
        elif isinstance(value, VertexRows):
            whole[name] = VertexRows(**given[name])
        elif name in given:
            whole[name] = given[name]
        elif name == LOSS_ROWS:
            whole[name] = tf.zeros_like(given["graph_splits"][1:])
        elif name == PACKED:
            whole[name] = pack_lists(given)
        else:  # Nothing reads these.
            whole[name] = tf.zeros([*value.shape[:-1], 0], tf.int32)
    return whole


def _flat(nested, prefix="") -> dict:
    flat = {}
    for name, value in nested.items():
        name = f"{prefix}{name}"
        flat |= _flat(value, f"{name}_") if isinstance(value, dict) else {name: value}
    return flat


def _nested(like, flat, prefix="") -> dict:
    return {
        name: _nested(value, flat, f"{prefix}{name}_")
        if isinstance(value, dict)
        else flat[f"{prefix}{name}"]
        for name, value in like.items()
    }


def _check_operators(graph) -> None:
    definition = graph.as_graph_def()
    nodes = [*definition.node, *(n for f in definition.library.function for n in f.node_def)]
    for node in nodes:
        if node.op.startswith("Cavs"):
            raise ValueError(
                f"model: got operator {node.name} ({node.op}) but expected those of TensorFlow "
                "alone. Leave what cavs_tf.ops computes out of the model."
            )
