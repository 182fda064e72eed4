"""Pictures of graphs, tasks, programs, steps and training: see `cavs_tf.inspect`."""

from cavs_tf.inspect.plot import figure as figure
from cavs_tf.inspect.plot import graph as graph
from cavs_tf.inspect.plot import save as save
from cavs_tf.inspect.plot import schedule as schedule
from cavs_tf.inspect.plot import timeline as timeline
from cavs_tf.inspect.plot import vertex_function as vertex_function
