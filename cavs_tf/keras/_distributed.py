"""Minibatches for Keras's `fit` under a strategy of several replicas."""

from collections.abc import Callable

import keras
import tensorflow as tf
from tensorflow.python.distribute.input_lib import (
    DistributedDatasetsFromFunction,
    DistributedIterator,
)

from cavs_tf._inputs.keras_private import build_losses
from cavs_tf.keras._functional import path_of_loss_rows


def for_replicas(
    model: keras.Model, batches: Callable[[tf.distribute.InputContext], tf.data.Dataset]
) -> tf.distribute.DistributedDataset:
    """Makes what `fit`, `evaluate` and `predict` take of a model on several devices.

    Keras would cut the tensors of a minibatch along their first axes, which leaves no graphs, and
    average the first minibatches of the replicas. Here every replica gets whole graphs.

    Args:
      model: Made and compiled in the scope of a strategy with one process, as
        `tf.distribute.MirroredStrategy` is.
      batches: `batches(context)` returns the result of `for_fit` for
        `cavs_tf.data.batch(..., replicas=context)`. With `sample_weight="graph_weight"` (or
        "vertex_weight" for labels of vertices) the model trains as on one device.

    Returns:
      A distributed dataset, whose rows keep their order in `predict`.

    Raises:
      ValueError: If the minibatches are not pairs or triples of inputs with graphs.

    >>> import cavs_tf as cavs
    >>> strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    >>> with strategy.scope():
    ...     graphs, token = cavs.keras.graph_inputs(5), keras.Input((), dtype="int32", name="token")
    ...     rows = keras.layers.Embedding(20, 4)(token)
    ...     root = cavs.keras.TreeLSTM(4, 5)(graphs, rows)
    ...     logits = keras.layers.Dense(10)(root)
    ...     model = keras.Model({**graphs, "token": token}, logits)
    ...     model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    >>> def batches(context):
    ...     parts = cavs.data.batch(
    ...         cavs.data.listops(5), 2, arity=5, as_dict=True, replicas=context
    ...     )
    ...     return cavs.keras.for_fit(parts, model.input, "label", sample_weight="graph_weight")
    >>> model.predict(for_replicas(model, batches), verbose=0).shape
    (5, 10)
    """
    strategy = model.distribute_strategy
    distributed = strategy.distribute_datasets_from_function(batches)
    spec = distributed.element_spec
    has_inputs = isinstance(spec, tuple) and isinstance(spec[0], dict)
    path = path_of_loss_rows(spec[0]) if has_inputs else None
    if path is None:
        raise ValueError(
            f"batches: got elements {spec} but expected pairs or triples whose inputs have graphs. "
            "Return what for_fit makes."
        )
    wrapped = _Distributed(strategy, distributed, path)
    _build(model, strategy, wrapped)
    return wrapped


def _build(model, strategy, distributed) -> None:
    """Builds metrics and losses, for which Keras would average the replicas' tensors."""
    for batch in distributed:
        first = tf.nest.map_structure(
            lambda value: strategy.experimental_local_results(value)[0], batch
        )
        build_losses(model, first)
        return


class _Distributed(DistributedDatasetsFromFunction):
    """A dataset with an element for each step, in which the replicas have one tensor in common.

    Keras averages the first minibatches of replicas only if all tensors differ by replica. The
    common one is the tensor by whose length it weighs losses. It knows this base class by name.
    """

    def __init__(self, strategy, distributed, common: list[str]):
        self._strategy = strategy
        self._distributed = distributed
        self._common = common

    @property
    def element_spec(self):
        return self._distributed.element_spec

    @property
    def cardinality(self):
        """The number of steps; negative, as in tf.data, if it is not known."""
        parts = int(self._distributed.cardinality)
        here = len(self._strategy.extended.worker_devices)
        return parts if parts < 0 else -(-parts // here)

    def __iter__(self):
        return _Steps(iter(self._distributed), self._with_common)

    def _with_common(self, batch):
        inputs, *rest = batch
        part = inputs = dict(inputs)
        for key in self._common[:-1]:
            part[key] = dict(part[key])
            part = part[key]
        rows = self._common[-1]
        part[rows] = self._strategy.experimental_local_results(part[rows])[0]
        return inputs, *rest


class _Steps(DistributedIterator):
    """An iterator that gives Python, as Keras asks it to before `fit`, the common tensor.

    In a `tf.function` of fit and evaluate TensorFlow makes a plain `DistributedIterator` of it.
    """

    def __init__(self, iterator: DistributedIterator, with_common: Callable):
        vars(self).update(vars(iterator))  # Both take from the same datasets.
        self._with_common = with_common

    def __next__(self):
        return self._with_common(super().__next__())
