"""Datasets of graphs, and minibatches whose schedules the input pipeline computes.

An example is a dict of tensors. "children", int32 [n, K] or ragged [n, (slots)], holds the child
ids of each of its n vertices, relative to the example, with -1 for no child. Every other tensor
with rows is a feature of the vertices, [n, ...]; a `VertexRows` is a feature of some of them; and
every scalar is a feature of the example. An example may have several structures: it is then a dict
of such dicts by name, next to features of the example.
"""

from cavs_tf.data._batch import batch as batch
from cavs_tf.data._brackets import SNLI_LABELS as SNLI_LABELS
from cavs_tf.data._brackets import bracket_tree as bracket_tree
from cavs_tf.data._brackets import bracket_trees as bracket_trees
from cavs_tf.data._brackets import snli_pairs as snli_pairs
from cavs_tf.data._conllu import conllu_trees as conllu_trees
from cavs_tf.data._examples import from_arrays as from_arrays
from cavs_tf.data._graphs import from_graphs as from_graphs
from cavs_tf.data._graphs import nested_values as nested_values
from cavs_tf.data._graphs import split as split
from cavs_tf.data._json import json_graphs as json_graphs
from cavs_tf.data._lattices import word_lattices as word_lattices
from cavs_tf.data._listops import LISTOPS_TOKENS as LISTOPS_TOKENS
from cavs_tf.data._listops import listops as listops
from cavs_tf.data._listops import listops_text as listops_text
from cavs_tf.data._pairs import parent_pairs as parent_pairs
from cavs_tf.data._pairs import sentence_pairs as sentence_pairs
from cavs_tf.data._parents import parent_trees as parent_trees
from cavs_tf.data._ptb import ptb_trees as ptb_trees
from cavs_tf.data._ptb import ptb_vocabulary as ptb_vocabulary
from cavs_tf.data._python import python_trees as python_trees
from cavs_tf.data._vectors import Vectors as Vectors
from cavs_tf.data._vectors import read_vectors as read_vectors
from cavs_tf.data._vocabulary import Vocabulary as Vocabulary
