"""Training on several devices is training on one, to rounding."""

import keras
import pytest
import tensorflow as tf

import cavs_tf as cavs
from tests.helpers import processes
from tests.keras import mirrored


@pytest.mark.in_turns
@pytest.mark.parametrize(
    "fitted, in_loop",
    [
        ("functional", "subclassed"),
        pytest.param("subclassed", "functional", marks=pytest.mark.long),
    ],
)
def test_two_devices_are_as_one(fitted, in_loop, tmp_path):
    failure = processes.call(mirrored.main, (fitted, in_loop), tmp_path)
    assert not failure, failure


def test_minibatches_without_graphs_are_rejected():
    model = keras.Sequential([keras.layers.Dense(1)])
    for element in (tf.zeros([3]), (tf.zeros([3, 1]), tf.zeros([3]))):
        dataset = tf.data.Dataset.from_tensors(element)
        with pytest.raises(
            ValueError, match=r"^batches: got elements .* Return what for_fit makes"
        ):
            cavs.keras.for_replicas(model, lambda _, dataset=dataset: dataset)
