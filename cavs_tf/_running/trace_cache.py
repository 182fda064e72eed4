"""The traces that a GraphSupport keeps between calls."""

import dataclasses
import threading
import warnings
from collections.abc import Callable

import tensorflow as tf

from cavs_tf._tracing.functions import Functions
from cavs_tf._tracing.surroundings import Surroundings

_MAX_KNOWN = 32  # The largest number of entries in `TraceCache.known`.
_TOO_MANY = 8  # The number of retraces because of changes that is taken for a mistake.


@dataclasses.dataclass
class Known:
    """The findings of tracing about the vertex functions, for one kind of inputs.

    Attributes:
      key: The kind of inputs.
      surroundings: All that the functions saw when they were last run.
      pushed: Specs of the pushes by name.
      pulled: For each vertex type, the names of the inputs that it pulls.
      edge_pulls, edge_pushes: Names of the inputs, and outputs, that have a row for each edge.
      reads_edges: Whether some vertex function reads edges.
      num_slots: The number of slots from which the functions gather, or may gather.
      functions: The traces, by the argument `training`, options and the pushes that are wanted.
    """

    key: tuple
    surroundings: Surroundings
    pushed: dict
    pulled: list
    edge_pulls: frozenset
    edge_pushes: frozenset
    reads_edges: bool
    num_slots: int
    functions: dict = dataclasses.field(default_factory=dict)

    def is_of_use(self) -> bool:
        """Whether there are traces, all of whose captured tensors can still be used."""
        graph, traces = _current_graph(), self.functions.values()
        return bool(traces) and all(functions.is_usable_in(graph) for functions in traces)


@dataclasses.dataclass
class TraceCache:
    """The traces of one GraphSupport. Keras would track a dict as part of a model.

    Attributes:
      lock: A lock that must be held during every call of a method.
      known: The entries, most recently used first.
      built_for: Specs of the inputs that weights were made for.
      last: The functions that were used last.
      changes: How often functions were traced again because something that they see changed.
    """

    lock: threading.RLock = dataclasses.field(default_factory=threading.RLock)
    known: list = dataclasses.field(default_factory=list)
    built_for: dict | None = None
    last: Functions | None = None
    changes: int = 0

    @property
    def edge_pushes(self) -> frozenset:
        """The names of the outputs that had a row for each edge in the last call."""
        return self.known[0].edge_pushes if self.known else frozenset()

    def find(self, key) -> Known | None:
        """The entry for such inputs, if nothing that the functions see has changed; else None."""
        for i, known in enumerate(self.known):
            if known.key == key and known.surroundings.change() is None:
                if i:
                    self.known.insert(0, self.known.pop(i))
                return known
        return None

    def add(self, known: Known, name: str) -> Known:
        """Adds an entry. Warns if what the vertex function `name` sees keeps changing."""
        of_old = next((old for old in self.known if old.key == known.key and old.functions), None)
        if of_old is not None:
            self.changes += 1
        if of_old is not None and self.changes == _TOO_MANY:
            warnings.warn(
                f"{name}: was traced {_TOO_MANY} times again, as what the vertex function sees "
                f"changed; now {of_old.surroundings.change()}. Keep what changes in a tf.Variable, "
                "or pull it.",
                stacklevel=2,
            )
        self.known = [known, *filter(Known.is_of_use, self.known)][:_MAX_KNOWN]
        return known

    def functions_of(self, known: Known, kind, make: Callable, look: Callable) -> Functions:
        """The trace of this kind, made by `make` the first time.

        After `make`, the surroundings are taken again from `look`: a function may itself change
        them.
        """
        found = known.functions.get(kind)
        if found is None or not found.is_usable_in(_current_graph()):
            found = known.functions[kind] = make()
            known.surroundings = look()
        self.last = found
        return found

    def __deepcopy__(self, memo):
        return TraceCache()

    def __reduce__(self):
        return (TraceCache, ())


def _current_graph():
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
