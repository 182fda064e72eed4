"""Learns the sentiment of sentences on the Stanford Sentiment Treebank.

    python sentiment.py --data=<folder with train.txt dev.txt test.txt>

Every vertex of a tree is a phrase with a label of its own, from 0 (very negative) to 4 (very
positive), and the loss is at every vertex. Embeddings are trained from scratch. Accuracy is
that of whole sentences, the roots, on five classes.

Source: Socher et al. 2013, "Recursive deep models for semantic compositionality over a
sentiment treebank"; the model is a Tree-LSTM of Tai et al. 2015, arXiv:1503.00075,
over constituency trees as in section 4.1, of the child-sum kind: the N-ary one has the same
accuracy here and twice the products of states.
"""

import os
import time

import keras
import numpy as np
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_string("data", None, "Folder with train.txt, dev.txt and test.txt.", required=True)
flags.DEFINE_integer("units", 128, "Size of the hidden state.", lower_bound=1)
flags.DEFINE_integer("embedding", 128, "Size of a word's embedding.", lower_bound=1)
flags.DEFINE_integer("epochs", 10, "Passes over the training trees.", lower_bound=1)
flags.DEFINE_integer("batch_size", 25, "Trees in a minibatch.", lower_bound=1)
flags.DEFINE_float("learning_rate", 0.001, "Of Adam.")
flags.DEFINE_float("dropout", 0.5, "Of embeddings, and of what is classified.")

SPLITS = ("train", "dev", "test")
CLASSES = 5
ARITY = 2
LABELS = {"vertices": "vertex_label", "roots": "label"}


class EpochTimes(keras.callbacks.Callback):
    """Seconds of training in each epoch, without validation."""

    def __init__(self):
        super().__init__()
        self.seconds = []

    def on_epoch_begin(self, epoch, logs=None):
        self._started = time.perf_counter()

    def on_train_batch_end(self, batch, logs=None):
        self._last_batch = time.perf_counter()

    def on_epoch_end(self, epoch, logs=None):
        self.seconds.append(self._last_batch - self._started)


def main(_):
    # One operator at a time: those of cavs_tf use all threads themselves.
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(FLAGS.seed)
    vocabulary = cavs.data.ptb_vocabulary(path_of("train"))
    trees = {name: cavs.data.ptb_trees(path_of(name), vocabulary) for name in SPLITS}
    sizes = {name: int(dataset.cardinality()) for name, dataset in trees.items()}
    chance = share_of_the_most_frequent_label(trees["dev"])
    print(f"{sizes['train']:,} trees, {len(vocabulary):,} words; chance on dev {chance:.1%}")

    model = tree_lstm(len(vocabulary))
    order = trees["train"].shuffle(sizes["train"], seed=FLAGS.seed)
    dev = minibatches(trees["dev"], model)
    times = EpochTimes()
    best = keras.callbacks.EarlyStopping(
        "val_roots_accuracy", mode="max", patience=FLAGS.epochs, restore_best_weights=True
    )
    history = model.fit(
        minibatches(order, model),
        validation_data=dev,
        epochs=FLAGS.epochs,
        callbacks=[times, best],
        shuffle=False,
    ).history

    accuracy = max(history["val_roots_accuracy"])
    test = model.evaluate(minibatches(trees["test"], model), verbose=0, return_dict=True)
    # The first epoch also traces and compiles.
    seconds = float(np.median(times.seconds))
    print(f"\nRoot accuracy, {CLASSES} classes, weights of the best epoch on dev:")
    print(f"  dev  {accuracy:.1%}\n  test {test['roots_accuracy']:.1%}\n  chance {chance:.1%}")
    print(f"{seconds:.1f} s an epoch, {sizes['train'] / seconds:,.0f} trees per second in training")
    write_summary(
        accuracy=accuracy,
        test_accuracy=test["roots_accuracy"],
        accuracy_per_epoch=history["val_roots_accuracy"],
        chance=chance,
        loss=history["loss"],
        seconds_per_epoch=times.seconds,
        trees_per_second=sizes["train"] / seconds,
    )


def path_of(name: str) -> str:
    return os.path.join(FLAGS.data, f"{name}.txt")


def share_of_the_most_frequent_label(trees) -> float:
    labels = [tree["label"] for tree in trees.as_numpy_iterator()]
    return float(np.bincount(labels).max() / len(labels))


def tree_lstm(num_words: int) -> keras.Model:
    """Classifies every phrase, and the sentences."""
    graphs = cavs.keras.graph_inputs(ARITY)
    token = keras.Input((), dtype="int32", name="token")
    # Words are at the leaves; inner vertices have no input.
    table = cavs.keras.Embedding(num_words, FLAGS.embedding, mask_id=cavs.data.Vocabulary.EMPTY)
    hidden = cavs.keras.TreeLSTM(
        FLAGS.units,
        ARITY,
        return_vertices=True,
        dropout=FLAGS.dropout,
        dropout_rows="vertex",
    )(graphs, table(token))
    hidden = cavs.keras.Dropout(FLAGS.dropout, seed=FLAGS.seed)(hidden)
    logits = keras.layers.Dense(CLASSES)(hidden)
    outputs = {"vertices": logits, "roots": cavs.keras.Roots()(graphs, logits)}
    model = keras.Model({**graphs, "token": token}, outputs)
    model.compile(
        cavs.keras.LazyAdam(FLAGS.learning_rate),  # Few of the words are in a minibatch.
        {"vertices": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"roots": ["accuracy"]},
        steps_per_execution=8,
    )
    return model


def minibatches(trees, model) -> tf.data.Dataset:
    batches = cavs.data.batch(trees, FLAGS.batch_size, arity=ARITY, as_dict=True)
    return cavs.keras.for_fit(batches, model.input, LABELS, weigh_by="vertex_label")


if __name__ == "__main__":
    app.run(main)
