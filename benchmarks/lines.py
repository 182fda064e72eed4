"""Lines of code: what a user of each system writes for each workload.

A line is one that `ast.unparse` writes: comments, docstrings, blank lines and how lines are
broken make no difference. Counted is what states the model and, where the system does not do
it, what batches its graphs; data, weights, loss and training loop are alike for all.
"""

import ast
import dataclasses
import pathlib

_FOLDER = pathlib.Path(__file__).parent


@dataclasses.dataclass(frozen=True)
class Part:
    """Definitions in a file.

    Attributes:
      path: The path of the file, relative to this folder.
      names: The names of classes and functions, "Class.method" for a method; none for the whole
        file without its imports.
    """

    path: str
    names: tuple[str, ...] = ()


def source(system: str, workload: str) -> list[Part] | None:
    """The parts that state a workload in a system; None if it is not known."""
    made = _SOURCES[system](workload) if system in _SOURCES else None
    return made if made and all((_FOLDER / part.path).is_file() for part in made) else None


def systems() -> list[str]:
    """The systems that have any lines."""
    return list(_SOURCES)


def count(parts: list[Part]) -> int:
    """The number of lines in all parts.

    Raises:
      ValueError: If a file has no such definition.
    """
    return sum(_lines(node) for part in parts for node in _definitions(part))


def _definitions(part: Part) -> list[ast.AST]:
    module = ast.parse((_FOLDER / part.path).read_text())
    if not part.names:
        imports = (ast.Import, ast.ImportFrom)
        return [n for n in module.body if not (isinstance(n, imports) or _is_string(n))]
    return [_find(module, name, part) for name in part.names]


def _find(module: ast.Module, name: str, part: Part) -> ast.AST:
    node: ast.AST = module
    for piece in name.split("."):
        named = [n for n in node.body if getattr(n, "name", None) == piece]
        if not named:
            raise ValueError(f"{part.path}: got no definition of {name} but expected one.")
        (node,) = named
    return node


def _lines(node: ast.AST) -> int:
    bare = _WithoutDocstrings().visit(node)
    return len([line for line in ast.unparse(bare).splitlines() if line.strip()])


class _WithoutDocstrings(ast.NodeTransformer):
    """Replaces a body that is only a docstring by `pass`."""

    def generic_visit(self, node):
        super().generic_visit(node)
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [n for n in body if not _is_string(n)] or [ast.Pass()]
        return node


def _is_string(node) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


# The parts that state each workload, by system. A system that takes the cell from the workload has
# its lines too.
_SEQUENCES = ("fixed_lstm", "var_lstm")
_TREES = ("tree_fc", "tree_lstm")
_OF_LAYERS = {"bilstm_tagger": "Tagger", "encoder_decoder": "EncoderDecoder"}
_CELLS = ("Workload.project", "Workload.leaf", "Workload.inner")
_LSTM_CELL = Part("workloads/_lstm.py", tuple(n.replace("Workload", "LSTM") for n in _CELLS))
_CAVS_CELL = Part("peers/_cavs/_cell.py", ("Cell",))
_LEVELS = Part("peers/_levels.py", ("Levels", "plan"))
_STEPS = Part("peers/_levels.py", ("Steps", "steps"))
_ANY_LEVELS = Part("peers/_graphs.py")
_VERTEX_BY_VERTEX = ("Peer.inputs_of", "Peer.loss", "Peer._states", "Peer._vertex")
_PADDING = Part("peers/_sequences.py", ("padded",))


def _cell(workload: str) -> Part:
    if workload in _SEQUENCES:
        return _LSTM_CELL
    if workload in _OF_LAYERS:
        return Part("workloads/_lstm.py", ("SeveralLSTMs.given", "SeveralLSTMs.vertex"))
    names = _CELLS if workload in _TREES else ("Workload.given", "Workload.vertex")
    return Part(f"workloads/{workload}.py", names)


def _cavs(workload):
    if workload in _SEQUENCES:
        return [_CAVS_CELL, Part("peers/_cavs/lstm.py", ("LSTM", "Model"))]
    own = Part(f"peers/_cavs/{workload}.py", () if workload in _OF_LAYERS else ("Model",))
    if workload in _OF_LAYERS:
        return [_CAVS_CELL, Part("peers/_cavs/lstm.py", ("LSTM", "stacked_of", "weights_of")), own]
    return [own]


def _fold(workload):
    if workload in _SEQUENCES:
        return [Part("fold/models/lstm.py", ("cell", "block"))]
    own = ("Cell", "block") if workload == "tree_lstm" else ("block",)
    model = Part(f"fold/models/{workload}.py", own)
    return [model, Part("fold/models/lstm.py", ("cell",))] if workload in _OF_LAYERS else [model]


def _keras(workload):
    if workload in _OF_LAYERS:
        return [_PADDING, Part("peers/_keras_sequences.py", (_OF_LAYERS[workload],))]
    if workload in _SEQUENCES:
        return [_PADDING] if workload == "var_lstm" else None  # Keras does the rest.
    if workload in _TREES:
        return [*_tf_trees(workload), Part("peers/keras.py", ("TreeLayer",))]
    return None


def _tf_while(workload):
    if workload in _SEQUENCES:
        return [_cell(workload), _PADDING, Part("peers/tf_while.py", ("Peer._sequences",))]
    if workload in _TREES:
        return _tf_trees(workload)
    return [_cell(workload), _ANY_LEVELS, Part("peers/_tf_graphs.py")]


def _tf_trees(workload):
    return [_cell(workload), _LEVELS, Part("peers/_trees.py", ("inputs_of", "hidden"))]


def _tf_unbatched(workload):
    return [_cell(workload), Part("peers/tf_unbatched.py", _VERTEX_BY_VERTEX)]


def _torch(workload):
    if workload in _SEQUENCES:
        return [_STEPS, Part("peers/_torch_sequences.py", ("Sequences.plan", "Sequences.run"))]
    if workload in _OF_LAYERS:
        return [_STEPS, Part("peers/_torch_sequences.py", (_OF_LAYERS[workload], "_packed"))]
    if workload in _TREES:
        return [_cell(workload), _LEVELS, Part("peers/torch.py", ("Trees",))]
    return [_cell(workload), _ANY_LEVELS, Part("peers/_torch_graphs.py")]


def _torch_by_hand(workload):
    if workload in _SEQUENCES:
        return [_STEPS, Part("peers/_by_hand/lstm.py")]
    plan = _LEVELS if workload in _TREES else _ANY_LEVELS
    return [plan, Part(f"peers/_by_hand/{workload}.py")]


_SOURCES = {
    "cavs": _cavs,
    "fold": _fold,
    "keras": _keras,
    "tf_while": _tf_while,
    "tf_unbatched": _tf_unbatched,
    "torch": _torch,
    "torch_by_hand": _torch_by_hand,
}
