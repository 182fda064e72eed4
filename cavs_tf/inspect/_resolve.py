"""Finds the GraphSupport that a model calls, and the arguments of that call."""

import dataclasses

import keras

from cavs_tf._inputs.features import select
from cavs_tf._inputs.inputs import as_graph_batch
from cavs_tf._running.evaluation import evaluation_by
from cavs_tf.graph_support._graph_support import GraphSupport
from cavs_tf.graphs._graph_batch import GraphBatch, with_lists
from cavs_tf.keras import Graph


@dataclasses.dataclass(frozen=True)
class CellCall:
    """A call of the GraphSupport `cell`; the other attributes are its arguments."""

    cell: GraphSupport
    graphs: GraphBatch
    inputs: object = None
    at: object = None
    pushes: object = None


def cell_of(model) -> GraphSupport:
    """The one GraphSupport that `model` is, or holds at any depth.

    Raises:
      ValueError: If there is none, or several.
    """
    found = {id(cell): (name, cell) for name, cell in _cells(model)}
    if not found:
        raise ValueError(
            f"model: got {_shown(model)} but expected a GraphSupport, a layer around one, or a "
            "Keras model with one. Make such a layer with cavs_tf.keras.Graph."
        )
    names, cells = zip(*found.values(), strict=True)
    if len(cells) > 1:
        raise ValueError(
            f"model: got {_shown(model)}, which has {len(cells)} layers over graphs "
            f"({', '.join(map(repr, names))}), but expected one. Pass one of them, as "
            f"model.get_layer({names[0]!r}) gives it, with its graphs. Its inputs are not needed "
            "if the model was called before."
        )
    return cells[0]


def call_of(model, graphs, inputs=None, at=None) -> CellCall:
    """The call of the GraphSupport in `model` when the model is called with these arguments.

    Args:
      model: A GraphSupport, a layer around one, or a Keras model that calls one once.
      graphs, inputs: The arguments of the model.
      at: The vertices whose outputs are wanted, of a GraphSupport; None for other models.

    Raises:
      ValueError: If the model has no GraphSupport or several, or calls it several times.
    """
    cell = cell_of(model)
    if model is cell:
        return CellCall(cell, as_graph_batch(graphs), inputs, at, cell._default_pushes)
    check_at(model, at)
    if isinstance(model, Graph) and inputs is None and isinstance(graphs, (GraphBatch, dict)):
        graphs = model._directed(as_graph_batch(graphs))
        return CellCall(cell, graphs, at=None if model.return_vertices else graphs.roots)
    return _only(model, _calls(model, arguments_of(model, graphs, inputs)))


def arguments_of(model, graphs, inputs=None) -> tuple:
    """The positional arguments of the model's call.

    Raises:
      ValueError: If a functional model does not get a dict with its inputs.
    """
    arguments = (graphs,) if inputs is None else (graphs, inputs)
    names = getattr(model, "input", None) if isinstance(model, keras.Model) else None
    if not isinstance(names, dict):
        return arguments
    if len(arguments) > 1 or not isinstance(graphs, dict):
        several = len(arguments) > 1
        got = f"{len(arguments)} arguments" if several else _kind(graphs)
        raise ValueError(
            f"inputs: got {got} but expected {'one, ' if several else ''}a dict with the inputs of "
            f"{model.name!r}: {', '.join(names)}. Put the graphs into it with "
            "GraphBatch.to_dict(), or take a minibatch of data.batch(..., as_dict=True)."
        )
    return (select(with_lists(graphs), names, f"inputs of {model.name!r}"),)


def check_at(model, at) -> None:
    """Raises ValueError if vertices were chosen although `model` is not a GraphSupport."""
    if at is not None and not isinstance(model, GraphSupport):
        raise ValueError(
            f"at: got {at} but expected None, as {type(model).__name__} chooses the vertices "
            "itself. Pass its GraphSupport to choose others."
        )


def cells_of(model) -> list[GraphSupport]:
    """All GraphSupports in a model."""
    return [cell for _, cell in _cells(model)]


def _cells(model):
    """Yields (name of the layer that the user sees, GraphSupport) for each one in a model."""
    if isinstance(model, GraphSupport):
        yield model.name, model
    elif isinstance(model, Graph):
        yield model.name, model.cell
    elif isinstance(model, keras.layers.Layer):
        for layer in model._flatten_layers(include_self=False, recursive=False):
            yield from _cells(layer)


def _calls(model, arguments) -> list[CellCall]:
    calls = []

    def note(cell, *call):
        calls.append(CellCall(cell, *call))
        return cell._zeros(*call)

    with evaluation_by(note):
        model(*arguments)
    return calls


def _only(model, calls) -> CellCall:
    if len(calls) != 1:
        raise ValueError(
            f"model: got {_shown(model)}, which calls its layer over graphs {len(calls)} times, "
            "but expected one call, outside of any tf.function. Pass the layer itself, with its "
            "graphs and inputs."
        )
    return calls[0]


def _shown(model) -> str:
    return repr(model.name) if isinstance(model, keras.Model) else _kind(model)


def _kind(value) -> str:
    return f"a {type(value).__name__}"
