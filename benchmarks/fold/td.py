"""The language of blocks, after that of TensorFlow Fold: a model is a function of one example.

    tree = td.ForwardDeclaration(state)
    leaf = td.GetItem("token") >> td.Embedding(table) >> td.Function(leaf_cell)
    inner = td.Record([("left", tree()), ("right", tree())]) >> td.Function(inner_cell)
    tree.resolve_to(td.OneOf(td.GetItem("inner"), {0: leaf, 1: inner}))
    model = tree()

Objects are numbers, and their fields columns of numbers, so that no Python runs per example.
"""

from benchmarks.fold.blocks import AllOf as AllOf
from benchmarks.fold.blocks import Block as Block
from benchmarks.fold.blocks import ForwardDeclaration as ForwardDeclaration
from benchmarks.fold.blocks import GetItem as GetItem
from benchmarks.fold.blocks import Identity as Identity
from benchmarks.fold.blocks import OneOf as OneOf
from benchmarks.fold.blocks import Record as Record
from benchmarks.fold.result_types import TensorType as TensorType
from benchmarks.fold.sequences import RNN as RNN
from benchmarks.fold.sequences import Broadcast as Broadcast
from benchmarks.fold.sequences import Fold as Fold
from benchmarks.fold.sequences import Map as Map
from benchmarks.fold.sequences import Reduce as Reduce
from benchmarks.fold.sequences import Reverse as Reverse
from benchmarks.fold.sequences import Zip as Zip
from benchmarks.fold.tensors import BatchInput as BatchInput
from benchmarks.fold.tensors import Embedding as Embedding
from benchmarks.fold.tensors import Function as Function
from benchmarks.fold.tensors import Scalar as Scalar
from benchmarks.fold.tensors import Zeros as Zeros
