"""The vertex function, and the layer that runs it over graphs."""

from cavs_tf.graph_support._function_cell import vertex_function as vertex_function
from cavs_tf.graph_support._graph_support import GraphSupport as GraphSupport
from cavs_tf.graph_support._vertex_methods import VertexMethods as VertexMethods
