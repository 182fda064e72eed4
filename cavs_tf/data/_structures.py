"""The structures of an example, and how those of a minibatch are put side by side."""

import dataclasses
from collections.abc import Collection

import tensorflow as tf

from cavs_tf._integers import as_int32
from cavs_tf._library import ops
from cavs_tf.graphs import GraphBatch

# What `batch` takes for every structure, or for some by name; the values are the defaults.
_OPTIONS = {"arity": None, "vertex_type": None, "num_types": 1, "edges": False}


_PER_VERTEX = (
    "vertex",
    "Name it in per_graph if it belongs to the example, or in per_edge if it belongs to the edges.",
)
_PER_EDGE = ("edge", "Edges are counted vertex by vertex, without missing children.")


@dataclasses.dataclass(frozen=True)
class Structure:
    """A graph that every example has: a dict of features with "children" among them.

    Attributes:
      name: Its name in an example; None if the example itself is the structure.
      arity, vertex_type, num_types, edges: As for `batch`; the arity is known.
      per_vertex: The names of the features that have a row for every vertex.
      per_edge: Those of the features that have a row for every edge.
    """

    name: str | None
    arity: int
    vertex_type: str | None
    num_types: int
    edges: bool
    per_vertex: tuple[str, ...]
    per_edge: tuple[str, ...]

    def of(self, examples: dict) -> dict:
        """The features of this structure."""
        return examples if self.name is None else examples[self.name]

    def sizes(self, examples: dict) -> tf.Tensor:
        """int32 [B]: the number of vertices of each of several examples, batched."""
        _, splits = _rows(self.of(examples)["children"])
        return tf.cast(splits[1:] - splits[:-1], tf.int32)

    def side_by_side(self, examples: dict) -> tuple[GraphBatch, dict]:
        """Joins the structures of several examples.

        Args:
          examples: All of their features, batched.

        Returns:
          Their graphs, and the other features: of vertices [V, ...], of edges [E, ...], of
          examples [B, ...].
        """
        examples = dict(self.of(examples))
        children, splits = _rows(examples.pop("children"))
        expected = dict.fromkeys(self.per_vertex, splits)
        if self.per_edge:
            expected |= dict.fromkeys(self.per_edge, _edge_splits(children, splits))
        rows = self._checked({name: _rows(examples.pop(name)) for name in expected}, expected)
        types = rows[self.vertex_type] if self.vertex_type is not None else None
        return _graphs(children, splits, self.arity, types), rows | examples

    def _checked(self, rows: dict, expected: dict) -> dict:
        """Rejects features that have another number of rows than an example has vertices or edges.

        Args:
          rows: (rows, splits between examples) of each feature.
          expected: The splits that each should have.
        """
        if not rows:
            return {}
        features, splits = zip(*rows.values(), strict=True)
        rows_of, advice = zip(
            *(_PER_EDGE if name in self.per_edge else _PER_VERTEX for name in rows), strict=True
        )
        names = [_path(self.name, name) for name in rows]
        # A feature may be ragged itself. One of its tensors is enough, as all are used together.
        tensors = [tf.nest.flatten(feature, expand_composites=True) for feature in features]
        checked = ops.cavs_checked_rows(
            [first for first, *_ in tensors],
            splits,
            list(expected.values()),
            names=names,
            rows_of=rows_of,
            advice=advice,
        )
        return {
            name: tf.nest.pack_sequence_as(feature, [first, *rest], expand_composites=True)
            for name, feature, first, (_, *rest) in zip(
                rows, features, checked, tensors, strict=True
            )
        }


def structures_of(
    spec, per_graph: Collection[str], per_edge: Collection[str], **options
) -> list[Structure]:
    """The structures of examples that have this spec.

    Args:
      spec: Of a dict with "children", which is the only structure; or of a dict of such dicts,
        and of features of the example.
      per_graph, per_edge, **options: As for `batch`.

    Raises:
      ValueError: If the spec is not such a one, or an option does not fit it.
    """
    parts = _parts(spec)
    paths = {_path(name, feature) for name, part in parts.items() for feature in part}
    for path in (*per_graph, *per_edge):
        if path not in paths:
            raise _no_such_feature("dataset", sorted(paths), path)
    values = {option: _by_structure(option, options[option], parts) for option in _OPTIONS}
    return [
        _structure(
            name, part, per_graph, per_edge, **{option: v[name] for option, v in values.items()}
        )
        for name, part in parts.items()
    ]


def _parts(spec) -> dict:
    """The specs of each structure by its name."""
    features = spec if isinstance(spec, dict) else {}
    nested = {name: feature for name, feature in features.items() if isinstance(feature, dict)}
    parts = {None: features} if "children" in features else nested
    if not parts:
        raise ValueError(
            f"dataset: got elements {spec} but expected dicts with 'children' among the names. "
            "Map them to such dicts."
        )
    for name, part in parts.items():
        if "children" not in part:
            raise ValueError(
                f"{_shown(name)}: got a dict without 'children' but expected a structure. Add its "
                "children, or put its features beside the structures."
            )
        _check_are_tensors(name, part)
    _check_are_tensors(None, {n: feature for n, feature in features.items() if n not in parts})
    return parts


