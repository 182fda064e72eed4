"""Any graphs in PyTorch, batched by hand level by level; autograd differentiates."""

import itertools
import types

import torch

from benchmarks.peers import _graphs
from benchmarks.peers._torch import Functions, Model, indices, indices_or_none, select


class Graphs(Model):
    """Runs any cell on any graphs."""

    def __init__(self, workload):
        self._cell = workload

    def plan(self, minibatch):
        """Makes the index tensors of every level."""
        levels = _graphs.plan(minibatch, self._cell.vertex_types)
        kinds = zip(self._cell.vertex_types, levels.batches, strict=True)
        pulling = [batch.vertex for vertex_type, batch in kinds if vertex_type.pulls]
        by_kind = [_tasks(batch) for batch in levels.batches]
        return types.SimpleNamespace(
            token=torch.cat([indices(minibatch.token[vertex]) for vertex in pulling]),
            pull_counts=[len(vertex) for vertex in pulling],
            counts=[[len(rows) for rows in _parts(b.vertex, b.splits)] for b in levels.batches],
            num_zeros=levels.num_zeros,
            levels=list(zip(*by_kind, strict=True)),
            keep=[indices(rows) for rows in _parts(levels.keep, levels.keep_splits)],
            outputs=[
                indices_or_none(column) if len(column) == len(levels.row) else indices(column)
                for column in _graphs.output_rows(levels, minibatch).T
            ],
            label=indices(minibatch.label[minibatch.label >= 0]),
            labelled=None,
        )

    def run(self, plan, x):
        """The rows that the output layer reads, for all labels."""
        given = self._given(plan, x)
        zeros = x.new_zeros(plan.num_zeros, x.shape[1])
        live = [zeros] * self._cell.num_states
        hidden = []
        for level, (tasks, keep) in enumerate(zip(plan.levels, plan.keep, strict=True)):
            states = [
                self._cell.vertex(
                    Functions, self._weights, kind, given[kind][level], *task.children_of(live)
                )
                for kind, task in enumerate(tasks)
                if task.size
            ]
            own = [_join(parts) for parts in zip(*states, strict=True)]
            hidden.append(own[-1])
            live = [
                _join([zeros, state, before.index_select(0, keep)])
                for state, before in zip(own, live, strict=True)
            ]
        joined = torch.cat(hidden)
        outputs = [select(joined, rows) for rows in plan.outputs]
        return self._cell.head(Functions, self._weights, outputs)

    def _given(self, plan, x) -> list[list]:
        """The terms of inputs, by type and level."""
        parts = iter(x.split(plan.pull_counts))
        given = []
        for kind, vertex_type in enumerate(self._cell.vertex_types):
            counts = plan.counts[kind]
            if not vertex_type.pulls:
                given.append([None] * len(counts))
                continue
            values = self._cell.given(Functions, self._weights, kind, next(parts))
            if isinstance(values, tuple):
                given.append(list(zip(*(value.split(counts) for value in values), strict=True)))
            else:
                given.append(values.split(counts))
        return given


class _Task:
    """The vertices of a level and type, and where their children are."""

    def __init__(self, slots, edge_child, edge_parent):
        self.size, self._num_slots = slots.shape
        self._slots = indices(slots.T.ravel())
        self._child, self._parent = indices(edge_child), indices(edge_parent)

    def children_of(self, live) -> tuple:
        """(states of the children in slots, the other children)."""
        if not self._num_slots:
            return [], _Edges(self, live)
        chosen = [state.index_select(0, self._slots).chunk(self._num_slots) for state in live]
        return list(zip(*chosen, strict=True)), _Edges(self, live)

    def sum(self, states, function, values):
        """The sum of f(child's state, *values) over children."""
        if not len(self._child):
            return states[-1].new_zeros(self.size, states[-1].shape[1])
        terms = function(
            tuple(state.index_select(0, self._child) for state in states),
            *(value.index_select(0, self._parent) for value in values),
        )
        return terms.new_zeros(self.size, terms.shape[1]).index_add(0, self._parent, terms)


class _Edges:
    """The children of a task that are summed over."""

    def __init__(self, task, live):
        self._task, self._live = task, live

    def sum(self, function, *values):
        return self._task.sum(self._live, function, values)


def _join(parts):
    """Concatenates rows; makes no copy of a single tensor."""
    filled = [part for part in parts if len(part)]
    return filled[0] if len(filled) == 1 else torch.cat(filled)


def _tasks(batch) -> list[_Task]:
    slots = _parts(batch.slots, batch.splits)
    children = _parts(batch.edge_child, batch.edge_splits)
    parents = _parts(batch.edge_parent, batch.edge_splits)
    return [_Task(*parts) for parts in zip(slots, children, parents, strict=True)]


def _parts(values, splits) -> list:
    return [values[first:last] for first, last in itertools.pairwise(splits)]
