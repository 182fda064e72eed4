"""The structures of an example, and how a minibatch puts them side by side."""

import dataclasses
from collections.abc import Collection

import tensorflow as tf

from cavs_tf._inputs.inputs import VertexRows, rows_of
from cavs_tf._native.library import ops
from cavs_tf._values.arguments import checked_size
from cavs_tf._values.integers import as_int32, list_of_each, rejected_unless, saturated
from cavs_tf.graphs import _rounds
from cavs_tf.graphs._graph_batch import GraphBatch

# The arguments of `batch` that may differ from structure to structure, with their defaults.
_OPTIONS = {"arity": None, "vertex_type": None, "num_types": 1, "edges": False, "rounds": None}
ORIGIN = "origin"  # The name of the feature that holds the vertex of each row of its rounds.

# The things of which a feature may have one row each, and advice if the numbers differ.
_PER_VERTEX = (
    "vertex",
    "Name it in per_graph if it belongs to the example, in per_edge if it belongs to the edges, or "
    "in per_leaf if only vertices without children have it.",
)
_PER_EDGE = ("edge", "Edges are counted vertex by vertex, without missing children.")
_PER_LEAF = ("leaf", "Leaves are the vertices without children, in their order.")
_PARTIAL = ("element of its vertices", "Say of each row to which vertex it belongs.")


@dataclasses.dataclass(frozen=True)
class Structure:
    """A graph that every example has: a dict of features with "children" among them.

    Attributes:
      name: Its name in an example; None if the example itself is the structure.
      arity, vertex_type, num_types, edges, rounds: As for `batch`; the arity is known.
      per_vertex: The names of the features that have a row for every vertex.
      per_edge: The names of the features that have a row for every edge.
      per_leaf: The names of the features that have a row for every vertex without children.
      partial: The names of the features that are `VertexRows`.
      loop_features: With rounds, the rows of features at the edge from a vertex to itself.
    """

    name: str | None
    arity: int
    vertex_type: str | None
    num_types: int
    edges: bool
    rounds: int | None
    per_vertex: tuple[str, ...]
    per_edge: tuple[str, ...]
    per_leaf: tuple[str, ...]
    partial: tuple[str, ...]
    loop_features: dict

    def of(self, examples: dict) -> dict:
        """The features of this structure."""
        return examples if self.name is None else examples[self.name]

    def sizes(self, examples: dict) -> tf.Tensor:
        """int32 [B]: the number of vertices of each of several examples, batched."""
        _, splits = _rows(self.of(examples)["children"])
        return tf.cast(splits[1:] - splits[:-1], tf.int32)

    def rows(self, examples: dict) -> tf.Tensor:
        """int32 [B]: the number of vertices that the graphs of these examples have, in all rounds.

        Numbers that do not fit become the largest one.
        """
        sizes = tf.cast(self.sizes(examples), tf.int64)
        return saturated(sizes * ((self.rounds or 0) + 1))

    def side_by_side(self, examples: dict) -> tuple[GraphBatch, dict]:
        """Joins the structures of several examples.

        Args:
          examples: All features of the examples, batched.

        Returns:
          Their graphs and their other features, as `batch` describes them.
        """
        examples = dict(self.of(examples))
        children, splits = _rows(examples.pop("children"))
        expected = dict.fromkeys(self.per_vertex, splits)
        if self.per_edge:
            expected |= dict.fromkeys(self.per_edge, _edge_splits(children, splits))
        vertices = {}  # The vertices that have a row, by features that only some vertices have.
        for name in self.per_leaf:
            vertices[name], expected[name] = _leaves(children, splits)
        for name in self.partial:
            path = _path(self.name, name)
            vertices[name], expected[name] = _absolute(path, examples[name].vertices, splits)
        features = {name: _rows(rows_of(examples.pop(name))) for name in expected}
        rows = self._checked(features, expected)
        rows |= {name: VertexRows(rows[name], own) for name, own in vertices.items()}
        types = rows[self.vertex_type] if self.vertex_type is not None else None
        graphs = _graphs(children, splits, self.arity, types)
        if self.rounds is None:
            return graphs, rows | examples
        return self._unrolled(graphs, rows, vertices, examples)

    def _unrolled(self, graphs: GraphBatch, rows: dict, vertices: dict, examples: dict) -> tuple:
        """The result of `side_by_side` in all rounds; `vertices` of `VertexRows` by name."""
        fields = _rounds.checked_children(graphs._fields())
        unrolled = _rounds.unroll(fields, self.rounds)
        for name in self.per_edge:
            own, path = self.loop_features[name], f"per_edge[{_path(self.name, name)!r}]"
            rows[name] = _rounds.with_own_feature(rows[name], unrolled.edge_origin, own, path)
        first = tf.gather(fields.graph_splits, graphs.vertex_graph)
        for name, own in vertices.items():  # Round 0 of a graph comes after all rounds before it.
            rows[name] = rows[name]._replace(vertices=own + self.rounds * tf.gather(first, own))
        features = rows | examples | {ORIGIN: unrolled.origin}
        return GraphBatch(*unrolled.graphs), features

    def _checked(self, rows: dict, expected: dict) -> dict:
        """Rejects features that have another number of rows than an example has vertices or edges.

        Args:
          rows: (rows, splits between examples) of each feature.
          expected: The splits that each should have.
        """
        if not rows:
            return {}
        features, splits = zip(*rows.values(), strict=True)
        rows_of, advice = zip(*(self._kind(name) for name in rows), strict=True)
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

    def _kind(self, name: str) -> tuple[str, str]:
        """The thing of which the feature has one row each, and advice if it does not."""
        kinds = {_PER_EDGE: self.per_edge, _PER_LEAF: self.per_leaf, _PARTIAL: self.partial}
        return next((kind for kind, names in kinds.items() if name in names), _PER_VERTEX)


