"""Dynamic networks as Keras layers, for `compile`, `fit` and `save`.

Graphs are a `GraphBatch`, or its `to_dict()`: the dict of plain tensors that a functional
model, and any model that is trained by `fit`, takes its graphs as.

>>> import keras
>>> import cavs_tf as cavs
>>> graphs = cavs.keras.graph_inputs(arity=2)
>>> token = keras.Input((), dtype="int32", name="token")
>>> rows = keras.layers.Embedding(100, 16)(token)
>>> root = cavs.keras.TreeLSTM(32, arity=2)(graphs, rows)
>>> model = keras.Model({**graphs, "token": token}, keras.layers.Dense(5)(root))
>>> model.output_shape
(None, 5)
"""

from cavs_tf.keras._dagnn import DAGNN as DAGNN
from cavs_tf.keras._dagnn import DAGNNCell as DAGNNCell
from cavs_tf.keras._distributed import for_replicas as for_replicas
from cavs_tf.keras._dropout import Dropout as Dropout
from cavs_tf.keras._embedding import Embedding as Embedding
from cavs_tf.keras._functional import for_fit as for_fit
from cavs_tf.keras._functional import graph_inputs as graph_inputs
from cavs_tf.keras._functional import inputs as inputs
from cavs_tf.keras._ggnn import GGNN as GGNN
from cavs_tf.keras._ggnn import GGNNCell as GGNNCell
from cavs_tf.keras._graph import Graph as Graph
from cavs_tf.keras._graph import Roots as Roots
from cavs_tf.keras._gru import GRU as GRU
from cavs_tf.keras._gru import GRUCell as GRUCell
from cavs_tf.keras._lazy_adam import LazyAdam as LazyAdam
from cavs_tf.keras._lstm import LSTM as LSTM
from cavs_tf.keras._pearson import Pearson as Pearson
from cavs_tf.keras._pool import Pool as Pool
from cavs_tf.keras._sgd import SGD as SGD
from cavs_tf.keras._split import Split as Split
from cavs_tf.keras._tree_gru import TreeGRU as TreeGRU
from cavs_tf.keras._tree_gru import TreeGRUCell as TreeGRUCell
from cavs_tf.keras._tree_lstm import TreeLSTM as TreeLSTM
from cavs_tf.keras._tree_lstm import TreeLSTMCell as TreeLSTMCell
