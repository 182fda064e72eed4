"""The dependency engine: runs functions in order where they conflict, and in parallel elsewhere.

An operation is a function with a list of variables that it reads, and one of variables that it
mutates. A variable is only a tag for something of yours: an array, a random generator, a file, a
device. Two operations conflict when one mutates a variable that the other reads or mutates.
Conflicting operations run in the order in which they were pushed; all others may overlap.
`docs/how/engine.md` has the idea on one page.

>>> from cavs_tf.engine import Engine
>>> with Engine(workers=2) as engine:
...     a, b = engine.new_variable("a"), engine.new_variable("b")
...     values = {}
...     engine.push(lambda: values.update(a=1), mutate=[a])
...     engine.push(lambda: values.update(b=values["a"] + 1), read=[a], mutate=[b])
...     engine.wait_for(b)
...     print(values["b"])
2
"""

from cavs_tf.engine._engine import Engine as Engine
from cavs_tf.engine._engine import Native as Native
from cavs_tf.engine._errors import EngineError as EngineError
from cavs_tf.engine._errors import OperationError as OperationError
from cavs_tf.engine._errors import OperationErrors as OperationErrors
from cavs_tf.engine._trace import Trace as Trace
