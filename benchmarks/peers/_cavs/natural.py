"""Cells as the README and textbooks write them: one vertex function for all vertices.

Every product is that of one kernel and of what it reads, concatenated. Where vertices compute
different things, as operators do, they have a type each. Schedules are the default ones.
"""

import types

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers._cavs import _pipeline, bilstm_tagger, calculator, lattice_lstm
from benchmarks.workloads._lstm import sequences

_LSTM = types.MappingProxyType({"gates_kernel": ("kernel", "recurrent_kernel")})


def _of_both(*sides):
    """The stacked weights of two LSTMs, whose names begin with a side."""
    return types.MappingProxyType(
        {
            f"{side}_{name}": tuple(f"{side}_{part}" for part in parts)
            for side in sides
            for name, parts in _LSTM.items()
        }
    )


class _Cell(cavs.GraphSupport):
    """A vertex function with named weights."""

    states = 1  # Vectors of the size `units` in the state.
    stacked = types.MappingProxyType({})  # See `_forms.Natural`.

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=self.states * units, **kwargs)
        self.w = w

    def dense(self, name, *parts, bias="bias"):
        """A dense layer of what is concatenated."""
        return tf.concat(parts, axis=1) @ self.w[f"{name}_kernel"] + self.w[bias]

    def finish_lstm(self, c, o):
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(self.output(h))

    def output(self, h):
        """What is pushed."""
        return h

    @classmethod
    def batches(cls, examples, size, micro_batch):
        """Minibatches; leaves are of kind 0."""
        kind = _pipeline.leaf_or_inner(examples)
        return _pipeline.batches(examples, size, cls, kind=kind, micro_batch=micro_batch)

    @staticmethod
    def pulled(inputs, embedding):
        """What the vertex function pulls, from a minibatch."""
        return tf.gather(embedding, inputs["token"])


class TreeLSTM(_Cell):
    """The child-sum Tree-LSTM; words are at the leaves only."""

    arity = 2
    states = 2
    pushes_logits = True
    stacked = types.MappingProxyType(
        {"iou_kernel": ("leaf_kernel", "kernel"), "forget_kernel": (None, "forget_kernel")}
    )

    def vertex(self):
        x = self.pull()
        children = [tf.split(self.gather(k), 2, axis=1) for k in range(self.arity)]
        total = tf.add_n([h for _, h in children])
        i, o, u = tf.split(self.dense("iou", x, total), 3, axis=1)
        c = tf.sigmoid(i) * tf.tanh(u)
        for c_k, h_k in children:
            c += tf.sigmoid(self.dense("forget", x, h_k, bias="forget_bias")) * c_k
        self.finish_lstm(c, o)

    def output(self, h):
        return h @ self.w["output"] + self.w["output_bias"]

    @staticmethod
    def pulled(inputs, embedding):
        words = tf.where(inputs["kind"] == 0)[:, 0]
        rows = tf.gather(embedding, tf.gather(inputs["token"], words))
        return cavs.VertexRows(rows, tf.cast(words, tf.int32))


class DependencyLSTM(TreeLSTM):
    """The same of any arity, with a word at every vertex."""

    arity = None
    pushes_logits = False
    stacked = types.MappingProxyType(
        {
            "iou_kernel": ("kernel", "recurrent_kernel"),
            "forget_kernel": ("forget_kernel", "recurrent_forget_kernel"),
        }
    )
    output = _Cell.output
    pulled = staticmethod(_Cell.pulled)

    def vertex(self):
        x = self.pull()
        c, h = tf.split(self.children(), 2, axis=1)
        i, o, u = tf.split(self.dense("iou", x, self.sum_children(h)), 3, axis=1)
        f = tf.sigmoid(self.dense("forget", self.to_children(x), h, bias="forget_bias"))
        self.finish_lstm(tf.sigmoid(i) * tf.tanh(u) + self.sum_children(f * c), o)


class LSTM(_Cell):
    """A vertex is a token; its child is the token before it."""

    arity = 1
    states = 2
    stacked = _LSTM

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, f, g, o = tf.split(self.dense("gates", self.pull(), h), 4, axis=1)
        self.finish_lstm(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g), o)


class LabellingLSTM(LSTM):
    """An LSTM with a label for every token."""

    pushes_logits = True
    output = TreeLSTM.output


class TreeFC(_Cell):
    """The state of a leaf is its input."""

    arity = 2
    stacked = types.MappingProxyType({"children_kernel": ("kernel",)})

    pulled = staticmethod(TreeLSTM.pulled)

    def vertex(self):
        inner = tf.tanh(self.dense("children", self.gather(0), self.gather(1)))
        h = tf.where(self.has_child(0)[:, tf.newaxis], inner, self.pull())
        self.scatter(h)
        self.push(h)


