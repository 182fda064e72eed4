"""Neural networks whose shape changes with every example, for TensorFlow and Keras.

A model is one static vertex function, written once for one vertex, and one input
graph per example, which is only data.
"""

# First, as it knows whether TensorFlow fits.
from cavs_tf._native import library as _library  # noqa: F401

# isort: split
from cavs_tf import data as data
from cavs_tf import keras as keras
from cavs_tf import ops as ops
from cavs_tf import plot as plot
from cavs_tf import reference as reference
from cavs_tf._inputs.inputs import VertexRows as VertexRows
from cavs_tf.engine import Engine as Engine
from cavs_tf.graph_support import GraphSupport as GraphSupport
from cavs_tf.graph_support import vertex_function as vertex_function
from cavs_tf.graphs import GraphBatch as GraphBatch
from cavs_tf.graphs import Options as Options
from cavs_tf.graphs import Schedule as Schedule
from cavs_tf.inspect import check_equivalence as check_equivalence
from cavs_tf.inspect import explain as explain
from cavs_tf.inspect import export_portable as export_portable
from cavs_tf.inspect import predict_memory as predict_memory
from cavs_tf.version import __version__ as __version__
