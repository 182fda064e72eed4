"""Embeddings that are looked up where the table is."""

import functools

import keras
import tensorflow as tf

from cavs_tf import ops
from cavs_tf._inputs.inputs import VertexRows, as_pair, with_tensors
from cavs_tf._native.library import in_xla
from cavs_tf._running.evaluation import is_evaluated
from cavs_tf._tracing.trace import in_vertex_function
from cavs_tf._values.arguments import check_bools, checked_int

_IDS = (tf.int32, tf.int64)


@keras.saving.register_keras_serializable(package="cavs_tf")
class Embedding(keras.layers.Embedding):
    """`keras.layers.Embedding` that reads only the rows that it looks up.

    Keras reads the table as a whole first. This copies it in each step once an optimizer has
    updated some rows of it, as `LazyAdam` and `SGD` do.

    Args:
      *args: Arguments of `keras.layers.Embedding`, whose weights can be loaded.
      mask_negative: Whether vertices with a negative id have no input, as inner nodes of a parse.
      mask_id: Vertices with this id have no input; None: no such id. Inner nodes in examples that
        were read with a vocabulary have the id `Vocabulary.EMPTY`.
      **kwargs: Arguments of `keras.layers.Embedding`, too.

    Call arguments:
      inputs: int32 or int64 of any shape, each at least 0 and less than `input_dim`; with
        `mask_negative` or `mask_id` [V], some of them without a row. Or a `VertexRows` of them.

    Returns:
      A tensor [*shape of `inputs`, output_dim] of the compute dtype. With `mask_negative` or
      `mask_id` a `VertexRows` of the n other ids: rows [n, output_dim] and vertices [n]. For a
      `VertexRows` another one, without vertices whose ids are masked. Inside of a vertex function
      a tensor, with zeros for ids that are masked.

    Raises:
      ValueError: If there may be such ids and `inputs` is not [V].
      tf.errors.InvalidArgumentError: For an id that is too large, or negative without
        `mask_negative`; Keras looks up the last rows for negative ones.

    Example:
    >>> import cavs_tf as cavs
    >>> table = cavs.keras.Embedding(10, 4)
    >>> table(tf.constant([[1, 2, 9]])).shape
    TensorShape([1, 3, 4])
    >>> trees = cavs.GraphBatch.from_children([[[], [], [0, 1]]])
    >>> words = cavs.keras.Embedding(10, 4, mask_negative=True)(tf.constant([1, 2, -1]))
    >>> cavs.keras.TreeLSTM(8)(trees, words).shape
    TensorShape([1, 8])
    """

    def __init__(self, *args, mask_negative: bool = False, mask_id: int | None = None, **kwargs):
        check_bools(mask_negative=mask_negative)
        super().__init__(*args, **kwargs)
        self.mask_negative = mask_negative
        self.mask_id = checked_int("mask_id", mask_id)

    def add_weight(self, *args, name=None, **kwargs):
        """Does the same as in Keras, but mixed precision casts looked up rows, not the table."""
        if name == "embeddings":
            kwargs["autocast"] = False
        return super().add_weight(*args, name=name, **kwargs)

    @tf.autograph.experimental.do_not_convert
    def __call__(self, inputs, *args, **kwargs):
        return super().__call__(with_tensors(inputs), *args, **kwargs)

    def call(self, inputs):
        inputs, vertices = as_pair(inputs)
        if not self._masks:
            rows = self._look_up(inputs)
            return rows if vertices is None else VertexRows(rows, vertices)
        if in_vertex_function():  # All vertices that are computed together have rows.
            present = self._present(inputs)
            rows = self._look_up(tf.where(present, inputs, tf.zeros([], inputs.dtype)))
            return tf.where(present[..., tf.newaxis], rows, tf.zeros([], rows.dtype))
        if inputs.shape.rank != 1:
            raise ValueError(
                f"inputs: got shape {inputs.shape} but expected [V], an id for each vertex of the "
                "graphs. Leave mask_negative and mask_id out for ids of another shape."
            )
        ids, places = self._present_ids(inputs)
        rows = self._look_up(ids)
        return VertexRows(rows, places if vertices is None else tf.gather(vertices, places))

    def compute_output_shape(self, input_shape):
        if self._masks:
            return VertexRows((None, self.output_dim), (None,))
        return super().compute_output_shape(input_shape)

    def compute_output_spec(self, inputs):
        inputs, vertices = as_pair(inputs)
        if self._masks:
            rows, of_vertices = self.compute_output_shape(inputs.shape)
            dtype = "int32" if vertices is None else vertices.dtype
            return VertexRows(
                keras.KerasTensor(rows, self.compute_dtype), keras.KerasTensor(of_vertices, dtype)
            )
        rows = super().compute_output_spec(inputs)
        return (
            rows
            if vertices is None
            else VertexRows(rows, keras.KerasTensor(vertices.shape, vertices.dtype))
        )

    def get_config(self):
        own = {"mask_negative": self.mask_negative, "mask_id": self.mask_id}
        return super().get_config() | own

    @property
    def _masks(self) -> bool:
        return self.mask_negative or self.mask_id is not None

    def _present(self, ids):
        """Whether each id has a row."""
        conditions = [ids >= 0] if self.mask_negative else []
        if self.mask_id is not None:
            conditions.append(ids != tf.cast(self.mask_id, ids.dtype))
        return functools.reduce(tf.logical_and, conditions)

    def _present_ids(self, ids) -> VertexRows:
        """The ids that have a row, and their places."""
        if ids.dtype in _IDS and not (is_evaluated() or in_xla()):
            return ops.present_ids(ids, self.mask_negative, self.mask_id)
        places = tf.where(self._present(ids))[:, 0]
        return VertexRows(tf.gather(ids, places), tf.cast(places, tf.int32))

    def _look_up(self, inputs):
        if isinstance(inputs, tf.RaggedTensor):
            return inputs.with_flat_values(self._look_up(inputs.flat_values))
        if self.lora_enabled or self.quantization_mode is not None:
            return super().call(inputs)
        if inputs.dtype not in _IDS:
            inputs = tf.cast(inputs, tf.int32)
        look_up = tf.gather if is_evaluated() else ops.look_up
        return tf.cast(look_up(self._embeddings.value, inputs), self.compute_dtype)
