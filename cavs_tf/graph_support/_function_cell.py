"""The short form of a GraphSupport: a function."""

import keras

from cavs_tf.graph_support._graph_support import GraphSupport
from cavs_tf.graph_support._shapes import state_shape_of


@keras.saving.register_keras_serializable("cavs_tf", "vertex_function")
class _FunctionCell(GraphSupport):
    """A GraphSupport around a plain function."""

    def __init__(self, function, **kwargs):
        super().__init__(**kwargs)
        self._function = function

    @property
    def __name__(self):  # Keras asks for it where it registers a function.
        raise AttributeError(
            "__name__: got a vertex function, which has none, but expected a function or class. "
            "Write @keras.saving.register_keras_serializable() below @cavs_tf.vertex_function(...)."
        )

    def vertex(self):
        self._function(self)

    def _vertex_functions(self):
        return [(getattr(self._function, "__name__", "vertex_function"), self.vertex)]

    def get_config(self):
        own = {
            "function": keras.saving.serialize_keras_object(self._function),
            "state_size": self.state_size,
            "arity": self.arity,
        }
        return super().get_config() | own

    @classmethod
    def from_config(cls, config, custom_objects=None):
        name = config["function"]["config"]
        try:
            function = keras.saving.deserialize_keras_object(config["function"], custom_objects)
        except TypeError as error:  # Keras found no function of this name.
            raise ValueError(
                f"vertex_function: got {name!r} from a file, which is no function that is known "
                "here, but expected one. Write @keras.saving.register_keras_serializable() between "
                "@cavs_tf.vertex_function(...) and the function, or pass "
                f"custom_objects={{{name!r}: ...}} to keras.models.load_model."
            ) from error
        function = getattr(
            function, "_function", function
        )  # The cell has the name of its function.
        return super().from_config(config | {"function": function})


_FunctionCell.__name__ = "vertex_function"  # Keras names the class in messages.


def vertex_function(state_size, arity=0, **kwargs):
    """Makes a `GraphSupport` of a function: the short form, for short cells.

    Args:
      state_size, arity, **kwargs: As for `GraphSupport`.

    Returns:
      A decorator. The function takes the GraphSupport, and calls its methods: gather, pull,
      scatter, push.

    >>> import tensorflow as tf
    >>> from cavs_tf import GraphBatch
    >>> @vertex_function(state_size=1, arity=1)
    ... def running_sum(v):
    ...     total = v.pull() + v.gather(0)
    ...     v.scatter(total)
    ...     v.push(total)
    >>> running_sum(GraphBatch.chain([3]), tf.constant([[1.0], [2.0], [3.0]])).numpy()
    array([[1.],
           [3.],
           [6.]], dtype=float32)
    """

    state_shape_of(state_size)

    def decorate(function):
        kwargs.setdefault("name", function.__name__.strip("_<>"))
        return _FunctionCell(function, state_size=state_size, arity=arity, **kwargs)

    return decorate