class Calculator(calculator.Model):
    """A vertex type for each operator; numbers alone pull."""

    stacked = types.MappingProxyType({})

    @classmethod
    def batches(cls, examples, size, micro_batch):
        """Minibatches; the type of a vertex is its operator."""
        kind = examples.kind
        return _pipeline.batches(examples, size, cls, kind=kind, micro_batch=micro_batch)

    @staticmethod
    def pulled(inputs, embedding):
        is_number = inputs["graphs"].vertex_type == 0
        return tf.gather(embedding, tf.boolean_mask(inputs["token"], is_number))


class LatticeLSTM(_Cell):
    """Words and characters, each with a vertex function; edges lead to words."""

    arity = None
    states = 2
    vertex_types = ("word", "character")
    stacked = types.MappingProxyType(
        {
            "gates_kernel": ("kernel", "recurrent_kernel"),
            "link_kernel": ("link_kernel", "recurrent_link_kernel"),
            "word_kernel": ("word_kernel", "recurrent_word_kernel"),
        }
    )
    pulled = staticmethod(lattice_lstm.Model.pulled)

    def word(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = self.dense("word", self.pull("x"), h, bias="word_bias")
        i, f, g = tf.split(gates, 3, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        self.scatter(tf.concat([c, c], axis=1))
        self.push(c)

    def character(self):
        x = self.pull("x")
        c, h = tf.split(self.gather(0), 2, axis=1)
        i, f, g, o = tf.split(self.dense("gates", x, h), 4, axis=1)
        words, _ = tf.split(self.children(), 2, axis=1)
        link = tf.sigmoid(self.dense("link", self.to_children(x), words, bias="link_bias"))
        linked = self.sum_children(self.pull_edge("is_word") * link * words)
        self.finish_lstm(tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g) + linked, o)

    @classmethod
    def batches(cls, examples, size, micro_batch):
        """Minibatches of words and characters."""
        return lattice_lstm.batches(examples, size, micro_batch, policy="depth")


class Tagger:
    """An LSTM in each direction, and a layer over both."""

    stacked = _of_both("forward", "backward")

    def __init__(self, units, w, **kwargs):
        self.w = w
        self.forward, self.backward = (
            LSTM(units, _with_prefix(w, side), **kwargs) for side in ("forward", "backward")
        )

    def run(self, inputs, embedding):
        """The rows that the output layer reads, for every word."""
        return bilstm_tagger.run(self, inputs, embedding)

    @staticmethod
    def batches(examples, size, micro_batch):
        """Minibatches of the chains, and of the same chains reversed."""
        return bilstm_tagger.batches(examples, size, micro_batch)


class EncoderDecoder:
    """Two LSTMs; the decoder starts from the encoder's last state."""

    stacked = _of_both("encoder", "decoder")

    def __init__(self, units, w, **kwargs):
        self.encoder = Encoder(units, _with_prefix(w, "encoder"), **kwargs)
        self.decoder = LSTM(units, _with_prefix(w, "decoder"), **kwargs)

    def run(self, inputs, embedding):
        """h of every word of the decoder."""
        source, target = inputs["source"], inputs["target"]
        x, y = (tf.gather(embedding, side["token"]) for side in (source, target))
        last = self.encoder(source["graphs"], x, at=source["graphs"].roots)
        return self.decoder(target["graphs"], y, initial_state=last)

    @staticmethod
    def batches(examples, size, micro_batch):
        """Minibatches of pairs."""
        source, target = (
            _pipeline.batches(sequences(examples, kind), size, LSTM, micro_batch=micro_batch)
            for kind in range(2)
        )
        return tf.data.Dataset.zip({"source": source, "target": target}).map(_with_label)


class Encoder(LSTM):
    """Pushes [c, h]."""

    def finish_lstm(self, c, o):
        state = tf.concat([c, tf.sigmoid(o) * tf.tanh(c)], axis=1)
        self.scatter(state)
        self.push(state)


def _with_label(inputs):
    return inputs | {"label": inputs["target"]["label"]}


def _with_prefix(w, side):
    prefix = f"{side}_"
    return {name.removeprefix(prefix): v for name, v in w.items() if name.startswith(prefix)}


MODELS = types.MappingProxyType(
    {
        "bilstm_tagger": Tagger,
        "calculator": Calculator,
        "dependency_lstm": DependencyLSTM,
        "encoder_decoder": EncoderDecoder,
        "fixed_lstm": LabellingLSTM,
        "lattice_lstm": LatticeLSTM,
        "tree_fc": TreeFC,
        "tree_lstm": TreeLSTM,
        "var_lstm": LabellingLSTM,
    }
)
