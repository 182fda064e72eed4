"""Two LSTMs: the decoder starts from the last state of the encoder."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import lstm
from benchmarks.workloads._lstm import sequences


class Encoder(lstm.LSTM):
    """Pushes [c, h]."""

    def finish_lstm(self, c, o):
        state = tf.concat([c, tf.sigmoid(o) * tf.tanh(c)], axis=1)
        self.scatter(state)
        self.push(state)


class Model:
    """Two LSTMs; the decoder starts from the encoder's last state."""

    stacked = lstm.stacked_of("encoder", "decoder")

    def __init__(self, units, w, **kwargs):
        self.encoder = Encoder(units, lstm.weights_of("encoder", w), **kwargs)
        self.decoder = lstm.LSTM(units, lstm.weights_of("decoder", w), **kwargs)

    def run(self, inputs, embedding):
        """h of every word of the decoder."""
        source, target = inputs["source"], inputs["target"]
        x, y = (cavs.ops.look_up(embedding, side["token"]) for side in (source, target))
        last = self.encoder(source["graphs"], x, at=source["graphs"].roots)
        return self.decoder(target["graphs"], y, initial_state=last)

    @staticmethod
    def batches(examples, size, micro_batch):
        """Minibatches of pairs."""
        source, target = (
            lstm.LSTM.batches(sequences(examples, kind), size, micro_batch) for kind in range(2)
        )
        return tf.data.Dataset.zip({"source": source, "target": target}).map(_with_label)


def _with_label(inputs):
    return inputs | {"label": inputs["target"]["label"]}
