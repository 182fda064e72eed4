"""Records all that a function can see when it runs, so that changes are noticed.

A trace keeps what its Python code saw: numbers, activations, layers, tensors. Before every call
these are compared with what the function would see now, so the comparison must be quick: objects
are followed once, when the function is traced, and their contents are compared by identity.
"""

import collections
import dis
import functools
import itertools
import operator
import sys
import types

import keras
import numpy as np
import tensorflow as tf

from cavs_tf._inputs.keras_private import BOOKKEEPING

_ABSENT = object()
# Code of these modules is not followed: the variables of these modules do not change.
_LIBRARIES = frozenset(sys.stdlib_module_names) | {"absl", "keras", "numpy", "tensorflow"}
_PLAIN = (bool, int, float, complex, str, bytes, np.generic, tf.DType, tf.TensorShape)
_HOLDERS = (types.SimpleNamespace, keras.layers.Layer, tf.Module)
# These layers read only known attributes of themselves, and their bookkeeping.
_PLAIN_LAYERS = (keras.layers.Layer, keras.Model)
_READ_BY_PLAIN_LAYERS = ("autocast", "dtype_policy", "trainable")
# A function that calls one of these may read any attribute.
_READ_ANYTHING = frozenset({"__dict__", "attrgetter", "getattr", "vars"})
# A function that uses one of these may ask for attributes that do not exist.
_MAY_BE_ABSENT = frozenset({"AttributeError", "__getattr__", "getattr", "hasattr"})
# Attributes of layers that do not change what the layers compute.
_IGNORED = BOOKKEEPING | {"_cache", "options"}
_MAX_ITEMS = 1000  # Longer lists and dicts are compared by length only.
_MAX_BYTES = 1 << 20  # Larger arrays are not compared.


class Surroundings:
    """All that functions could see when this object was made: closures, globals, attributes.

    It follows closures, defaults, the globals and attributes of modules that are read, methods
    that are called, lists, dicts, layers and their contents, and objects of the user's classes.
    Tensors, variables and objects of libraries that are not layers are compared by identity, and
    NumPy arrays by content. It does not notice changes of things that the code of libraries
    reads (a clock, a random number), nor inside of objects of libraries and of large arrays,
    lists and dicts.

    Args:
      functions: (name, function) pairs: functions, or methods of subclasses of `base`.
      base: A class whose own code is not followed.
      names: Attributes of `base` that are followed nevertheless.
    """

    def __init__(self, functions, base: type, names=()):
        walk = _Walk(base, names)
        for name, function in functions:
            walk.begin(function, name)
        self._places = walk.finish()

    def change(self) -> str | None:
        """The name of the first thing that has changed; None if nothing has."""
        for place in self._places:
            if not place.is_unchanged():
                return place.change()
        return None


class _Place:
    """Named values that are read again to see whether they have changed."""

    def __init__(self, label, names, read):
        self._label, self._names, self._read = label, names, read
        self._then = tuple(read())

    def is_unchanged(self) -> bool:
        now = tuple(self._read())
        then = self._then
        if len(now) != len(then):
            return False
        if not all(map(operator.is_, now, then)):
            if not all(map(_is_same, now, then)):
                return False
            self._then = now
        return True

    def change(self) -> str:
        pairs = zip(self._names, self._read(), self._then, strict=False)
        changed = (name for name, now, then in pairs if not _is_same(now, then))
        return "".join((self._label, *itertools.islice(changed, 1)))


class _Entries:
    """The entries of a dict without ignored names."""

    def __init__(self, label, entries, ignored=frozenset()):
        self._label, self._entries, self._ignored = label, entries, ignored
        self._remember()

    def is_unchanged(self) -> bool:
        entries = self._entries
        if len(entries) == len(self._values) and self._is_identical():
            return True
        if self._changed_name() is not None:
            return False
        self._remember()
        return True

    def _remember(self):
        self._names, self._values = tuple(self._entries), tuple(self._entries.values())
        self._kept = self._compared()

    def _is_identical(self) -> bool:
        entries = self._entries
        return all(map(operator.is_, entries.values(), self._values)) and all(
            map(operator.is_, entries, self._names)
        )

    def change(self) -> str:
        return f"{self._label}.{self._changed_name()}"

    def _compared(self):
        return {k: v for k, v in self._entries.items() if k not in self._ignored}

    def _changed_name(self):
        now, then = self._compared(), self._kept
        for name in (*then, *now):
            if not _is_same(now.get(name, _ABSENT), then.get(name, _ABSENT)):
                return name
        return None


