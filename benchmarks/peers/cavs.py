"""This project, as a user writes it: a vertex function, and the schedule from the pipeline."""

import dataclasses
import importlib

import tensorflow as tf

import cavs_tf as cavs
from benchmarks.peers import _base, _tensorflow

# Others are in a module of their name.
_MODULES = {"var_lstm": "lstm", "fixed_lstm": "lstm"}


class Peer(_tensorflow.TensorFlowPeer):
    """Takes the fields of `cavs_tf.Options`."""

    def __init__(self, workload, threads, **options):
        known = {field.name for field in dataclasses.fields(cavs.Options)}
        missing = sorted(set(options) - known)
        if missing:
            raise _base.Unsupported(f"not available: cavs_tf.Options has no {', '.join(missing)}")
        self.options = cavs.Options(**options)
        super().__init__(workload, threads)
        self.version = f"cavs_tf {cavs.__version__} on {self.version}"

    def prepare(self):
        name = self.workload.name
        self._module = importlib.import_module(f"benchmarks.peers._cavs.{_MODULES.get(name, name)}")
        self.model = self.make_model(self._module.Model)
        self.pushes_logits = getattr(self.model, "pushes_logits", False)
        examples = self.workload.examples
        batch, micro_batch = self.workload.settings.batch, self.options.micro_batch
        self.dataset = self._module.batches(examples, batch, micro_batch)
        self._steps = None
        # As Keras's fit() does it: TensorFlow takes the minibatch, not Python.
        self._train_next = tf.function(lambda steps: self._train_step(next(steps)))
        self._loss_of_next = tf.function(lambda steps: self.loss(next(steps)))
        self._some_have_no_label = bool(tf.reduce_any(self.first_inputs()["label"] < 0))
        pulling = [kind.pulls for kind in self.workload.vertex_types]
        self._pulling = None if all(pulling) else tf.constant(pulling)
        self._plain = self._graphs_without_schedules()

    def make_model(self, model_class):
        return model_class(self.workload.units, self.variables, options=self.options)

    def signature(self):
        return [self.dataset.element_spec]

    def first_inputs(self):
        return next(iter(self.dataset))

    def trace_step(self, mode):
        step = self._train_next if mode == "training" else self._loss_of_next
        step.get_concrete_function(self._steps_from(0))

    def train(self, index):
        return float(self._train_next(self._steps_from(index)))

    def infer(self, index):
        return float(self._loss_of_next(self._steps_from(index)))

    def _steps_from(self, index):
        # Steps come in order, as does what the pipeline has ready.
        if index == 0 or self._steps is None:
            self._steps = iter(self.dataset)
        return self._steps

    def loss(self, inputs):
        label = inputs["label"]
        if self.pushes_logits:
            return self.cross_entropy_of_logits(self.run(inputs), label)
        if not self._some_have_no_label:
            return self.cross_entropy(self.run(inputs), label)
        at = tf.where(label >= 0)[:, 0]
        return self.cross_entropy(self.run(inputs, at), tf.gather(label, at))

    def run(self, inputs, at=None):
        """What the output layer reads or, if the model has it, gives: of all vertices or some."""
        if hasattr(self._module, "run"):
            h = self._module.run(self.model, inputs, self.variables["embedding"])
            return h if at is None else tf.gather(h, at)
        return self.model(inputs["graphs"], self.embed(inputs), at=at)

    def embed(self, inputs):
        """The inputs of the vertices that pull one."""
        token = inputs["token"]
        if self._pulling is not None:
            pulls = tf.gather(self._pulling, inputs["graphs"].vertex_type)
            token = tf.boolean_mask(token, pulls)
        return tf.gather(self.variables["embedding"], token)

    def construct(self):
        """Schedules of all minibatches, by themselves; in training the pipeline makes them."""
        for graphs, arity, num_types in self._plain:
            graphs.schedule(arity, num_types)

    def _graphs_without_schedules(self):
        count = self.workload.settings.num_minibatches
        return [
            _plain(graphs)
            for batch in self.dataset.take(count)
            for graphs in tf.nest.flatten(batch)
            if isinstance(graphs, cavs.GraphBatch)
        ]


def _plain(graphs) -> tuple:
    """(the graphs without their schedule, its arity, the number of types)."""
    types = graphs.vertex_type
    num_types = 1 + int(tf.reduce_max(types)) if len(types) else 1
    plain = cavs.GraphBatch(graphs.child_splits, graphs.child_ids, graphs.graph_splits, types)
    return plain, graphs.attached_schedule.arity, num_types
