"""Abstract syntax trees of Python programs."""

import ast
import functools
import os
import pathlib
from collections.abc import Iterator, Sequence

import tensorflow as tf

from cavs_tf._values.arguments import check_bools
from cavs_tf.data._streams import Item, LocatedError, check_exists, located, stream
from cavs_tf.data._vocabulary import Vocabulary
from cavs_tf.graphs import _formats as _graph_formats

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def python_trees(
    paths: str | os.PathLike | Sequence[str | os.PathLike],
    vocabulary: Vocabulary | None = None,
    *,
    functions: bool = False,
) -> tf.data.Dataset:
    r"""Reads the abstract syntax trees of Python programs, by the standard library's `ast`.

    The vertices of a tree stand in post-order: children before their parent, from left to right,
    the root last. Nodes that only say whether a name is read or written (`ast.Load`) are left out.

    Args:
      paths: A file or several of them, each read as a whole.
      vocabulary: The `Vocabulary` that numbers the words, from
        `Vocabulary.from_dataset`. None: the dataset has the words themselves.
      functions: Whether each function is a tree, methods and inner functions too, in the order of
        their lines. Otherwise each file is a tree.

    Returns:
      A dataset of one dict per tree of n vertices, for `cavs_tf.data.batch`, read as it is used:
        children: int32 [n, slots], ids relative to the tree; -1 fills empty slots.
        word: string [n], names and constants, empty for other vertices. Without a vocabulary.
        token: int32 [n], in [0, len(vocabulary)). With one.
        category: string [n], the name of the class, such as "Call".

    Raises:
      tf.errors.InvalidArgumentError: From the dataset, if this version of Python cannot parse a
        file. The message names file and line.

    >>> import tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "one.py")
    >>> _ = path.write_text("y = 2 * x")
    >>> tree = next(iter(python_trees(path)))
    >>> tree["category"].numpy().tolist()
    [b'Name', b'Constant', b'Mult', b'Name', b'BinOp', b'Assign', b'Module']
    >>> tree["word"].numpy().tolist()
    [b'y', b'2', b'', b'x', b'', b'', b'']
    """
    check_bools(functions=functions)
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    for path in files:
        check_exists(path)

    def read():
        for path in files:
            if not functions:
                yield Item(path, 1, functools.partial(_tree_of_file, path))
                continue
            try:
                roots = _functions(_module(path))
            except LocatedError:  # It is raised again when the item is read.
                yield Item(path, 1, functools.partial(_tree_of_file, path))
            else:
                yield from (Item(path, r.lineno, functools.partial(_tree, r)) for r in roots)

    return stream(read, dict.fromkeys(["children", "word", "category"]), vocabulary)


def _module(path) -> ast.Module:
    try:
        return ast.parse(pathlib.Path(path).read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        with located(path, getattr(error, "lineno", None) or 1):
            raise ValueError(
                f"got what is no Python program ({error}) but expected one. Correct the file, or "
                "leave it out."
            ) from None


def _tree_of_file(path) -> dict:
    return _tree(_module(path))


def _functions(module: ast.Module) -> Iterator[ast.AST]:
    found = [node for node in ast.walk(module) if isinstance(node, _FUNCTIONS)]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))


def _tree(root: ast.AST) -> dict:
    vertices, children = _graph_formats.post_order(root, _parts)
    return {
        "children": children,
        "word": [_word(vertex) for vertex in vertices],
        "category": [type(vertex).__name__ for vertex in vertices],
    }


def _parts(node: ast.AST) -> list[ast.AST]:
    return [c for c in ast.iter_child_nodes(node) if not isinstance(c, ast.expr_context)]


def _word(node: ast.AST) -> str:
    """The name in a node, or its constant as it is written; several names with blanks."""
    if isinstance(node, ast.Constant):
        return repr(node.value)
    words = []
    for _, value in ast.iter_fields(node):
        words += [v for v in (value if isinstance(value, list) else [value]) if isinstance(v, str)]
    return " ".join(words)
