"""Trains a Tree-LSTM to evaluate expressions such as [MAX 2 9 [MIN 4 7 ] 0 ].

ListOps (Nangia and Bowman 2018, arXiv:1804.06028) is generated on the spot: the value of an
expression is a digit, and every expression is a tree of its own. Each vertex of a tree is
told its own value while training; accuracy is that of whole expressions, none of which
occurred in training. A bag of tokens, which does not see the tree, shows what can be
guessed without it.
"""

import time

import keras
import numpy as np
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_integer("train_examples", 40_000, "Expressions to learn from.", lower_bound=1)
flags.DEFINE_integer("test_examples", 2_000, "Unseen expressions.", lower_bound=1)
flags.DEFINE_integer("max_depth", 4, "Most operators around a digit.", lower_bound=1)
flags.DEFINE_integer("max_args", 5, "Most arguments of an operator.", lower_bound=2)
flags.DEFINE_integer("units", 128, "Size of the hidden state.", lower_bound=1)
flags.DEFINE_integer("epochs", 4, "Passes over the training expressions.", lower_bound=1)
flags.DEFINE_integer("batch_size", 32, "Expressions in a minibatch.", lower_bound=1)
flags.DEFINE_float("learning_rate", 0.005, "At the start; falls to 0 as a cosine.")
flags.DEFINE_string("picture", "artifacts/listops.png", "Where to save it; empty: nowhere.")

TOKENS = len(cavs.data.LISTOPS_TOKENS)
DIGITS = 10
LABELS = {"vertices": "vertex_label", "roots": "label"}


def main(_):
    # One operator at a time: those of cavs_tf use all threads themselves.
    tf.config.threading.set_inter_op_parallelism_threads(1)
    keras.utils.set_random_seed(FLAGS.seed)
    test, train = generate()
    print_examples(test)

    print("\nBag of tokens: how often each occurs, and no tree")
    bag_accuracy = train_bag_of_tokens(train, test)

    print(f"\nTree-LSTM: {FLAGS.units} units, arity {FLAGS.max_args}")
    model = tree_lstm()
    batches, test_batches = minibatches(train, model), minibatches(test, model)
    started = time.perf_counter()
    history = model.fit(batches, epochs=FLAGS.epochs, shuffle=False)
    trees_per_second = FLAGS.epochs * FLAGS.train_examples / (time.perf_counter() - started)
    accuracy = model.evaluate(test_batches, verbose=0, return_dict=True)["roots_accuracy"]
    chance = share_of_the_most_frequent_label(test)

    print(f"\nAccuracy on {FLAGS.test_examples:,} unseen expressions")
    print(f"  Tree-LSTM       {accuracy:6.1%}")
    print(f"  bag of tokens   {bag_accuracy:6.1%}")
    print(f"  chance          {chance:6.1%}   (always the most frequent value)")
    print(f"{trees_per_second:,.0f} trees per second in training")
    if FLAGS.picture:
        try:
            draw(history, next(iter(batches))[0], accuracy, bag_accuracy, chance)
            print(f"Picture: {FLAGS.picture}")
        except ImportError as error:
            print(f"No picture: {error}")
    write_summary(
        accuracy=accuracy,
        bag_of_tokens_accuracy=bag_accuracy,
        chance=chance,
        loss=history.history["loss"],
        trees_per_second=trees_per_second,
    )


def generate():
    """Unseen expressions, and those to learn from: no two are equal."""
    examples = cavs.data.listops(
        FLAGS.test_examples + FLAGS.train_examples,
        FLAGS.seed,
        max_depth=FLAGS.max_depth,
        max_args=FLAGS.max_args,
    )
    test, train = examples.take(FLAGS.test_examples), examples.skip(FLAGS.test_examples)
    return test, train.cache().shuffle(FLAGS.train_examples, seed=FLAGS.seed)


def print_examples(examples):
    for example in examples.take(3).as_numpy_iterator():
        text = cavs.data.listops_text(example["children"], example["token"])
        print(f"{text} = {example['label']}")


