"""Graphs as lists of edges, in lines of JSON."""

import functools
import json
import os

import numpy as np
import tensorflow as tf

from cavs_tf._values.arguments import check_bools
from cavs_tf.data._cycles import check_acyclic
from cavs_tf.data._streams import Item, check_exists, decoded, numbered_lines, stream
from cavs_tf.data._vocabulary import Vocabulary
from cavs_tf.graphs import _child_lists


def json_graphs(
    path: str | os.PathLike,
    features: dict[str, tf.TensorSpec] | None = None,
    vocabulary: Vocabulary | None = None,
    cycles: bool = False,
) -> tf.data.Dataset:
    """Reads graphs as lists of edges, one JSON object per line. Empty lines are skipped.

    An object has "num_vertices" and one of two lists of edges: "edges", pairs [child, parent];
    or "edge_index", a row of children and a row of parents, as in PyTorch Geometric. Ids count
    from 0. The children of a vertex take its slots in the order of its edges.

    Args:
      path: The file, in UTF-8.
      features: The other features of an object: a `tf.TensorSpec` for each by name. If its first
        axis is None, there is one row per vertex.
      vocabulary: The `Vocabulary` that turns the feature "word", string [n], into "token", from
        `Vocabulary.from_dataset`.
      cycles: Whether graphs may have cycles and loops, for `batch(..., rounds=...)`. Children are
        then the neighbours from which a vertex gathers.

    Returns:
      A dataset of one dict per graph of n vertices, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the graph; -1 fills empty slots.
        And the other features.

    Raises:
      ValueError: If a value of `features` is no `tf.TensorSpec`.
      tf.errors.InvalidArgumentError: From the dataset, if the file has another form. The message
        names file and line.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "graphs.jsonl")
    >>> _ = path.write_text('{"num_vertices": 3, "edges": [[0, 2], [1, 2]], "label": 1}')
    >>> graph = next(iter(json_graphs(path, {"label": tf.TensorSpec([], tf.int32)})))
    >>> graph["children"].numpy().tolist(), int(graph["label"])
    ([[-1, -1], [-1, -1], [0, 1]], 1)
    """
    check_exists(path)
    check_bools(cycles=cycles)
    features = {} if features is None else dict(features)
    for name, spec in features.items():
        if not isinstance(spec, tf.TensorSpec):
            raise ValueError(
                f"features[{name!r}]: got {spec!r} but expected a tf.TensorSpec. Pass one with "
                "the shape and the dtype of the feature."
            )

    def read():
        for number, line in numbered_lines(path):
            if line.strip():
                yield Item(path, number, functools.partial(_graph, line, features, cycles))

    return stream(read, {"children": None} | features, vocabulary)


def _graph(line: bytes, features: dict, cycles: bool) -> dict:
    text = decoded(line)
    try:
        fields = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        fields = None
    lists = {"edges", "edge_index"} & set(fields) if isinstance(fields, dict) else set()
    if len(lists) != 1 or "num_vertices" not in fields:
        raise ValueError(
            f"got {text[:60]!r} but expected a JSON object with 'num_vertices' and either 'edges' "
            "or 'edge_index'. Write one graph per line."
        )
    count = fields["num_vertices"]
    pairs = _pairs(*lists, fields[lists.pop()])
    ends = _child_lists.OF_TREES._replace(may_be_one=cycles)
    splits, ids, _ = _child_lists.from_edges([count], [pairs], ends=ends)
    children = [slots.tolist() for slots in np.split(ids, splits[1:-1])] if count else []
    if not cycles:
        check_acyclic(children)
    values = {name: _feature(name, spec, fields, count) for name, spec in features.items()}
    return {"children": children} | values


def _pairs(name: str, edges) -> list[tuple]:
    is_index = name == "edge_index"
    rows = edges if isinstance(edges, list) else [edges]
    widths = [len(row) if isinstance(row, list) else -1 for row in rows]
    if is_index and len(widths) == 2 and widths[0] == widths[1] >= 0:
        return list(zip(*edges, strict=True))
    if not is_index and set(widths) <= {2}:
        return [tuple(pair) for pair in edges]
    raise ValueError(
        f"got {name!r} of {str(edges)[:60]} but expected "
        + ("two rows of the same length." if is_index else "pairs [child, parent].")
        + " 'edges' has pairs, 'edge_index' a row of children and a row of parents."
    )


def _feature(name: str, spec: tf.TensorSpec, fields: dict, count: int):
    try:
        value = tf.constant(fields[name], spec.dtype)
        if spec.dtype.is_integer and value.numpy().tolist() != fields[name]:
            value = None  # It is too large for the type.
    except (KeyError, TypeError, ValueError, OverflowError):
        value = None
    per_vertex = bool(spec.shape.rank) and spec.shape[0] is None
    shape = [count, *spec.shape[1:]] if per_vertex else spec.shape
    if value is None or not tf.TensorShape(shape).is_compatible_with(value.shape):
        got = str(fields[name])[:60] if name in fields else "nothing"
        raise ValueError(
            f"got {got} as {name!r} but expected {spec.dtype.name} of shape {tuple(shape)}. "
            "Correct the line, or the TensorSpec."
        )
    return fields[name] if spec.dtype == tf.string else value.numpy()