def _check_are_tensors(structure: str | None, features: dict) -> None:
    for name, feature in features.items():
        if not isinstance(feature, (tf.TensorSpec, tf.RaggedTensorSpec)):
            raise ValueError(
                f"{_shown(structure)}[{name!r}]: got {feature} but expected a tensor. An example "
                "is one dict with 'children', or a dict of several such dicts side by side."
            )


def _by_structure(option: str, value, parts) -> dict:
    """The value of an option for each structure."""
    if not isinstance(value, dict):
        return dict.fromkeys(parts, value)
    if None in parts:
        raise ValueError(
            f"{option}: got {value} but expected one value, as the example is one structure. Pass "
            "the value itself."
        )
    for name in value:
        if name not in parts:
            raise ValueError(
                f"{option}[{name!r}]: got {value[name]!r} but expected the name of a structure: "
                f"{', '.join(map(repr, parts))}. Correct the name."
            )
    return {name: value.get(name, _OPTIONS[option]) for name in parts}


def _structure(name, spec, per_graph, per_edge, arity, vertex_type, num_types, edges) -> Structure:
    if vertex_type is not None and vertex_type not in spec:
        raise _no_such_feature(_shown(name), sorted(spec), vertex_type)
    of_edges = tuple(feature for feature in spec if _path(name, feature) in per_edge)
    per_vertex = tuple(
        feature
        for feature, of_feature in spec.items()
        if _path(name, feature) not in per_graph
        and of_feature.shape.rank != 0
        and feature not in ("children", *of_edges)
    )
    arity = _arity(f"{_shown(name)}['children']", spec["children"], arity, edges)
    return Structure(name, arity, vertex_type, num_types, edges, per_vertex, of_edges)


def _arity(name: str, children, arity: int | None, edges: bool) -> int:
    """Returns the arity, or raises ValueError."""
    if children.shape.rank != 2 or not children.dtype.is_integer:
        raise ValueError(
            f"{name}: got {children.dtype.name} of shape {children.shape} but expected integers "
            "of shape [vertices, slots]. Pad lists of children with -1."
        )
    if edges:  # There may be more children than slots.
        return arity or 0
    slots = children.shape[1]
    if slots is None and arity is None:
        raise ValueError(
            f"arity: got None but expected an int, because the number of slots in {name} is not "
            "known. Pass the arity of the vertex function, or edges=True for one that reads "
            "children()."
        )
    if slots is not None and arity is not None and arity < slots:
        raise ValueError(
            f"arity: got {arity} but expected at least {slots}, the number of slots in {name}. "
            "Raise the arity of the vertex function."
        )
    return slots if arity is None else arity


def _no_such_feature(where: str, names: list[str], name: str) -> ValueError:
    return ValueError(
        f"{where}: got elements with {names} but expected {name!r} among the names. Correct "
        "per_graph, per_edge or vertex_type."
    )


def _path(structure: str | None, feature: str) -> str:
    return feature if structure is None else f"{structure}/{feature}"


def _shown(structure: str | None) -> str:
    return "dataset" if structure is None else f"dataset[{structure!r}]"


def _rows(feature) -> tuple[tf.Tensor, tf.Tensor]:
    """The rows of all examples of a minibatch, and the splits between examples."""
    if not isinstance(feature, tf.RaggedTensor):
        feature = tf.RaggedTensor.from_tensor(feature)
    feature = feature.with_row_splits_dtype(tf.int64)
    return feature.values, feature.row_splits


def _edge_splits(children, vertex_splits) -> tf.Tensor:
    """int64 [B + 1]: the splits between the edges of the examples; missing children are none."""
    if not isinstance(children, tf.RaggedTensor):
        children = tf.RaggedTensor.from_tensor(children)
    is_edge = children.with_values(tf.cast(children.values >= 0, tf.int64))
    counts = tf.cumsum(tf.pad(tf.reduce_sum(is_edge, axis=1), [[1, 0]]))
    return tf.gather(counts, vertex_splits)


def _graphs(children, graph_splits, arity: int, types) -> GraphBatch:
    """Makes ids absolute, and fills missing slots with -1 where children are not ragged."""
    if isinstance(children, tf.RaggedTensor):
        ids, child_splits = children.values, children.row_splits
    else:
        # More slots than the arity are rejected when the graphs are scheduled.
        missing = tf.maximum(arity - tf.shape(children)[1], 0)
        children = tf.pad(children, [[0, 0], [0, missing]], constant_values=-1)
        num_vertices, slots = tf.unstack(tf.shape(children, graph_splits.dtype))
        ids, child_splits = tf.reshape(children, [-1]), tf.range(num_vertices + 1) * slots
    ids = as_int32("children", ids)
    return GraphBatch(*ops.cavs_absolute_children(child_splits, ids, graph_splits), types)
