"""The input graphs of a minibatch.

They are integers only, in tensors, and pass through `tf.function`, `tf.data`,
`tf.nest` and `tf.distribute` like tensors. Their type does not have their sizes:
minibatches of different sizes share one trace of a `tf.function`.

Source: Xu et al. 2018, "Cavs", arXiv:1712.04048, sections 3.1 and 3.2.
"""

from typing import Optional

import numpy as np
import tensorflow as tf

from cavs_tf._native.library import ops
from cavs_tf._values.arguments import check_bools
from cavs_tf._values.integers import (
    INT32,
    as_int32,
    check_all_at_least,
    check_total,
    eager_values,
    int32_tensor,
    length,
    list_of_each,
    number_of_lists,
    on_cpu,
    rejected_unless,
    shown,
    splits_of,
    tensor_of,
)
from cavs_tf.graphs import _algebra as _graph_algebra
from cavs_tf.graphs import _child_lists, _rounds
from cavs_tf.graphs import _formats as _graph_formats
from cavs_tf.graphs._packing import pack, unpack
from cavs_tf.graphs._schedule import (
    EDGE_FIELDS,
    Schedule,
    check_policy,
    micro_batch_tensor,
)

_GRAPH_FIELDS = ("child_splits", "child_ids", "graph_splits", "vertex_type")
# Keras weighs the loss of a minibatch by the length of its first input, in the order of names. If
# it is given examples instead of minibatches, its message has this name: "Missing data for ...".
LOSS_ROWS = "0_graphs_of_data_batch"
# The lists that are one tensor where graphs have a schedule, as each input of a model takes time.
# The shapes of the other lists tell how many graphs, vertices, slots and edges there are.
PACKED_FIELDS = ("child_ids", "vertex_type", "order", "task_splits", "task_type", *EDGE_FIELDS[1:])
CHILD_ROW, EDGE_SPLITS = "child_row", EDGE_FIELDS[0]
PACKED = "packed_lists"
# Keras pairs a dict with the inputs of a model by position, in the order of names, where the dict
# has other keys than the model. This tensor has no elements; another tensor in its place has some,
# so that layers notice (see `as_graph_batch`).
LAST_INPUT = "zz_last_input"
# The keys of the dicts that `to_dict` returns.
TENSOR_NAMES = (LOSS_ROWS, *_GRAPH_FIELDS, CHILD_ROW, EDGE_SPLITS, PACKED, LAST_INPUT)


