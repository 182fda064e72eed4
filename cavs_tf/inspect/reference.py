"""Vertex by vertex in plain TensorFlow: to compare with, to debug, and to run anywhere.

No custom op is used: a model that runs here runs wherever TensorFlow does. Eagerly, the
vertex function is ordinary Python, called once per vertex: print, set breakpoints.
"""

import numpy as np
import tensorflow as tf

from cavs_tf._inputs.edges import PlainEdges
from cavs_tf._inputs.inputs import (
    GRAPH_INPUTS,
    VertexRows,
    as_graph_batch,
    children_by_slot,
    chosen_pushes,
    graph_rows,
    unnamed,
    vertices_to_return,
)
from cavs_tf._inputs.variables import wide_gradients
from cavs_tf._running.evaluation import evaluation_by
from cavs_tf._tracing.trace import Slots, Vertex
from cavs_tf._values.integers import list_of_each
from cavs_tf._values.wide_sums import sum_type, widened
from cavs_tf.graph_support._graph_support import GraphSupport
from cavs_tf.inspect._resolve import arguments_of, check_at

__all__ = ["run"]


@tf.autograph.experimental.do_not_convert
def run(model, graphs, inputs=None, at=None):
    """Evaluates the vertex functions of `model` for one vertex after the other.

    Args:
      model: A `GraphSupport`, or any layer or model that calls some.
      graphs, inputs: The arguments of the model. A `GraphSupport` takes a `GraphBatch` or its dict
        of tensors, and inputs; a functional model takes one dict.
      at: The vertices whose outputs are returned, as in a call of a `GraphSupport`.

    Returns:
      The result of `model(graphs, inputs, at=at)`, up to rounding.

    Raises:
      ValueError, tf.errors.InvalidArgumentError: If a vertex depends on itself, or has more
        children than the model's arity, or the model calls its GraphSupports in a `tf.function`.

    Example:
    >>> import cavs_tf as cavs
    >>> @cavs.vertex_function(state_size=1, arity=1)
    ... def running_sum(v):
    ...     total = v.pull() + v.gather(0)
    ...     v.scatter(total)
    ...     v.push(total)
    >>> run(running_sum, cavs.GraphBatch.chain([3]), tf.constant([[1.0], [2.0], [3.0]])).numpy()
    array([[1.],
           [3.],
           [6.]], dtype=float32)
    """
    if isinstance(model, GraphSupport):
        return _run_cell(model, as_graph_batch(graphs), inputs, at, model._default_pushes)
    check_at(model, at)
    calls = []

    def evaluate(*call):
        calls.append(call)
        return _run_cell(*call)

    with evaluation_by(evaluate):
        outputs = model(*arguments_of(model, graphs, inputs))
    if not calls:
        raise ValueError(
            f"model: got a {type(model).__name__} but expected a call of a GraphSupport outside of "
            "any tf.function. Pass its layer with graphs and inputs."
        )
    return outputs


def _run_cell(cell, graphs, inputs, at, pushes=None):
    evaluation = Evaluation(cell, graphs, *cell._prepared(graphs, inputs))
    run_all = evaluation.run_eagerly if tf.executing_eagerly() else evaluation.run_in_graph
    with wide_gradients(cell.variables):
        outputs = run_all()
    return unnamed(chosen_pushes(evaluation.rows_at(outputs, at), pushes))


