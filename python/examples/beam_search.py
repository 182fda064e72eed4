"""Trains an encoder and a decoder to translate, and searches translations with a beam.

The languages are toys. A word has seven translations: a token that ends it, at 40%, or another one
and one of six tails, at 10% each. So greedy search, which takes the likeliest token, begins a
translation at 60% and is left with one at 10%. A beam keeps the one at 40%.

Hypotheses of all sentences are decoded side by side. A hypothesis is a row of states, its last
token and a score. Each step is one call of `extend`: those that survived are the children of the
new vertices, and those that have ended are no longer evaluated, however long the others are.
"""

import time

import keras
import numpy as np
import tensorflow as tf
from _common import FLAGS, define_flags, write_summary
from absl import app, flags

import cavs_tf as cavs

define_flags()
flags.DEFINE_integer("train_examples", 10_000, "Sentences to learn from.", lower_bound=1)
flags.DEFINE_integer("test_examples", 500, "Sentences to translate.", lower_bound=1)
flags.DEFINE_integer("words", 8, "Words of the language.", lower_bound=1)
flags.DEFINE_integer("most_words", 3, "Most words of a sentence.", lower_bound=1)
flags.DEFINE_integer("units", 64, "Size of the hidden states.", lower_bound=1)
flags.DEFINE_integer("epochs", 10, "Passes over the training sentences.", lower_bound=1)
flags.DEFINE_integer("beam", 8, "Hypotheses of each sentence.", lower_bound=1)

PADDING, START, END, FIRST = range(4)  # Words and tokens begin at FIRST.
TAILS = 6


def main(_):
    keras.utils.set_random_seed(FLAGS.seed)
    random = np.random.default_rng(FLAGS.seed)
    translator = Translator()
    history = translator.train(*sentences(random, FLAGS.train_examples)[:2])

    source, _, likeliest = sentences(random, FLAGS.test_examples)
    summary = {}
    for beam in (1, FLAGS.beam):
        found, scores, speed = translator.translate(source, beam)
        np.testing.assert_allclose(scores, translator.score(source, found), rtol=1e-3, atol=1e-3)
        accuracy, score = np.mean(np.all(found == likeliest, axis=1)), np.mean(scores)
        print(
            f"beam of {beam}: {accuracy:.1%} are the likeliest translation, logarithm of their "
            f"probability {score:.2f}, {speed:,.0f} sentences/s"
        )
        summary[f"beam of {beam}"] = {
            "accuracy": float(accuracy),
            "score": float(score),
            "per_second": speed,
        }
    write_summary(loss=history.history["loss"], found=summary)


def num_tokens() -> int:
    return FIRST + 2 * FLAGS.words + TAILS


def most_tokens() -> int:
    return 2 * FLAGS.most_words + 1


def sentences(random, count: int):
    """Sentences [count, words], a translation of each, and the likeliest one [count, tokens]."""
    first_tail = num_tokens() - TAILS
    source = np.full([count, FLAGS.most_words], PADDING)
    drawn, likeliest = np.full([2, count, most_tokens()], PADDING)
    for row in range(count):
        words = random.integers(FLAGS.words, size=random.integers(1, FLAGS.most_words + 1))
        source[row, : len(words)] = FIRST + words
        text = []
        for word, is_short in zip(words, random.random(len(words)) < 0.4, strict=True):
            tail = first_tail + random.integers(TAILS)
            text += [FIRST + 2 * word] if is_short else [FIRST + 2 * word + 1, tail]
        for to, tokens in ((drawn, text), (likeliest, [*(FIRST + 2 * words)])):
            to[row, : len(tokens) + 1] = [*tokens, END]
    return source, drawn, likeliest


