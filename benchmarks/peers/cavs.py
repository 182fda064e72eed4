"""This project, as a user writes it: a vertex function, and the schedule from the pipeline."""

import dataclasses
import time

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers import _base, _tensorflow


class TreeLSTM(cavs.GraphSupport):
    """Leaves and inner vertices."""

    arity = 2
    vertex_types = ("leaf", "inner")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = w

    def leaf(self):
        i, o, u = tf.split(self.pull() @ self.w["leaf_kernel"] + self.w["leaf_bias"], 3, axis=1)
        self.finish(tf.sigmoid(i) * tf.tanh(u), o)

    def inner(self):
        (cl, hl), (cr, hr) = (tf.split(self.gather(k), 2, axis=1) for k in range(2))
        i, o, u = tf.split((hl + hr) @ self.w["kernel"] + self.w["bias"], 3, axis=1)
        fl = tf.sigmoid(hl @ self.w["forget_kernel"] + self.w["forget_bias"])
        fr = tf.sigmoid(hr @ self.w["forget_kernel"] + self.w["forget_bias"])
        self.finish(tf.sigmoid(i) * tf.tanh(u) + fl * cl + fr * cr, o)

    def finish(self, c, o):
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)


class TreeFC(cavs.GraphSupport):
    """A leaf's state is its input."""

    arity = 2
    vertex_types = ("leaf", "inner")

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=units, **kwargs)
        self.w = w

    def leaf(self):
        self.finish(tf.identity(self.pull()))

    def inner(self):
        children = tf.concat([self.gather(0), self.gather(1)], axis=1)
        self.finish(tf.tanh(children @ self.w["kernel"] + self.w["bias"]))

    def finish(self, h):
        self.scatter(h)
        self.push(h)


class LSTM(cavs.GraphSupport):
    """A vertex is a token, its child the token before."""

    arity = 1

    def __init__(self, units, w, **kwargs):
        super().__init__(state_size=2 * units, **kwargs)
        self.w = w

    def vertex(self):
        c, h = tf.split(self.gather(0), 2, axis=1)
        gates = self.pull() @ self.w["kernel"] + h @ self.w["recurrent_kernel"] + self.w["bias"]
        i, f, g, o = tf.split(gates, 4, axis=1)
        c = tf.sigmoid(f) * c + tf.sigmoid(i) * tf.tanh(g)
        h = tf.sigmoid(o) * tf.tanh(c)
        self.scatter(tf.concat([c, h], axis=1))
        self.push(h)


MODELS = {"tree_lstm": TreeLSTM, "tree_fc": TreeFC, "var_lstm": LSTM, "fixed_lstm": LSTM}


class Peer(_tensorflow.TensorFlowPeer):
    """Takes the fields of `cavs_tf.Options`."""

    def __init__(self, workload, threads, **options):
        known = {field.name for field in dataclasses.fields(cavs.Options)}
        missing = sorted(set(options) - known)
        if missing:
            raise _base.Unsupported(f"not available: cavs_tf.Options has no {', '.join(missing)}")
        if workload.name not in MODELS:
            raise _base.Unsupported(f"no vertex function for {workload.name}")
        self.options = cavs.Options(**options)
        super().__init__(workload, threads)
        self.version = f"cavs_tf {cavs.__version__} on {self.version}"

    def prepare(self):
        self.model = MODELS[self.workload.name](
            self.workload.units, self.variables, options=self.options
        )
        examples, settings = self.workload.examples, self.workload.settings
        vertices = {
            "children": examples.children,
            "token": examples.token,
            "label": examples.label,
            "inner": (examples.children >= 0).any(axis=1).astype("int32"),
        }
        dataset = cavs.data.from_arrays(examples.graph_splits, vertices, {})
        self.dataset = self.pipeline(dataset.repeat(), settings.batch)
        self.steps = {}
        self.construct_seconds = self._time_schedules()

    def pipeline(self, dataset, batch):
        typed = len(self.model.vertex_types) > 1
        return cavs.data.batch(
            dataset,
            batch,
            arity=self.model.arity,
            vertex_type="inner" if typed else None,
            num_types=2 if typed else 1,
        )

    def signature(self):
        return [self.dataset.element_spec]

    def first_inputs(self):
        return next(iter(self.dataset))

    def next_inputs(self, index):
        # Steps come in order, as does what the pipeline has ready.
        kind = "train"
        if index == 0 or kind not in self.steps:
            self.steps[kind] = iter(self.dataset)
        return next(self.steps[kind])

    def loss(self, inputs):
        return self.loss_of(inputs, self.run(inputs))

    def run(self, inputs):
        """The hidden states of all vertices."""
        return self.model(inputs["graphs"], self.embed(inputs))

    def embed(self, inputs):
        return tf.gather(self.variables["embedding"], inputs["token"])

    def loss_of(self, inputs, h):
        label = inputs["label"]
        if self.workload.name == "tree_fc":
            roots = tf.where(label >= 0)[:, 0]
            h, label = tf.gather(h, roots), tf.gather(label, roots)
        return self.cross_entropy(h, label)

    def _time_schedules(self):
        count = self.workload.settings.num_minibatches
        batches = [batch["graphs"] for batch in self.dataset.take(count)]
        plain = [
            cavs.GraphBatch(g.child_splits, g.child_ids, g.graph_splits, g.vertex_type)
            for g in batches
        ]
        start = time.perf_counter()
        for graphs in plain:
            graphs.schedule(self.model.arity, len(self.model.vertex_types))
        return time.perf_counter() - start