def share_of_the_most_frequent_label(examples) -> float:
    labels = [example["label"] for example in examples.as_numpy_iterator()]
    return float(np.bincount(labels).max() / len(labels))


def tree_lstm() -> keras.Model:
    """Gives the value of every vertex, and of the roots."""
    graphs = cavs.keras.graph_inputs(FLAGS.max_args)
    token = keras.Input((), dtype="int32", name="token")
    embedded = keras.layers.Embedding(TOKENS, FLAGS.units)(token)
    hidden = cavs.keras.TreeLSTM(FLAGS.units, FLAGS.max_args, return_vertices=True)(
        graphs, embedded
    )
    hidden = keras.layers.Dense(FLAGS.units, activation="relu")(hidden)
    logits = keras.layers.Dense(DIGITS)(hidden)
    outputs = {"vertices": logits, "roots": cavs.keras.Roots()(graphs, logits)}
    model = keras.Model({**graphs, "token": token}, outputs)
    steps = FLAGS.epochs * -(-FLAGS.train_examples // FLAGS.batch_size)
    rate = keras.optimizers.schedules.CosineDecay(FLAGS.learning_rate, steps)
    model.compile(
        cavs.keras.LazyAdam(rate, clipnorm=1.0),  # Updates each variable by one operator.
        {"vertices": keras.losses.SparseCategoricalCrossentropy(from_logits=True)},
        metrics={"roots": ["accuracy"]},
        steps_per_execution=10,
    )
    return model


def minibatches(examples, model) -> tf.data.Dataset:
    batches = cavs.data.batch(examples, FLAGS.batch_size, arity=FLAGS.max_args, as_dict=True)
    return cavs.keras.for_fit(batches, model.input, LABELS, weigh_by="vertex_label")


def train_bag_of_tokens(train, test) -> float:
    """The accuracy of a model that knows only how often each token occurs."""

    def count(example):
        counts = tf.math.bincount(example["token"], minlength=TOKENS, maxlength=TOKENS)
        return tf.cast(counts, tf.float32), example["label"]

    layers = [keras.layers.Dense(FLAGS.units, activation="relu"), keras.layers.Dense(DIGITS)]
    model = keras.Sequential([keras.Input((TOKENS,)), *layers])
    model.compile(
        keras.optimizers.Adam(0.003),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    train, test = (examples.map(count).batch(64).cache() for examples in (train, test))
    model.fit(train, epochs=2 * FLAGS.epochs, verbose=2, shuffle=False)
    return model.evaluate(test, verbose=0, return_dict=True)["accuracy"]


def draw(history, graphs, accuracy, bag_accuracy, chance):
    """The tasks of one minibatch, the loss, and how accurate everything is."""
    figure = cavs.plot.figure(13, 4)
    tasks, loss, bars = figure.subplots(1, 3, width_ratios=(2, 2, 1.2))
    batch = cavs.GraphBatch.from_dict({k: v for k, v in graphs.items() if k != "token"})
    cavs.plot.schedule(batch, axes=tasks)
    tasks.set_title(f"One minibatch of {batch.num_graphs} trees: {tasks.get_title()}")
    losses = history.history["loss"]
    loss.plot(range(1, len(losses) + 1), losses, marker="o")
    loss.set(title="Loss per epoch (mean over vertices)", xlabel="epoch", ylabel="loss")
    loss.locator_params(axis="x", integer=True)
    names = ("Tree-LSTM", "bag of\ntokens", "chance")
    drawn = bars.bar(
        names, [accuracy, bag_accuracy, chance], color=("#2f6db3", "#9aa5b1", "#d5dae0")
    )
    bars.bar_label(drawn, fmt="{:.0%}")
    bars.set_title("Accuracy, unseen expressions")
    bars.set_ylim(0, 1)
    bars.spines[["top", "right"]].set_visible(False)
    cavs.plot.save(figure, FLAGS.picture)


if __name__ == "__main__":
    app.run(main)
