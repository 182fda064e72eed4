"""Pearson's correlation, by which pairs with scores are compared."""

import keras
import tensorflow as tf

_SUMS = ("count", "mean_true", "mean_predicted", "true", "predicted", "both")


@keras.saving.register_keras_serializable(package="cavs_tf")
class Pearson(keras.metrics.Metric):
    """Pearson's correlation of all labels and predictions since the last reset.

    `keras.metrics.PearsonCorrelation` correlates the columns of each row, and averages over rows.

    Args:
      name: The name of the metric.
      **kwargs: Arguments of `keras.metrics.Metric`.

    >>> metric = Pearson()
    >>> metric.update_state([1.0, 2.0], [[2.0], [3.0]])
    >>> metric.update_state([3.0], [[1.0]], sample_weight=[0.0])  # Ignored.
    >>> float(metric.result())
    1.0
    """

    def __init__(self, name: str = "pearson", **kwargs):
        super().__init__(name=name, **kwargs)
        self._sums = {
            # These are sums of squared differences from the mean: sums of squares would cancel.
            sum_: self.add_variable((), "zeros", "float64", name=sum_)
            for sum_ in _SUMS
        }

    def update_state(self, y_true, y_pred, sample_weight=None):
        """Adds labels and predictions, with as many numbers, and a weight for each of them.

        Raises:
          ValueError: If their numbers differ.
        """
        true, predicted = (tf.reshape(tf.cast(y, tf.float64), [-1]) for y in (y_true, y_pred))
        weights = tf.ones_like(true) if sample_weight is None else sample_weight
        weights = tf.reshape(tf.cast(weights, tf.float64), [-1])
        for name, values in (("y_pred", predicted), ("sample_weight", weights)):
            if not values.shape.is_compatible_with(true.shape):
                raise ValueError(
                    f"{name}: got {values.shape[0]} numbers but expected {true.shape[0]}, one for "
                    "each label. Pass one score for each pair."
                )
        new = self._of(true, predicted, weights)
        old = {sum_: tf.convert_to_tensor(variable) for sum_, variable in self._sums.items()}
        for sum_, value in _merged(old, new).items():
            self._sums[sum_].assign(value)

    def result(self):
        """A number in [-1, 1]; 0 where labels or predictions are all the same."""
        true, predicted, both = (
            tf.convert_to_tensor(self._sums[sum_]) for sum_ in ("true", "predicted", "both")
        )
        return tf.cast(tf.math.divide_no_nan(both, tf.sqrt(true * predicted)), tf.float32)

    def _of(self, true, predicted, weights) -> dict:
        count = tf.reduce_sum(weights)
        mean_true, mean_predicted = (
            tf.math.divide_no_nan(tf.reduce_sum(weights * y), count) for y in (true, predicted)
        )
        x, y = true - mean_true, predicted - mean_predicted
        products = [tf.reduce_sum(weights * product) for product in (x * x, y * y, x * y)]
        return dict(zip(_SUMS, (count, mean_true, mean_predicted, *products), strict=True))


def _merged(old: dict, new: dict) -> dict:
    """The sums of two sets of pairs together (Chan et al. 1979)."""
    count = old["count"] + new["count"]
    share = tf.math.divide_no_nan(new["count"], count)
    x, y = (new[mean] - old[mean] for mean in ("mean_true", "mean_predicted"))
    both = dict(zip(("true", "predicted", "both"), (x * x, y * y, x * y), strict=True))
    return {
        "count": count,
        "mean_true": old["mean_true"] + share * x,
        "mean_predicted": old["mean_predicted"] + share * y,
        **{
            sum_: old[sum_] + new[sum_] + old["count"] * share * product
            for sum_, product in both.items()
        },
    }
