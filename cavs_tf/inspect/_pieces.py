"""A minibatch in pieces, which several calls of `GraphSupport.extend` evaluate like one call."""

import numpy as np
import tensorflow as tf

from cavs_tf._inputs.inputs import as_pair, name_inputs, unnamed


class Pieces:
    """A random cut of a minibatch: each piece has vertices whose children precede it, or are in it.

    Args:
      graphs: A `GraphBatch`, eager.
      count: The number of pieces, some of which may be empty.
      seed: The seed of the cut.
    """

    def __init__(self, graphs, count: int, seed: int):
        random = np.random.default_rng(seed)
        splits, ids = graphs.child_splits.numpy(), graphs.child_ids.numpy()
        self._children = np.split(ids, splits[1:-1]) if len(splits) > 1 else []
        self._types = graphs.vertex_type.numpy()
        self._graph = graphs.vertex_graph.numpy()
        order = self._random_order(random)
        cuts = np.sort(random.integers(0, len(order) + 1, count - 1))
        self._pieces = [random.permutation(piece) for piece in np.split(order, cuts)]
        self._rows = np.concatenate(self._pieces)
        edges = np.cumsum([0, *(np.count_nonzero(own >= 0) for own in self._children)])
        self._edges = [np.arange(*edges[v : v + 2]) for v in range(len(self._children))]

    def _random_order(self, random) -> np.ndarray:
        """The vertices in a random order in which children precede their parents."""
        waiting = [np.unique(own[own >= 0]).tolist() for own in self._children]
        parents = [[] for _ in waiting]
        for vertex, own in enumerate(waiting):
            for child in own:
                parents[child].append(vertex)
        missing = [len(own) for own in waiting]
        ready = [vertex for vertex, count in enumerate(missing) if not count]
        order = []
        while ready:
            order.append(ready.pop(random.integers(len(ready))))
            for parent in parents[order[-1]]:
                missing[parent] -= 1
                if not missing[parent]:
                    ready.append(parent)
        return np.array(order, np.int32)

    def run(self, cell, inputs, **arguments):
        """The result of `cell(graphs, inputs)`.

        Args:
          cell: A `GraphSupport`.
          inputs: The inputs of the call.
          **arguments: `training` and `pushes` of `extend`. Dropout drops the same in all pieces.
        """
        pulls = name_inputs(inputs)
        calls = cell._known(pulls)
        by_type, of_edges = calls.pulled, calls.edge_pulls
        states, known, outputs = None, np.zeros(0, np.int32), []
        for number, piece in enumerate(self._pieces):
            rows = {n: self._rows_of(n, v, piece, by_type, of_edges) for n, v in pulls.items()}
            pushed, new = cell.extend(
                states,
                self._lists(known, piece),
                unnamed(rows) if rows else None,
                self._types[piece] if self._types.size else None,
                vertex_ids=piece,
                vertex_graph=self._graph[piece],
                redraw_dropout=number == 0,
                **arguments,
            )
            states = new if states is None else tf.concat([states, new], 0)
            known = np.concatenate([known, piece])
            outputs.append(pushed)
        return self._put_together(outputs, calls.edge_pushes)

    def _lists(self, known, piece) -> list:
        """The children of the vertices of a piece, after the vertices `known`."""
        place = {int(vertex): row for row, vertex in enumerate((*known, *piece))}
        return [[place.get(int(c), -1) for c in self._children[v]] for v in piece]

    def _edges_of(self, vertices) -> np.ndarray:
        return np.concatenate([np.zeros(0, int), *(self._edges[v] for v in vertices)])

    def _rows_of(self, name, value, piece, by_type, of_edges):
        """The rows of an input that a piece needs."""
        if name in of_edges:
            return tf.gather(value, self._edges_of(piece))
        rows, vertices = as_pair(value)
        if vertices is None and rows.shape[0] == len(self._children):
            return tf.gather(rows, piece)
        if vertices is None:
            pulls = np.array([name in names for names in by_type])
            vertices = np.flatnonzero(pulls[self._types])
        row_of = {int(vertex): row for row, vertex in enumerate(np.asarray(vertices))}
        own = [(row_of[v], i) for i, v in enumerate(piece.tolist()) if v in row_of]
        rows_of_own, places = np.array(own, np.int32).reshape(-1, 2).T
        rows = tf.gather(rows, rows_of_own)
        return type(value)(rows, tf.constant(places)) if isinstance(value, tuple) else rows

    def _put_together(self, outputs, of_edges):
        """The outputs of all pieces, in the order of the vertices, or edges."""
        order = {False: np.argsort(self._rows), True: np.argsort(self._edges_of(self._rows))}
        named = [own if isinstance(own, dict) else {None: own} for own in outputs]
        whole = {
            name: tf.gather(tf.concat([own[name] for own in named], 0), order[name in of_edges])
            for name in named[0]
        }
        return whole[None] if list(whole) == [None] else whole