class Evaluation:
    """Evaluates the vertices of one minibatch, one after the other.

    Attributes:
      functions: A vertex function per vertex type.
      reads_edges: Whether any of them reads edges.
      pulls: By name, [V, ...]: rows for all vertices.
      edge_pulls: By name, [E, ...]: rows for all edges.
      pushed: By name, the spec of a row that is pushed.
      edge_pushes: The names of the pushes that have a row for each edge.
      children: int32 [V, arity]: the child in each slot, or -1.
      edge_splits: int32 [V + 1]: vertex v has the edges [edge_splits[v], edge_splits[v + 1]).
      edge_child: int32 [E]: the child to which each edge leads.
      types, depth: int32 [V].
      no_state: [1, *state_shape]: the state of a missing child.
      wide: The type of the states of others until they are gathered: gradients of one state
        that several vertices gather are added up in it.
      num_vertices: V.
      arity: The number of slots.
    """

    def __init__(self, model, graphs, pulls, known):
        self.functions = [function for _, function in model._evaluated_functions(pulls)]
        self.arity = known.num_slots
        self.no_state = tf.zeros([1, *model.state_shape], model.compute_dtype)
        self.wide = sum_type(model.compute_dtype)
        self.pushed = known.pushed
        self.num_vertices = graphs.num_vertices
        typed = tf.size(graphs.vertex_type) > 0
        untyped = tf.zeros([self.num_vertices], tf.int32)
        self.types = tf.cond(typed, lambda: graphs.vertex_type, lambda: untyped)
        self.edge_pushes = known.edge_pushes
        self.edge_pulls = {name: pulls[name] for name in known.edge_pulls}
        of_vertices = {n: value for n, value in pulls.items() if n not in known.edge_pulls}
        self.pulls = self._one_row_per_vertex(of_vertices, known.pulled)
        # All of them, as dropout in training may pull more than `known` says.
        own = {name: graph_rows(name, graphs, model.arity or 0) for name in GRAPH_INPUTS}
        self.pulls = own | self.pulls
        self.reads_edges = known.reads_edges
        if model.arity is not None and not known.reads_edges:
            _check_arity(graphs, self.arity)
        self.children = children_by_slot(graphs, self.arity)
        self.edge_child = tf.boolean_mask(graphs.child_ids, graphs.child_ids >= 0)
        self.edge_splits = tf.pad(tf.cumsum(graphs.num_children), [[1, 0]])
        self.depth = depth_of(graphs)

    def _one_row_per_vertex(self, pulls, pulled_by_type) -> dict:
        """Expands external inputs that have rows only for the vertices of types that pull them."""

        def spread(name, value):
            pulled = tf.gather([name in names for names in pulled_by_type], self.types)
            tf.debugging.assert_equal(
                tf.shape(value)[0],
                tf.math.count_nonzero(pulled, dtype=tf.int32),
                f"inputs[{name!r}]: got another number of rows but expected one per vertex, or one "
                "per vertex of the types that pull it. Check that the input and the graphs belong "
                "to the same minibatch.",
            )
            row = tf.where(pulled, tf.cumsum(tf.cast(pulled, tf.int32)), 0)
            nothing = tf.zeros([1, *value.shape[1:]], value.dtype)
            return tf.gather(tf.concat([nothing, value], 0), row)

        def complete(name, value):
            if isinstance(value, VertexRows):
                tf.debugging.assert_equal(
                    tf.size(tf.unique(value.vertices)[0]),
                    tf.size(value.vertices),
                    f"inputs[{name!r}].vertices: got a vertex more than once but expected each "
                    "once. Add up its rows.",
                )
                shape = tf.concat([[self.num_vertices], tf.shape(value.rows)[1:]], 0)
                dense = tf.scatter_nd(value.vertices[:, None], value.rows, shape)
                return tf.ensure_shape(dense, [None, *value.rows.shape[1:]])
            is_complete = tf.equal(tf.shape(value)[0], self.num_vertices)
            return tf.cond(is_complete, lambda: value, lambda: spread(name, value))

        return {name: complete(name, value) for name, value in pulls.items()}

    def rows_at(self, outputs: dict, at) -> dict:
        """Outputs with the rows of the vertices in `at` only, unless it is None."""
        at = vertices_to_return(at)
        if at is None:
            return outputs
        return {
            name: value if name in self.edge_pushes else tf.gather(value, at)
            for name, value in outputs.items()
        }

    def run_eagerly(self):
        children, types = self.children.numpy(), self.types.numpy()
        edge_child, edge_splits = self.edge_child.numpy(), self.edge_splits.numpy()
        edges = np.diff(edge_splits)
        rows = {n: _parts(value, [1] * len(types)) for n, value in self.pulls.items()}
        rows |= {n: _parts(value, edges) for n, value in self.edge_pulls.items()}
        states, outputs = {}, {name: {} for name in self.pushed}
        for v in self._order().numpy().tolist():

            def gathered(slot, own=children[v]):
                child = own[slot] if slot < len(own) else -1
                return self.no_state if child < 0 else self._rounded(states[child])

            row = {name: parts[v] for name, parts in rows.items()}
            function, along = self.functions[types[v]], self.no_state[:0]
            if self.reads_edges:
                own = [states[c] for c in edge_child[edge_splits[v] : edge_splits[v + 1]]]
                along = self._rounded(tf.concat([widened(along), *own], 0))
            new, pushes = self._evaluate(function, v, gathered, along, row, int(edges[v]))
            states[v] = widened(new)
            for name, value in pushes.items():
                outputs[name][v] = value
        return {
            name: tf.concat([rows[v] for v in range(len(rows))], 0)
            if rows
            else tf.zeros([0, *self.pushed[name].shape], self.pushed[name].dtype)
            for name, rows in outputs.items()
        }

    def run_in_graph(self):
        """Evaluates the vertices in a while loop. Its last state is that of missing children."""

        def array(spec, size, rows=1):
            return tf.TensorArray(
                spec.dtype,
                size,
                clear_after_read=False,
                infer_shape=rows is not None,
                element_shape=[rows, *spec.shape],
            )

        state = tf.TensorSpec(self.no_state.shape[1:], self.wide)
        missing = widened(self.no_state)
        states = array(state, self.num_vertices + 1).write(self.num_vertices, missing)
        outputs = {
            name: array(spec, self.num_vertices, None if name in self.edge_pushes else 1)
            for name, spec in self.pushed.items()
        }

        order = self._order()

        def step(i, states, outputs):
            v = order[i]

            def gathered(slot):
                own = tf.concat([self.children[v], [-1]], 0)
                child = own[tf.minimum(slot, tf.size(own) - 1)]
                return self._rounded(states.read(tf.where(child < 0, self.num_vertices, child)))

            first, end = self.edge_splits[v], self.edge_splits[v + 1]
            children = states.gather(self.edge_child[first:end])
            along = self._rounded(tf.reshape(children, [-1, *state.shape]))
            row = {name: tf.gather(value, [v]) for name, value in self.pulls.items()}
            row |= {name: value[first:end] for name, value in self.edge_pulls.items()}
            given = (v, gathered, along, row, end - first)
            branches = [lambda f=f: self._evaluate(f, *given) for f in self.functions]
            kind = self.types[v]
            new, pushes = tf.switch_case(kind, branches) if len(branches) > 1 else branches[0]()
            outputs = {name: outputs[name].write(v, value) for name, value in pushes.items()}
            return i + 1, states.write(v, widened(new)), outputs

        _, _, outputs = tf.while_loop(
            lambda i, *_: i < self.num_vertices, step, (0, states, outputs)
        )
        return {
            name: tf.ensure_shape(rows.concat(), [None, *self.pushed[name].shape])
            for name, rows in outputs.items()
        }

    def _rounded(self, states):
        return tf.cast(states, self.no_state.dtype)

    def _order(self):
        """int32 [V]: vertices by depth, so children before parents."""
        return tf.cast(tf.argsort(self.depth, stable=True), tf.int32)

    def _evaluate(self, function, v, gathered, along, row, num_edges):
        """State and pushes of vertex `v`, with zeros for pushes that its type lacks.

        `gathered` gives the state of the child in a slot; `along` are the states of all children,
        and `row` has what it and its edges pull.
        """
        number = tf.reshape(tf.cast(v, tf.int32), [1])
        edges = PlainEdges(along, tf.zeros([num_edges], tf.int32), number)
        vertex = Vertex(Slots(gathered), row, number, edges).run(function)
        pushes = dict(vertex.pushes)
        for name in self.pushed.keys() - pushes.keys():
            rows, spec = num_edges if name in self.edge_pushes else 1, self.pushed[name]
            pushes[name] = tf.zeros([rows, *spec.shape], spec.dtype)
        return vertex.scattered, pushes


