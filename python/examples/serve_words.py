"""Serves a model of sentences word by word: one word more is one vertex more.

A model of language says after each word which is next. It is trained on whole sentences, the text
of expressions such as [MAX 2 9 [MIN 4 7 ] 0 ]. When it serves, it keeps the state of each sentence
that is being written, and a word costs one vertex, however long the sentence is. Words that come
for several sentences at the same time are one call. This is measured against evaluating the
sentences again.
"""

import time

import keras
import numpy as np
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_integer("examples", 4_000, "Sentences to learn from.", lower_bound=1)
flags.DEFINE_integer("units", 128, "Size of the hidden state.", lower_bound=1)
flags.DEFINE_integer("epochs", 3, "Passes over the sentences.", lower_bound=1)
flags.DEFINE_list("sentences", ["1", "32"], "How many are written at the same time.")
flags.DEFINE_list("lengths", ["10", "100", "1000"], "Words before the ones that are measured.")
flags.DEFINE_integer("words", 200, "Words of each sentence that are measured.", lower_bound=1)

WORDS = ("PADDING", *cavs.data.LISTOPS_TOKENS, "]", "END")


def main(_):
    keras.utils.set_random_seed(FLAGS.seed)
    model = Model()
    history = model.train()
    for begin in ("[MAX", "[MAX 2 9 [MIN 4", "[MAX 2 9 [MIN 4 7 ] 0"):
        print(f"{begin} ... {continued(model, begin)}")
    print("\nsentences  words before  ms a word, kept states  all words again")
    rows = []
    for sentences in map(int, FLAGS.sentences):
        for length in map(int, FLAGS.lengths):
            kept, again = measure(model, sentences, length)
            print(f"{sentences:9} {length:13,} {kept:23.3f} {again:16.3f}")
            rows.append({"sentences": sentences, "length": length, "kept": kept, "again": again})
    write_summary(loss=history.history["loss"], milliseconds=rows)


class Model(tf.Module):
    """Says what the next word is, from those before it."""

    def __init__(self):
        self.embed = keras.layers.Embedding(len(WORDS), FLAGS.units, mask_zero=True)
        self.read = cavs.keras.LSTM(FLAGS.units, return_sequences=True)
        self.choose = keras.layers.Dense(len(WORDS), activation="softmax")
        words = keras.Input((None,), dtype="int32")
        self.whole = keras.Model(words, self.choose(self.read(self.embed(words))))

    def train(self):
        number = {word: i for i, word in enumerate(WORDS)}
        made = cavs.data.listops(FLAGS.examples, FLAGS.seed).as_numpy_iterator()
        texts = [cavs.data.listops_text(e["children"], e["token"]) + " END" for e in made]
        words = tf.ragged.constant([[number[word] for word in text.split()] for text in texts])
        words = words.to_tensor()
        loss = keras.losses.SparseCategoricalCrossentropy(ignore_class=0)
        self.whole.compile(keras.optimizers.Adam(0.003), loss)
        return self.whole.fit(words[:, :-1], words[:, 1:], epochs=FLAGS.epochs, verbose=2)


class Sentences(tf.Module):
    """Sentences that are being written, by number, each with the state after its last word."""

    def __init__(self, model: Model, most: int):
        self._model = model
        self._states = tf.Variable(tf.zeros([most, 2 * FLAGS.units]), trainable=False)

    @tf.function(
        input_signature=[
            tf.TensorSpec([None], tf.int32, "numbers"),
            tf.TensorSpec([None], tf.int32, "words"),
            tf.TensorSpec([None], tf.bool, "begin"),
        ]
    )
    def add(self, numbers, words, begin):
        """Adds a word to each of m sentences, or begins it.

        Returns:
          [m, words]: the probability of each word to be the next.
        """
        states = tf.gather(self._states, numbers)  # Reads these rows alone.
        children = tf.where(begin, -1, tf.range(tf.size(numbers)))[:, None]
        output, states = self._model.read.extend(states, children, self._model.embed(words))
        self._states.scatter_update(tf.IndexedSlices(states, numbers))
        return self._model.choose(output)


def continued(model, text: str, most: int = 20) -> str:
    """The likeliest words after a text, up to its end."""
    sentence, words, given = Sentences(model, 1), text.split(), len(text.split())
    for place in range(most):
        likely = sentence.add([0], [WORDS.index(words[place])], [place == 0])
        if place + 1 >= given:
            words.append(WORDS[int(tf.argmax(likely[0]))])
        if words[-1] == "END":
            break
    return " ".join(words[given:])


def measure(model, count: int, length: int):
    """Milliseconds of a word of each sentence, with states that are kept, and from the start."""
    words = np.random.default_rng(FLAGS.seed).integers(1, len(WORDS), [count, length + FLAGS.words])
    words = words.astype(np.int32)
    sentences, numbers = Sentences(model, count), tf.range(count)
    whole = tf.function(model.whole, input_signature=[tf.TensorSpec([None, None], tf.int32)])

    def add(place):
        return sentences.add(numbers, words[:, place], tf.fill([count], place == 0))

    for place in range(length):
        add(place)
    kept, again = [], []
    for place in range(length, length + FLAGS.words):
        started = time.perf_counter()
        found = add(place).numpy()
        kept.append(time.perf_counter() - started)
        if place % 10 == 0:  # Of these some are enough.
            given = tf.constant(words[:, : place + 1])
            started = time.perf_counter()
            want = whole(given)[:, -1].numpy()
            again.append(time.perf_counter() - started)
            np.testing.assert_allclose(found, want, rtol=1e-3, atol=1e-5)
    return 1e3 * float(np.median(kept)), 1e3 * float(np.median(again))


if __name__ == "__main__":
    app.run(main)