def structures_of(
    spec,
    per_graph: Collection[str],
    per_edge: Collection[str],
    per_leaf: Collection[str],
    **options,
) -> list[Structure]:
    """The structures of examples that have this spec.

    Args:
      spec: The spec of a dict with "children", which is the only structure; or of a dict of such
        dicts and of features of the example.
      per_graph, per_edge, per_leaf, **options: Arguments of `batch`.

    Raises:
      ValueError: If the spec has another form, or an option does not fit it.
    """
    parts = _parts(spec)
    # One name is a string.
    per_graph, per_edge, per_leaf = (
        [n] if isinstance(n, str) else n for n in (per_graph, per_edge, per_leaf)
    )
    paths = {_path(name, feature) for name, part in parts.items() for feature in part}
    for path in (*per_graph, *per_edge, *per_leaf):
        if path not in paths:
            raise _no_such_feature("dataset", sorted(paths), path)
    values = {option: _by_structure(option, options[option], parts) for option in _OPTIONS}
    if isinstance(per_edge, dict) and all(r is None for r in values["rounds"].values()):
        raise ValueError(
            f"per_edge: got {per_edge} but expected names alone without rounds, as no vertex has "
            "an edge to itself. Pass a list."
        )
    return [
        _structure(
            name,
            part,
            {"per_graph": per_graph, "per_edge": per_edge, "per_leaf": per_leaf},
            **{option: v[name] for option, v in values.items()},
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
        if isinstance(feature, VertexRows) and "children" in features:
            _check_vertices(f"{_shown(structure)}[{name!r}]", feature.vertices)
        elif not isinstance(feature, (tf.TensorSpec, tf.RaggedTensorSpec)):
            raise ValueError(
                f"{_shown(structure)}[{name!r}]: got {feature} but expected a tensor. An example "
                "is one dict with 'children', or a dict of several such dicts side by side."
            )


def _check_vertices(feature: str, spec) -> None:
    if spec.shape.rank != 1 or not spec.dtype.is_integer:
        raise ValueError(
            f"{feature}.vertices: got {spec.dtype.name} of shape {spec.shape} but expected "
            "integers of shape [n], one for each row. Pass the vertices to which the rows belong."
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


def _structure(name, spec, named, arity, vertex_type, num_types, edges, rounds) -> Structure:
    rounds = None if rounds is None else checked_size("rounds", rounds, least=0)
    arity = None if arity is None else checked_size("arity", arity, least=0)
    num_types = checked_size("num_types", num_types)
    if vertex_type is not None and vertex_type not in spec:
        raise _no_such_feature(_shown(name), sorted(spec), vertex_type)
    partial = tuple(feature for feature, rows in spec.items() if isinstance(rows, VertexRows))
    of = {
        option: tuple(feature for feature in spec if _path(name, feature) in paths)
        for option, paths in named.items()
    }
    for option, features in of.items():
        for feature in features:
            if feature in partial:
                raise ValueError(
                    f"{option}: got {_path(name, feature)!r}, which says itself which vertices "
                    "have a row, but expected a tensor. Leave the name out."
                )
    others = {"children", *partial, *of["per_graph"], *of["per_edge"], *of["per_leaf"]}
    per_vertex = tuple(f for f in spec if f not in others and spec[f].shape.rank != 0)
    if vertex_type is not None and vertex_type not in per_vertex:
        raise ValueError(
            f"vertex_type: got {_path(name, vertex_type)!r} but expected a feature with a row for "
            "each vertex. Give every vertex a type."
        )
    own = named["per_edge"] if isinstance(named["per_edge"], dict) else {}
    children, itself = f"{_shown(name)}['children']", int(bool(rounds))
    arity = _arity(children, spec["children"], arity, edges, itself)
    return Structure(
        name,
        arity,
        vertex_type,
        num_types,
        edges,
        rounds,
        per_vertex,
        of["per_edge"],
        of["per_leaf"],
        partial,
        {feature: own.get(_path(name, feature)) for feature in of["per_edge"]},
    )


def _arity(name: str, children, arity: int | None, edges: bool, itself: int) -> int:
    """Returns the arity, or raises ValueError. `itself`: 1 where a vertex is its own child."""
    if children.shape.rank != 2 or not children.dtype.is_integer:
        raise ValueError(
            f"{name}: got {children.dtype.name} of shape {children.shape} but expected integers "
            "of shape [vertices, slots]. Pad lists of children with -1."
        )
    if edges:  # There may be more children than slots.
        return arity or 0
    slots = None if children.shape[1] is None else children.shape[1] + itself
    if slots is None and arity is None:
        raise ValueError(
            f"arity: got None but expected an int, because the number of slots in {name} is not "
            "known. Pass the arity of the vertex function, or edges=True for one that reads "
            "children()."
        )
    if slots is not None and arity is not None and arity < slots:
        raise ValueError(
            f"arity: got {arity} but expected at least {slots}, the number of slots in {name}"
            f"{' and one for the vertex itself' if itself else ''}. Raise the arity of the vertex "
            "function."
        )
    return slots if arity is None else arity


def _no_such_feature(where: str, names: list[str], name: str) -> ValueError:
    return ValueError(
        f"{where}: got elements with {names} but expected {name!r} among the names. Correct "
        "per_graph, per_edge, per_leaf or vertex_type."
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
    return _splits_of(_num_children(children), vertex_splits)


def _leaves(children, vertex_splits) -> tuple[tf.Tensor, tf.Tensor]:
    """int32 [n]: the vertices without children; and int64 [B + 1]: their splits by example."""
    is_leaf = _num_children(children) == 0
    splits = _splits_of(tf.cast(is_leaf, tf.int64), vertex_splits)
    return tf.cast(tf.where(is_leaf)[:, 0], tf.int32), splits


def _num_children(children) -> tf.Tensor:
    """int64 [V]: the number of children of each vertex, without missing ones."""
    if not isinstance(children, tf.RaggedTensor):
        children = tf.RaggedTensor.from_tensor(children)
    is_edge = children.with_values(tf.cast(children.values >= 0, tf.int64))
    return tf.reduce_sum(is_edge, axis=1)


def _splits_of(counts, vertex_splits) -> tf.Tensor:
    """The splits between examples of things of which vertices have these counts."""
    return tf.gather(tf.cumsum(tf.pad(counts, [[1, 0]])), vertex_splits)


def _absolute(name: str, vertices, vertex_splits) -> tuple[tf.Tensor, tf.Tensor]:
    """int32 [n]: vertices of examples, numbered as in the minibatch; and their splits.

    Raises:
      tf.errors.InvalidArgumentError: If an example has no such vertex, or it occurs twice.
    """
    ids, splits = _rows(vertices)
    ids = ids if ids.dtype == tf.int64 else tf.cast(saturated(ids), tf.int64)
    example = list_of_each(splits, tf.size(ids))
    sizes = tf.gather(vertex_splits[1:] - vertex_splits[:-1], example)

    def none_is(wrong, got):
        first = tf.where(wrong)[:1, 0]
        number = tf.gather(example, first)
        place = first - tf.gather(splits, number)
        return rejected_unless(
            tf.size(first) == 0,
            f"{name}.vertices[{{}}][{{}}]: got {got}",
            *(number, place, tf.gather(ids, first), tf.gather(sizes, first)),
        )

    advice = "Vertices are numbered from 0 in every example."
    out_of_range = none_is(
        (ids < 0) | (ids >= sizes), f"{{}} but expected a vertex in [0, {{}}). {advice}"
    )
    with tf.control_dependencies(out_of_range):
        absolute = ids + tf.gather(vertex_splits, example)
    times = tf.math.unsorted_segment_sum(tf.ones_like(absolute), absolute, vertex_splits[-1])
    twice = none_is(
        tf.gather(times, absolute) > 1,
        "{} more than once among {} vertices but expected each once. Add up its rows.",
    )
    with tf.control_dependencies(twice):
        return tf.cast(absolute, tf.int32), splits


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