class GraphBatch(tf.experimental.ExtensionType):
    """The input graphs of one minibatch: B graphs, V vertices, E child slots.

    A graph says which children each vertex gathers from: any number of children and
    parents, chains, trees, DAGs. The position of a child among its siblings is its
    slot; slots may be empty. The constructor takes the arrays as they are stored;
    `from_children`, `from_parents`, `from_edges`, `from_ragged`, `from_nested`,
    `from_networkx`, `from_rounds`, `chain` and `complete_tree` are more convenient. It is a
    sequence of B graphs: see `__getitem__`.

    Cycles, ids out of range and children in other graphs are rejected when the graphs
    are scheduled, with a message that names graph, vertex and slot. `from_rounds` takes graphs
    with cycles, for message passing.

    Attributes:
      child_splits: int32 [V + 1], ascending from 0. Vertex v has the children
        child_ids[child_splits[v]:child_splits[v + 1]].
      child_ids: int32 [E], absolute vertex ids in [0, V), or -1 for a missing child.
      graph_splits: int32 [B + 1], ascending from 0. Graph g owns the vertices
        [graph_splits[g], graph_splits[g + 1]).
      vertex_type: int32 [V], the number of each vertex's vertex function; or [0]: all
        vertices are of type 0.
      attached_schedule: A `Schedule` that was computed before (see `with_schedule`), or None.

    >>> graphs = GraphBatch.from_children([[[], [], [0, 1]], [[], [0]]])
    >>> graphs
    GraphBatch(num_graphs=2, num_vertices=5, num_edges=3, arity=2, depth=1)
    >>> graphs.roots.numpy()
    array([2, 4], dtype=int32)
    >>> graphs.schedule(arity=2)
    Schedule(num_vertices=5, num_tasks=2, arity=2)
    """

    __name__ = "cavs_tf.GraphBatch"

    child_splits: tf.Tensor
    child_ids: tf.Tensor
    graph_splits: tf.Tensor
    vertex_type: tf.Tensor
    # TensorFlow does not accept `Schedule | None`.
    attached_schedule: Optional[Schedule]  # noqa: UP045

    class Spec:
        """The type of a minibatch: whether it has a schedule, of which arity, and with edges.

        It has no sizes. Use `GraphBatch.Spec()` in a `tf.function`'s input signature.
        """

        def __init__(self, scheduled=False, arity=None, edges=False):
            vector = tf.TensorSpec([None], tf.int32)
            self.child_splits = self.child_ids = self.graph_splits = self.vertex_type = vector
            self.attached_schedule = Schedule.Spec(arity, edges) if scheduled else None

        @classmethod
        def from_value(cls, value):
            schedule = value.attached_schedule
            if schedule is None:
                return cls()
            return cls(True, schedule.arity, schedule.has_edges)

        def __hash__(self):
            # A call of a tf.function hashes the types of its arguments several times.
            return hash((GraphBatch, self.attached_schedule))

    def __init__(
        self, child_splits, child_ids, graph_splits, vertex_type=None, attached_schedule=None
    ):
        types = [] if vertex_type is None else vertex_type
        with tf.device("CPU:0"):
            self.child_splits = int32_tensor("child_splits", child_splits, rank=1)
            self.child_ids = int32_tensor("child_ids", child_ids, rank=1)
            self.graph_splits = int32_tensor("graph_splits", graph_splits, rank=1)
            self.vertex_type = int32_tensor("vertex_type", types, rank=1)
        self.attached_schedule = attached_schedule

    @classmethod
    @tf.autograph.experimental.do_not_convert
    def from_children(cls, children, vertex_type=None) -> "GraphBatch":
        """Makes graphs from a list of child ids for every vertex.

        Args:
          children: One list per graph of one list per vertex of child ids, relative to the
            graph; -1 for a missing child. Arrays of shape [vertices, slots] will do, and so
            will eager tensors, ragged ones too.
          vertex_type: One list per graph of one type per vertex, or all types in one flat
            list, or None: all vertices are of type 0.

        Returns:
          A `GraphBatch`.

        Raises:
          ValueError: If an id is neither -1 nor a vertex of its graph.

        >>> GraphBatch.from_children([[[], [], [0, 1], [-1, 2]]]).child_ids.numpy()
        array([ 0,  1, -1,  2], dtype=int32)
        """
        children = eager_values("children", children)
        return cls._from_lists(_child_lists.from_children(children), vertex_type)

    @classmethod
    @tf.autograph.experimental.do_not_convert
    def from_parents(cls, parents, vertex_type=None, *, edge_features=None):
        """Makes trees (or forests) from the parent of every vertex.

        Args:
          parents: One list per graph of the parent's id, relative to the graph, or -1 for a
            root; or an eager RaggedTensor [B, (vertices)]. The children of a vertex take
            its slots in ascending order.
          vertex_type: As in `from_children`.
          edge_features: One [vertices, ...] array per graph: for every vertex, the feature of the
            edge to its parent, such as its relation. Rows of roots are left out.

        Returns:
          A `GraphBatch`; with `edge_features` also these, [E, ...], in the order of its edges.

        Raises:
          ValueError: If an id is neither -1 nor another vertex of its graph, or there are more or
            fewer features.

        >>> GraphBatch.from_parents([[2, 2, -1], [-1]])
        GraphBatch(num_graphs=2, num_vertices=4, num_edges=2, arity=2, depth=1)
        """
        parents = eager_values("parents", parents)
        graphs = cls._from_lists(_child_lists.from_parents(parents), vertex_type)
        if edge_features is None:
            return graphs
        edge_features = eager_values("edge_features", edge_features)
        return graphs, _child_lists.features_of_parents(parents, edge_features)

    @classmethod
    @tf.autograph.experimental.do_not_convert
    def from_edges(cls, num_vertices, edges, vertex_type=None, *, layout=None, edge_features=None):
        """Makes graphs from edges.

        Args:
          num_vertices: [B] ints, the number of vertices of each graph.
          edges: One [n, 2] array per graph of (child, parent) ids, relative to the graph.
            The children of a vertex take its slots in the order of its edges.
          vertex_type: As in `from_children`.
          layout: "rows" for arrays [2, n], a row of children and one of parents, as the
            `edge_index` of PyTorch Geometric; "pairs" for arrays [n, 2]; None for pairs, of which
            two that could as well be two rows are rejected, unless they are tuples.
          edge_features: One [n, ...] array per graph, a row for each of its edges.

        Returns:
          A `GraphBatch`; with `edge_features`, also these, [E, ...], in the order of its edges:
          vertex by vertex, and for each vertex in the order of its children.

        Raises:
          ValueError: If an id is not a vertex of its graph, or a vertex its own parent, or edges
            have another layout, or may have either.

        >>> GraphBatch.from_edges([3], [[(1, 2), (0, 2), (0, 1)]]).child_ids.numpy()
        array([0, 1, 0], dtype=int32)
        >>> GraphBatch.from_edges([3], [np.array([[0, 1], [2, 2]])], layout="rows").roots.numpy()
        array([2], dtype=int32)
        >>> edges, relation = [[(1, 2), (0, 1), (0, 2)]], [["of 1", "of 0", "of 0"]]
        >>> graphs, relation = GraphBatch.from_edges([3], edges, edge_features=relation)
        >>> graphs.child_ids.numpy(), relation.tolist()
        (array([0, 1, 0], dtype=int32), ['of 0', 'of 1', 'of 0'])
        """
        num_vertices = eager_values("num_vertices", num_vertices)
        edges = eager_values("edges", edges)
        lists = _child_lists.from_edges(num_vertices, edges, layout)
        graphs = cls._from_lists(lists, vertex_type)
        if edge_features is None:
            return graphs
        edge_features = eager_values("edge_features", edge_features)
        return graphs, _child_lists.features_of_edges(edges, layout, edge_features)

    @classmethod
    @on_cpu
    def from_rounds(
        cls,
        num_vertices,
        edges,
        rounds,
        vertex_type=None,
        *,
        layout=None,
        edge_features=None,
        own_feature=None,
    ):
        """Makes graphs of rounds of message passing, from edges that may form cycles.

        A graph of n vertices becomes one of (rounds + 1) * n. Row r * n + v of it is vertex v
        after round r. In round 0 it has no child; after that its children are itself in the round
        before, then the sources of its edges there, in their order. Roots are the last round.

        Inside `tf.function` and in an input pipeline, `edges` is a RaggedTensor of pairs.

        Args:
          num_vertices: [B] ints, the number of vertices of each graph.
          edges: One [n, 2] array per graph of (source, target) ids, relative to the graph: in each
            round the target gathers from the source. Cycles are allowed, loops and repeated edges
            too. Or a RaggedTensor [B, (edges), 2].
          rounds: At least 0, an int or a scalar tensor.
          vertex_type: As in `from_children`, of the vertices, which have it in all rounds.
          layout: As in `from_edges`: "rows" for the `edge_index` of PyTorch Geometric.
          edge_features: One [n, ...] array per graph, a row for each of its edges; or a
            RaggedTensor.
          own_feature: The feature of the edge from a vertex to itself in the round before; None:
            zeros, or an empty string.

        Returns:
          A `GraphBatch`, and `origin`, int32 [rows]: the vertex of the minibatch that each row
          stands for, so that `tf.gather(x, origin)` are its inputs. With `edge_features` also
          these, [E, ...], in the order of the edges.

        Raises:
          ValueError: If an id is not a vertex of its graph, `rounds` is negative, or the arguments
            have other shapes or types.
          tf.errors.InvalidArgumentError: Likewise, of values that were not known.

        Source: Li et al. 2016, arXiv:1511.05493, section 3.2, and Gilmer et al. 2017,
        arXiv:1704.01212, section 2: the rounds of message passing.

        >>> ring = [(0, 1), (1, 2), (2, 0)]
        >>> graphs, origin = GraphBatch.from_rounds([3], [ring], rounds=2)
        >>> graphs
        GraphBatch(num_graphs=1, num_vertices=9, num_edges=12, arity=2, depth=2)
        >>> origin.numpy(), graphs.roots.numpy()
        (array([0, 1, 2, 0, 1, 2, 0, 1, 2], dtype=int32), array([6, 7, 8], dtype=int32))
        >>> graphs[0].child_ids.numpy()[:6]  # Of row 3: itself and vertex 2, in round 0.
        array([0, 2, 1, 0, 2, 1], dtype=int32)
        >>> bonds = [["single", "double", "single"]]
        >>> _, _, bonds = GraphBatch.from_rounds([3], [ring], 1, edge_features=bonds)
        >>> bonds.tolist()
        ['', 'single', '', 'single', '', 'double']
        """
        unrolled, features = _rounds.from_edges(
            num_vertices, edges, rounds, vertex_type, layout, edge_features, own_feature
        )
        made = cls(*unrolled.graphs), unrolled.origin
        return made if features is None else (*made, features)

    @classmethod
    @tf.autograph.experimental.do_not_convert
    def from_ragged(cls, children: tf.RaggedTensor, vertex_type=None) -> "GraphBatch":
        """Makes graphs from a RaggedTensor of child ids. Works inside `tf.function`.

        Args:
          children: Integers [B, (vertices), (slots)], ids relative to the graph; -1 for a
            missing child. They are checked when the graphs are scheduled.
          vertex_type: int32 RaggedTensor [B, (vertices)] or tensor [V], or None.

        Returns:
          A `GraphBatch`.

        >>> GraphBatch.from_ragged(tf.ragged.constant([[[], [0]], [[], [], [0, 1]]]))
        GraphBatch(num_graphs=2, num_vertices=5, num_edges=3, arity=2, depth=1)
        """
        rank = children.shape.rank if isinstance(children, tf.RaggedTensor) else None
        if rank != 3 or not children.dtype.is_integer:
            raise ValueError(
                f"children: got {children!r} but expected a RaggedTensor of integers "
                "[graphs, (vertices), (slots)]. Use tf.ragged.constant(..., ragged_rank=2)."
            )
        lists = children.values
        if not isinstance(lists, tf.RaggedTensor):
            lists = tf.RaggedTensor.from_tensor(lists)
        ids = tf.cast(as_int32("children", lists.values), tf.int64)
        graph_splits = children.row_splits
        vertex = list_of_each(lists.row_splits, length(ids))
        graph = list_of_each(graph_splits, length(lists.row_splits) - 1)
        first_vertex = tf.cast(tf.gather(graph_splits, tf.gather(graph, vertex)), tf.int64)
        if isinstance(vertex_type, tf.RaggedTensor):
            vertex_type = vertex_type.values
        # Ids that are not valid stay as they are, so that the message has them.
        ids = tf.where((ids < 0) | (ids == INT32.max), ids, ids + first_vertex)
        return cls(lists.row_splits, ids, graph_splits, vertex_type)

    @classmethod
    def from_nested(cls, trees, vertex_type=None) -> "GraphBatch":
        """Makes trees from nested sequences, such as the trees of NLTK.

        The vertices of a tree stand in post-order: children before their parent, from left to
        right, the root last. `cavs_tf.data.nested_values` gives their words and labels in the
        same order.

        Args:
          trees: A list with one tree per graph. A tuple, a list or an `nltk.Tree` is a vertex
            whose children are its elements; anything else is a leaf.
          vertex_type: As in `from_children`.

        Returns:
          A `GraphBatch`.

        Raises:
          ValueError: If `trees` is not a list.

        >>> GraphBatch.from_nested([("the", ("cat", "sat")), "yes"])
        GraphBatch(num_graphs=2, num_vertices=6, num_edges=4, arity=2, depth=2)
        """
        children = _graph_formats.children_of_nested(trees)
        return cls._from_lists(_child_lists.from_children(children), vertex_type)

    @classmethod
    def from_networkx(cls, graphs, children: str, vertex_type=None) -> "GraphBatch":
        """Makes graphs from networkx, with vertices numbered in the order of the nodes.

        Args:
          graphs: A list of `networkx.DiGraph` or `MultiDiGraph`.
          children: The nodes to gather from: the "predecessors", where edges lead from child to
            parent, or its "successors", as in `networkx.balanced_tree`.
          vertex_type: As in `from_children`, or the name of an attribute of the nodes.

        Returns:
          A `GraphBatch`. Children take the slots that the attribute "slot" of their edges says, or
          else follow each other in the order of the edges.

        Raises:
          ValueError: If a graph is not directed, or slots or types are incomplete.

        >>> graph = GraphBatch.from_parents([[2, 2, -1]]).to_networkx()[0]
        >>> GraphBatch.from_networkx([graph], children="predecessors")
        GraphBatch(num_graphs=1, num_vertices=3, num_edges=2, arity=2, depth=1)
        """
        lists = _graph_formats.children_of_networkx(graphs, children)
        if isinstance(vertex_type, str):
            vertex_type = _graph_formats.attributes_of_networkx(graphs, vertex_type)
        return cls._from_lists(_child_lists.from_children(lists), vertex_type)

    def to_networkx(self) -> list:
        """Each graph as a `networkx.MultiDiGraph`, for its algorithms and drawings.

        Nodes are vertices from 0 on, with their types as "vertex_type" if they have any. Edges
        lead from child to parent and have the child's slot as "slot". Eager only; needs networkx.

        >>> graphs = GraphBatch.from_parents([[2, 2, -1]]).to_networkx()
        >>> list(graphs[0].edges(data="slot"))
        [(0, 2, 0), (1, 2, 1)]
        """
        self._check_known("to_networkx", "Convert them outside of it.")
        graphs = list(_graph_algebra.each_graph(self._fields()))
        lists = [_graph_algebra.lists(graph) for graph in graphs]
        types = [graph.vertex_type for graph in graphs] if len(self.vertex_type) else None
        return _graph_formats.to_networkx(lists, types)

    @classmethod
    @on_cpu
    def chain(cls, lengths) -> "GraphBatch":
        """Makes one chain per length: each vertex has the one before it as its child.

        Args:
          lengths: [B] integers, at least 0. A tensor inside `tf.function` will do.

        Returns:
          A `GraphBatch`.

        >>> GraphBatch.chain([2, 3]).child_ids.numpy()
        array([0, 2, 3], dtype=int32)
        """
        lengths = int32_tensor("lengths", lengths, rank=1)
        if hasattr(lengths, "numpy"):
            check_all_at_least(0, lengths=lengths.numpy())
        graph_splits = splits_of(tf.cast(lengths, tf.int64))
        with tf.control_dependencies(check_total("lengths", graph_splits[-1])):
            graph_splits = tf.cast(graph_splits, tf.int32)
        num_vertices = graph_splits[-1]
        starts = tf.math.unsorted_segment_sum(
            tf.ones_like(graph_splits), graph_splits, num_vertices + 1
        )
        has_child = starts[:-1] == 0
        child_ids = tf.cast(tf.where(has_child)[:, 0], tf.int32) - 1
        return cls(splits_of(tf.cast(has_child, tf.int32)), child_ids, graph_splits)

    @classmethod
    @on_cpu
    def complete_tree(
        cls, depth: int | None = None, *, num_leaves: int | None = None, arity=2, num_graphs=1
    ) -> "GraphBatch":
        """Makes `num_graphs` equal trees whose levels are full, except perhaps at the right.

        In each tree the leaves come first, from left to right, then the levels above; the
        root is last.

        Args:
          depth: Number of levels above the leaves; arity**depth leaves. At least 0.
          num_leaves: Number of leaves, at least 1, instead of `depth`.
          arity: Number of children, at least 1 (at least 2 with `num_leaves`).
          num_graphs: Number of trees, at least 0.

        Returns:
          A `GraphBatch`.

        Raises:
          ValueError: If an argument is out of range, or both or none of depth and
            num_leaves are given.

        >>> GraphBatch.complete_tree(num_leaves=256, num_graphs=64)
        GraphBatch(num_graphs=64, num_vertices=32704, num_edges=32640, arity=2, depth=8)
        """
        return cls(*_child_lists.complete_trees(depth, num_leaves, arity, num_graphs))

    @classmethod
    @on_cpu
    def concat(cls, batches) -> "GraphBatch":
        """Joins minibatches into one. Attached schedules are dropped.

        Args:
          batches: A list of `GraphBatch`.

        Returns:
          A `GraphBatch` with the graphs of all of them, in order.

        >>> GraphBatch.concat([GraphBatch.chain([2]), GraphBatch.chain([3, 1])])
        GraphBatch(num_graphs=3, num_vertices=6, num_edges=3, arity=1, depth=2)
        """
        if isinstance(batches, GraphBatch):
            raise ValueError("batches: got a GraphBatch but expected a list of them. Pass a list.")
        nothing = tf.zeros([0], tf.int32)
        child_splits, child_ids, graph_splits, types = [[0]], [nothing], [[0]], [nothing]
        num_vertices = num_edges = 0
        for batch in batches:
            ids = batch.child_ids
            child_splits.append(batch.child_splits[1:] + num_edges)
            child_ids.append(tf.where(ids < 0, ids, ids + num_vertices))
            graph_splits.append(batch.graph_splits[1:] + num_vertices)
            # Types are given for all vertices or for none; they default to 0.
            untyped = batch.num_vertices - length(batch.vertex_type)
            types.append(tf.pad(batch.vertex_type, [[0, untyped]]))
            num_vertices += batch.num_vertices
            num_edges += length(ids)
        if all(batch.vertex_type.shape[0] == 0 for batch in batches):
            types = [nothing]
        return cls(*(tf.concat(p, 0) for p in (child_splits, child_ids, graph_splits, types)))

    @classmethod
    @tf.autograph.experimental.do_not_convert
    def from_dict(cls, tensors) -> "GraphBatch":
        """The reverse of `to_dict`.

        Types, "0_graphs_of_data_batch" and "zz_last_input" may be absent.

        Raises:
          ValueError: If a tensor is missing.
          TypeError: If the lists are no integers.
        """
        scheduled = CHILD_ROW in tensors
        for name in ("child_splits", "graph_splits", PACKED if scheduled else "child_ids"):
            if name not in tensors:
                raise ValueError(
                    f"tensors: got {sorted(tensors)} but expected {name!r} among them. Pass "
                    "everything that to_dict returned, or put examples into minibatches by "
                    "cavs_tf.data.batch(examples, batch_size, as_dict=True)."
                )
        if not scheduled:
            return cls(*(tensors.get(name) for name in _GRAPH_FIELDS))
        if not tf.as_dtype(tensors[PACKED].dtype).is_integer:
            # Keras tries this in each export, and goes on after a TypeError alone.
            raise TypeError(
                f"tensors[{PACKED!r}]: got {tensors[PACKED].dtype.name} but expected int32. Where "
                "Keras exports a subclassed model, whose inputs it takes for floats, pass "
                "input_signature=[batches.element_spec[0]] of what for_fit returned."
            )
        ids, types, *planned, edge_child, edge_number = unpack_lists(tensors[PACKED]).values()
        edges = (tensors[EDGE_SPLITS], edge_child, edge_number) if EDGE_SPLITS in tensors else ()
        schedule = Schedule(*planned, tensors[CHILD_ROW], *edges)
        return cls(tensors["child_splits"], ids, tensors["graph_splits"], types, schedule)

    @on_cpu
    def to_dict(self) -> dict[str, tf.Tensor]:
        """The graphs, and the attached schedule if there is one, as named tensors.

        Keras models take them, as their inputs are plain tensors. "0_graphs_of_data_batch" only
        has a length: `fit` and `evaluate` weigh the loss of a minibatch by the length of the first
        input in the order of names. It is [B], so that they give the mean over graphs.
        "zz_last_input" has no elements: a model of Keras that is given a dict with other keys than
        its inputs pairs them by position, and another tensor in this place is noticed.
        With a schedule, "packed_lists" holds all lists except for those whose shapes tell the
        numbers of graphs, vertices and edges, since each input of a model takes time.

        >>> graphs = GraphBatch.chain([2])
        >>> sorted(graphs.to_dict())[1:]
        ['child_ids', 'child_splits', 'graph_splits', 'vertex_type', 'zz_last_input']
        >>> sorted(graphs.with_schedule(1).to_dict())[1:]
        ['child_row', 'child_splits', 'graph_splits', 'packed_lists', 'zz_last_input']
        """
        lists = {name: getattr(self, name) for name in _GRAPH_FIELDS}
        tensors = {
            LOSS_ROWS: tf.zeros_like(self.graph_splits[1:]),
            LAST_INPUT: tf.zeros([0], tf.int32),
        }
        schedule = self.attached_schedule
        if schedule is None:
            return tensors | lists
        splits = ("child_splits", "graph_splits")
        tensors |= {name: lists[name] for name in splits} | {CHILD_ROW: schedule.child_row}
        if schedule.has_edges:
            tensors[EDGE_SPLITS] = schedule.edge_splits
        planned = {name: getattr(schedule, name) for name in PACKED_FIELDS[2:]}
        return tensors | {PACKED: pack_lists(lists | planned)}

    @on_cpu
    def reverse(self) -> "GraphBatch":
        """The same vertices with all edges turned round: parents become children.

        A vertex gathers from the vertices that were its parents, in ascending order. After a pass
        up a tree this gives the pass down, with arity 1. It works inside `tf.function`, so in an
        input pipeline too:
        `graphs.reverse().with_schedule(arity=1)`. An attached schedule is dropped.

        Raises:
          tf.errors.InvalidArgumentError: If a child is not a vertex of its graph.

        >>> GraphBatch.from_parents([[2, 2, -1], [-1]]).reverse().roots.numpy()
        array([0, 1, 3], dtype=int32)
        """
        return GraphBatch(*_graph_algebra.reverse(self._fields()))

    @property
    @on_cpu
    def reversed_edges(self) -> tf.Tensor:
        """int32 [E]: for each edge of `reverse()`, the number of that edge here.

        `tf.gather(rows, graphs.reversed_edges)` are the rows of its edges.

        >>> graphs = GraphBatch.from_children([[[], [0], [0, 1]]])  # Edges 1-0, 2-0 and 2-1.
        >>> graphs.reversed_edges.numpy()
        array([0, 1, 2], dtype=int32)
        """
        children = tf.boolean_mask(self.child_ids, self.child_ids >= 0)
        return tf.argsort(children, stable=True)

    @on_cpu
    def subgraph(self, vertices) -> "GraphBatch":
        """These vertices and the edges between them alone.

        Vertices keep their order, and children their slots: a child that is left out is missing.
        An attached schedule is dropped. Works inside `tf.function`.

        Args:
          vertices: Booleans [V], or ids in [0, V) in any order.

        Returns:
          A `GraphBatch` of B graphs. Their rows are `tf.boolean_mask(rows, vertices)`.

        Raises:
          ValueError: If `vertices` is something else.
          tf.errors.InvalidArgumentError: If there is no such vertex, or a child is no vertex of
            its graph.

        >>> graphs = GraphBatch.from_children([[[], [], [0, 1]], [[]]])
        >>> graphs.subgraph([1, 2]).child_ids.numpy()
        array([-1,  0], dtype=int32)
        """
        return GraphBatch(*_graph_algebra.subgraph(self._fields(), vertices))

    @tf.autograph.experimental.do_not_convert
    def split(self, rows) -> tf.RaggedTensor:
        """Rows of vertices by graph.

        Works inside `tf.function`. `cavs_tf.keras.Split` is a layer that pads them.

        Args:
          rows: [V, ...] in vertex order.

        Returns:
          A RaggedTensor [B, (vertices), ...]: `to_tensor()` pads it, and
          `tf.sequence_mask(row_lengths())` says where a vertex is.

        Raises:
          ValueError: If there is not a row per vertex.

        >>> graphs = GraphBatch.from_children([[[], [], [0, 1]], [[]]])
        >>> graphs.split([1, 2, 3, 4]).to_list()
        [[1, 2, 3], [4]]
        """
        rows = tensor_of(rows)
        got, expected = (length(rows) if rows.shape.rank != 0 else "no"), self.num_vertices
        advice = "Check that both belong to the same minibatch, and that rows are of all vertices."
        message = "rows: got {} rows but expected {}, one per vertex of the graphs. " + advice
        if isinstance(expected, int) and isinstance(got, (int, str)):
            if got != expected:
                raise ValueError(message.format(got, expected))
            return tf.RaggedTensor.from_row_splits(rows, self.graph_splits, validate=False)
        with tf.control_dependencies(
            rejected_unless(got == expected, message, *map(tf.convert_to_tensor, (got, expected)))
        ):
            rows = tf.identity(rows)
        return tf.RaggedTensor.from_row_splits(rows, self.graph_splits, validate=False)

    @on_cpu
    def __getitem__(self, index) -> "GraphBatch":
        """The graphs that an integer, a slice, a list or tensor of integers or booleans chooses.

        The same index of `graphs.split(rows)` gives their rows of vertices. An attached schedule is
        dropped. Works inside `tf.function`.

        Raises:
          ValueError: If `index` is something else.
          IndexError: If it is an integer and there is no such graph.
          tf.errors.InvalidArgumentError: If there is no such graph, or a child is no vertex of its
            graph.

        >>> graphs = GraphBatch.chain([2, 3, 1])
        >>> [graph.num_vertices for graph in (graphs[0], graphs[1:], graphs[[2, 0]])]
        [2, 4, 3]
        """
        return GraphBatch(*_graph_algebra.choose_graphs(self._fields(), index))

    def __iter__(self):
        """Yields each graph as a `GraphBatch` of one. Eager only."""
        self._check_known("iteration", "Use tf.range(graphs.num_graphs) and graphs[g].")
        return (GraphBatch(*fields) for fields in _graph_algebra.each_graph(self._fields()))

    def __len__(self) -> int:
        """B. Eager only."""
        self._check_known("len", "Use num_graphs.")
        return self.num_graphs

    def __tf_tensor__(self, dtype=None, name=None):
        # TensorFlow would take graphs for a sequence of sequences without an end.
        raise TypeError(
            f"graphs: got {self} but expected what can become a tensor. Pass its tensors by name, "
            "to_dict() for example."
        )

    @property
    def num_graphs(self):
        """B: an int, or an int32 scalar tensor where it is not known yet."""
        return number_of_lists(self.graph_splits)

    @property
    def num_vertices(self):
        """V: an int, or an int32 scalar tensor where it is not known yet."""
        return number_of_lists(self.child_splits)

    @property
    @on_cpu
    def num_edges(self):
        """The number of edges: an int, or an int32 scalar tensor where it is not known yet."""
        edges = tf.math.count_nonzero(self.child_ids >= 0, dtype=tf.int32)
        return edges if tf.is_symbolic_tensor(edges) else int(edges)

    @property
    @on_cpu
    def edges(self) -> tf.Tensor:
        """int32 [E, 2]: the child and the parent of each edge, as absolute ids.

        They are in the order of the rows of `pull_edge` and `push_edge`: vertex by vertex, and
        for each vertex in the order of its children, without missing ones.

        >>> GraphBatch.from_children([[[], [], [1, -1, 0]]]).edges.numpy()
        array([[1, 2],
               [0, 2]], dtype=int32)
        """
        parents = list_of_each(self.child_splits, tf.size(self.child_ids))
        edges = tf.stack([self.child_ids, parents], axis=1)
        return tf.boolean_mask(edges, self.child_ids >= 0)

    @property
    @on_cpu
    def num_children(self) -> tf.Tensor:
        """int32 [V]: the number of children of each vertex, without missing ones."""
        counts = tf.cumsum(tf.pad(tf.cast(self.child_ids >= 0, tf.int32), [[1, 0]]))
        ends = tf.gather(counts, self.child_splits)
        return ends[1:] - ends[:-1]

    @property
    def arity(self) -> int:
        """The largest number of slots of a vertex. Eager only."""
        self._check_known("arity", "Pass the arity of the vertex function.")
        return int(np.diff(self.child_splits.numpy()).max(initial=0))

    @property
    def depth(self) -> int:
        """The number of edges on the longest path. Eager only.

        Raises:
          tf.errors.InvalidArgumentError: If the graphs are not valid.
        """
        self._check_known("depth", "Ask outside of it.")
        untyped = GraphBatch(self.child_splits, self.child_ids, self.graph_splits)
        return max(untyped.schedule(self.arity).num_tasks - 1, 0)

    @property
    @on_cpu
    def vertex_graph(self) -> tf.Tensor:
        """int32 [V]: the graph of each vertex."""
        return list_of_each(self.graph_splits, self.num_vertices)

    @property
    @on_cpu
    def roots(self) -> tf.Tensor:
        """int32 [R], ascending: the vertices that are not a child of any vertex."""
        # Negative ids, missing children, are left out of the sum.
        uses = tf.math.unsorted_segment_sum(
            tf.ones_like(self.child_ids), self.child_ids, self.num_vertices
        )
        return tf.cast(tf.where(uses == 0)[:, 0], tf.int32)

    @property
    @on_cpu
    def root_graph(self) -> tf.Tensor:
        """int32 [R]: the graph of each root."""
        return tf.gather(self.vertex_graph, self.roots)

    @property
    @on_cpu
    def root_splits(self) -> tf.Tensor:
        """int32 [B + 1]. Graph g has the roots roots[root_splits[g]:root_splits[g + 1]]."""
        return tf.searchsorted(self.roots, self.graph_splits)

    @tf.autograph.experimental.do_not_convert
    def schedule(
        self,
        arity: int | None = None,
        num_types: int = 1,
        policy="depth",
        micro_batch=None,
        edges=False,
    ) -> Schedule:
        """Plans which vertices are evaluated together.

        Args:
          arity: Number of slots that the vertex function gathers from. None: as many as the
            vertex with the most children has; not inside `tf.function`, where it is not known.
          num_types: Number of vertex functions.
          policy: How tasks are chosen. "depth": all vertices of one depth and type are a task.
            "ratio": fewer tasks where there are several types; see docs/how/schedules.md.
            "serial": one vertex is a task, which shows what batching gains.
          micro_batch: Number of graphs that are planned together, at least 1: an int, or a
            scalar tensor. Their tasks come before the tasks of the next graphs, so a step needs
            less memory, and usually more time. None: the whole minibatch.
          edges: Whether to plan all edges too, for vertex functions that call `children()` and
            the like. A vertex may then have more children than `arity`, whose default is 0.

        Returns:
          The attached schedule, if there is one of this arity (which is then not checked
          again, nor compared with the other arguments), or else a new one.

        Raises:
          tf.errors.InvalidArgumentError: If the graphs are not valid, naming graph, vertex
            and slot.
          ValueError: If `arity` is None inside `tf.function`, or `policy` or `micro_batch` is
            not as described.

        >>> GraphBatch.chain([2, 3]).schedule(arity=1).task_splits.numpy()
        array([0, 2, 4, 5], dtype=int32)
        >>> GraphBatch.chain([2, 3]).schedule(arity=1, micro_batch=1).task_splits.numpy()
        array([0, 1, 2, 3, 4, 5], dtype=int32)
        """
        check_policy(policy)
        check_bools(edges=edges)
        attached = self.attached_schedule
        fits = attached is not None and (attached.has_edges or not edges)
        if fits and (arity is None or attached.arity in (None, arity)):
            return attached
        if arity is None:
            arity = 0 if edges else self.arity
        tensors = (getattr(self, name) for name in _GRAPH_FIELDS)
        *lists, of_edges = ops.cavs_schedule(
            *tensors,
            micro_batch_tensor(micro_batch),
            arity=arity,
            num_edge_lists=len(EDGE_FIELDS) if edges else 0,
            num_types=num_types,
            policy=policy,
        )
        return Schedule(*lists, *of_edges)

    @tf.autograph.experimental.do_not_convert
    def with_schedule(
        self,
        arity: int | None = None,
        num_types: int = 1,
        policy="depth",
        micro_batch=None,
        edges=False,
    ):
        """The same graphs with their schedule attached, so that a step need not plan it.

        Args:
          arity, num_types, policy, micro_batch, edges: As for `schedule`.

        >>> GraphBatch.chain([2, 3]).with_schedule(arity=1).attached_schedule
        Schedule(num_vertices=5, num_tasks=3, arity=1)
        """
        return GraphBatch(
            *self._fields(), self.schedule(arity, num_types, policy, micro_batch, edges)
        )

    def __repr__(self):
        parts = [f"num_graphs={shown(self.num_graphs)}, num_vertices={shown(self.num_vertices)}"]
        if hasattr(self.child_ids, "numpy"):
            with tf.init_scope():  # The values are known while a function is traced, too.
                parts += self._eager_parts()
        if self.attached_schedule is not None:
            parts.append(f"attached_schedule={self.attached_schedule!r}")
        return f"GraphBatch({', '.join(parts)})"

    def _eager_parts(self) -> list[str]:
        try:
            depth = f"depth={self.depth}"
        except tf.errors.InvalidArgumentError as error:
            depth = f"not valid: {error.message}"
        return [f"num_edges={self.num_edges}, arity={self.arity}", depth]

    def _fields(self) -> _graph_algebra.Fields:
        return _graph_algebra.Fields(*(getattr(self, name) for name in _GRAPH_FIELDS))

    def _check_known(self, name: str, advice: str) -> None:
        if not hasattr(self.child_splits, "numpy"):
            raise ValueError(
                f"{name}: got graphs inside a tf.function but expected some that are known. "
                f"{advice}"
            )

    @classmethod
    def _from_lists(cls, lists: _child_lists.ChildLists, vertex_type) -> "GraphBatch":
        vertex_type = eager_values("vertex_type", vertex_type)
        return cls(*lists, _child_lists.vertex_types(vertex_type, lists.graph_splits))


def pack_lists(lists: dict) -> tf.Tensor:
    """The tensor `PACKED` of lists by name; lists that are None or not there are empty."""
    nothing = tf.zeros([0], tf.int32)
    given = (lists.get(name) for name in PACKED_FIELDS)
    return pack([nothing if values is None else values for values in given])


def unpack_lists(packed: tf.Tensor) -> dict[str, tf.Tensor]:
    """The reverse of `pack_lists`."""
    return dict(zip(PACKED_FIELDS, unpack(packed, len(PACKED_FIELDS)), strict=True))


@tf.autograph.experimental.do_not_convert
def with_lists(features: dict) -> dict:
    """Features of graphs with a schedule, with all lists as tensors, in structures too.

    So a minibatch with schedules suits a model that plans its own.
    """
    features = {k: with_lists(v) if isinstance(v, dict) else v for k, v in features.items()}
    if PACKED not in features:
        return features
    lists = unpack_lists(features[PACKED])
    return features | {name: lists[name] for name in ("child_ids", "vertex_type")}