class Translator:
    """Encodes a sentence, and decodes a translation token by token."""

    def __init__(self):
        self.read = keras.layers.Embedding(FIRST + FLAGS.words, FLAGS.units, mask_zero=True)
        self.encode = cavs.keras.GRU(FLAGS.units)
        self.embed = keras.layers.Embedding(num_tokens(), FLAGS.units, mask_zero=True)
        self.decode = cavs.keras.GRU(FLAGS.units, return_sequences=True)
        self.choose = keras.layers.Dense(num_tokens())
        source = keras.Input((FLAGS.most_words,), dtype="int32")
        given = keras.Input((most_tokens(),), dtype="int32")
        states = self.decode(self.embed(given), initial_state=self.encode(self.read(source)))
        self.model = keras.Model([source, given], self.choose(states))

    def train(self, source, target):
        loss = keras.losses.SparseCategoricalCrossentropy(True, ignore_class=PADDING)
        rate = keras.optimizers.schedules.CosineDecay(0.005, FLAGS.epochs * len(source) // 64)
        self.model.compile(keras.optimizers.Adam(rate), loss)
        inputs = [source, after_start(target)]
        return self.model.fit(inputs, target, batch_size=64, epochs=FLAGS.epochs, verbose=2)

    def score(self, source, target):
        """The logarithm of the probability of each target."""
        logits = self.model.predict([source, after_start(target)], verbose=0)
        own = tf.gather(tf.nn.log_softmax(logits), target, axis=2, batch_dims=2)
        return tf.reduce_sum(tf.where(target == PADDING, 0.0, own), axis=1)

    def translate(self, source, beam: int):
        """The best translation of each sentence, its score, and sentences in a second."""
        search = tf.function(lambda source: self._search(source, beam))
        search(source)  # Compiles.
        started = time.perf_counter()
        found, scores = search(source)
        return found.numpy(), scores.numpy(), len(source) / (time.perf_counter() - started)

    def _search(self, source, beam: int):
        """Beam search, with K = `beam` hypotheses of each of B sentences.

        Returns:
          (tokens [B, most tokens], scores [B]) of the best.
        """
        states = self.encode(self.read(source))
        num_sentences, num_hypotheses = source.shape[0], source.shape[0] * beam
        is_first = tf.tile(tf.one_hot(0, beam, True, False), [num_sentences])
        # Where there are fewer than K hypotheses, others have ended and cannot be.
        row = tf.where(is_first, tf.range(num_hypotheses) // beam, -1)
        token = tf.where(is_first, START, PADDING)
        score = tf.where(is_first, 0.0, -np.inf)
        written = tf.zeros([num_hypotheses, most_tokens()], tf.int32)
        waits = tf.one_hot(PADDING, num_tokens(), 0.0, -np.inf)  # After the end is padding.

        def step(time, states, row, token, score, written):
            live = tf.where(row >= 0)
            children, tokens = tf.gather_nd(row, live)[:, None], tf.gather_nd(token, live)
            output, states = self.decode.extend(states, children, self.embed(tokens))
            gain = tf.tile(waits[None], [num_hypotheses, 1])
            gain = tf.tensor_scatter_nd_update(gain, live, tf.nn.log_softmax(self.choose(output)))
            score = tf.reshape(score[:, None] + gain, [num_sentences, -1])
            score, best = tf.math.top_k(score, beam)
            own = best // num_tokens() + beam * tf.range(num_sentences)[:, None]
            own, token = tf.reshape(own, [-1]), tf.reshape(best % num_tokens(), [-1])

            rows = tf.range(tf.shape(states)[0])
            row = tf.tensor_scatter_nd_update(tf.fill([num_hypotheses], -1), live, rows)
            goes_on = (token != END) & (token != PADDING)
            row = tf.where(goes_on, tf.gather(row, own), -1)
            column = tf.range(most_tokens()) == time
            written = tf.where(column, token[:, None], tf.gather(written, own))
            return time + 1, states, row, token, tf.reshape(score, [-1]), written

        first = (0, states, row, token, score, written)
        shapes = tuple(tf.TensorShape(x.shape) for x in map(tf.convert_to_tensor, first))
        shapes = (shapes[0], tf.TensorShape([None, FLAGS.units]), *shapes[2:])
        *_, score, written = tf.while_loop(
            lambda time, states, row, *_: tf.reduce_any(row >= 0),
            step,
            first,
            shapes,
            maximum_iterations=most_tokens(),
        )
        return written[::beam], score[::beam]


def after_start(target):
    """What a decoder is given: the tokens before."""
    return np.concatenate([np.full_like(target[:, :1], START), target[:, :-1]], axis=1)


if __name__ == "__main__":
    app.run(main)
