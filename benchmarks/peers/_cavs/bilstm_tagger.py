"""The tagger: two LSTMs over the same words, one of them with reversed edges."""

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import lstm
from benchmarks.workloads._lstm import sequences


class Model:
    """An LSTM in each direction, and a layer over both."""

    stacked = lstm.stacked_of("forward", "backward")

    def __init__(self, units, w, **kwargs):
        self.w = w
        self.forward, self.backward = (
            lstm.LSTM(units, lstm.weights_of(side, w), **kwargs) for side in ("forward", "backward")
        )

    def run(self, inputs, embedding):
        """The rows that the output layer reads, for every word."""
        x = cavs.ops.look_up(embedding, inputs["token"])
        both = [self.forward(inputs["graphs"], x), self.backward(inputs["turned"], x)]
        return tf.tanh(tf.concat(both, axis=1) @ self.w["tag_kernel"] + self.w["tag_bias"])

    @staticmethod
    def batches(examples, size, micro_batch):
        """Minibatches of the chains, and of the same chains reversed."""
        forward = lstm.LSTM.batches(sequences(examples, kind=0), size, micro_batch)
        return forward.map(lambda inputs: _turn(inputs, micro_batch))


def _turn(inputs, micro_batch):
    graphs = inputs["graphs"]
    last = tf.repeat(graphs.graph_splits[1:], graphs.graph_splits[1:] - graphs.graph_splits[:-1])
    after = 1 + tf.range(graphs.num_vertices)
    turned = cavs.GraphBatch(
        graphs.child_splits, tf.where(after == last, -1, after), graphs.graph_splits
    )
    return inputs | {"turned": turned.with_schedule(arity=1, micro_batch=micro_batch)}
