"""Embeddings that are looked up where the table is."""

import keras
import tensorflow as tf

from cavs_tf._inputs import VertexRows


@keras.saving.register_keras_serializable(package="cavs_tf")
class Embedding(keras.layers.Embedding):
    """`keras.layers.Embedding` that reads only the rows that it looks up.

    Keras reads the table as a whole first, which copies it once an optimizer has updated
    some rows of it, as `LazyAdam` and `SGD` do: 8 MB a step for 16,000 words of 128 numbers.

    Args:
      *args: As of `keras.layers.Embedding`, whose weights it loads.
      mask_negative: Whether vertices with a negative id have no input, as inner nodes of a parse.
      **kwargs: As `args`.

    Call arguments:
      inputs: int32 or int64 of any shape, each at least 0 and less than `input_dim`; with
        `mask_negative` [V], some of them negative.

    Returns:
      The compute dtype, of the shape of `inputs` and then `output_dim`; with `mask_negative` a
      `VertexRows` of the n ids that are not negative: rows [n, output_dim] and vertices [n].

    Raises:
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

    def __init__(self, *args, mask_negative: bool = False, **kwargs):
        super().__init__(*args, **kwargs)
        self.mask_negative = mask_negative

    def call(self, inputs):
        if not self.mask_negative:
            return self._look_up(inputs)
        if inputs.shape.rank != 1:
            raise ValueError(
                f"inputs: got shape {inputs.shape} but expected [V], an id for each vertex of the "
                "graphs. Leave mask_negative out for ids of another shape."
            )
        vertices = tf.where(inputs >= 0)[:, 0]
        rows = self._look_up(tf.gather(inputs, vertices))
        return VertexRows(rows, tf.cast(vertices, tf.int32))

    def compute_output_shape(self, input_shape):
        if self.mask_negative:
            return VertexRows((None, self.output_dim), (None,))
        return super().compute_output_shape(input_shape)

    def compute_output_spec(self, inputs):
        if self.mask_negative:
            rows, vertices = self.compute_output_shape(inputs.shape)
            return VertexRows(
                keras.KerasTensor(rows, self.compute_dtype), keras.KerasTensor(vertices, "int32")
            )
        return super().compute_output_spec(inputs)

    def get_config(self):
        return super().get_config() | {"mask_negative": self.mask_negative}

    def _look_up(self, inputs):
        if self.lora_enabled or self.quantization_mode is not None:
            return super().call(inputs)
        if inputs.dtype not in (tf.int32, tf.int64):
            inputs = tf.cast(inputs, tf.int32)
        return tf.cast(tf.gather(self._embeddings.value, inputs), self.compute_dtype)
