"""Trains a decoder that attends to the vertices of a tree, to write the tree as text.

The trees are expressions such as [MAX 2 9 [MIN 4 7 ] 0 ] (`cavs_tf.data.listops`). A Tree-LSTM
encodes one, whose root starts an LSTM that writes a token at a time. Each step attends to the rows
of the vertices of its own tree, which `cavs_tf.keras.Split` pads and masks for
`keras.layers.Attention`.
"""

import keras
import numpy as np
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_integer("train_examples", 8_000, "Expressions to learn from.", lower_bound=1)
flags.DEFINE_integer("test_examples", 500, "Unseen expressions.", lower_bound=1)
flags.DEFINE_integer("max_args", 3, "Most arguments of an operator.", lower_bound=2)
flags.DEFINE_integer("units", 64, "Size of the hidden states.", lower_bound=1)
flags.DEFINE_integer("epochs", 8, "Passes over the training expressions.", lower_bound=1)
flags.DEFINE_integer("batch_size", 64, "Expressions in a minibatch.", lower_bound=1)
flags.DEFINE_float("learning_rate", 0.005, "Of Adam.")

TOKENS = len(cavs.data.LISTOPS_TOKENS)
END, START = TOKENS, TOKENS + 1


def main(_):
    keras.utils.set_random_seed(FLAGS.seed)
    examples = cavs.data.listops(
        FLAGS.test_examples + FLAGS.train_examples,
        FLAGS.seed,
        max_depth=2,
        max_args=FLAGS.max_args,
    ).map(with_text)
    test, train = examples.take(FLAGS.test_examples), examples.skip(FLAGS.test_examples)
    model = encoder_and_decoder()
    batches = minibatches(train.shuffle(FLAGS.train_examples, seed=FLAGS.seed))
    given = cavs.keras.for_fit(batches, model, "written", sample_weight="weight")
    history = model.fit(given, epochs=FLAGS.epochs, shuffle=False, verbose=2)
    accuracy = share_of_right_texts(model, minibatches(test))
    print(f"{accuracy:.1%} of {FLAGS.test_examples:,} unseen expressions are written without error")
    write_summary(accuracy=accuracy, loss=history.history["loss"])


def longest() -> int:
    """The most tokens of an expression, with its end."""
    return 2 + FLAGS.max_args + FLAGS.max_args**2


def with_text(tree) -> dict:
    """A tree with its tokens as text: what the decoder is given at each step, and is to write."""
    text = tf.concat([tree["token"], [END]], 0)
    text = tf.pad(text, [[0, longest() - tf.size(text)]], constant_values=END)
    written = tf.ensure_shape(text, [longest()])
    weight = tf.sequence_mask(tf.size(tree["token"]) + 1, longest(), tf.float32)
    given = tf.concat([[START], written[:-1]], 0)
    place = tf.range(tf.size(tree["token"]))
    return {**tree, "place": place, "given": given, "written": written, "weight": weight}


def minibatches(examples) -> tf.data.Dataset:
    return cavs.data.batch(
        examples,
        FLAGS.batch_size,
        arity=FLAGS.max_args,
        per_graph=["given", "written", "weight"],
        as_dict=True,
    )


def encoder_and_decoder() -> keras.Model:
    """Gives the logits of each token from the tree and the tokens before it."""
    graphs = cavs.keras.graph_inputs(FLAGS.max_args)
    token = keras.Input((), dtype="int32", name="token")
    given = keras.Input((longest(),), dtype="int32", name="given")
    encode = cavs.keras.TreeLSTM(
        FLAGS.units, FLAGS.max_args, return_vertices=True, return_state=True
    )
    vertices, *states = encode(graphs, keras.layers.Embedding(TOKENS, FLAGS.units)(token))
    decode = cavs.keras.LSTM(FLAGS.units, return_sequences=True)
    queries = decode(keras.layers.Embedding(TOKENS + 2, FLAGS.units)(given), initial_state=states)
    # Rows of vertices say what is below a vertex, but not where it stands.
    place = keras.Input((), dtype="int32", name="place")
    vertices += keras.layers.Embedding(longest(), FLAGS.units)(place)
    read = keras.layers.MultiHeadAttention(4, FLAGS.units // 4)(
        queries, cavs.keras.Split()(graphs, vertices)
    )
    both = keras.layers.concatenate([queries, read])
    both = keras.layers.Dense(FLAGS.units, activation="relu")(both)
    logits = keras.layers.Dense(TOKENS + 1)(both)
    model = keras.Model({**graphs, "token": token, "place": place, "given": given}, logits)
    model.compile(
        keras.optimizers.Adam(FLAGS.learning_rate, clipnorm=1.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        weighted_metrics=["accuracy"],
    )
    return model


def share_of_right_texts(model, batches) -> float:
    """Writes the texts, the likeliest token at each step, and compares them."""
    right = []
    step = tf.function(model, reduce_retracing=True)
    for features in batches:
        inputs = {name: features[name] for name in model.input}
        given = tf.fill([tf.shape(features["written"])[0], 1], START)
        for _ in range(longest()):  # All steps again, which is simple, but slow.
            padding = [[0, 0], [0, longest() - given.shape[1]]]
            logits = step({**inputs, "given": tf.pad(given, padding)[:, : longest()]})
            token = tf.argmax(logits[:, given.shape[1] - 1], axis=1, output_type=tf.int32)
            given = tf.concat([given, token[:, None]], 1)
        is_same = (given[:, 1:] == features["written"]) | (features["weight"] == 0)
        right.append(tf.reduce_all(is_same, axis=1))
    return float(np.mean(np.concatenate(right)))


if __name__ == "__main__":
    app.run(main)