def _parts(rows, sizes) -> list:
    """The rows of each vertex."""
    return tf.split(rows, sizes) if len(sizes) else []


def _check_arity(graphs, arity):
    splits = graphs.child_splits
    tf.debugging.assert_less_equal(
        tf.reduce_max(tf.concat([splits[1:] - splits[:-1], [0]], 0)),
        arity,
        f"children: got more than {arity} in one vertex but expected at most the arity of the "
        "GraphSupport. Raise its arity.",
    )


def depth_of(graphs):
    """int32 [V]: 0 for a vertex without children, else one more than its deepest child has."""
    num_vertices = graphs.num_vertices
    parents = list_of_each(graphs.child_splits, tf.size(graphs.child_ids))
    real = graphs.child_ids >= 0
    parents, children = tf.boolean_mask(parents, real), tf.boolean_mask(graphs.child_ids, real)

    def deepen(depth, _, rounds):
        deepest = tf.math.unsorted_segment_max(tf.gather(depth, children), parents, num_vertices)
        new = tf.maximum(depth, deepest + 1)
        return new, tf.reduce_any(new > depth), rounds + 1

    depth, unfinished, _ = tf.while_loop(
        lambda _, changed, rounds: tf.logical_and(changed, rounds <= num_vertices),
        deepen,
        (tf.zeros([num_vertices], tf.int32), tf.constant(True), 0),
        shape_invariants=(tf.TensorShape([None]), tf.TensorShape([]), tf.TensorShape([])),
    )
    tf.debugging.assert_equal(
        unfinished,
        False,
        "children: got a cycle but expected every vertex to depend on others only. Remove it, or "
        "make rounds of message passing of the graph: GraphBatch.from_rounds.",
    )
    return depth


def random_seeds(outputs: dict, seed: int) -> dict:
    """Weights of a random scalar loss over outputs, so that no gradient is trivial."""
    generator = np.random.default_rng(seed)
    return {
        name: tf.constant(generator.uniform(-1, 1, value.shape), value.dtype)
        for name, value in outputs.items()
        if value.dtype.is_floating
    }
