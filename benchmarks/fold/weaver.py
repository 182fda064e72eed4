"""Schedules examples in C++, and makes the wiring of the loop."""

import ctypes
import os
import pathlib
import re
import shutil
import subprocess

import numpy as np

from benchmarks.fold.program import Program

_FOLDER = pathlib.Path(__file__).parent
_SOURCES = _FOLDER / "cc"
_LIBRARY = _FOLDER.parents[1] / "build/benchmarks/fold.so"
_POINTER = ctypes.c_void_p
_LONG = ctypes.c_int64


class _Column(ctypes.Structure):
    _fields_ = (("data", _POINTER), ("size", _LONG))


class Examples:
    """Schedules of examples, separate for each."""

    def __init__(self, weaver: "Weaver", handle):
        self._weaver = weaver
        self.handle = handle

    def __del__(self):
        self._weaver.library.fold_examples_delete(self.handle)


class Weaver:
    """Makes the wiring of a program.

    Args:
      program: What a model was compiled to.
      threads: How many schedule; each takes examples of its own.

    Raises:
      FileNotFoundError: If there is no C++ compiler.
    """

    def __init__(self, program: Program, threads: int = 1):
        self.library = _load()
        self._threads = threads
        self._fields = program.fields
        ints = np.asarray(program.ints(), np.int32)
        self._program = self._checked(self.library.fold_program_new(_address(ints), len(ints)))

    def __del__(self):
        if hasattr(self, "_program"):
            self.library.fold_program_delete(self._program)

    def weave(self, fields: dict, roots: np.ndarray) -> Examples:
        """Schedules examples, one by one.

        Args:
          fields: For every field of the program an int32 array, of an item for each object; of a
            field that is a list, (splits, items).
          roots: int32 [B]: the object that each example is.

        Raises:
          ValueError: If an example is not what the model takes.
        """
        columns, kept = self._columns(fields)
        roots = np.ascontiguousarray(roots, np.int32)
        handle = self.library.fold_weave(
            self._program, columns, len(columns), _address(roots), len(roots), self._threads
        )
        del kept  # The columns point into these arrays.
        return Examples(self, self._checked(handle))

    def merge(self, examples: list[Examples]) -> tuple[np.ndarray, np.ndarray]:
        """The wiring of a minibatch: (all ints, the lengths of its sections)."""
        handles = (_POINTER * len(examples))(*(example.handle for example in examples))
        library = self.library
        wiring = self._checked(
            library.fold_merge(self._program, handles, len(examples), self._threads)
        )
        try:
            size, count = library.fold_wiring_size(wiring), library.fold_wiring_num_sections(wiring)
            return (
                _copy(library.fold_wiring_ints(wiring), size),
                _copy(library.fold_wiring_sections(wiring), count),
            )
        finally:
            library.fold_wiring_delete(wiring)

    def _columns(self, fields):
        arrays = {}
        for name, numbers in self._fields.items():
            given = fields[name] if len(numbers) > 1 else (fields[name],)
            arrays |= dict(zip(numbers, given, strict=True))
        kept = [np.ascontiguousarray(arrays[i], np.int32) for i in range(len(arrays))]
        columns = (_Column * len(kept))(*((_address(array), len(array)) for array in kept))
        return columns, kept

    def _checked(self, handle):
        if handle:
            return handle
        names = {str(i): name for name, numbers in self._fields.items() for i in numbers}
        message = self.library.fold_error().decode()
        raise ValueError(re.sub(r"^field (\d+)", lambda m: f"field '{names[m[1]]}'", message))


def _load() -> ctypes.CDLL:
    _build()
    library = ctypes.CDLL(str(_LIBRARY))
    signatures = {
        "fold_error": (ctypes.c_char_p,),
        "fold_program_new": (_POINTER, _POINTER, _LONG),
        "fold_program_delete": (None, _POINTER),
        "fold_weave": (_POINTER, _POINTER, _POINTER, _LONG, _POINTER, _LONG, ctypes.c_int),
        "fold_examples_delete": (None, _POINTER),
        "fold_merge": (_POINTER, _POINTER, _POINTER, _LONG, ctypes.c_int),
        "fold_wiring_ints": (_POINTER, _POINTER),
        "fold_wiring_size": (_LONG, _POINTER),
        "fold_wiring_sections": (_POINTER, _POINTER),
        "fold_wiring_num_sections": (_LONG, _POINTER),
        "fold_wiring_delete": (None, _POINTER),
    }
    for name, (result, *arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def _build() -> None:
    """Compiles the library unless it is newer than its sources."""
    sources = sorted(_SOURCES.iterdir())
    newest = max(path.stat().st_mtime for path in sources)
    if _LIBRARY.exists() and _LIBRARY.stat().st_mtime > newest:
        return
    compiler = os.environ.get("CXX", "c++")
    if not shutil.which(compiler):
        raise FileNotFoundError(f"no C++ compiler ({compiler}) for the weaver")
    _LIBRARY.parent.mkdir(parents=True, exist_ok=True)
    # Several processes may do so at the same time: each builds its own file, and the last one
    # stays.
    built = _LIBRARY.with_suffix(f".{os.getpid()}.so")
    flags = ["-O3", "-march=native", "-std=c++17", "-pthread", "-shared", "-fPIC"]
    units = [str(path) for path in sources if path.suffix == ".cc"]
    command = [compiler, *flags, *units, "-o", str(built)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the weaver does not compile: {done.stderr[-300:]}")
    built.replace(_LIBRARY)


def _address(array: np.ndarray) -> int:
    return array.ctypes.data


def _copy(address, size: int) -> np.ndarray:
    array = np.empty(size, np.int32)
    ctypes.memmove(_address(array), address, array.nbytes)
    return array