class _Content(_Place):
    """The numbers in an array."""

    def __init__(self, label, array):
        super().__init__(label, [""], lambda: [array.tobytes()])


class _Walk:
    """Follows everything that functions can see."""

    def __init__(self, base, names):
        self._base = base
        # Names of attributes and globals that the code reads.
        self._names = {"call", *names, *_READ_BY_PLAIN_LAYERS}
        self._roots = []  # The objects whose methods the functions are.
        self._not_called = set()  # Classes of layers that hold the objects of the functions.
        self._written = set()  # Names of attributes that the functions themselves set.
        self._seen = {}  # Also keeps everything alive, so that ids stay unique.
        self._places = []
        self._by_name = []  # (object, class or module; its attributes; label) tuples.

    def begin(self, function, label) -> None:
        self._roots.append(getattr(function, "__self__", None))
        code = getattr(function, "__code__", None)
        if code is not None:
            stores = (i for i in dis.get_instructions(code) if i.opname == "STORE_ATTR")
            self._written.update(i.argval for i in stores)
        self.follow(function, label)

    def follow(self, value, label) -> None:
        if value is None or isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, types.MethodType):
            self.follow(value.__func__, label)
            self.follow(value.__self__, label.rpartition(".")[0] or label)
        elif isinstance(value, types.FunctionType):
            self._follow_function(value, label)
        elif isinstance(value, np.ndarray):
            if value.nbytes <= _MAX_BYTES:
                self._places.append(_Content(label, value))
        elif isinstance(value, dict):
            self._follow_dict(value, label)
        elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
            self._follow_items(value, label)
        elif isinstance(value, functools.partial):
            self._follow_items((value.func, value.args, value.keywords), label)
        elif isinstance(value, (staticmethod, classmethod)):
            self.follow(value.__func__, label)
        elif isinstance(value, property):
            self.follow(value.fget, label)
        elif isinstance(value, types.ModuleType):
            if not _is_of_library(value.__name__) and not _is_of_this_package(value.__name__):
                self._by_name.append((value, vars(value), label))
        elif isinstance(value, type):
            self._follow_class(value, label)
        else:
            self._follow_object(value, label)

    def finish(self) -> list:
        """All places that were found, to be compared before every call."""
        self._follow_names()
        for owner, attributes, label in self._by_name:
            names = sorted(self._names_in(attributes) & self._names_of_all(owner, attributes))
            read = functools.partial(map, attributes.get, names, itertools.repeat(_ABSENT))
            self._places.append(_Place(label, [f".{name}" for name in names], read))
        return self._places

    def _follow_names(self):
        """Follows names until nothing new is found: code that is found reads further names."""
        known = None
        while known != (known := (len(self._names), len(self._seen))):
            for owner, attributes, label in list(self._by_name):
                for name in self._names_in(attributes):
                    if name in attributes and not self._is_of_base(owner, name):
                        self.follow(attributes[name], f"{label}.{name}")

    def _names_in(self, attributes) -> set:
        """Names that may be read of an object; absent ones too, which may later hide others."""
        names = self._names | {f"_{name}" for name in self._names}
        names.update(name for name in attributes if _is_implicit(name))
        if self._names & _READ_ANYTHING:
            names |= set(attributes) - _IGNORED
        return names - self._written

    def _names_of_all(self, owner, attributes) -> set:
        """Names that the object or its classes have, or all if the code may read absent ones."""
        if self._names & _MAY_BE_ABSENT:
            return self._names_in(attributes)
        classes = owner.__mro__ if isinstance(owner, type) else type(owner).__mro__
        return set(attributes).union(*map(vars, classes))

    def _is_of_base(self, owner, name) -> bool:
        """Whether `name` is a method that Keras calls and vertex functions do not."""
        if not isinstance(owner, type) or name == "vertex":
            return False
        if owner in self._not_called and name == "call":
            return True
        if issubclass(owner, self._base):
            return hasattr(self._base, name)
        is_layer = issubclass(owner, keras.layers.Layer) and name not in ("call", "__call__")
        return is_layer and hasattr(keras.layers.Layer, name)

    def _follow_function(self, function, label):
        if _is_of_library(function.__module__):
            return
        cells, scope = function.__closure__ or (), function.__globals__
        names = _names_of(function.__code__)
        self._names |= names
        read_globals = sorted(names & set(scope))

        def read():
            yield from (function.__code__, function.__defaults__, function.__kwdefaults__)
            yield from map(_contents, cells)
            yield from map(scope.get, read_globals)

        shown = ["", "", "", *function.__code__.co_freevars, *read_globals]
        labels = [f": {name}" if name else "" for name in shown]
        self._places.append(_Place(label, labels, read))
        for name, value in zip(shown, read(), strict=True):
            self.follow(value, name or label)
        self.follow(getattr(function, "__wrapped__", None), label)

    def _follow_dict(self, entries, label):
        if len(entries) > _MAX_ITEMS:
            self._places.append(_Place(label, [""], lambda: [len(entries)]))
            return
        self._places.append(_Entries(label, entries))
        for name, value in entries.items():
            self.follow(value, f"{label}[{name!r}]")

    def _follow_items(self, items, label):
        if len(items) > _MAX_ITEMS:
            self._places.append(_Place(label, [""], lambda: [len(items)]))
            return
        if not isinstance(items, (tuple, frozenset)):
            names = [f"[{i}]" for i in range(len(items))]
            self._places.append(_Place(label, names, lambda: items))
        for i, value in enumerate(items):
            self.follow(value, f"{label}[{i}]")

    def _follow_class(self, cls, label):
        for base in cls.__mro__:
            if _is_of_library(base.__module__):
                continue
            if base is self._base:
                break
            self._by_name.append((base, vars(base), label))

    def _follow_object(self, value, label):
        if isinstance(value, (tf.Variable, keras.Variable, tf.Tensor)):
            return
        if _is_of_library(type(value).__module__) and not isinstance(value, _HOLDERS):
            return
        if isinstance(value, keras.layers.Layer) and self._is_around(value):
            self._not_called.add(type(value))
        self.follow(type(value), label)
        self._follow_slots(value, label)
        attributes = getattr(value, "__dict__", {})
        if self._is_read_by_name(value):
            self._by_name.append((value, attributes, label))
            return
        self._places.append(_Entries(label, attributes, _IGNORED))
        for name, held in attributes.items():
            if name not in _IGNORED:
                self.follow(held, f"{label}.{name}")

    def _is_around(self, layer) -> bool:
        """Whether the layer holds the object of the functions, so that these do not call it."""
        held = {id(inner) for inner in layer._flatten_layers(include_self=False)}
        return any(id(root) in held for root in self._roots)

    def _is_read_by_name(self, value) -> bool:
        """Whether only its own class, whose code is followed, reads its attributes."""
        if isinstance(value, self._base) or not isinstance(value, _HOLDERS):
            return True
        of_library = (c for c in type(value).__mro__ if _is_of_library(c.__module__))
        return next(of_library) in _PLAIN_LAYERS and type(value) not in _PLAIN_LAYERS

    def _follow_slots(self, value, label):
        slots = [n for cls in type(value).__mro__ for n in getattr(cls, "__slots__", ())]
        names = sorted(set(slots) - {"__dict__", "__weakref__"})
        if names:
            read = lambda: [getattr(value, name, _ABSENT) for name in names]  # noqa: E731
            self._places.append(_Place(label, [f".{name}" for name in names], read))
            self._follow_items(tuple(read()), label)


def _is_of_library(module) -> bool:
    return (module or "").partition(".")[0] in _LIBRARIES


def _is_of_this_package(module) -> bool:
    """Whether it is a module of ours: their variables do not change, but cells are followed."""
    return module.partition(".")[0] == __name__.partition(".")[0]


def _is_implicit(name) -> bool:
    """Whether it is the name of a method that operators or calls use implicitly."""
    return name.startswith("__") and name.endswith("__") and name not in ("__init__", "__new__")


def _names_of(code) -> set:
    """Names of globals and attributes in `code`, and in functions that are defined in it."""
    inner = (c for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*map(_names_of, inner))


def _contents(cell):
    try:
        return cell.cell_contents
    except ValueError:  # The cell is empty.
        return _ABSENT


def _is_same(now, then) -> bool:
    if now is then:
        return True
    # Unlike ==, this tells 1 from 1.0 and True, and 0.0 from -0.0.
    return type(now) is type(then) and isinstance(now, _PLAIN) and repr(now) == repr(then)
