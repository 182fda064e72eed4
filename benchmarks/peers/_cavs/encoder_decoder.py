"""Two LSTMs: the encoder pushes its state at the end of a sentence, and the decoder pulls it."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline
from benchmarks.workloads._lstm import sequences


class LSTM(cavs.GraphSupport):
    """Pushes its whole state, [c, h]."""

    arity = 1

    def __init__(self, units, w, prefix, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = {name: w[f"{prefix}_{name}"] for name in ("kernel", "recurrent_kernel", "bias")}

    def vertex(self):
        self.step(self.gather(0), self.pull())

    def step(self, state, x):
        c, h = tf.split(state, 2, axis=1)
        gates = x @ self.w["kernel"] + h @ self.w["recurrent_kernel"] + self.w["bias"]
        i, f, g, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.finish(c, h)

    def finish(self, c, h):
        self.push(tf.concat([c, h], axis=1))


class Decoder(LSTM):
    """At the first word, it continues from a state that it pulls."""

    vertex_types = ("first", "next")

    def first(self):
        self.step(self.pull("state"), self.pull("word"))

    def next(self):
        self.step(self.gather(0), self.pull("word"))

    def finish(self, c, h):
        self.push(h)


class Model:
    """A `GraphSupport` for each side."""

    def __init__(self, units, w, **kwargs):
        self.encoder = LSTM(units, w, "encoder", **kwargs)
        self.decoder = Decoder(units, w, "decoder", **kwargs)


def run(model, inputs, embedding):
    """h of every word of the decoder."""
    source, target = inputs["source"], inputs["target"]
    states = model.encoder(source["graphs"], tf.gather(embedding, source["token"]))
    pulled = {
        "word": tf.gather(embedding, target["token"]),
        "state": tf.gather(states, inputs["state"]),
    }
    return model.decoder(target["graphs"], pulled)


def batches(examples, size, micro_batch=None):
    """Minibatches of pairs."""
    sources, targets = (sequences(examples, kind) for kind in range(2))
    source = _pipeline.batches(sources, size, LSTM, micro_batch=micro_batch)
    kind = _pipeline.leaf_or_inner(targets)
    target = _pipeline.batches(targets, size, Decoder, kind=kind, micro_batch=micro_batch)
    return tf.data.Dataset.zip((source, target)).map(_join)


def _join(source, target):
    # The row of the encoder from which the decoder starts; other words do not read theirs.
    lengths = target["graphs"].graph_splits[1:] - target["graphs"].graph_splits[:-1]
    state = tf.repeat(source["graphs"].graph_splits[1:] - 1, lengths)
    return {"source": source, "target": target, "state": state, "label": target["label"]}
