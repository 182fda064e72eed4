"""What a GraphSupport remembers between calls."""

import dataclasses
import threading

import tensorflow as tf

from cavs_tf._functions import Functions


@dataclasses.dataclass
class TraceCache:
    """Hidden from Keras, which would track a plain dict as part of the model."""

    lock: threading.RLock = dataclasses.field(default_factory=threading.RLock)
    functions: dict = dataclasses.field(default_factory=dict)
    pushed: dict = dataclasses.field(default_factory=dict)
    pulled: dict = dataclasses.field(default_factory=dict)
    built_for: dict | None = None
    last: Functions | None = None

    def get(self, key, make) -> Functions:
        graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
        with self.lock:
            found = self.functions.get(key)
            if found is None or not found.is_usable_in(graph):
                found = self.functions[key] = make()
            self.last = found
            return found

    def __deepcopy__(self, memo):
        return TraceCache()

    def __reduce__(self):
        return (TraceCache, ())
