"""Runs vertex functions on one row, to find out their inputs, outputs and variables."""

import tensorflow as tf

from cavs_tf._inputs.edges import PlainEdges
from cavs_tf._inputs.inputs import GRAPH_INPUTS, first_rows, graph_spec, row_specs
from cavs_tf._inputs.variables import Reads, check_reads, recorded_reads
from cavs_tf._tracing.trace import Slots, Vertex


def first_run(functions, pulls: dict, state: tf.TensorSpec, arity: int | None) -> tuple:
    """Runs every vertex function on one row, so that layers get their weights.

    Nothing is traced meanwhile, so that variables are created as they would be if the layers were
    called by themselves.

    Args:
      functions: Pairs (name, function) by vertex type.
      pulls: External inputs by name.
      state: The shape of one vertex's state, and its dtype.
      arity: The largest number of children of a vertex, or None.

    Returns:
      (findings, reads): the attributes of `Known` that depend on the functions, by name; and the
      variables that they read.

    Raises:
      ValueError: If a vertex function makes variables whenever it runs, or adds a loss, or an
        input is pulled, or an output pushed, by vertices and by edges.
    """
    vertices, reads = [], Reads()
    for name, function in functions:
        with recorded_reads() as own:
            vertices.append(_one_vertex(pulls, state, arity).run(function))
        if own.adds_loss:
            raise ValueError(
                f"{name}: got a loss, from add_loss or the activity_regularizer of a layer, but "
                "expected none in a vertex function, which only its pushes leave. Push what the "
                "loss is of, and add it outside: by the activity_regularizer of the layer around "
                "the cell, or by add_loss of the model."
            )
        if own.made:
            check_reads(name, own, lambda f=function: _one_vertex(pulls, state, arity).run(f))
        reads.add(own)
    edge_pulls = _union(vertex.pulled_by_edge for vertex in vertices)
    edge_pushes = _union(vertex.pushed_by_edge for vertex in vertices)
    for name in sorted(edge_pulls & _union(vertex.pulled_by_vertex for vertex in vertices)):
        raise ValueError(
            f"pull_edge: got {name!r}, which is pulled by vertices too, but expected an input "
            "with a row for each edge alone. Pass two inputs."
        )
    of_vertices = _union(vertex.pushes.keys() - vertex.pushed_by_edge for vertex in vertices)
    for name in sorted(edge_pushes & of_vertices):
        raise ValueError(
            f"push_edge: got {name!r}, which is pushed by vertices too, but expected an output "
            "with a row for each edge alone. Give the outputs different names."
        )
    findings = {
        "pushed": {
            name: tf.TensorSpec(value.shape[1:], value.dtype)
            for vertex in vertices
            for name, value in vertex.pushes.items()
        },
        "pulled": [vertex.pulled for vertex in vertices],
        "edge_pulls": edge_pulls,
        "edge_pushes": edge_pushes,
        "reads_edges": any(vertex.edges.used for vertex in vertices),
        "num_slots": max([arity or 0, *(len(vertex.gathered) for vertex in vertices)]),
    }
    return findings, reads


def _one_vertex(pulls, state, arity) -> Vertex:
    """The minibatch's first vertex with one edge; rows are zeros if they are not known."""
    zeros = tf.zeros([1, *state.shape], state.dtype)
    specs = row_specs(pulls) | {name: graph_spec(name, arity or 0) for name in GRAPH_INPUTS}
    rows = {n: tf.zeros([1, *spec.shape], spec.dtype) for n, spec in specs.items()}
    number = tf.zeros([1], tf.int32)
    edges = PlainEdges(zeros, number, number)
    return Vertex(Slots(lambda _: zeros), rows | first_rows(pulls, 1), number, edges)


def _union(sets) -> frozenset:
    return frozenset().union(*sets)
