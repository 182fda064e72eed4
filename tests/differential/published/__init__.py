"""Vertex functions of published models, each as its authors' equations read, twice.

`vertex` is the cell in plain TensorFlow and Keras; `equations` is the same for one vertex in NumPy.
docs/start/your_own_cell.md lists them.
"""

from tests.differential.published.graphs import GRAPH_CELLS
from tests.differential.published.sequences import SEQUENCE_CELLS
from tests.differential.published.trees import TREE_CELLS

CELLS = TREE_CELLS + GRAPH_CELLS + SEQUENCE_CELLS
