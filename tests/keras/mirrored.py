"""Trains on two virtual devices and on one, and compares.

Devices are divided before TensorFlow starts, so that takes a process of its own.
"""

import warnings

import keras
import numpy as np
import tensorflow as tf

import cavs_tf as cavs

ARITY = 3
TOKENS = len(cavs.data.LISTOPS_TOKENS)
BATCH = 6  # 37 = 6 * 6 + 1: the last minibatch leaves a replica without any graph.
STEPS = 14
NAMES = [*cavs.keras.graph_inputs(ARITY), "token"]


class Subclassed(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.embed = keras.layers.Embedding(TOKENS, 8)
        self.tree = cavs.keras.TreeLSTM(8, ARITY)
        self.dense = keras.layers.Dense(10)

    def call(self, inputs):
        return self.dense(self.tree(inputs, self.embed(inputs["token"])))


def functional():
    graphs = cavs.keras.graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    rows = keras.layers.Embedding(TOKENS, 8)(token)
    root = cavs.keras.TreeLSTM(8, ARITY)(graphs, rows)
    return keras.Model({**graphs, "token": token}, keras.layers.Dense(10)(root))


def batches(replicas):
    """Minibatches for one device, or the parts of them for several replicas."""
    examples = cavs.data.listops(37, seed=1, max_depth=2, max_args=ARITY)
    return cavs.data.batch(examples, BATCH, arity=ARITY, as_dict=True, replicas=replicas)


def for_fit(replicas=None):
    weight = None if replicas is None else "graph_weight"
    return cavs.keras.for_fit(batches(replicas), NAMES, "label", sample_weight=weight)


def made(build):
    """A model with the same weights every time."""
    keras.utils.set_random_seed(0)
    model = build()
    first = next(iter(for_fit()))
    model(first[0])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    return model


def close(got, want, what):
    for one, other in zip(got, want, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=what)


def fit_evaluate_predict(build, strategy):
    plain = made(build)
    with strategy.scope():
        mirrored = made(build)
    distributed = cavs.keras.for_replicas(mirrored, for_fit)
    # Two passes of seven steps.
    want = plain.fit(for_fit(), epochs=2, shuffle=False, verbose=0).history
    got = mirrored.fit(distributed, epochs=2, shuffle=False, verbose=0).history
    assert mirrored.optimizer.iterations.numpy() == STEPS
    close(mirrored.get_weights(), plain.get_weights(), "weights")
    close(got["loss"], want["loss"], "losses")
    close(got["accuracy"], want["accuracy"], "accuracies")
    evaluated = mirrored.evaluate(distributed, verbose=0)
    close(evaluated, plain.evaluate(for_fit(), verbose=0), "evaluate")
    predicted = mirrored.predict(distributed, verbose=0)
    close(predicted, plain.predict(for_fit(), verbose=0), "predict")


def custom_loop(build, strategy):
    plain = made(build)
    with strategy.scope():
        mirrored = made(build)
        mirrored.optimizer.build(mirrored.trainable_variables)

    def step(model, batch, weight):
        with tf.GradientTape() as tape:
            logits = model({name: batch[name] for name in NAMES})
            loss = model.loss(batch["label"], logits, sample_weight=weight)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply(gradients, model.trainable_variables)
        return loss

    @tf.function(reduce_retracing=True)
    def on_all(batch):
        losses = strategy.run(lambda b: step(mirrored, b, b["graph_weight"]), (batch,))
        return strategy.reduce("SUM", losses, axis=None)

    for _ in range(2):
        parts = strategy.distribute_datasets_from_function(batches)
        for batch, part in zip(batches(None), parts, strict=True):
            close([on_all(part)], [step(plain, batch, None)], "loss")
    close(mirrored.get_weights(), plain.get_weights(), "weights")


def main(fitted, in_loop):
    warnings.simplefilter("error", UserWarning)
    # As in the process of the tests: see tests/conftest.py.
    tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})
    [cpu] = tf.config.list_physical_devices("CPU")
    half = tf.config.LogicalDeviceConfiguration()
    tf.config.set_logical_device_configuration(cpu, [half, half])
    strategy = tf.distribute.MirroredStrategy(["CPU:0", "CPU:1"])
    models = {"subclassed": Subclassed, "functional": functional}
    fit_evaluate_predict(models[fitted], strategy)
    custom_loop(models[in_loop], strategy)
