"""Embeddings that are looked up where the table is."""

import keras
import tensorflow as tf


@keras.saving.register_keras_serializable(package="cavs_tf")
class Embedding(keras.layers.Embedding):
    """`keras.layers.Embedding` that reads only the rows that it looks up.

    Keras reads the table as a whole first, which copies it once an optimizer has updated
    some rows of it, as `LazyAdam` and `SGD` do: 8 MB a step for 16,000 words of 128 numbers.

    Args:
      *args, **kwargs: As of `keras.layers.Embedding`, whose weights it loads.

    Call arguments:
      inputs: int32 or int64 of any shape, each at least 0 and less than `input_dim`.

    Returns:
      The compute dtype, of the shape of `inputs` and then `output_dim`.

    Raises:
      tf.errors.InvalidArgumentError: For an id that is negative or too large; Keras looks up
        the last rows for negative ones.

    Example:
    >>> import cavs_tf as cavs
    >>> table = cavs.keras.Embedding(10, 4)
    >>> table(tf.constant([[1, 2, 9]])).shape
    TensorShape([1, 3, 4])
    """

    def call(self, inputs):
        if self.lora_enabled or self.quantization_mode is not None:
            return super().call(inputs)
        if inputs.dtype not in (tf.int32, tf.int64):
            inputs = tf.cast(inputs, tf.int32)
        return tf.cast(tf.gather(self._embeddings.value, inputs), self.compute_dtype)
