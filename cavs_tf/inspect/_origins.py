"""Where the operators of a traced vertex function come from: which layers and lines."""

import dataclasses
import re

from cavs_tf._tracing import trace as _tracing
from cavs_tf._tracing.source_lines import is_of_a_library
from cavs_tf.graph_support import _graph_support as graph_support

_GRADIENT = re.compile(r"gradients(?:_\d+)?/(.+?)_grad/")


@dataclasses.dataclass(frozen=True, order=True)
class Origin:
    """Where an operator comes from.

    Attributes:
      path, line: The line of the vertex function that made it; "" and 0 if there is none.
      layer: The Keras layer whose call made it, after those that hold it: "mlp/dense"; or "".
    """

    path: str = ""
    line: int = 0
    layer: str = ""


class Origins:
    """The origins of the operators of a vertex function and of its derivative.

    Args:
      traced: The traced vertex function.
    """

    def __init__(self, traced: _tracing.TracedVertex):
        self._layers = traced.graph.layers
        self._operators = {op.name: op for op in traced.graph.get_operations()}
        self._frames = {}  # The results of `_frame`: many operators differentiate one.

    def of(self, name: str) -> Origin:
        """The origin of the operator of that name; an empty one if it is not known.

        An operator of the derivative comes from the line that it differentiates. One that replaces
        others has a name that begins with theirs.
        """
        gradient = _GRADIENT.match(name)
        name = gradient.group(1) if gradient else name
        while name:
            # TensorFlow appends a number where an operator has the name of a result.
            for own in (name, re.sub(r"_\d+$", "", name)):
                frame = self._frame(own)
                if frame is not None:
                    return Origin(frame.filename, frame.lineno, self._layers.get(own, ""))
            name = name.rpartition("/")[0]
        return Origin()

    def _frame(self, name):
        """The frame of the vertex function that made an operator; None if none did."""
        if name not in self._frames:
            op = self._operators.get(name)
            frames = [] if op is None else list(op.traceback or [])
            self._frames[name] = _frame_of_user(frames)
        return self._frames[name]


def _frame_of_user(frames):
    runs = [i for i, f in enumerate(frames) if f.filename == _tracing.__file__ and f.name == "run"]
    inside = frames[runs[-1] + 1 :] if runs else []
    inside = [frame for frame in inside if frame.filename != graph_support.__file__]
    of_user = [frame for frame in inside if not is_of_a_library(frame)]
    # A cell of this package is shown by its own lines, not by those of what it calls.
    own = of_user or [frame for frame in inside if frame.filename == inside[0].filename]
    return own[-1] if own else None
