"""Neural networks whose shape changes with every example, for TensorFlow and Keras.

A model is one static vertex function, written once for one vertex, and one input
graph per example, which is only data.
"""

from cavs_tf.version import __version__ as __version__
